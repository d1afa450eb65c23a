// Package relaxation minimizes f over the rows of both levels, the follower's own
// objective left out: the high-point relaxation (Moore and Bard 1990),
//
//	minimize f(x, y) over x in X, h(x, y) <= 0 or = 0.
//
// No x has an F below its minimum. Where the y of a minimizer is the follower's answer,
// as where the leader can leave the follower no choice, at the edge of
// D = { x : some y is feasible }, its x is a minimizer of F; and wherever the answer
// makes f stationary in this sense, no direction of x lowers F to first order, however
// many pieces of F meet there (Normal).
//
// Input is a problem.Problem and a feasible point; output are points, and the smallest
// element of grad f plus the normal cone of all rows. f is touched through its gradients
// and differences of them.
package relaxation

import (
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/convex"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// Relaxation holds the rows on z = (x, s), y = Unit s, of one problem. It is not safe
// for concurrent use.
type Relaxation struct {
	// Unit is what a change of y by 1 is worth in x (qp.Unit), by which lengths in both
	// compare.
	Unit float64

	p        *problem.Problem
	price    float64   // of the follower's loss, see Penalize
	pull     []float64 // len Dx: the tangent of its optimum at the x of the last answer
	n        int       // Dx + Dy
	lo, hi   []float64
	rows     *sparse.CSR // rows z >= side, or = side: those of the lower level, then of X
	side     []float64
	equal    []bool
	hessian  *hessian
	solver   *convex.Solver
	gx, gy   []float64
	y        []float64
	gradient []float64
}

// most is the number of entries of x and y up to which the Hessian of f, of unknown
// pattern, is worth its gradients: as many as there are entries, once.
const most = 4000

// New prepares the relaxation of p; nil where it is none of these rows alone, because f
// reads multipliers, or the upper level has balls or constraints that read y, or has too
// many variables.
func New(p *problem.Problem) *Relaxation {
	if len(p.Duals) > 0 || p.Coupled != nil || len(p.X.Balls) > 0 || p.X.Extended != nil || p.Dx+p.Dy > most {
		return nil
	}
	r := &Relaxation{p: p, n: p.Dx + p.Dy, Unit: qp.Unit(p.Rows), gx: make([]float64, p.Dx), gy: make([]float64, p.Dy),
		y: make([]float64, p.Dy), gradient: make([]float64, p.Dx+p.Dy)}
	r.lo, r.hi = make([]float64, r.n), make([]float64, r.n)
	for j := range r.lo {
		r.lo[j], r.hi[j] = math.Inf(-1), math.Inf(1)
	}
	if p.X.Lo != nil {
		copy(r.lo, p.X.Lo)
		copy(r.hi, p.X.Hi)
	}
	r.rows = sparse.Empty(r.n)
	entry := func(j int, v float64) {
		if v != 0 {
			r.rows.Append(j, v)
		}
	}
	end := func(side float64, kind problem.Kind) {
		r.rows.EndRow()
		r.side, r.equal = append(r.side, side), append(r.equal, kind == problem.Equal)
	}
	for i, kind := range p.Rows.Kind {
		cols, vals := p.Rows.A.Row(i)
		for t, j := range cols {
			entry(j, -vals[t])
		}
		cols, vals = p.Rows.B.Row(i)
		for t, j := range cols {
			entry(p.Dx+j, vals[t]*r.Unit)
		}
		end(-p.Rows.Rhs[i], kind)
	}
	for i, kind := range p.X.Kind {
		cols, vals := p.X.E.Row(i)
		for t, j := range cols {
			entry(j, -vals[t])
		}
		end(-p.X.Rhs[i], kind)
	}
	return r
}

// join is (x, s).
func (r *Relaxation) join(x, y []float64) []float64 {
	z := make([]float64, r.n)
	copy(z, x)
	for j, v := range y {
		z[r.p.Dx+j] = v / r.Unit
	}
	return z
}

// split is (x, y); y is shared with r until its next use.
func (r *Relaxation) split(z []float64) (x, y []float64) {
	for j, v := range z[r.p.Dx:] {
		r.y[j] = v * r.Unit
	}
	return z[:r.p.Dx], r.y
}

// Penalize adds price times a bound on the follower's loss g(x, y) - min g(x, .) to f: the
// minimum is convex in x where g is in (x, y), and so at least what its tangent at an x
// with the multipliers lambda says (the difference of convex functions of Ye, Yuan, Zeng
// and Zhang 2023). A constant is left out.
func (r *Relaxation) Penalize(price float64, x, y, lambda []float64) {
	r.price, r.pull = price, make([]float64, r.p.Dx)
	r.p.G.GradX(r.pull, x, y)
	r.p.Rows.A.AddMulVecT(r.pull, 1, lambda)
}

// evaluate returns f, with what Penalize adds, at z, and its gradient in z in grad (len n).
func (r *Relaxation) evaluate(grad, z []float64) float64 {
	x, y := r.split(z)
	v := r.p.F.ValueGrad(r.gx, r.gy, x, y)
	copy(grad, r.gx)
	for j, g := range r.gy {
		grad[r.p.Dx+j] = g * r.Unit
	}
	if r.price > 0 {
		loss := r.p.G.ValueGrad(r.gx, r.gy, x, y)
		for j, t := range r.pull {
			loss -= t * x[j]
			grad[j] += r.price * (r.gx[j] - t)
		}
		for j, g := range r.gy {
			grad[r.p.Dx+j] += r.price * g * r.Unit
		}
		v += r.price * loss
	}
	return v
}
