package runtime

import (
	"context"

	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
)

type startRuns struct {
	Best  *outer.Result
	Runs  []*outer.Result
	Calls problem.Calls
}

func (p *Problem) runStarts(ctx context.Context, c *chosen, opts Options, start []float64) (*startRuns, error) {
	m, err := c.method.New(c.forMethod)
	if err != nil {
		return nil, err
	}
	h, err := c.hyperobjective(p)
	if err != nil {
		return nil, err
	}
	r, err := outer.Solve(ctx, h, c.method.Name, m, outer.Options{Start: start, Seed: opts.Seed,
		Limits: outer.Limits{Iterations: opts.MaxIter, Time: opts.TimeLimit}})
	if err != nil {
		return nil, err
	}
	return &startRuns{Best: r, Runs: []*outer.Result{r}, Calls: h.Calls()}, nil
}
