package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// Where there is no terminal, lines tell how far the work is, and how long it takes
// still; with --quiet nobody is told.
func TestMeterLines(t *testing.T) {
	var out bytes.Buffer
	a := &app{io: stdio{err: &out}}
	m := a.meter("sweep", 100, 200)
	m.every = 0
	m.began = time.Now().Add(-10 * time.Second)
	m.step(false, "")
	lines := strings.Split(out.String(), "\n")
	// One part took ten seconds, 99 are left: those done before say nothing.
	if !strings.HasPrefix(lines[0], "sweep: 101 of 200, 16m3") || !strings.HasSuffix(lines[0], " left") {
		t.Errorf("%q", lines[0])
	}
	var wait sync.WaitGroup
	for range 99 {
		wait.Go(func() { m.step(true, "") })
	}
	wait.Wait()
	m.close()
	if text := strings.TrimSpace(out.String()); !strings.HasSuffix(text, "sweep: 200 of 200, 99 failed") {
		t.Errorf("%q", text[len(text)-60:])
	}
	out.Reset()
	m = a.meter("solve", 0, 1)
	m.every = 0
	m.at(0, "; iteration 3")
	if out.String() != "solve: iteration 3\n" {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	a.quiet = true
	m = a.meter("sweep", 0, 2)
	m.every = 0
	m.step(false, "")
	if out.Len() > 0 {
		t.Errorf("--quiet says %q", out.String())
	}
}
