package runtime

import (
	"context"
	"math"
	"sync"

	"bilevelc/internal/must"
	"bilevelc/runtime/compile"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
)

// startRuns are the runs of all starts.
type startRuns struct {
	Best  *outer.Result       // the one with the least F; the first where none has a point
	Runs  []outer.StartResult // in order of starts; their Result is nil where a start was skipped
	Calls problem.Calls       // of all of them
}

// runStarts runs the method from each start. ctx holds them all to the time limit.
func (p *Problem) runStarts(ctx context.Context, c *chosen, opts Options, start []float64, j *journal) (*startRuns, error) {
	var mu sync.Mutex
	_, sign := sense(&p.IR.Upper)
	multi := &outer.MultiStart{
		Starts: opts.Starts, Automatic: opts.automatic, First: max(opts.FirstStart, 1) - 1, Threads: opts.Threads, Seed: opts.Seed, Set: p.Numeric.X, Name: c.method.Name,
		New: func() (oracle.Hyperobjective, outer.Method, error) {
			m, err := c.method.New(c.forMethod)
			if err != nil {
				return nil, nil, err
			}
			mu.Lock() // the problem is cloned
			defer mu.Unlock()
			h, err := c.hyperobjective(p, max(1, opts.Threads/opts.Starts))
			return h, m, err
		},
		Options: outer.Options{Start: start, Cost: p.callCost(), Limits: outer.Limits{Iterations: opts.MaxIter, Gain: opts.gain}, Every: j.every},
	}
	if opts.Announce != nil {
		multi.Options.Announce = func(b *outer.Budget) {
			opts.Announce(Budget{Iterations: Number(b.Iterations), Evaluations: Number(b.Evaluations), Basis: b.Basis})
		}
	}
	if opts.Observer != nil {
		multi.Observer = func(k int) outer.Observer {
			return func(now outer.Progress) { // one call at a time over all starts
				mu.Lock()
				defer mu.Unlock()
				opts.Observer(Progress{Start: k + 1, Starts: opts.Starts, Iteration: now.Iteration, Objective: sign * now.F,
					Best: sign * now.Best, Step: now.Step, Measure: now.Measure, Calls: now.Calls})
			}
		}
	}
	if opts.Resume != nil {
		multi.Resume = opts.Resume.Starts
	}
	if j.keep != nil {
		multi.Keep = j.note
	}
	results, best, err := multi.Solve(ctx)
	if err != nil {
		return nil, err
	}
	runs := &startRuns{Runs: results, Best: results[max(best, 0)].Result}
	for _, r := range results {
		if r.Result != nil {
			runs.Calls = runs.Calls.Add(r.Result.Calls)
		}
	}
	return runs, nil
}

// ahead is where a run of one start begins that nobody has chosen: the end of the path of F (outer.Path), where it leads to a lower one than start.
func (p *Problem) ahead(ctx context.Context, c *chosen, opts Options, start []float64) ([]float64, Calls) {
	if c := opts.Resume; c != nil && (len(c.Starts) == 0 || c.Starts[0].Run != nil || c.Starts[0].Ended != nil) {
		return start, c.Ahead // it has begun
	}
	if !opts.open || opts.Starts > 1 || p.IR.Start != nil || opts.Start != nil || !p.Numeric.HasInequalities() {
		return start, Calls{}
	}
	h := must.Get(c.hyperobjective(p, max(1, opts.Threads)))
	at, err := outer.Path(ctx, h, start, opts.Seed)
	if at == nil || err != nil { // what keeps F from being followed the run itself says
		at = start
	}
	return at, h.Calls()
}

// callCost is how many numbers a call of f or g reads at most, about.
func (p *Problem) callCost() (most float64) {
	for _, c := range []*compile.Function{p.f, p.g} {
		arena, _ := c.Program().ArenaBytes()
		most = math.Max(most, float64(arena+c.Program().DataBytes())/8)
	}
	return most
}
