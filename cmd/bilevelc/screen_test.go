package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// On a screen that is full the prompt leaves the lines of output above it, behind inputs
// of one line, of several, and of one that is wrapped.
func TestPromptOnAFullScreen(t *testing.T) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not installed")
	}
	program, err := exec.LookPath("bilevelc")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(tmux, append([]string{"-S", socket, "-f", os.DevNull}, args...)...)
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "NO_COLOR=1", "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %s: %v %s", args, err, out)
		}
		return string(out)
	}
	run("new-session", "-d", "-s", "r", "-x", "120", "-y", "50", program+" repl")
	defer exec.Command(tmux, "-S", socket, "kill-server").Run()
	screen := func() string { return run("capture-pane", "-t", "r", "-p") }
	until := func(what string, there func(now string) bool) {
		t.Helper()
		last := ""
		for still := 0; still < 1200; still++ { // a program that writes nothing for a minute, however slow the machine is, has hung
			now := screen()
			if there(now) {
				return
			}
			if now != last {
				last, still = now, 0
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("the screen does not show %s:\n%s", what, screen())
	}
	shows := func(text string) {
		t.Helper()
		until(fmt.Sprintf("%q", text), func(now string) bool { return strings.Contains(now, text) })
	}
	// prompts waits for the prompt on the last line: what is typed before the program reads is shown twice.
	prompts := func() {
		t.Helper()
		until("the prompt", func(now string) bool { return strings.HasSuffix(strings.TrimRight(now, " \n"), "\nblv>") })
	}
	enter := func(line string) {
		run("send-keys", "-t", "r", "-l", line)
		run("send-keys", "-t", "r", "Enter")
	}
	shows("blv>")
	enter(":help solve") // fills the screen
	shows("--starts")
	prompts()
	want := ""
	for k := 1; k <= 8; k++ {
		enter(fmt.Sprintf("%d + 1000", k))
		answer := fmt.Sprintf("%d\n  : int\n", k+1000)
		shows(answer)
		prompts()
		want += fmt.Sprintf("blv> %d + 1000\n%s", k, answer)
	}
	for _, line := range []string{"let a = [1,", "2,", "3,", "4,", "5]"} { // one input, in one editor
		enter(line)
	}
	shows("let a\n")
	prompts()
	long := "1" + strings.Repeat(" + 1", 80)
	enter("5 + " + long)
	shows("86\n  : int\n")
	prompts()
	enter("7 + 1")
	shows("\n8\n  : int\nblv>") // and not of 1008
	got := screen()
	for _, text := range []string{want, "5]\nlet a\nblv> 5 + 1", "\n86\n  : int\nblv> 7 + 1\n8\n  : int\nblv>"} {
		if !strings.Contains(got, text) {
			t.Errorf("the screen lacks\n%s\nit shows\n%s", text, got)
		}
	}
}
