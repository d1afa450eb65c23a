package runtime

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"bilevelc/runtime/outer"
	"bilevelc/runtime/status"
)

// journal holds how far each start of a run has come, and hands it to the caller
// now and then.
type journal struct {
	mu     sync.Mutex
	head   Checkpoint // without Starts
	starts []outer.StartState
	keep   func(*Checkpoint)
	every  time.Duration
	kept   time.Time
}

// defaultEvery is how often the state of a run is kept where the caller does not
// say: a run of which less is lost is started again without regret.
const defaultEvery = 30 * time.Second

func newJournal(head Checkpoint, opts Options) *journal {
	j := &journal{head: head, starts: make([]outer.StartState, opts.Starts), keep: opts.Keep, every: cmp.Or(opts.KeepEvery, defaultEvery), kept: time.Now()}
	if opts.Resume != nil {
		copy(j.starts, opts.Resume.Starts)
	}
	return j
}

// note takes down how far a start has come. A start that goes on says so when it
// is time to keep the whole; one that has ended only adds to it.
func (j *journal) note(k int, now outer.StartState, running bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.starts[k] = now
	if running || time.Since(j.kept) >= j.every {
		j.keep(j.checkpoint())
		j.kept = time.Now()
	}
}

func (j *journal) checkpoint() *Checkpoint {
	c := j.head
	c.Starts = slices.Clone(j.starts)
	return &c
}

// final is the state of the whole run before the last iteration of each start.
func (j *journal) final(results []outer.StartResult) (*Checkpoint, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.checkpoint()
	for k, r := range results {
		if r.Result == nil {
			continue // not begun now; it may have been before
		}
		now, err := r.Result.Now()
		if err != nil {
			return nil, fmt.Errorf("the state of the run cannot be written down: %w", err)
		}
		if now != (outer.StartState{}) {
			c.Starts[k] = now
		}
	}
	return c, nil
}

// unfinished counts the starts that have not come to an end of their own, and those of them that a limit on time or memory ended, or
// left no room to begin.
func unfinished(results []outer.StartResult) (n, cutOff int) {
	for _, r := range results {
		limited := r.Result != nil && r.Result.Status == status.LimitReached
		if r.Result != nil && r.Result.Status != status.Interrupted && !limited {
			continue
		}
		if n++; !limited || r.Result.Reason == string(status.Time) || r.Result.Reason == string(status.Memory) {
			cutOff++
		}
	}
	return n, cutOff
}
