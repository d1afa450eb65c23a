//go:build unix

package editors_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// VS Code (code-server, which is VS Code in a browser) with the extension as it is packaged
// underlines a mistake, shows why, takes the quick fix, renames, and solves the model.
func TestVSCode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts VS Code and a browser")
	}
	server, err := exec.LookPath("code-server")
	if err != nil {
		t.Skip("code-server is not installed")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no Chromium is installed")
	}
	if _, err := os.Stat("vscode/node_modules/playwright-core"); err != nil {
		t.Skip("`npm install` was not run in editors/vscode")
	}
	dir := t.TempDir()
	run := func(folder, name string, args ...string) {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir, c.Env = folder, append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	program := filepath.Join(dir, "real")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "../cmd/bilevelc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// The program that the setting names is the real one, whose answers to anything but the editor a file keeps.
	answer, wrapper := filepath.Join(dir, "answer"), filepath.Join(dir, "bilevelc")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(wrapper, fmt.Sprintf("#!/bin/sh\ncase \"$1\" in lsp) exec '%s' \"$@\";; esac\n'%[1]s' \"$@\" > '%s.part'; mv '%[2]s.part' '%[2]s'\n", program, answer), 0o755)
	write(filepath.Join(dir, "user/User/settings.json"),
		fmt.Sprintf(`{"bilevelc.path": %q, "workbench.startupEditor": "none", "security.workspace.trust.enabled": false}`, wrapper), 0o644)
	write(filepath.Join(dir, "models/typo.blv"), `model typo
upper {
  var price: real in box(0, 10)
  maximize price * amuont
}
lower {
  var amount: real in nonneg
  minimize 0.5 * amount^2 - (8 - price) * amount
}
`, 0o644)

	run("vscode", "npm", "run", "package", "--", "--out", filepath.Join(dir, "blv.vsix"))
	flags := []string{"--user-data-dir", filepath.Join(dir, "user"), "--extensions-dir", filepath.Join(dir, "extensions")}
	run(dir, server, append(flags, "--install-extension", filepath.Join(dir, "blv.vsix"))...)

	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	c := exec.Command(server, append(flags, "--auth", "none", "--bind-addr", address, "--disable-telemetry", "--disable-update-check")...)
	c.Dir, c.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var log strings.Builder
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-ended
	})
	for {
		if r, err := http.Get("http://" + address + "/healthz"); err == nil {
			r.Body.Close()
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the server ended: %v\n%s", err, log.String())
		case <-time.After(100 * time.Millisecond):
		}
	}

	user := exec.Command("node", "vscode/test/user.mjs", "http://"+address+"/?folder="+filepath.Join(dir, "models"), chromium, "typo.blv")
	user.Env = append(os.Environ(), "HOME="+dir)
	user.Stderr = &log
	stdin, err := user.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := user.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := user.Start(); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		fmt.Fprintln(&seen, lines.Text())
		if lines.Text() == "solving" {
			for {
				if text, err := os.ReadFile(answer); err == nil {
					fmt.Fprintf(&seen, "solved %s\n", text)
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			stdin.Close()
		}
	}
	if err := user.Wait(); err != nil {
		t.Errorf("%v\n%s", err, log.String())
	}
	for _, want := range []string{"underlined\n", "`amuont` is not declared", "did you mean `amount`?", "fixed true\n", "renamed 4\n", "solved typo: solved"} {
		if !strings.Contains(seen.String(), want) {
			t.Errorf("no %q in\n%s", want, seen.String())
		}
	}
	if strings.Contains(seen.String(), "colors 1\n") || strings.Contains(seen.String(), "colors 0\n") {
		t.Error("the model has no colors")
	}
}
