package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fullDisk takes some bytes and no more.
type fullDisk struct {
	room  int
	taken bytes.Buffer
}

var errFull = errors.New("no space left on device")

func (d *fullDisk) Write(text []byte) (int, error) {
	n := min(len(text), d.room-d.taken.Len())
	d.taken.Write(text[:n])
	if n < len(text) {
		return n, errFull
	}
	return n, nil
}

// TestLostOutput: a command that could not write all of its output ends with 1 and a
// line that says so, and one that could ends as ever: how long the output is, is seen
// where there is room.
func TestLostOutput(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 33))
	dir := t.TempDir()
	model := filepath.Join(dir, "m.blv")
	write(t, model, "model m\nupper {\n  var x: real in box(0, 1)\n  minimize (x - y)^2 + x\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\n")
	point := filepath.Join(dir, "point.json")
	write(t, point, `{"x": 0.5}`)
	result := filepath.Join(dir, "result.json")
	for _, args := range []string{
		"solve MODEL", "solve MODEL --plot", "eval MODEL --at POINT", "eval MODEL --at POINT --along x=0:1:0.5 --plot", "check MODEL --explain",
		"check MODEL --json", "explain E0101", "methods", "functions", "functions sumsq", "--help", "--version", "fmt MODEL", "solve --help",
		"completion bash", "solve MODEL --json", "verify RESULT --model MODEL", "check MODEL --time",
	} {
		words := strings.Fields(strings.NewReplacer("MODEL", model, "POINT", point, "RESULT", result).Replace(args))
		var whole, stderr bytes.Buffer
		usual := run(context.Background(), words, stdio{strings.NewReader(""), &whole, &stderr})
		if args == "solve MODEL --json" {
			write(t, result, whole.String())
		}
		for range 3 {
			disk := &fullDisk{room: rng.IntN(whole.Len() + 1)}
			lost := disk.room < whole.Len()-20 // times in results have more or fewer digits
			if !lost {
				disk.room = whole.Len() + 20
			}
			stderr.Reset()
			code := run(context.Background(), words, stdio{strings.NewReader(""), disk, &stderr})
			switch said := strings.Contains(stderr.String(), errFull.Error()); {
			case lost && (code != 1 || !said):
				t.Errorf("%s: %d of %d bytes written, exit code %d, %q", args, disk.room, whole.Len(), code, stderr.String())
			case !lost && (code != usual || said):
				t.Errorf("%s: all of it written, exit code %d, want %d", args, code, usual)
			}
		}
	}
}

// TestClosedStreams: standard output that is closed, or full, and a trace on a full
// disk, by a shell and a process of its own.
func TestClosedStreams(t *testing.T) {
	program, err := exec.LookPath("bilevelc")
	if err != nil {
		t.Fatal(err)
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	model := filepath.Join(t.TempDir(), "m.blv")
	write(t, model, "model m\nupper {\n  var x: real in box(0, 1)\n  minimize (x - y)^2 + x\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\n")
	for _, c := range []struct {
		redirect string
		code     int
		closed   bool // needs to know what was closed
	}{
		{"", 0, false}, {">/dev/null", 0, false}, {"1<>/dev/null", 0, false}, {">/dev/full", 1, false}, {"--trace /dev/full", 1, false}, {"--report /dev/full", 1, false}, {"--proof /dev/full", 1, false},
		{">&-", 1, true}, {"<&- >&- 2>&-", 1, true}, {"<&-", 0, false}, {"2>&-", 0, false}, {"2>/dev/full", 0, false},
	} {
		if c.closed && !seesClosed {
			continue
		}
		out, err := exec.Command(shell, "-c", fmt.Sprintf("%s %s -q %s", program, model, c.redirect)).CombinedOutput()
		code := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != c.code {
			t.Errorf("%q: exit code %d, want %d\n%s", c.redirect, code, c.code, out)
		}
		if told := strings.Count(string(out), "error:"); c.code == 1 && told != 1 && !strings.Contains(c.redirect, "2>&-") {
			t.Errorf("%q: %d lines tell it\n%s", c.redirect, told, out)
		}
	}
	out, err := exec.Command(shell, "-c", fmt.Sprintf("%s explain %s >/dev/full", program, model)).CombinedOutput()
	if told := strings.Count(string(out), "error:"); err == nil || told != 1 {
		t.Errorf("explain: %d lines tell it\n%s", told, out)
	}
}
