package system

import (
	"cmp"
	"context"
	"math"
	"slices"

	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/sequential"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

// sample is a point of X with F there, and by how much it violates the constraints of the leader that read y, in parts of their terms: 0 where they hold.
type sample struct {
	x      []float64
	f, off float64
}

// below reports that a sample comes before another: it violates less, or has a lower F and violates no more.
func (s sample) below(o sample) bool { return s.off < o.off || s.off == o.off && s.f < o.f }

// apartFrom are the draws that have no lower one within the critical distance, ascending (below). Distances are in shares of the widths of X, and of entries without bounds in those of the draws,
// over the entries that may be several things and that anything depends on.
func apartFrom(draws []sample, x *problem.Set, free []bool) (apart []sample) {
	slices.SortStableFunc(draws, func(a, b sample) int { return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.f, b.f)) })
	n := float64(len(draws))
	if n < 2 {
		return draws
	}
	width, d := make([]float64, len(draws[0].x)), 0
	for j := range width {
		if free != nil && free[j] {
			continue
		}
		if width[j] = x.Hi[j] - x.Lo[j]; math.IsInf(width[j], 1) {
			least, most := math.Inf(1), math.Inf(-1)
			for _, s := range draws {
				least, most = math.Min(least, s.x[j]), math.Max(most, s.x[j])
			}
			width[j] = most - least
		}
		if width[j] > 0 {
			d++
		}
	}
	if d == 0 {
		return draws[:1]
	}
	// The ball of this radius has the share 4 log(n)/n of X: with 4, the number of starts stays finite as draws go on, and no minimum is missed (ibid.).
	gamma, _ := math.Lgamma(1 + float64(d)/2)
	radius := math.Exp((gamma+math.Log(4*math.Log(n)/n))/float64(d)) / math.Sqrt(math.Pi)
	for k, s := range draws {
		near := slices.ContainsFunc(draws[:k], func(lower sample) bool {
			square := 0.0
			for j, w := range width {
				if w > 0 {
					t := (s.x[j] - lower.x[j]) / w
					if square += t * t; square > radius*radius {
						return false
					}
				}
			}
			return true
		})
		if !near {
			apart = append(apart, s)
		}
	}
	return apart
}

// values gives F at points, of the follower's answer to each, with the work that this and the local solution have taken: multiplications, or calls of f and g where these make most of it. All are nil where the local solver has no answers of its own.
func (run *Run) values(ctx context.Context) (value func(x []float64) (sample, bool), work, local func() int64) {
	switch solver := run.local.(type) {
	case *leaderSpace:
		if solver.eliminate() != nil {
			return nil, nil, nil
		}
		if run.n.Coupled != nil {
			return nil, nil, nil
		}
		sampler := solver.space.Sampler(solver.multipliers(ctx))
		return func(x []float64) (sample, bool) {
			f, ok := sampler.Value(x)
			return sample{x: x, f: f}, ok
		}, sampler.Work, solver.Work
	case *pieces.Solver, wholeFirst:
		follower := run.solver.Follower()
		return func(x []float64) (sample, bool) {
			z, status := follower.Solve(ctx, x)
			if status != activeset.Optimal {
				return sample{}, false
			}
			return run.sampled(x, run.System.Y(z), run.System.Lambda(z)), true
		}, func() int64 { return follower.Work }, run.local.Work
	case *sequential.Solver:
		var y []float64 // where the search for an answer begins; nil: at one that is found without any
		if run.Best != nil {
			y = run.Best.Z[run.n.Dx : run.n.Dx+run.n.Dy]
		}
		calls := func() int64 { return run.n.Calls().Total() }
		return func(x []float64) (sample, bool) {
			answerTo := solver.Near
			if y == nil {
				answerTo = func(ctx context.Context, x, _ []float64) ([]float64, []float64, error) { return solver.Begin(ctx, x) }
			}
			answer, lambda, err := answerTo(ctx, x, y)
			if err != nil {
				return sample{}, false
			}
			return run.sampled(x, answer, lambda), true
		}, calls, calls
	}
	return nil, nil, nil
}

// sampled is the sample of an x with the follower's answer to it.
func (run *Run) sampled(x, y, lambda []float64) sample {
	p, answer := run.n, run.n.Answer(y, lambda)
	if p.Coupled == nil {
		return sample{x: x, f: p.F.Value(x, answer)}
	}
	grad := make([]float64, len(answer))
	out := sample{x: x, f: p.F.ValueGrad(make([]float64, p.Dx), grad, x, answer)}
	for i, c := range p.CoupledPart(grad) {
		if over := p.Coupled.Over(i, c); over > tolerance.Sign || math.IsNaN(over) {
			out.off += over
		}
	}
	return out
}

// onto moves a draw onto X where it has rows, and reports that it is there: whether the follower has an answer to it, its own program tells.
func (run *Run) onto(x []float64) bool {
	return len(run.n.X.Kind) == 0 && run.n.X.Extended.Len() == 0 || run.leader.Project(x, x) == nil
}

// ontoWork is what onto takes: a factor of the rows of X.
func (run *Run) ontoWork() float64 {
	return tree.FactorWork(float64(len(run.n.X.Kind) + run.n.X.Extended.Len()))
}

// jumps are those of outer.Jumps by shares from 1 to 2^-9 of them in turn, as pieces of F have any size, of all entries and of one.
func (run *Run) jumps() func(k int, from []float64) []float64 {
	jump := outer.Jumps(run.Start, run.within, run.opts.Seed)
	return func(k int, from []float64) []float64 {
		x := linalg.Plus(from, math.Pow(0.5, float64(k/2%10)), linalg.Minus(jump(0, from), from))
		if one := k / 20 % len(x); k%2 == 1 {
			moved := x[one]
			copy(x, from)
			x[one] = moved
		}
		return x
	}
}

// downhill is a point that jumps from a sample lead down to, each answered alone (random search: Solis and Wets 1981). It ends where as many in a row have gained nothing as there were before, and as many as draws are, or after k of them
// where more says so.
func (run *Run) downhill(ctx context.Context, at sample, value func(x []float64) (sample, bool), more func(k int) bool) sample {
	jump := run.jumps()
	for k, last := 0, 0; k < max(mostDraws, 2*last) && more(k) && ctx.Err() == nil; k++ {
		x := jump(k, at.x)
		if !run.onto(x) {
			continue
		}
		if next, ok := value(x); ok && next.below(at) {
			if next.off < at.off || next.f < at.f-tolerance.Target*math.Abs(at.f) {
				last = k + 1
			}
			at = next
		}
	}
	return at
}
