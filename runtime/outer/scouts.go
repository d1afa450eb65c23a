package outer

import (
	"context"
	"math/rand/v2"

	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// A run from one start ends at a point that is stationary; there may be lower ones. Where
// its way went along the central path of the follower, on which F is smooth and has fewer
// traps, the first stages of that way from other points cost little and tell what they
// lead to: scouts. Those that are lower by then than the run's end go on to their own, the
// lowest first, while there are any.
const (
	scoutStages = 3   // by when F has fallen to within a few parts in a hundred of where the way leads
	scoutShare  = 0.5 // of the evaluations of F that the first run has taken, for all scouts together
	mostScouts  = 20
)

// Scouting is what scouts have found.
type Scouting struct {
	Tried       int
	Evaluations int
	First       float64       // F where the run from the given start ended
	Followed    int           // scouts that went on to their end
	Start       int           // the one that the result is of; 0 where the first run's is the best
	Calls       problem.Calls // beside those of the result
}

// approached reports that the run has come to where it is along a central path.
type approached interface{ approached() bool }

func (m *goldstein) approached() bool { return m.state.Approached }

// scout looks for a lower point than a first run has found.
func (m *MultiStart) scout(ctx context.Context, first *Result, draw func(k int) []float64) (*Result, *Scouting, error) {
	s := &Scouting{First: first.Best.F, Calls: first.Calls}
	budget := int(scoutShare * float64(first.Evaluations))
	type lead struct {
		start int
		f     float64
		from  *Checkpoint
	}
	var leads []lead
	for k := 1; k <= mostScouts && s.Evaluations < budget && ctx.Err() == nil; k++ {
		opts := m.Options
		opts.Announce, opts.Start, opts.Seed = nil, draw(k), rand.NewPCG(m.Seed, uint64(k)).Uint64()
		opts.Limits.Evaluations = budget - s.Evaluations
		opts.Limits.Iterations = scoutStages
		r, err := m.begin(ctx, opts)
		if err != nil {
			return nil, nil, err
		}
		s.Tried, s.Evaluations, s.Calls = s.Tried+1, s.Evaluations+r.Evaluations, s.Calls.Add(r.Calls)
		if r.Best == nil || r.Best.F >= first.Best.F || first.ties(r.Best.F) {
			continue
		}
		if c, err := r.State(); err == nil && c != nil {
			leads = append(leads, lead{k, r.Best.F, c})
		}
	}
	best := first
	for len(leads) > 0 {
		least := 0
		for i, l := range leads {
			if l.f < leads[least].f {
				least = i
			}
		}
		next := leads[least]
		leads[least] = leads[len(leads)-1]
		leads = leads[:len(leads)-1]
		if ctx.Err() != nil || next.f >= best.Best.F {
			break
		}
		opts := m.Options
		opts.Announce, opts.Resume = nil, next.from
		if m.Observer != nil {
			opts.Observer = m.Observer(0)
		}
		r, err := m.begin(ctx, opts)
		if err != nil {
			return nil, nil, err
		}
		s.Followed, s.Calls = s.Followed+1, s.Calls.Add(r.Calls.Sub(next.from.Calls))
		// A lower point without a certificate is not worth more than one with it.
		if r.Best != nil && r.Status == status.Solved && r.Best.F < best.Best.F {
			best, s.Start = r, next.start
		}
	}
	s.Calls = s.Calls.Sub(best.Calls)
	return best, s, nil
}

// begin runs from one start, or from a state, with a method of its own.
func (m *MultiStart) begin(ctx context.Context, opts Options) (*Result, error) {
	h, method, err := m.New()
	if err != nil {
		return nil, err
	}
	r, err := Solve(ctx, h, m.Name, method, opts)
	if a, ok := method.(approached); ok && r != nil {
		r.approached = a.approached()
	}
	return r, err
}
