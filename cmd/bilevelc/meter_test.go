package main

import (
	"bytes"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"bilevelc/runtime"
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

// The table of a search has a head, rows now and then, and one for each better point once it has begun.
func TestSearchTable(t *testing.T) {
	var table searchTable
	began := time.Unix(0, 0)
	at := func(seconds, best, gap float64) string {
		now := runtime.Progress{Best: best, Tree: &runtime.TreeProgress{Nodes: int64(10 * seconds), Open: 3, Bound: -2, Gap: gap}}
		return table.row(now, began.Add(time.Duration(seconds*float64(time.Second))), 2*time.Second, 5*time.Second)
	}
	for _, c := range []struct {
		seconds, best float64
		rows          int
		mark          string
	}{{0, 5, 0, ""}, {1, 4, 0, ""}, {2.5, 3, 2, " "}, {3, 3, 0, ""}, {4, 2, 1, "*"}, {8, 2, 0, ""}, {9.5, 2, 1, " "}} {
		text := at(c.seconds, c.best, 0.5)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if text == "" {
			lines = nil
		}
		if len(lines) != c.rows || c.rows > 0 && !strings.HasPrefix(lines[len(lines)-1], c.mark+" ") {
			t.Errorf("after %g s: %q", c.seconds, text)
		}
	}
	if text := at(20, 1, math.Inf(1)); !strings.HasPrefix(text, "*       200         3                 1                -2         -     20.0") {
		t.Errorf("%q", text)
	}
}
