package pieces

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// minimize is a minimizer of f on a branch, from z.
func (v *Solver) minimize(ctx context.Context, z []float64, branch []kkt.Fix) (_ []float64, err error) {
	defer must.Catch(&err)
	v.s.Bounds(&v.bounds, branch)
	if !v.s.Objective.Convex || !v.s.Objective.Known {
		return v.sequential(ctx, z)
	}
	sol := must.Get(v.solve(ctx, v.branch, &v.bounds, v.warm))
	switch sol.Status {
	case activeset.Optimal:
		short, work := activeset.Shorter(ctx, v.branch, &v.bounds, sol, v.s.Objective.Const)
		v.work += work
		v.warm = short.Basis
		return v.s.Unscaled(short.Z), nil
	case activeset.Unbounded:
		return nil, &Unbounded{v.refine(v.s.Unscaled(sol.Z)), v.s.Unscaled(sol.Ray)}
	}
	return nil, unsolved("a branch that holds a point", sol.Status)
}

// unsolved is why a program on a branch has no solution.
func unsolved(what string, end activeset.Status) error {
	if end == activeset.Infeasible {
		return errNoPoint
	}
	return fmt.Errorf("%s: %v", what, end)
}

// errNoPoint is of a branch that the leader's constraints leave empty.
var errNoPoint = errors.New("with the follower's constraints active that are so at the start no point keeps the constraints of the upper level")

// Sequential quadratic programming. A step is taken where it lowers f by at least tolerance.Armijo of what its slope promises; one that promises
// less than rounding of f ends the search.

// sequential minimizes f on the branch whose bounds are set, from a point z of it, by Newton steps with a positive semidefinite Hessian. Where a step's program has no solution the point as far as it came is given with the error.
func (v *Solver) sequential(ctx context.Context, z []float64) (_ []float64, err error) {
	defer must.Catch(&err)
	s := v.s
	z = must.Get(v.onBranch(ctx, z))
	z = v.clamped(v.s.Scaled(z))
	f := s.Value(z)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errNotFinite
	}
	lengths := map[string]float64{} // once f is flat: of the last step to what holds there, which steps to others tell nothing about
	var hess *sparse.CSR
	// The constraints that press on two steps in a row are equations to the Hessian of the next ones: where they stay, these are Newton's.
	made, before, now := []bool(nil), []bool(nil), v.pressed(nil)
	for range tolerance.Steps {
		grad, at := v.scaledGradient(z), v.s.Scaled(z)
		if settled := before == nil || slices.Equal(before, now); !s.Objective.Known || settled && !slices.Equal(made, now) {
			if settled {
				made = now
			}
			if hess = v.curved(ctx, z, v.holding(made)); ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
		if !linalg.Finite(grad) || hess != nil && !linalg.Finite(hess.Val) {
			return nil, errNotFinite
		}
		if v.sizeRead(z) > MostGrowth*v.from {
			return nil, &Endless{z}
		}
		c := append([]float64(nil), grad...)
		if hess != nil {
			for i := range c {
				c[i] -= hess.RowDot(i, at)
			}
		}
		v.branch.SetObjective(hess, c)
		far := math.Inf(1) // of multipliers: those that f does not read need no end, and one that is held at it would move on with it
		if len(s.P.Duals) > 0 {
			far = v.reach(z)
		}
		bounds := v.within(&v.bounds, at, v.reach(z), far)
		sol, err := v.solve(ctx, v.branch, bounds, v.warm)
		if err == nil && sol.Status != activeset.Optimal {
			err = fmt.Errorf("a step on a branch: %v", sol.Status)
		}
		if err != nil {
			return z, err
		}
		v.warm = sol.Basis
		before, now = now, v.pressed(sol)
		slope, terms, length := 0.0, math.Abs(f), 0.0
		length = math.Max(length, each.LargestBelow(len(grad), func(j int) float64 { return math.Abs(sol.Z[j] - at[j]) }))
		for j, g := range grad {
			slope += g * (sol.Z[j] - at[j])
			terms += math.Abs(g) * (length + math.Abs(at[j])) // all entries of a step round by the longest
		}
		to := v.clamped(sol.Z)
		if !(-slope > tolerance.SumRounding*terms) {
			// f no longer tells the points apart, to half of the digits of z; the lengths of Newton's steps do, as long as they become shorter.
			face := fmt.Sprint(now)
			if last, again := lengths[face]; !(length > tolerance.SumRounding*linalg.NormInf(at)) || again && !(length < last/2) {
				return z, nil
			}
			if fn := s.Value(to); !(math.Abs(fn-f) <= 4*tolerance.SumRounding*terms) {
				return z, nil
			}
			z, lengths[face] = to, length
			continue
		}
		if ray := v.ray(at, sol.Z, grad); ray != nil {
			return nil, &Unbounded{v.refine(z), v.s.Unscaled(ray)}
		}
		next, fn, t := make([]float64, s.N), f, 1.0
		for {
			for j := range next {
				next[j] = z[j] + t*(to[j]-z[j])
			}
			if t == 1 {
				copy(next, to)
			}
			fn = s.Value(next)
			if fn <= f+tolerance.Armijo*t*slope {
				break
			}
			if t /= 2; t < 0x1p-40 {
				return z, nil // f falls by less than rounding
			}
		}
		z, f = next, fn
	}
	return z, nil
}

// pressed tells which rows and variables a solution is held by at sides of the branch whose bounds are set, with a multiplier beyond rounding of the largest: none without one.
func (v *Solver) pressed(sol *activeset.Solution) []bool {
	b := &v.bounds
	out := make([]bool, len(b.RowLo)+len(b.Lo))
	if sol == nil {
		return out
	}
	least := tolerance.Sign * math.Max(linalg.NormInf(sol.Row), linalg.NormInf(sol.Bound))
	for i, m := range sol.Row {
		out[i] = math.Abs(m) > least
	}
	for j, m := range sol.Bound {
		out[len(b.RowLo)+j] = m > least && sol.Z[j] <= b.Lo[j] || m < -least && sol.Z[j] >= b.Hi[j]
	}
	return out
}

// holding are the bounds of the branch with what is pressed held where it is.
func (v *Solver) holding(pressed []bool) *activeset.Bounds {
	b := &v.bounds
	out := &activeset.Bounds{RowLo: b.RowLo, RowHi: slices.Clone(b.RowHi), Lo: b.Lo, Hi: slices.Clone(b.Hi)}
	for k, held := range pressed {
		if i := k - len(b.RowLo); held && i < 0 {
			out.RowHi[k] = out.RowLo[k]
		} else if held {
			out.Hi[i] = out.Lo[i]
		}
	}
	return out
}

// onBranch is z, where it is a point of the branch whose bounds are set, else the point of the branch nearest to it in the relaxation's units: the follower's answer to some x need not
// keep the leader's rows, and minimizers along the way down are none where they do not hold.
func (v *Solver) onBranch(ctx context.Context, z []float64) (_ []float64, err error) {
	defer must.Catch(&err)
	at, a, b := v.s.Scaled(z), v.s.Relaxation.A, &v.bounds
	holds := func(value, lo, hi, terms float64) bool {
		tolerance := tolerance.Sign * math.Max(1, terms)
		return value >= lo-tolerance && value <= hi+tolerance
	}
	ok := true
	for j, t := range at {
		ok = ok && holds(t, b.Lo[j], b.Hi[j], math.Abs(t))
	}
	for i := range b.RowLo {
		ok = ok && holds(a.RowDot(i, at), b.RowLo[i], b.RowHi[i], a.RowTerms(i, at))
	}
	if ok {
		return z, nil
	}
	ones := make([]float64, len(at))
	for j := range at {
		ones[j], at[j] = 1, -at[j]
	}
	v.branch.SetObjective(sparse.Diagonal(ones), at)
	sol := must.Get(v.solve(ctx, v.branch, b, v.warm))
	if sol.Status != activeset.Optimal {
		return nil, unsolved("the nearest point of a branch", sol.Status)
	}
	return v.s.Unscaled(sol.Z), nil
}

// MostGrowth is how often the size of what f reads may grow: by then steps of all lengths from rounding to the size of z have been taken, and what is as far as the
// start from anything is rounding.
const MostGrowth = 1 / tolerance.SumRounding

// ray is the direction from a point to another where it leads on without end, in the relaxation's units, and f falls along all of it; nil where it does not.
// Entries that are rounding beside the largest and have an end in front of them are no part of it, nor is what rows make of entries that the largest has rounded: f, whose gradient at the point is given, falls along the others.
func (v *Solver) ray(at, to, grad []float64) []float64 {
	d, size := make([]float64, len(at)), 0.0
	for j := range d {
		d[j] = to[j] - at[j]
		size = math.Max(size, math.Abs(d[j]))
	}
	blocked := func(rate, lo, hi float64) bool {
		return rate > 0 && !math.IsInf(hi, 1) || rate < 0 && !math.IsInf(lo, -1)
	}
	for j, t := range d {
		if blocked(t, v.bounds.Lo[j], v.bounds.Hi[j]) {
			if math.Abs(t) > tolerance.Sign*size {
				return nil
			}
			d[j] = 0
		}
	}
	a := v.s.Relaxation.A
	for i := range v.bounds.RowLo {
		rate, sum, rounding := a.RowDot(i, d), 0.0, 0.0
		sum = a.AddTerms(sum, i, d)
		for _, c := range a.Entries(i) {
			rounding += tolerance.SumRounding * math.Abs(c) * size
		}
		if math.Abs(rate) > math.Max(tolerance.Sign*sum, rounding) && blocked(rate, v.bounds.RowLo[i], v.bounds.RowHi[i]) {
			return nil
		}
	}
	d = v.recede(d)
	slope, terms := 0.0, 0.0
	for j, t := range d {
		slope, terms = slope+grad[j]*t, terms+math.Abs(grad[j])*size
	}
	if !(-slope > tolerance.SumRounding*terms) {
		return nil
	}
	if !v.s.Objective.Known {
		if !v.fallsAlong(at, d) {
			return nil
		}
		return d
	}
	if h := v.scaledHessian(v.s.Unscaled(at)); h != nil {
		curvature, curved, most, moves := 0.0, 0.0, 0.0, 0.0
		for i, t := range d {
			along := h.RowDot(i, d)
			curvature, curved, most, moves = curvature+t*along, curved+math.Abs(t*along), math.Max(most, math.Abs(along)), moves+math.Abs(along)*math.Max(1, math.Abs(at[i]))
		}
		curved = tolerance.SumRounding * (curved + most*linalg.NormInf(d))
		// Where f does not curve, its slope is known as well as the point is, by what d changes of the gradient.
		if curvature > curved || curvature >= -curved && !(-slope > tolerance.SolveAccuracy*moves) {
			return nil
		}
	}
	return d
}

// fallsAlong reports whether f is less at each doubling of the way along d, from d's own length to the end of the range of numbers, and falls over the last quarter by no less than over the one before.
func (v *Solver) fallsAlong(at, d []float64) bool {
	z, most := make([]float64, len(at)), 0.0
	before := v.s.Value(v.s.Unscaled(at))
	_, e := math.Frexp(linalg.NormInf(v.s.Unscaled(d)))
	doublings := 1000 - e // room for coefficients and sums
	for k := range doublings {
		for j := range z {
			z[j] = at[j] + math.Ldexp(d[j], k)
		}
		now := v.s.Value(v.s.Unscaled(z))
		fall := before - now
		switch {
		case math.IsInf(now, -1):
			return true
		case !(fall > 0), k > 3*doublings/4 && fall < most*(1-1e-6):
			return false
		}
		if k > doublings/2 && k <= 3*doublings/4 {
			most = math.Max(most, fall)
		}
		before = now
	}
	return true
}

// reach is how far a step of sequential quadratic programming may go in the relaxation's units: where f's Hessian is not
// definite a step would have no end.
func (v *Solver) reach(z []float64) float64 { return 8 * v.size(z) }

// within are bounds cut to a box around a point: of x and y by radius, of what comes after them by far.
func (v *Solver) within(b *activeset.Bounds, at []float64, radius, far float64) *activeset.Bounds {
	out := &activeset.Bounds{RowLo: b.RowLo, RowHi: b.RowHi, Lo: make([]float64, len(at)), Hi: make([]float64, len(at))}
	for j, t := range at {
		r := radius
		if j >= v.s.Nx+v.s.Ny {
			r = far
		}
		out.Lo[j] = math.Max(b.Lo[j], math.Min(t-r, b.Hi[j]))
		out.Hi[j] = math.Min(b.Hi[j], math.Max(t+r, b.Lo[j]))
	}
	return out
}
