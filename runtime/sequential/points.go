package sequential

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/tolerance"
)

// begin is the point with the follower's answer to x.
func (v *Solver) begin(ctx context.Context, x []float64) (*point, error) {
	p := v.p
	x = slices.Clone(x)
	if p.Facts.JointlyQuadratic {
		pt := v.bare(x, make([]float64, p.Dy))
		if err := v.second(pt, false); err != nil {
			return nil, err
		}
		f, s, err := v.alone(pt)
		if err != nil {
			return nil, err
		}
		z, status := f.Solve(ctx, x)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if status != activeset.Optimal {
			return nil, &pieces.FollowerError{Status: status}
		}
		return v.complete(x, s.Y(z), s.Lambda(z))
	}
	starts := []func() ([]float64, error){func() ([]float64, error) { return make([]float64, p.Dy), nil }}
	if v.opts.Begin != nil {
		starts = append([]func() ([]float64, error){func() ([]float64, error) { return v.opts.Begin(ctx, x) }}, starts...)
	}
	err := ErrNotFinite
	for _, start := range starts {
		y, failed := start()
		if failed != nil {
			err = failed
			break
		}
		if y == nil {
			continue
		}
		if failed := v.prepare(x, y); failed != nil {
			err = failed
			continue
		}
		pt, failed := v.answer(ctx, x, y)
		if failed == nil {
			return pt, nil
		}
		err = failed
		break
	}
	return nil, err
}

// bare is a point (x, y) of which nothing is known.
func (v *Solver) bare(x, y []float64) *point {
	return &point{x: x, y: y, lambda: make([]float64, v.p.Rows.Len()), grad: make([]float64, v.p.Dx+v.p.Dy+len(v.p.Duals))}
}

// alone is the follower of the system at a point, without the leader's constraints, and sets the units of x.
func (v *Solver) alone(pt *point) (_ *kkt.Follower, _ *kkt.System, err error) {
	defer must.Catch(&err)
	s := must.Get(v.unconstrained().program(pt, nil, nil, nil))
	v.unit = kkt.Units(pt.x)
	f, err := kkt.NewFollower(s)
	return f, s, err
}

// Begin is the follower's answer to x, with its multipliers, where nothing is known of it.
func (v *Solver) Begin(ctx context.Context, x []float64) (y, lambda []float64, err error) {
	defer must.Catch(&err)
	if v.over != nil {
		return v.sums.answer(v.over.Begin(ctx, x))
	}
	pt := must.Get(v.begin(ctx, x))
	return pt.y, pt.lambda, nil
}

// answer is the point with the follower's answer to x, found from y.
func (v *Solver) answer(ctx context.Context, x, y []float64) (*point, error) {
	before := v.follower.qp.Work
	y, lambda, err := v.follower.solve(ctx, x, y)
	if err == nil {
		y, lambda = v.follower.refined(ctx, x, y, lambda)
		lambda = v.follower.balanced(x, y, lambda)
		v.p.Rows.Within(y)
	}
	v.work += v.follower.qp.Work - before
	if err != nil {
		return nil, err
	}
	return v.complete(x, y, lambda)
}

// Answer is the follower's answer to x, with its multipliers, found from y.
func (v *Solver) Answer(ctx context.Context, x, y []float64) (answer, lambda []float64, err error) {
	defer must.Catch(&err)
	if v.over != nil {
		return v.sums.answer(v.over.Answer(ctx, x, v.sums.with(y)))
	}
	must.Do(v.prepare(x, y))
	pt := must.Get(v.answer(ctx, x, y))
	return pt.y, pt.lambda, nil
}

// Near is Answer to the tolerances of the follower's programs, which tell values of F apart.
func (v *Solver) Near(ctx context.Context, x, y []float64) (answer, lambda []float64, err error) {
	defer must.Catch(&err)
	if v.over != nil {
		return v.sums.answer(v.over.Near(ctx, x, v.sums.with(y)))
	}
	must.Do(v.prepare(x, y))
	before := v.follower.qp.Work
	answer, lambda, err = v.follower.solve(ctx, x, y)
	v.work += v.follower.qp.Work - before
	return answer, lambda, err
}

// prepare makes the follower's programs, once.
func (v *Solver) prepare(x, y []float64) (err error) {
	if v.follower == nil {
		v.follower, err = v.newAnswers(x, y)
	}
	return err
}

func (v *Solver) complete(x, y, lambda []float64) (*point, error) {
	return v.evaluate(x, slices.Clone(y), slices.Clone(lambda))
}

// violating reports that a constraint is violated by more than rows are kept to, relative to its terms.
func (v *Solver) violating(pt *point) bool {
	for i, c := range pt.c {
		if v.kinds[i].Over(c) > tolerance.Sign*v.termsOf(pt, i) {
			return true
		}
	}
	return false
}

// termsOf is the size of the terms of constraint i at a point: its value, and what its slopes make of the point.
func (v *Solver) termsOf(pt *point, i int) float64 {
	size := math.Abs(pt.c[i])
	for j, t := range pt.jac[i] {
		size += math.Abs(t * v.entry(pt, j))
	}
	return size
}

// entry is entry j of (x, y, the multipliers that f reads).
func (v *Solver) entry(pt *point, j int) float64 {
	switch p := v.p; {
	case j < p.Dx:
		return pt.x[j]
	case j < p.Dx+p.Dy:
		return pt.y[j-p.Dx]
	default:
		return pt.lambda[p.Duals[j-p.Dx-p.Dy]]
	}
}

// sizeRead is the size of the entries that f reads, 1 at least.
func (v *Solver) sizeRead(pt *point) float64 {
	return math.Max(1, each.LargestBelow(len(pt.grad), func(j int) float64 { return math.Abs(v.entry(pt, j)) }))
}

// outside reports that x violates a row of X.
func (v *Solver) outside(x []float64) bool {
	for i, kind := range v.p.X.Kind {
		r, terms := v.p.X.E.RowDot(i, x)-v.p.X.Rhs[i], math.Abs(v.p.X.Rhs[i])
		if kind.Over(r) > tolerance.Sign*v.p.X.E.AddTerms(terms, i, x) {
			return true
		}
	}
	far := false
	v.p.X.Extended.Each(x, func(int) float64 { return 0 }, func(_ int, excess, terms float64) { far = far || excess > tolerance.Sign*terms })
	return far
}

// distance of two points in x, in units of x.
func (v *Solver) distance(a, b *point) float64 {
	return each.LargestBelow(len(a.x), func(j int) float64 { return math.Abs(a.x[j]-b.x[j]) / v.unit[j] })
}
