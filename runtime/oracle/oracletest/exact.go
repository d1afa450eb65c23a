package oracletest

import (
	"context"
	"math"

	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Exact is a lower solver for an objective that is quadratic in y: the Hessian
// is read off gradients at unit vectors and the quadratic program solved by an
// active-set method. It is simple, costs Dy + 1 gradients a solve, and shares
// nothing with the project's lower solvers.
type Exact struct{ ws qp.Workspace }

// Solve implements lower.Solver. The result does not depend on warm.
func (e *Exact) Solve(ctx context.Context, p *problem.Problem, obj lower.Objective, x []float64, _ *lower.Solution) *lower.Solution {
	n, m := p.Dy, p.Rows.Len()
	if ctx.Err() != nil {
		return &lower.Solution{Status: lower.Stopped}
	}
	zero, y, g := make([]float64, n), make([]float64, n), make([]float64, n)
	obj.ValueGrad(zero, y)
	h := make([]float64, n*n)
	for i := range y {
		y[i] = 1
		obj.ValueGrad(g, y)
		y[i] = 0
		for j := 0; j <= i; j++ {
			h[j*n+i] = g[j] - zero[j]
		}
	}
	factors, ok := linalg.NewCholesky(n, h)
	if !ok {
		return &lower.Solution{Status: lower.Unbounded, Witness: zero}
	}
	side, equal := make([]float64, m), make([]bool, m)
	for i := range side {
		side[i] = p.Rows.Rhs[i] - p.Rows.A.RowDot(i, x)
		equal[i] = p.Rows.Kind[i] == problem.Equal
	}
	q := qp.Solve(&qp.Problem{H: qp.Factored(factors), C: zero, A: p.Rows.B.Negated(), Equal: equal, B: side}, &e.ws)
	switch q.Status {
	case qp.Infeasible:
		return &lower.Solution{Status: lower.Infeasible, Witness: q.Farkas}
	case qp.Failed:
		return &lower.Solution{Status: lower.Failed, Reason: "quadratic program"}
	}
	s := &lower.Solution{Y: q.Z, Lambda: q.Lambda, Value: obj.Value(q.Z),
		MinMultiplier: math.Inf(1), MinSlack: math.Inf(1)}
	slack := make([]float64, m)
	p.Rows.Residual(slack, x, s.Y)
	for i, h := range slack {
		switch {
		case equal[i]:
			s.Active = append(s.Active, i)
		case s.Lambda[i] > tolerance.Sign:
			s.Active = append(s.Active, i)
			s.MinMultiplier = math.Min(s.MinMultiplier, s.Lambda[i])
		case h > -tolerance.Sign:
			s.Weak = append(s.Weak, i)
		default:
			s.MinSlack = math.Min(s.MinSlack, -h)
		}
	}
	return s
}
