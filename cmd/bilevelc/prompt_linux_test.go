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
			typist, screen := terminalPair(t)
			defer typist.Close()
			cmd := exec.Command(program, "repl")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
			cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "TERM=xterm")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			screen.Close()
			shown := make(chan string, 1)
			go func() {
				text, _ := io.ReadAll(typist) // ends with an error when the program has ended
				shown <- string(text)
			}()
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
