package lower

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

func init() {
	registry.Register("quadratic", Spec{
		Name: "quadratic",
		Summary: "recovers the Hessian of a quadratic g by d_y gradient calls, once for all x, " +
			"and solves a quadratic program at each x; not a first-order method",
		Reference: "Goldfarb and Idnani 1983, on the curvature that gradient differences give",
		Needs:     Needs{QuadraticFixed: true},
		Settings:  method.Describe(DefaultQuadratic()),
		New: func(values method.Values) (Solver, error) {
			settings := DefaultQuadratic()
			if err := method.Apply(&settings, values); err != nil {
				return nil, err
			}
			return NewQuadratic(settings), nil
		},
	})
}

// QuadraticSettings are the settings of the solver `quadratic`.
type QuadraticSettings struct {
	Tolerance float64 `setting:"tolerance" doc:"stationarity, relative to the size of the gradient's terms, at which a solve that rounding stopped counts as solved" min:"0" max:"1"`
}

// DefaultQuadratic returns the defaults.
func DefaultQuadratic() QuadraticSettings { return QuadraticSettings{Tolerance: DefaultTolerance} }

// Quadratic recovers the Hessian H of an objective that is quadratic in y,
// column by column from gradient differences, factorizes it, and solves a
// quadratic program at each x from the active set of the last solution, with
// one gradient for its linear part and one or two to remove rounding. Where
// the compiler proved that H is the same at every x, it is kept. Objectives
// that are not known to be quadratic are left to `alm`.
type Quadratic struct {
	settings QuadraticSettings
	stage
	alm     *ALM
	source  problem.Function // whose Hessian is on hand; nil for none
	columns []float64        // H, n x n
	hessian *qp.Hessian      // nil where H is not positive definite
	linear  []float64        // len n
}

// NewQuadratic returns a solver; its settings must be valid.
func NewQuadratic(settings QuadraticSettings) *Quadratic {
	fallback := DefaultALM()
	fallback.Tolerance = settings.Tolerance
	return &Quadratic{settings: settings, alm: NewALM(fallback)}
}

// Solve implements Solver.
func (q *Quadratic) Solve(ctx context.Context, p *problem.Problem, obj Objective, x []float64, warm *Solution) *Solution {
	if !curvatureOf(obj).Quadratic {
		return q.alm.Solve(ctx, p, obj, x, warm)
	}
	s, ok := q.prepare(p, obj, x, warm, q.settings.Tolerance)
	if !ok {
		return s
	}
	w := &q.active
	if !w.defined(s.Y) {
		return q.finish(s, notFinite, nil)
	}
	w.curvature.move(s.Y, w.grad)
	if !q.recover(obj, p.Dy) {
		return q.finish(s, notFinite, nil)
	}
	w.curvature.learn(q.columns)
	if q.hessian != nil {
		if err := q.program(s.Y); err != nil {
			return q.finish(s, stalled, err)
		}
	}
	end, err := q.polish(ctx, s.Y, 1000+20*(q.poly.m+q.poly.n))
	return q.finish(s, end, err)
}

// recover measures H unless it is on hand: n gradients.
func (q *Quadratic) recover(obj Objective, n int) bool {
	at, isAtX := obj.(*AtX)
	if isAtX && q.source != nil && q.source == at.G && len(q.columns) == n*n {
		return true
	}
	q.source = nil
	q.columns = resize(q.columns, n*n)
	unit := make([]float64, n)
	for j := 0; j < n; j++ {
		unit[j] = 1
		if !q.active.curvature.difference(q.columns[j*n:(j+1)*n], unit) {
			return false
		}
		unit[j] = 0
	}
	for i := 0; i < n; i++ {
		for j := 0; j < i; j++ {
			mean := (q.columns[i*n+j] + q.columns[j*n+i]) / 2
			q.columns[i*n+j], q.columns[j*n+i] = mean, mean
		}
	}
	q.factorize(n)
	if isAtX && curvatureOf(obj).Fixed {
		q.source = at.G
	}
	return true
}

// singular is the condition number from which H counts as singular: there the
// flatness of a direction and the rounding of the differences meet.
const singular = 1 / flatness / 10

// factorize leaves no factors where H is not positive definite, or singular
// to rounding: faces and their flat directions are then the polish's affair.
func (q *Quadratic) factorize(n int) {
	q.hessian = nil
	h := mat.NewSymDense(n, append([]float64(nil), q.columns...))
	var factors mat.Cholesky
	if !factors.Factorize(h) || factors.Cond() > singular {
		return
	}
	if factored, ok := qp.Dense(h); ok {
		q.hessian = factored
	}
}

// program solves 1/2 y'Hy + c'y over the rows, c = grad(y0) - H y0 from the
// gradient at y0 = y, moves y to the solution and makes its active rows the
// guess.
func (q *Quadratic) program(y []float64) error {
	w := &q.active
	n := len(y)
	q.linear = resize(q.linear, n)
	for j := range q.linear {
		q.linear[j] = w.grad[j] - dot(q.columns[j*n:(j+1)*n], y)
	}
	active, err := q.projection.minimize(q.hessian, q.linear, y, q.guess)
	q.guess = append(q.guess[:0], active...)
	return err
}
