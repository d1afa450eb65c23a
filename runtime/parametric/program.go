// Package parametric evaluates F where the lower level is a parametric quadratic program
// (Bemporad, Morari, Dua and Pistikopoulos 2002): g is quadratic in (x, y) jointly and its Hessian H
// in y is known. The answer to x is then
//
//	y(x) = y0 + Y x + H^-1 B'lambda,
//
// where lambda solves a linear complementarity problem of the size of the rows whose matrix is the same
// for all x, B H^-1 B'. Beside what f takes, F and its gradient cost products with Y and H^-1 B' and
// the factors of a matrix as large as there are rows that hold y: no solve with H, and no call of g.
//
// What it returns is F to within rounding of these products, at an x where the answer is not known: good enough
// for a search, not for a statement.
package parametric

import (
	"context"
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// Program is the lower level of one problem. It goes from one x to the next, starting from the rows that
// held y at the last, and is not safe for concurrent use.
type Program struct {
	p        *problem.Problem
	n, m, nx int

	free     []float64 // y0, len n
	response []float64 // Y', nx x n
	lift     []float64 // m x n: row i is H^-1 B_i'
	gram     []float64 // m x m: B H^-1 B'
	rest     []float64 // len m: h(0, y0)
	slope    []float64 // m x nx: the derivative of h along x and Y x

	in      []bool // the rows that held y at the last x
	held    []int  // those that factors are of, ascending
	factors *linalg.Cholesky

	room            []float64 // m x m
	gap, off, force []float64 // len m: h without multipliers, h, forces
	pulls           []float64 // len m
	y, fy           []float64 // len n

	// Read is how many numbers the linear algebra has read so far, a whole number: sums of it do not depend on
	// what was read before.
	Read float64
}

// Applies reports whether the lower level of p is such a program, to which an x has a leader's objective in y alone: no
// multipliers are read, and no constraint of the leader reads y. Its rows are no more than its variables.
func Applies(p *problem.Problem) bool {
	return p.Facts.JointlyQuadratic && len(p.Duals) == 0 && p.Coupled == nil &&
		p.HasInequalities() && p.Rows.Len() <= p.Dy
}

// Work is about how many numbers New reads, and one evaluation afterwards.
func Work(p *problem.Problem) (prepare, evaluate float64) {
	n, m, nx := float64(p.Dy), float64(p.Rows.Len()), float64(p.Dx)
	return n*n*(n/6+nx+m) + n*m*m, n*(2*nx+m) + m*m + m*m*m/24
}

// New prepares the program; hessian is that of g in y (Dy x Dy, symmetric), which it does not keep. It takes Dx+1
// gradients of g. nil where the Hessian is not positive definite beyond rounding, or the context has ended.
func New(ctx context.Context, p *problem.Problem, hessian []float64) *Program {
	n, m, nx := p.Dy, p.Rows.Len(), p.Dx
	v := func(k int) []float64 { return make([]float64, k) }
	q := &Program{p: p, n: n, m: m, nx: nx, free: v(n), response: v(nx * n), lift: v(m * n), gram: v(m * m), rest: v(m), slope: v(m * nx),
		in: make([]bool, m), room: v(m * m), gap: v(m), off: v(m), force: v(m), pulls: v(m), y: v(n), fy: v(n)}
	factors, ok := linalg.NewCholesky(n, append([]float64(nil), hessian...))
	if !ok || ctx.Err() != nil || factors.Kept(func(i int) float64 { return hessian[i*(n+1)] }) <= dependent {
		return nil
	}
	x, ahead := v(nx), v(n)
	p.G.GradY(q.free, x, q.y)
	for j := range nx {
		x[j] = 1
		p.G.GradY(ahead, x, q.y)
		x[j] = 0
		for i, w := range ahead {
			q.response[j*n+i] = q.free[i] - w
		}
	}
	for i := range q.free {
		q.free[i] = -q.free[i]
	}
	for i := range m {
		p.Rows.B.AddRow(q.lift[i*n:(i+1)*n], i, 1)
	}
	for _, rows := range [][]float64{q.free, q.response, q.lift} {
		if !solveRows(ctx, factors, rows) {
			return nil
		}
	}
	for i := range m {
		if ctx.Err() != nil {
			return nil
		}
		q.rest[i] = -p.Rows.B.RowDot(i, q.free) - p.Rows.Rhs[i]
		p.Rows.A.AddRow(q.slope[i*nx:(i+1)*nx], i, 1)
		for j := range nx {
			q.slope[i*nx+j] -= p.Rows.B.RowDot(i, q.response[j*n:(j+1)*n])
		}
		for k := i; k < m; k++ {
			q.gram[i*m+k] = p.Rows.B.RowDot(i, q.lift[k*n:(k+1)*n])
			q.gram[k*m+i] = q.gram[i*m+k]
		}
	}
	q.Reset()
	return q
}

// solveRows overwrites the rows of a matrix, of the length of the factors each, with solutions for them; false where
// the context ended.
func solveRows(ctx context.Context, factors *linalg.Cholesky, rows []float64) bool {
	const few = 32 // rows at a time: each number of the factors that is read serves as many
	n := factors.Dim()
	columns := make([]float64, n*few)
	for len(rows) > 0 {
		if ctx.Err() != nil {
			return false
		}
		k := min(few, len(rows)/n)
		for i := range n {
			for r := range k {
				columns[i*k+r] = rows[r*n+i]
			}
		}
		factors.SolveInverse(columns[:n*k], k)
		for i := range n {
			for r := range k {
				rows[r*n+i] = columns[i*k+r]
			}
		}
		rows = rows[k*n:]
	}
	return true
}

// Reset forgets which rows held y at the last x.
func (q *Program) Reset() {
	for i, kind := range q.p.Rows.Kind {
		q.in[i] = kind == problem.Equal && q.gram[i*q.m+i] > 0
	}
	q.held, q.factors = nil, nil
}

// Evaluate returns F at x (len Dx), and its gradient in grad (len Dx): where F has a kink that of the piece whose
// rows were found to hold y. It reports false where the rows leave no y or depend on each other, or f is not finite.
func (q *Program) Evaluate(grad, x []float64) (value float64, ok bool) {
	copy(q.gap, q.rest)
	linalg.Gemv(q.gap, 1, q.slope, q.m, q.nx, false, x)
	if !q.pivot() {
		return 0, false
	}
	copy(q.y, q.free)
	linalg.Gemv(q.y, 1, q.response, q.nx, q.n, true, x)
	for a, i := range q.held {
		linalg.Axpy(q.y, q.force[a], q.lift[i*q.n:(i+1)*q.n])
	}
	value = q.p.F.ValueGrad(grad, q.fy, x, q.y)
	linalg.Gemv(grad, 1, q.response, q.nx, q.n, false, q.fy)
	pulls := q.pulls[:len(q.held)]
	for a, i := range q.held {
		pulls[a] = linalg.Dot(q.lift[i*q.n:(i+1)*q.n], q.fy)
	}
	q.solve(pulls)
	for a, i := range q.held {
		linalg.Axpy(grad, pulls[a], q.slope[i*q.nx:(i+1)*q.nx])
	}
	q.Read += float64(2*q.n*(q.nx+len(q.held)) + q.m*q.nx)
	return value, linalg.Finite(grad) && !math.IsNaN(value) && !math.IsInf(value, 0)
}
