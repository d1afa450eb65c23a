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
)

// blockSize is how many cases a child process runs.
const blockSize = 100

// patience is how long a child may be silent: a case holds two solves of at
// most the time limit each, and evaluations.
const patience = 10 * timeLimit

// campaign runs cases until the time or the count is spent.
func campaign(o options, s *summary, stop *atomic.Bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return err
		}
	}
	var next atomic.Uint64
	next.Store(o.seed)
	end := time.Now().Add(o.duration)
	var group sync.WaitGroup
	for range max(1, o.workers) {
		group.Add(1)
		go func() {
			defer group.Done()
			for !stop.Load() && time.Now().Before(end) {
				from := next.Add(blockSize) - blockSize
				n := uint64(blockSize)
				if o.count > 0 {
					if from >= o.seed+o.count {
						return
					}
					n = min(n, o.seed+o.count-from)
				}
				for done := uint64(0); done < n && !stop.Load() && time.Now().Before(end); {
					done += block(self, from+done, n-done, o, s, end)
				}
			}
		}()
	}
	group.Wait()
	return nil
}

// block runs cases in one child and returns how many are done: all, or those
// up to the one that ended the child.
func block(self string, from, n uint64, o options, s *summary, end time.Time) uint64 {
	cmd := exec.Command(self, "-worker", "-seed", strconv.FormatUint(from, 10), "-count", strconv.FormatUint(n, 10))
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
		s.add(&report{Seed: from + done, Text: strings.Join(texts(from+done), "// in other units:\n"),
			Findings: []finding{{Kind: kind, Detail: detail}}}, o.out)
		done++
	}
	return done
}

func firstWords(s string) string {
	lines := strings.SplitN(s, "\n", 3)
	return strings.Join(lines[:min(2, len(lines))], " ")
}
