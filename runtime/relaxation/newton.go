package relaxation

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/runtime/convex"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Point is a minimizer, with multipliers of the rows that hold there, in the signs of the model: grad_x f = -A'Lower - E'Upper + Bound and grad_y f = B'Lower, with Lower and Upper >= 0 but on
// equations, and Bound of the sign of the bound of X at which x is. Bound has what is left of grad_x f there, and 0 elsewhere.
type Point struct {
	X, Y         []float64
	F            float64
	Lower, Upper []float64 // len Rows, and of the rows of X
	Coupled      []float64 // of the leader's constraints that read y, >= 0 but on equations: grad f has -grad c'Coupled more; nil where there are none
	Bound        []float64 // len Dx
}

// Minimize descends from (x, y), which is on the rows, or off the leader's own that read y, by Newton's method on them: each
// step is to the minimizer of f's second-order model over the rows (sequential quadratic
// programming), with more curvature where the model is not convex or did not hold, and no less than tolerance.Target of the one
// that would end a step along the first gradient at the size of z: entries that f does not curve in still have a minimizer. It
// returns nil where the first model has no minimizer, and where steps go on and on.
func (r *Relaxation) Minimize(ctx context.Context, x, y []float64) (*Point, error) {
	z := r.join(x, y)
	g := make([]float64, r.n)
	f := r.evaluate(g, z)
	if math.IsNaN(f) || math.IsInf(f, 0) || !(linalg.Norm(g) > 0) {
		return nil, nil
	}
	if r.hessian == nil {
		r.hessian = r.newHessian(z)
		r.hessian.pattern.Val = r.hessian.values
		r.solver = convex.NewProgram(r.hessian.pattern, r.rows, r.equal).NewSolver()
	}
	h, solver := r.hessian, r.solver
	least := tolerance.Target * linalg.Norm(g) / math.Max(1, linalg.Norm(z))
	shift, led := least, false
	loaded, full := make([]float64, len(h.values)), make([]float64, r.n)
	d, hd, next, ahead := make([]float64, r.n), make([]float64, r.n), make([]float64, r.n), make([]float64, r.n)
	fresh, begin := false, append([]float64(nil), z...)
	for steps := 0; ; steps++ {
		if steps == tolerance.Steps {
			if 2*float64(steps)*linalg.Norm(d) > linalg.Distance(z, begin) { // the last step is about as long as all were
				return nil, nil
			}
			break
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !fresh {
			if !r.measure(z, g) {
				break
			}
			fresh = true
		}
		copy(loaded, h.values)
		for _, t := range h.onDiag {
			loaded[t] = math.Max(0, loaded[t]) + shift
		}
		more := func() { shift = math.Max(10*shift, 1e-3*linalg.NormInf(h.values)) }
		if !solver.Load(loaded) {
			break
		}
		solver.Set(r.lo, r.hi, r.side)
		// The model's Hessian is what was loaded.
		copy(h.values, loaded)
		solver.Linear(g, z)
		outcome := solver.Minimize(ctx)
		if outcome == convex.Interrupted {
			return nil, context.Cause(ctx)
		}
		solver.Y(full, r.lo, r.hi)
		floats.SubTo(d, full, z)
		h.multiply(hd, d)
		slope := linalg.Dot(g, d)
		decrease := -slope - linalg.Dot(d, hd)/2
		inside := r.holds(z)
		if outcome != convex.Optimal || inside && !(slope < 0) || !(linalg.Dot(d, hd) >= 0) {
			if outcome == convex.Optimal && -slope <= r.noise(f, g, z) {
				led = true
				break
			}
			if shift > 1e3*math.Max(linalg.NormInf(h.values), least) {
				break
			}
			fresh = false
			more()
			continue
		}
		led = true
		moved, value := false, f
		for t, k := 1.0, 0; k < tolerance.Halvings; t, k = t/2, k+1 {
			floats.AddScaledTo(next, z, t, d)
			value = r.evaluate(ahead, next)
			// Where the fall is below rounding the gradient decides.
			if !inside || value <= f+tolerance.Armijo*t*slope || decrease <= r.noise(f, g, z) && value <= f+r.noise(f, g, z) && math.Abs(linalg.Dot(ahead, d)) <= math.Abs(slope) {
				moved = true
				if t == 1 {
					shift = math.Max(least, shift/10)
				} else if t < 0.1 {
					more()
				}
				break
			}
		}
		if !moved {
			break
		}
		ends := decrease <= r.noise(f, g, z) && shift*linalg.Norm(d) <= tolerance.SumRounding*linalg.Norm(g) // else multipliers are of a gradient that is off by the shift
		copy(z, next)
		copy(g, ahead)
		f, fresh = value, false
		if ends {
			break
		}
	}
	if !led {
		return nil, nil
	}
	for j, v := range z {
		if math.Abs(v) < tolerance.LeastSquared && r.lo[j] <= 0 && 0 <= r.hi[j] { // on the way to 0
			z[j] = 0
		}
	}
	px, py := r.split(z)
	out := &Point{X: append([]float64(nil), px...), Y: append([]float64(nil), py[:r.p.Dy]...), F: f, Bound: make([]float64, r.p.Dx)}
	lambda := make([]float64, r.rows.Rows)
	solver.Lambda(lambda)
	out.Lower, out.Upper = lambda[:r.p.Rows.Len()], lambda[r.p.Rows.Len():]
	if r.p.Coupled != nil {
		out.Upper, out.Coupled = lambda[r.p.Rows.Len():r.coupled], lambda[r.coupled:]
	}
	r.rows.AddMulVecT(g, -1, lambda)
	for j, t := range g[:r.p.Dx] {
		if t > 0 && px[j] == r.lo[j] || t < 0 && px[j] == r.hi[j] {
			out.Bound[j] = t
		}
	}
	return out, nil
}

// noise is the change of f that means nothing at z.
func (r *Relaxation) noise(f float64, g, z []float64) float64 {
	terms := math.Abs(f)
	terms = math.Max(terms, each.LargestBelow(len(g), func(j int) float64 { return math.Abs(g[j] * z[j]) }))
	return tolerance.Feasibility * terms
}
