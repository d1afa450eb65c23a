package lower

import (
	"context"
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

func init() {
	register(Spec{
		Name:      "pdg",
		Summary:   "primal-dual gradient: descent in y, ascent in the multipliers, linear convergence",
		Reference: "cor:linear-convergence-linear-inequality-LL (Du and Hu 2019); steps of Condat 2013 and Vu 2013",
	}, // ratio 1 balances the two steps; the limit ends runs at condition numbers for which this method is not made
		pdgSettings{Tolerance: 1e-12, MaxIterations: 200_000, Ratio: 1}, func(s pdgSettings) Solver { return &pdg{settings: s} })
}

// pdgSettings are the settings of the solver `pdg`.
type pdgSettings struct {
	Tolerance     float64 `setting:"tolerance" doc:"residuals of stationarity, feasibility and complementarity, relative to the terms they are made of" min:"0" max:"1"`
	MaxIterations int     `setting:"max_iterations" doc:"limit of primal-dual steps, each one gradient" min:"1"`
	Ratio         float64 `setting:"ratio" doc:"dual step over primal step, in units of C_g/|B|^2" min:"1e-6" max:"1e6"`
}

// pdg is the primal-dual gradient method on the saddle point of
// g(y) + lambda'(r - B y) over bounds on y and lambda >= 0:
//
//	y+      = clamp(y - tau (grad g(y) - B' lambda))
//	lambda+ = max(0, lambda + sigma (r - B (2 y+ - y)))
//
// which converges where 1/tau - sigma |B|^2 >= C_g/2, linearly where g is
// strongly convex and the rows are independent. Rows have unit norm. The
// extrapolation 2 y+ - y is what allows steps that do not depend on mu.
type pdg struct {
	settings pdgSettings
	stage
	next, grad, rowForces []float64 // len n
	force                 []float64 // len m: multipliers of general rows of unit norm
}

// Solve implements Solver.
func (d *pdg) Solve(ctx context.Context, p *problem.Problem, obj Objective, x []float64, warm *Solution) *Solution {
	s, ok := d.prepare(ctx, p, obj, x, warm, d.settings.Tolerance)
	if !ok {
		return s
	}
	room(p.Dy, &d.next, &d.grad, &d.rowForces)
	d.force = resize(d.force, d.poly.m)
	for i := range d.force {
		d.force[i] = 0
		if d.warmed && len(warm.Lambda) == d.poly.m {
			d.force[i] = warm.Lambda[i] * d.poly.norm[i]
		}
	}
	if err := d.start(s.Y); err != nil {
		return d.finish(ctx, s, stalled, err)
	}
	end := d.iterate(ctx, s.Y)
	if end == notFinite {
		return d.finish(ctx, s, end, nil)
	}
	// The rows that press, and the feasible point on them.
	d.guess = d.guess[:0]
	d.guess = append(d.guess, each.Where(d.projection.general, func(i int) bool { return d.force[i] > 0 })...)
	for j, v := range s.Y {
		if v <= d.projection.program.Lo[j] {
			d.guess = append(d.guess, d.projection.loRow[j])
		} else if v >= d.projection.program.Hi[j] {
			d.guess = append(d.guess, d.projection.hiRow[j])
		}
	}
	err := d.multipliersAt(s.Y, d.guess)
	return d.finish(ctx, s, end, err)
}

// iterate runs the method from y and the forces.
func (d *pdg) iterate(ctx context.Context, y []float64) outcome {
	w := &d.active
	rows := d.rowsNorm()
	lipschitz := w.known.C
	if lipschitz == 0 {
		lipschitz = d.stiffness(y)
	}
	lo, hi := d.projection.program.Lo, d.projection.program.Hi
	var tau, sigma float64
	steps := func() {
		// sigma |B|^2 = ratio C/2 and 1/tau = (1 + ratio) C/2 meet the condition
		// with equality; 1.01 keeps off its edge.
		sigma = 0
		if rows > 0 {
			sigma = d.settings.Ratio * lipschitz / (2 * rows * rows)
		}
		tau = 2 / (1.01 * (1 + d.settings.Ratio) * lipschitz)
	}
	steps()
	last := make([]float64, len(y))
	progress := d.progress(d.settings.Tolerance)
	for k := 0; k < d.settings.MaxIterations; k++ {
		if ctx.Err() != nil {
			return interrupted
		}
		copy(last, d.grad)
		value := w.obj.ValueGrad(d.grad, y)
		if math.IsNaN(value) || !linalg.Finite(d.grad) {
			return notFinite
		}
		if k > 0 && w.known.C == 0 {
			// next still holds the point before.
			if seen := slope(d.grad, last, y, d.next); seen > lipschitz {
				lipschitz = 1.1 * seen
				steps()
			}
		}
		clear(d.rowForces)
		for _, i := range d.projection.general {
			d.poly.rows.B.AddRow(d.rowForces, i, d.force[i]/d.poly.norm[i])
		}
		moved := 0.0
		for j := range y {
			t := math.Min(math.Max(y[j]-tau*(d.grad[j]-d.rowForces[j]), lo[j]), hi[j])
			moved = math.Max(moved, math.Abs(t-y[j]))
			d.next[j] = y[j]
			y[j] = t
			d.rowForces[j] = 2*t - d.next[j]
		}
		off, size := d.ascend(sigma)
		// Both residuals in one: that of the rows counts as far as its own terms let it.
		terms := linalg.NormInf(d.grad) + lipschitz*linalg.NormInf(y)
		rowTerms := size + d.poly.unit(y)*lipschitz
		residual := math.Max(moved/tau, off*terms/rowTerms)
		if end, ends := progress.step(residual, terms, lipschitz, y); ends {
			return end
		}
	}
	return limited
}

// ascend moves the forces by sigma times the violation at the extrapolated
// point, in rowForces, and returns the largest change as a force per unit sigma/C,
// and the size of the forces.
func (d *pdg) ascend(sigma float64) (off, size float64) {
	for _, i := range d.projection.general {
		t := d.force[i] - sigma*d.poly.slack(i, d.rowForces)
		if !d.poly.equal(i) {
			t = math.Max(t, 0)
		}
		off = math.Max(off, math.Abs(t-d.force[i]))
		size = math.Max(size, math.Abs(t))
		d.force[i] = t
	}
	return off, size
}

// rowsNorm bounds the spectral norm of the general rows, scaled to unit norm:
// the square root of the largest row sum of |B||B'|, at most sqrt(m).
func (d *pdg) rowsNorm() float64 {
	worst := 0.0
	column := make([]float64, d.poly.n)
	for _, i := range d.projection.general {
		for j, v := range d.poly.rows.B.Entries(i) {
			column[j] += math.Abs(v) / d.poly.norm[i]
		}
	}
	for _, i := range d.projection.general {
		sum := 0.0
		for j, v := range d.poly.rows.B.Entries(i) {
			sum += math.Abs(v) / d.poly.norm[i] * column[j]
		}
		worst = math.Max(worst, sum)
	}
	return math.Sqrt(worst)
}

// slope is |g1 - g0| / |y1 - y0|, or 0 where the points nearly coincide and
// the difference of the gradients would be mostly rounding.
func slope(g1, g0, y1, y0 []float64) float64 {
	num, den := 0.0, 0.0
	for j := range y1 {
		dg, dy := g1[j]-g0[j], y1[j]-y0[j]
		num += dg * dg
		den += dy * dy
	}
	if den <= 1e-20*linalg.Dot(y1, y1) || den == 0 {
		return 0
	}
	return math.Sqrt(num / den)
}
