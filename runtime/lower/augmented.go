package lower

import (
	"context"
	"math"
	"sort"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// augmented minimizes the augmented Lagrangian
//
//	L(y; lambda, rho) = g(y) + 1/(2 rho) sum_i (max(0, lambda_i - rho s_i)^2 - lambda_i^2)
//
// over the bounds, s_i the slack of general row i as a distance (without the
// max for an equality), by L-BFGS with projection onto the bounds (Bertsekas
// 1982), and updates lambda_i = max(0, lambda_i - rho s_i): Rockafellar 1973.
// It is run to a loose tolerance, to find out which rows are active.
type augmented struct {
	settings almSettings
	obj      Objective
	poly     *polyhedron
	general  []int
	lo, hi   []float64 // len n
	rho      float64
	lambda   []float64 // len m, of general rows, as forces
	lbfgs    linalg.LBFGS

	grad, trial, tgrad, d []float64 // len n
	free                  []bool    // len n
	value                 float64   // of L
	size                  float64   // of the objective's gradient, largest so far
	gradients             int       // spent
}

func (a *augmented) reset(settings almSettings, obj Objective, g *projection, warm *Solution) {
	q := g.poly
	a.settings, a.obj, a.poly, a.general = settings, obj, q, g.general
	a.lo, a.hi = g.program.Lo, g.program.Hi
	a.lambda = resize(a.lambda, q.m)
	for i := range a.lambda {
		a.lambda[i] = 0
		if warm != nil && len(warm.Lambda) == q.m {
			a.lambda[i] = warm.Lambda[i] * q.norm[i]
		}
	}
	room(q.n, &a.grad, &a.trial, &a.tgrad, &a.d)
	a.free = linalg.Cleared(a.free, q.n)
}

// identify moves y towards the solution until the optimality conditions hold
// to the relative tolerance `identify`, or progress ends. stiffness is an
// estimate of the largest curvature of the objective: with rho of that size
// the multipliers converge fast and L is about as well conditioned as g.
func (a *augmented) identify(ctx context.Context, y []float64, stiffness float64) outcome {
	n := a.poly.n
	a.rho = stiffness
	a.clamp(y)
	a.size, a.gradients = 0, 0
	a.value = a.evaluate(a.grad, y)
	if math.IsNaN(a.value) || !linalg.Finite(a.grad) {
		return notFinite
	}
	inner := 0.1 // of the size of the gradient; tightened with each update
	last := math.Inf(1)
	for outer := 0; outer < a.settings.MaxOuter; outer++ {
		a.lbfgs.Reset(n, a.settings.Memory, 1/a.rho)
		left := a.descend(ctx, y, inner)
		if ctx.Err() != nil {
			return interrupted
		}
		if a.gradients >= a.settings.Budget {
			return stalled
		}
		off := a.update(y)
		if off <= a.settings.Identify*a.poly.unit(y) && left <= a.settings.Identify*a.size {
			return converged
		}
		// Multipliers that do not converge by a quarter an update ask for a
		// stiffer penalty (the usual rule; Bertsekas 1982, chapter 2).
		if off > 0.25*last {
			a.rho *= 5
		}
		last = off
		inner = math.Max(a.settings.Identify/2, inner/4)
		a.value = a.evaluate(a.grad, y)
	}
	return stalled
}

// clamp moves y into the bounds.
func (a *augmented) clamp(y []float64) {
	for j, v := range y {
		y[j] = math.Min(math.Max(v, a.lo[j]), a.hi[j])
	}
}

// evaluate returns L at y, and its gradient in dst.
func (a *augmented) evaluate(dst, y []float64) float64 {
	value := a.obj.ValueGrad(dst, y)
	a.gradients++
	a.size = math.Max(a.size, linalg.Norm(dst))
	for _, i := range a.general {
		push := a.lambda[i] - a.rho*a.poly.slack(i, y)
		if push < 0 && !a.poly.equal(i) {
			push = 0
		}
		value += (push*push - a.lambda[i]*a.lambda[i]) / (2 * a.rho)
		if push != 0 {
			a.poly.rows.B.AddRow(dst, i, -push/a.poly.norm[i])
		}
	}
	return value
}

// update makes the multipliers those that the penalty exerted at y and
// returns the largest violation of feasibility and complementarity, as a
// distance.
func (a *augmented) update(y []float64) float64 {
	off := 0.0
	for _, i := range a.general {
		s := a.poly.slack(i, y)
		if !a.poly.equal(i) {
			s = math.Min(s, a.lambda[i]/a.rho)
		}
		off = math.Max(off, math.Abs(s))
		a.lambda[i] -= a.rho * s
	}
	return off
}

// descend minimizes L over the bounds until its projected gradient is below
// a fraction of the size of the objective's gradient, and returns what is left.
func (a *augmented) descend(ctx context.Context, y []float64, fraction float64) float64 {
	for {
		left := 0.0
		for j, t := range a.grad {
			a.free[j] = !(y[j] <= a.lo[j] && t >= 0) && !(y[j] >= a.hi[j] && t <= 0)
			if a.free[j] {
				left += t * t
			}
		}
		left = math.Sqrt(left)
		if left <= fraction*a.size || a.gradients >= a.settings.Budget || ctx.Err() != nil {
			return left
		}
		a.lbfgs.Direction(a.d, a.grad, a.free)
		if !(linalg.Dot(a.d, a.grad) < 0) {
			a.lbfgs.Reset(a.poly.n, a.settings.Memory, 1/a.rho)
			a.lbfgs.Direction(a.d, a.grad, a.free)
		}
		if !a.search(y) {
			return left
		}
	}
}

// search moves y along the projection of y + t d onto the bounds, by the
// first t of 1, and shorter ones, with a sufficient decrease (Armijo along the
// projection arc).
func (a *augmented) search(y []float64) bool {
	t := 1.0
	for tries := 0; tries < 40; tries++ {
		slope := 0.0
		for j := range y {
			a.trial[j] = math.Min(math.Max(y[j]+t*a.d[j], a.lo[j]), a.hi[j])
			slope += a.grad[j] * (a.trial[j] - y[j])
		}
		value := a.evaluate(a.tgrad, a.trial)
		if value <= a.value+tolerance.Armijo*slope && linalg.Finite(a.tgrad) {
			a.lbfgs.Update(y, a.grad, a.trial, a.tgrad)
			copy(y, a.trial)
			a.grad, a.tgrad = a.tgrad, a.grad
			a.value = value
			return true
		}
		// The minimizer of the parabola through the value, slope and new
		// value, kept away from both ends.
		shrink := 0.1
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			shrink = math.Max(0.1, math.Min(0.5, -slope/(2*(value-a.value-slope))))
		}
		t *= shrink
	}
	return false
}

// pressed appends the rows that hold y, those with the largest forces first.
func (a *augmented) pressed(rows []int, g *projection, y []float64) []int {
	rows = append(rows, each.Where(a.general, func(i int) bool { return a.lambda[i] > 0 })...)
	sort.SliceStable(rows, func(s, t int) bool { return a.lambda[rows[s]] > a.lambda[rows[t]] })
	for j, v := range y {
		switch {
		case v <= a.lo[j] && a.grad[j] > 0:
			rows = append(rows, g.loRow[j])
		case v >= a.hi[j] && a.grad[j] < 0:
			rows = append(rows, g.hiRow[j])
		}
	}
	return rows
}
