package sequential

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// answers finds the follower's answers to one x after another, by sequential quadratic programming: g(x, .) is convex, its rows are linear, and each program is
// one of package activeset. phi(y) = g + rho sum |violation of rows| falls along each step (Nocedal and Wright 2006, theorem 18.2).
type answers struct {
	v    *Solver
	qp   *kkt.Follower
	h    *sparse.CSR // the last Hessian in y, at where
	at   []float64   // (x, y)
	held *sparse.CSR // B'B of the equality rows; nil where there are none
}

// newAnswers prepares the follower's programs in the units in which its system at (x, y) is equilibrated, which are the answer's Hessian's.
func (v *Solver) newAnswers(x, y []float64) (_ *answers, err error) {
	defer must.Catch(&err)
	lo := must.Get(v.followerAt(x, y, true, false))
	pt := v.bare(x, y)
	pt.lower = lo
	a := &answers{v: v}
	if a.qp, _, err = v.alone(pt); err != nil {
		return nil, err
	}
	equal := sparse.Empty(v.p.Dy)
	for i, kind := range v.p.Rows.Kind {
		if kind == problem.Equal {
			cols, vals := v.p.Rows.B.Row(i)
			equal.AppendAll(cols, vals)
			equal.EndRow()
		}
	}
	if equal.Rows = len(equal.Ptr) - 1; equal.Rows > 0 {
		a.held = sparse.Mul(equal.T(), equal)
	}
	return a, nil
}

// errSteps says that Newton's method did not come to an answer.
var errSteps = fmt.Errorf("no answer of the follower was found in %d steps", tolerance.Steps)

// solve is the follower's answer to x with its multipliers, from y, which need not be feasible but where grad_y g is to be finite.
func (a *answers) solve(ctx context.Context, x, y []float64) (_, lambda []float64, err error) {
	defer must.Catch(&err)
	p := a.v.p
	y = slices.Clone(y)
	grad, next := make([]float64, p.Dy), make([]float64, p.Dy)
	rho, before := 0.0, math.Inf(1)
	last := false      // the value of phi tells no more
	var kept []float64 // the multipliers that belong to y, once it does not
	left := 0.0        // of the stationarity conditions there
	for range tolerance.Steps {
		value := p.G.ValueGradY(grad, x, y)
		if !linalg.Finite(grad) || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, nil, ErrNotFinite
		}
		h := must.Get(a.hessian(x, y))
		if !(p.Facts.StrongConvexity > 0) {
			h = a.proximal(h, grad, y, before)
		}
		c := each.Below(p.Dy, func(j int) float64 { return grad[j] - h.RowDot(j, y) })
		z, status := a.qp.Minimize(ctx, x, h, c)
		switch {
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case status != activeset.Optimal:
			return nil, nil, &pieces.FollowerError{Status: status}
		}
		lambda = z[p.Dx+p.Dy : p.Dx+p.Dy+p.Rows.Len()]
		target := z[p.Dx : p.Dx+p.Dy]
		slope, terms, hidden, length := 0.0, math.Abs(value), 0.0, 0.0 // hidden: the terms of the program's objective at y, which may cancel in g and in its gradient
		for j, t := range target {
			d := t - y[j]
			slope += grad[j] * d
			terms += math.Abs(grad[j]) * math.Max(math.Abs(y[j]), math.Abs(d))
			hidden += math.Abs(y[j]) * (math.Abs(c[j]) + h.RowTerms(j, y))
			length = math.Max(length, math.Abs(d)/a.qp.Unit(j))
		}
		for _, l := range lambda {
			rho = math.Max(rho, 2*math.Abs(l)) // an exact penalty has more than the multipliers
		}
		off := a.violated(x, y)
		slope += rho * (a.violated(x, target) - off) // the program's solution keeps the rows to its own rounding only
		if length == 0 {
			return y, lambda, nil
		}
		if last = last || !(-slope > tolerance.SumRounding*terms); last {
			// Newton steps go on as long as each leaves less than half of what the one before has left of the stationarity conditions.
			if moved := p.G.ValueGradY(grad, x, target); math.IsNaN(moved) || !linalg.Finite(grad) {
				return y, lambda, nil
			}
			p.Rows.B.AddMulVecT(grad, -1, lambda)
			rest := a.size(grad)
			if kept != nil && !(rest < left) {
				return y, kept, nil
			}
			copy(y, target)
			if kept != nil && !(rest < left/2) || rest == 0 {
				return y, lambda, nil
			}
			before, left, kept = length, rest, slices.Clone(lambda)
			continue
		}
		before = length
		phi := value + rho*off
		accepted, t := false, 1.0
		for full := true; t > 0x1p-60; t /= 2 {
			for j := range next {
				next[j] = y[j] + t*(target[j]-y[j])
			}
			if t == 1 {
				copy(next, target)
			}
			trial := p.G.ValueGradY(grad, x, next)
			ok := linalg.Finite(grad) && !math.IsNaN(trial) && !math.IsInf(trial, 0)
			if ok && trial+rho*a.violated(x, next) <= phi+tolerance.Armijo*t*slope+tolerance.SumRounding*terms {
				accepted = true
				break
			}
			if full && !ok { // the domain ends: almost there
				full, t = false, 2*tolerance.ToBoundary
			}
		}
		if last = !accepted || slices.Equal(y, next) || t < 1 && !(-t*slope > tolerance.SumRounding*(terms+hidden)); last { // a shorter step that falls by rounding may be any
			continue
		}
		copy(y, next)
	}
	return nil, nil, errSteps
}

// size is the largest entry of a gradient in y, in units of the program.
func (a *answers) size(grad []float64) float64 {
	return each.LargestBelow(len(grad), func(j int) float64 { return math.Abs(grad[j]) * a.qp.Unit(j) })
}

// proximal is H with a multiple of the identity, in the units of the program, that falls with the length of the steps: Newton's method for convex functions whose Hessian may be singular, which ends at a
// best answer near the first point where there are several (Li, Fukushima, Qi and Yamashita 2004). before is the length of the last step, +Inf at the first.
func (a *answers) proximal(h *sparse.CSR, grad, y []float64, before float64) *sparse.CSR {
	size, force, length := 0.0, 0.0, 1.0 // of H, of grad, and of y
	for j := range y {
		u := a.qp.Unit(j)
		size, force, length = math.Max(size, math.Abs(h.At(j, j))*u*u), math.Max(force, math.Abs(grad[j])*u), math.Max(length, math.Abs(y[j])/u)
	}
	weight := math.Max(size, force/length) * math.Min(1, math.Max(before/length, 1/certain))
	entries := each.Below(len(y), func(j int) sparse.Entry {
		return sparse.Entry{Row: j, Col: j, Val: math.Max(weight, 0x1p-1000) / (a.qp.Unit(j) * a.qp.Unit(j))}
	})
	return sparse.Add(1, h, 1, sparse.FromEntries(len(y), len(y), entries))
}

// violated is the sum of what y violates rows by, beyond the rounding of their terms.
func (a *answers) violated(x, y []float64) (sum float64) {
	rows := a.v.p.Rows
	h := make([]float64, rows.Len())
	rows.Residual(h, x, y)
	for i, t := range h {
		if t = rows.Kind[i].Over(t); t > 0 && t > a.rounding(i, x, y) {
			sum += t
		}
	}
	return sum
}

// rounding is that of the terms of row i.
func (a *answers) rounding(i int, x, y []float64) float64 {
	rows := a.v.p.Rows
	return tolerance.SumRounding * rows.B.AddTerms(rows.A.AddTerms(math.Abs(rows.Rhs[i]), i, x), i, y)
}

// hessian is that of g in y at (x, y), made positive semidefinite where it is so along the equality rows alone.
func (a *answers) hessian(x, y []float64) (_ *sparse.CSR, err error) {
	defer must.Catch(&err)
	here := append(slices.Clone(x), y...)
	if a.h != nil && a.v.p.Facts.QuadraticInY && a.v.p.Facts.FixedHessian {
		return a.h, nil
	}
	if a.h != nil && slices.Equal(a.at, here) {
		return a.h, nil
	}
	lo := must.Get(a.v.followerAt(x, y, false, false))
	h := lo.h
	if !linalg.Finite(h.Val) {
		return nil, ErrNotFinite
	}
	if a.held != nil && !kkt.Semidefinite(h) {
		// By Finsler's lemma a large multiple of B'B does where H is positive definite along the rows.
		weight := linalg.NormInf(h.Val) / linalg.NormInf(a.held.Val)
		for range 10 { // the last leaves H half of its digits
			if h = sparse.Add(1, lo.h, weight, a.held); kkt.Semidefinite(h) {
				break
			}
			weight *= 10
		}
	}
	a.h, a.at = h, here
	return h, nil
}
