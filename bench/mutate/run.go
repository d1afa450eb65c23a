package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// memory is what a test program may take, in KB: a mutant that eats more is
// dead, and takes nothing else with it.
const memory = 6_000_000

// slow are tests that compile programs of their own, which no mutant is in.
var slow = map[string]string{"runtime": "^TestSource$"}

// runner wakes the mutants.
type runner struct {
	overlay  *overlay
	options  options
	accepted map[string]string
	packages []string
	usual    map[string]time.Duration
}

// fate is what became of a mutant.
type fate struct {
	m       *mutant
	killed  bool
	by      string // the package whose tests noticed, and how
	seconds float64
}

func (r *runner) run() (gaps int, err error) {
	r.usual = map[string]time.Duration{}
	broken := 0
	for _, p := range r.packages {
		began := time.Now()
		if text, err := r.test(p, 0, 20*time.Minute); err != nil {
			fmt.Printf("the tests of %s fail without a mutation and are left out: %v\n%s\n", p, err, tail(text))
			broken++
			continue
		}
		r.usual[p] = time.Since(began)
		fmt.Printf("%-20s %.1f s\n", p, r.usual[p].Seconds())
	}
	if broken == len(r.packages) {
		return 0, fmt.Errorf("no package has tests that pass")
	}
	queue := make(chan *mutant)
	var mu sync.Mutex
	var fates []fate
	var group sync.WaitGroup
	for range max(1, r.options.workers) {
		group.Go(func() {
			for m := range queue {
				f := r.try(m)
				mu.Lock()
				fates = append(fates, f)
				r.tell(f)
				mu.Unlock()
			}
		})
	}
	for _, m := range r.overlay.mutants {
		queue <- m
	}
	close(queue)
	group.Wait()
	return r.summarize(fates) + broken, nil
}

// try asks the tests of the mutant's own package, then of those that use it.
func (r *runner) try(m *mutant) fate {
	began := time.Now()
	f := fate{m: m}
	for _, p := range append([]string{m.target.dir}, m.target.tests...) {
		if r.usual[p] == 0 {
			continue // its tests fail anyway
		}
		limit := time.Duration(r.options.timeFactor*float64(r.usual[p])) + 20*time.Second
		text, err := r.test(p, m.number, limit)
		if err != nil {
			f.killed, f.by = true, p+": "+how(text, err)
			break
		}
	}
	f.seconds = time.Since(began).Seconds()
	return f
}

// test runs the tests of a package with a mutant awake.
func (r *runner) test(pkg string, number int, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, memory),
		filepath.Join(r.overlay.dir, binary(pkg)), "-test.failfast", "-test.skip="+slow[pkg])
	cmd.Dir = filepath.Join(r.overlay.root, pkg)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, number))
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return string(text), fmt.Errorf("does not end within %.0f s", limit.Seconds())
	}
	return string(text), err
}

// how names the first test that failed.
func how(text string, err error) string {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			name, _, _ := strings.Cut(rest, " ")
			return name
		}
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return line
		}
	}
	return err.Error()
}

func tail(text string) string {
	if len(text) > 3000 {
		return text[len(text)-3000:]
	}
	return text
}

func (r *runner) tell(f fate) {
	word := "SURVIVED"
	switch {
	case f.killed:
		word = "killed  "
	case r.accepted[f.m.id] != "":
		word = "accepted"
	}
	line := fmt.Sprintf("%s %5.0f s  %s  %s\n", word, f.seconds, f.m.id, f.by)
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
