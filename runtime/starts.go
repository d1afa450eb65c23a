package runtime

import (
	"context"
	"sync"

	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// startRuns are the runs of all starts.
type startRuns struct {
	Best  *outer.Result   // the one with the least F; the first where none has a point
	Runs  []*outer.Result // in order of starts; nil where a start was skipped
	Calls problem.Calls   // of all of them
}

// runStarts runs the method from each start.
func (p *Problem) runStarts(ctx context.Context, c *chosen, opts Options, start []float64) (*startRuns, error) {
	var resume *outer.Checkpoint
	if opts.Resume != nil {
		resume = opts.Resume.Run
	}
	var mu sync.Mutex
	var made []*oracle.Hyper
	_, sign := sense(&p.IR.Upper)
	multi := &outer.MultiStart{
		Starts: opts.Starts, Threads: opts.Threads, Seed: opts.Seed, Set: p.Numeric.X, Name: c.method.Name,
		New: func() (oracle.Hyperobjective, outer.Method, error) {
			m, err := c.method.New(c.forMethod)
			if err != nil {
				return nil, nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			h, err := c.hyperobjective(p, max(1, opts.Threads/opts.Starts))
			if err != nil {
				return nil, nil, err
			}
			made = append(made, h)
			return h, m, nil
		},
		Options: outer.Options{Start: start, Resume: resume,
			Limits: outer.Limits{Iterations: opts.MaxIter, Time: opts.TimeLimit}},
		Observer: func(k int) outer.Observer {
			if opts.Observer == nil {
				return nil
			}
			return &startObserver{mu: &mu, to: opts.Observer, start: k + 1, starts: opts.Starts, sign: sign}
		},
	}
	limited := ctx
	if opts.TimeLimit > 0 && opts.Starts > 1 {
		// Each start observes the limit; the context holds them all to it.
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, opts.TimeLimit)
		defer cancel()
	}
	results, best, err := multi.Solve(limited)
	if err != nil {
		return nil, err
	}
	if limited.Err() != nil && ctx.Err() == nil {
		for _, r := range results {
			if r.Result != nil && r.Result.Status == status.Interrupted {
				r.Result.Status, r.Result.Reason = status.LimitReached, "time limit"
			}
		}
	}
	runs := &startRuns{}
	for _, r := range results {
		runs.Runs = append(runs.Runs, r.Result)
	}
	runs.Best = runs.Runs[max(best, 0)]
	for _, h := range made {
		runs.Calls = runs.Calls.Add(h.Calls())
	}
	return runs, nil
}

// startObserver passes the progress of one start on, one call at a time over
// all starts.
type startObserver struct {
	mu            *sync.Mutex
	to            Observer
	start, starts int
	sign          float64
}

// Observe implements outer.Observer.
func (o *startObserver) Observe(now outer.Progress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to(Progress{Start: o.start, Starts: o.starts, Iteration: now.Iteration, Objective: o.sign * now.F,
		Best: o.sign * now.Best, Step: now.Step, Measure: now.Measure, Calls: now.Calls})
}
