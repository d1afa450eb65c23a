package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bilevelc/internal/must"
)

// memory is what a test program may take, in KB: a mutant that eats more is
// dead, and takes nothing else with it.
const memory = 6_000_000

// runner wakes the mutants.
type runner struct {
	overlay  *overlay
	options  options
	accepted map[string]string
	done     map[string]bool // mutations that an earlier run killed
	survey   survey
}

// fate is what became of a mutant.
type fate struct {
	m       *mutant
	killed  bool
	by      string // the package and test that noticed, or how many did not
	seconds float64
}

func (r *runner) run() (gaps int) {
	queue := make(chan *mutant)
	var mu sync.Mutex
	var fates []fate
	var err error
	var group sync.WaitGroup
	for range max(1, r.options.workers) {
		group.Go(func() {
			for m := range queue {
				var f fate
				failure := must.Try(func() { f = r.try(m) })
				mu.Lock()
				if failure != nil {
					err = failure
				} else {
					fates = append(fates, f)
					r.tell(f)
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range r.overlay.mutants {
		if r.options.chosen(m) && !r.done[m.id] {
			queue <- m
		}
	}
	close(queue)
	group.Wait()
	gaps = r.summarize(fates) + r.survey.broken
	must.Do(err)
	return gaps
}

// try asks the tests that come to the changed place, those of the mutant's own
// package first, the quickest first.
func (r *runner) try(m *mutant) fate {
	began := time.Now()
	f := fate{m: m}
	asked := 0
asking:
	for _, p := range r.options.asked(m) {
		for _, t := range r.tests(p, m) {
			asked++
			if result := r.test(p, t.Name, m.number, r.limit(t)); result.err != nil {
				f.killed, f.by = true, p+": "+result.how()
				break asking
			}
		}
	}
	if !f.killed {
		f.by = fmt.Sprintf("%d tests come there", asked)
	}
	f.seconds = time.Since(began).Seconds()
	return f
}

// limit is the processor time after which a test counts as one that does not
// end.
func (r *runner) limit(t surveyed) time.Duration {
	return time.Duration(r.options.patience*t.Seconds*float64(time.Second)) + 10*time.Second
}

// outcome is what a test program did.
type outcome struct {
	name    string
	text    string
	err     error
	seconds float64 // of processor time
}

// test runs one test of a package with a mutant awake. A limit of processor
// time does not depend on what else the machine does; one of wall time, far
// above it, ends programs that wait for themselves.
func (r *runner) test(pkg, name string, number int, limit time.Duration, more ...string) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute+10*limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(`ulimit -v %d; ulimit -t %d; exec "$0" "$@"`, memory, int(math.Ceil(limit.Seconds()))),
		r.overlay.program(pkg), "-test.failfast", "-test.run=^"+name+"$")
	cmd.Dir = filepath.Join(r.overlay.root, pkg)
	cmd.Env = append(append(os.Environ(), fmt.Sprintf("%s=%d", awake, number)), more...)
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	out := outcome{name: name, text: string(text), err: err}
	if s := cmd.ProcessState; s != nil {
		out.seconds = (s.UserTime() + s.SystemTime()).Seconds()
	}
	if ctx.Err() != nil || err != nil && out.seconds > limit.Seconds()-0.5 {
		out.err = fmt.Errorf("does not end within %.0f s", limit.Seconds())
	}
	return out
}

// how names the test that failed, and a panic.
func (o outcome) how() string {
	if !strings.Contains(o.text, "--- FAIL: ") {
		for line := range strings.SplitSeq(o.text, "\n") {
			if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
				return o.name + ": " + line
			}
		}
		return o.name + ": " + o.err.Error()
	}
	return o.name
}

func tail(text string) string {
	if len(text) > 3000 {
		return text[len(text)-3000:]
	}
	return text
}

func word(killed, accepted bool) string {
	switch {
	case killed:
		return "killed  "
	case accepted:
		return "accepted"
	}
	return "SURVIVED"
}

func (r *runner) tell(f fate) {
	line := fmt.Sprintf("%s %5.0f s  %s  %s\n", word(f.killed, r.accepted[f.m.id] != ""), f.seconds, f.m.id, f.by)
	fmt.Print(line)
	if r.options.output == "" {
		return
	}
	out, err := os.OpenFile(r.options.output, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		return
	}
	defer out.Close()
	fmt.Fprint(out, line)
}

// summarize counts by package and returns the number of gaps.
func (r *runner) summarize(fates []fate) (gaps int) {
	type count struct{ killed, accepted, gaps int }
	by := map[string]*count{}
	var dirs []string
	for _, f := range fates {
		c := by[f.m.target.dir]
		if c == nil {
			c = &count{}
			by[f.m.target.dir] = c
			dirs = append(dirs, f.m.target.dir)
		}
		switch {
		case f.killed:
			c.killed++
		case r.accepted[f.m.id] != "":
			c.accepted++
		default:
			c.gaps++
			gaps++
		}
	}
	slices.Sort(dirs)
	fmt.Printf("\n%-20s %8s %8s %8s\n", "", "killed", "accepted", "gaps")
	for _, d := range dirs {
		fmt.Printf("%-20s %8d %8d %8d\n", d, by[d].killed, by[d].accepted, by[d].gaps)
	}
	for _, f := range fates {
		if f.killed && r.accepted[f.m.id] != "" {
			fmt.Printf("accepted.txt names a mutation that is killed: %s\n", f.m.id)
		}
	}
	return gaps
}
