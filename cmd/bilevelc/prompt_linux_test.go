package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminalPair opens a pseudo terminal: what is written to the first is typed at the
// second.
func terminalPair(t *testing.T) (typist, screen *os.File) {
	t.Helper()
	typist, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	fd := int(typist.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100}); err != nil {
		t.Fatal(err)
	}
	return typist, screen
}

// Nothing that is typed at the prompt is lost, however fast it comes: while the
// program starts, while it works on a line, in one burst.
func TestPromptKeepsWhatIsTyped(t *testing.T) {
	program, err := exec.LookPath("bilevelc")
	if err != nil {
		t.Fatal(err)
	}
	for run, apart := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond} {
		t.Run(fmt.Sprint(run, " ", apart), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			saved := filepath.Join(dir, "session.blv")
			cmd, typist, shown := startPrompt(t, program, dir)
			const lines = 30
			var all []string
			for k := range lines {
				all = append(all, fmt.Sprintf("let a%d = %d", k, k))
			}
			for _, line := range append(all, ":save "+saved, ":quit") {
				if _, err := io.WriteString(typist, line+"\r"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(apart)
			}
			err := cmd.Wait()
			text, missing := "", 0
			if saved, err := os.ReadFile(saved); err == nil {
				text = string(saved)
			}
			for _, line := range all {
				if !strings.Contains(text, line+"\n") {
					missing++
				}
			}
			if err != nil || missing > 0 {
				t.Errorf("%d of %d lines are lost (%v)\n%.3000q", missing, lines, err, <-shown)
			}
		})
	}
}

// startPrompt starts the prompt in a terminal, in a folder. It returns the other end of the
// terminal and, when the program has ended, what was shown.
func startPrompt(t *testing.T, program, dir string, env ...string) (cmd *exec.Cmd, typist *os.File, shown chan string) {
	typist, screen := terminalPair(t)
	t.Cleanup(func() { typist.Close() })
	cmd = exec.Command(program, "repl")
	cmd.Dir = dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
	cmd.Env = append(append(os.Environ(), "XDG_CONFIG_HOME="+dir, "TERM=xterm"), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	screen.Close()
	shown = make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(typist) // ends with an error when the program has ended
		shown <- string(text)
	}()
	return cmd, typist, shown
}

// Tab completes commands, flags, methods, files, names and functions: what is typed
// with it is what the prompt then runs.
func TestPromptCompletes(t *testing.T) {
	program, err := exec.LookPath("bilevelc")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	model := "model m\nparam capacity: real = 2\nupper {\n  var price: real in box(0, 3)\n  maximize price * amount\n}\n" +
		"lower {\n  var amount: real\n  minimize (amount - 4 + price)^2\n  subject to\n    shelf: amount <= capacity\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "mymodel.blv"), []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, typist, shown := startPrompt(t, program, dir, "NO_COLOR=1")
	for _, line := range []string{":lo\tmym\t", ":so\t--meth\tgold\t", "pri\t - pri\t + resid\tshelf)", "let b = softp\tcapac\t)",
		"let größe_α = 2", "let größe_β = 3", "let c = 1 + grö\t\t + größe_\t\t", ":sa\tsession.blv", ":hi\t", ":qu\t"} {
		// A key at a time: in one burst a tab is text that was pasted.
		for _, key := range line + "\r" {
			if _, err := io.WriteString(typist, string(key)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Millisecond)
		}
	}
	err = cmd.Wait()
	text := <-shown
	if err != nil {
		t.Fatalf("%v\n%.4000q", err, text)
	}
	for _, want := range []string{"m: solved", "method goldstein, oracle", "price - price + residual(shelf)", "let b = softplus(capacity)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on the screen:\n%.6000s", want, text)
		}
	}
	saved, err := os.ReadFile(filepath.Join(dir, "session.blv"))
	if err != nil || !strings.Contains(string(saved), "let b = softplus(capacity)\n") || !strings.Contains(string(saved), "let c = 1 + größe_α + größe_β\n") {
		t.Errorf("the session is %s (%v)", saved, err)
	}
}
