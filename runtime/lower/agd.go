package lower

import (
	"context"
	"math"

	"bilevelc/runtime/convex"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

func init() {
	register(Spec{
		Name: "agd",
		Summary: "accelerated gradient projected onto the rows, then multipliers by least squares; " +
			"with equality rows the projection is one onto an affine set",
		Reference: "alg:LE-approximate-prima-dual-solution, eq:approximate-lam-hat",
	}, defaultAGD(), func(s agdSettings) Solver { return newAGD(s) })
}

// agdSettings are the settings of the solver `agd`.
type agdSettings struct {
	Tolerance     float64 `setting:"tolerance" doc:"norm of the gradient mapping, relative to the size of the gradient's terms" min:"0" max:"1"`
	MaxIterations int     `setting:"max_iterations" doc:"limit of gradient steps" min:"1"`
}

// defaultAGD returns the defaults. The tolerance leaves an error in y of 1e-8
// at condition numbers up to 1e4; the limit is some 20 times what a condition
// number of 1e6 asks for.
func defaultAGD() agdSettings { return agdSettings{Tolerance: 5e-13, MaxIterations: 500_000} }

// agd is the accelerated gradient method. The paper runs it on the affine set
// of equality rows; inequality rows and bounds are met in the same way, by
// projection onto the polyhedron, which costs no oracle calls. Where mu_g and
// C_g are known the momentum is Nesterov's constant one for strongly convex
// functions; otherwise C_g is estimated from the gradients met. Either momentum
// restarts when it points uphill (O'Donoghue and Candes 2015).
type agd struct {
	settings agdSettings
	stage
	z, next, gz []float64 // extrapolated point, next iterate, gradient at z
	last        []float64 // gradient at the previous z
	lastZ       []float64
}

// newAGD returns a solver; its settings must be valid.
func newAGD(settings agdSettings) *agd { return &agd{settings: settings} }

// Solve implements Solver.
func (a *agd) Solve(ctx context.Context, p *problem.Problem, obj Objective, x []float64, warm *Solution) *Solution {
	s, ok := a.prepare(ctx, p, obj, x, warm, a.settings.Tolerance)
	if !ok {
		return s
	}
	room(p.Dy, &a.z, &a.next, &a.gz, &a.last, &a.lastZ)
	if err := a.start(s.Y); err != nil {
		return a.finish(ctx, s, stalled, err)
	}
	end, err := a.accelerate(ctx, s.Y)
	if err == nil {
		a.guess = a.active.face.rows()
		err = a.multipliersAt(s.Y, a.guess)
	}
	return a.finish(ctx, s, end, err)
}

// accelerate runs the method from a feasible y:
//
//	y+ = P(z - grad(z)/L),  z+ = y+ + beta (y+ - y).
func (a *agd) accelerate(ctx context.Context, y []float64) (outcome, error) {
	w := &a.active
	lipschitz, momentum, known := a.constants(y)
	copy(a.z, y)
	progress := a.progress(a.settings.Tolerance)
	for k := 0; k < a.settings.MaxIterations; k++ {
		if ctx.Err() != nil {
			return interrupted, nil
		}
		value := w.obj.ValueGrad(a.gz, a.z)
		if math.IsNaN(value) || !linalg.Finite(a.gz) {
			return notFinite, nil
		}
		if !known && k > 0 {
			if seen := slope(a.gz, a.last, a.z, a.lastZ); seen > lipschitz {
				lipschitz = 1.1 * seen
				momentum.Restart()
			}
		}
		for j, t := range a.gz {
			a.next[j] = a.z[j] - t/lipschitz
		}
		if err := a.nearest(a.next); err != nil {
			return stalled, err
		}
		mapping, uphill := 0.0, 0.0
		for j := range y {
			back := a.z[j] - a.next[j]
			mapping += back * back
			uphill += back * (a.next[j] - y[j])
		}
		mapping = lipschitz * math.Sqrt(mapping)
		terms := linalg.Norm(a.gz) + lipschitz*linalg.Norm(a.z)
		if end, ends := progress.step(mapping, terms, lipschitz, a.next); ends {
			copy(y, a.next)
			return end, nil
		}
		beta := momentum.Next(uphill > 0)
		copy(a.lastZ, a.z)
		copy(a.last, a.gz)
		for j, t := range a.next {
			a.z[j] = t + beta*(t-y[j])
			y[j] = t
		}
	}
	return limited, nil
}

// constants are L and the constant momentum, where both constants are known,
// or else an estimate of L from one difference along the gradient.
func (a *agd) constants(y []float64) (lipschitz float64, momentum convex.Momentum, known bool) {
	k := a.active.known
	if k.C > 0 && k.Mu > 0 {
		return k.C, convex.FixedMomentum(k.Mu, k.C), true
	}
	if k.C > 0 {
		return k.C, momentum, false
	}
	return a.stiffness(y), momentum, false
}
