package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bilevelc/internal/must"
)

// blockSize is how many cases a child process runs.
const blockSize = 100

// patience is how long a child may be silent: a case holds two solves of at
// most the time limit each, evaluations, and seconds of the truth's own work, on a
// machine that may be shared by ten.
const patience = 60 * timeLimit

// task is a range of cases, or of combinations over one model file.
type task struct {
	from, n uint64
	file    string
}

// tasks returns a source of tasks that is safe for several workers; ok is
// false at its end.
func tasks(o options) (next func() (t task, ok bool), err error) {
	var mu sync.Mutex
	if o.models == "" {
		from := o.seed
		return func() (task, bool) {
			mu.Lock()
			defer mu.Unlock()
			t := task{from: from, n: blockSize}
			if o.count > 0 {
				t.n = min(t.n, o.seed+o.count-from)
			}
			from += t.n
			return t, t.n > 0
		}, nil
	}
	files, err := modelFiles(o.models)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no models that can be bound below %s", o.models)
	}
	return func() (task, bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(files) == 0 {
			return task{}, false
		}
		t := task{n: uint64(len(combinations())), file: files[0]}
		files = files[1:]
		return t, true
	}, err
}

// campaign runs cases until the time or the count is spent.
func campaign(o options, s *summary, stop *atomic.Bool) (err error) {
	defer must.Catch(&err)
	self := must.Get(os.Executable())
	if o.out != "" {
		must.Do(os.MkdirAll(o.out, 0o755))
	}
	next := must.Get(tasks(o))
	end := time.Now().Add(o.duration)
	goesOn := func() bool { return !stop.Load() && time.Now().Before(end) }
	var group sync.WaitGroup
	for range max(1, o.workers) {
		group.Go(func() {
			for goesOn() {
				t, ok := next()
				if !ok {
					return
				}
				for t.n > 0 && goesOn() {
					done := block(self, t, o, s, end)
					t.from, t.n = t.from+done, t.n-done
					s.progress(os.Stderr, t)
				}
			}
		})
	}
	group.Wait()
	return nil
}

// block runs cases in one child and returns how many are done: all, or those
// up to the one that ended the child.
func block(self string, t task, o options, s *summary, end time.Time) uint64 {
	from, n := t.from, t.n
	cmd := exec.Command(self, "-worker", "-seed", strconv.FormatUint(from, 10), "-count", strconv.FormatUint(n, 10), "-models", t.file, "-mutate", o.mutate, fmt.Sprintf("-systems=%v", o.systems))
	cmd.Env = append(os.Environ(), "GOGC=1600") // cases are small: a quarter of the time went into collections
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.add(&report{Seed: from, Findings: []finding{{Kind: "child not started", Detail: err.Error()}}}, o.out)
		return n
	}
	var silent atomic.Bool
	var late atomic.Bool
	watch := time.AfterFunc(patience, func() {
		silent.Store(true)
		cmd.Process.Kill()
	})
	done := uint64(0)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		watch.Reset(patience)
		r := &report{}
		if err := json.Unmarshal(lines.Bytes(), r); err != nil {
			continue
		}
		s.add(r, o.out)
		done++
		if time.Now().After(end) && done < n {
			late.Store(true)
			cmd.Process.Kill()
			break
		}
	}
	watch.Stop()
	err = cmd.Wait()
	if late.Load() {
		return n
	}
	if done < n {
		kind, detail := "crash", fmt.Sprint(err, ": ", firstWords(stderr.String()))
		if silent.Load() {
			kind, detail = "endless", fmt.Sprintf("silent for %v", patience)
		}
		r := &report{Seed: from + done, Family: t.file}
		if r.Text = o.subject().text(r.Seed); t.file != "" {
			detail = fmt.Sprintf("%s, %s: %s", t.file, combinations()[from+done], detail)
		}
		r.Findings = []finding{{Kind: kind, Detail: detail}}
		s.add(r, o.out)
		done++
	}
	return done
}

func firstWords(s string) string {
	lines := strings.SplitN(s, "\n", 3)
	return strings.Join(lines[:min(2, len(lines))], " ")
}
