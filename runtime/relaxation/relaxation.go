// Package relaxation minimizes f over the rows of both levels, the follower's own objective left out: the high-point relaxation (Moore and Bard 1990),
//
//	minimize f(x, y) over x in X, A x - B y <= b, = b on equations.
//
// Where f is convex no x has an F below its minimum; where the y of a minimizer is the follower's answer to its x, as where the leader can leave the follower no choice, x is a global
// minimizer of F, and the relaxation's multipliers are those that show it stationary: the adjoint is 0.
//
// Input is a problem.Problem and a point of the rows. f is touched through its gradients and differences of them.
package relaxation

import (
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/convex"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Relaxation holds the rows on z = (x, s), y = unit s, of one problem. It is not safe
// for concurrent use.
type Relaxation struct {
	unit    float64 // what a change of y by 1 is worth in x (unit), by which lengths in both compare
	p       *problem.Problem
	n       int // Dx + Dy
	lo, hi  []float64
	rows    *sparse.CSR // rows z >= side, or = side: those of the lower level, then of X
	side    []float64
	equal   []bool
	coupled int // the first row of the leader that reads y, where there are any
	hessian *hessian
	solver  *convex.Solver
	gx, gy  []float64
	y       []float64
}

// New prepares the relaxation of p; nil where it is none of linear rows alone, because f
// reads multipliers, or the upper level has balls or constraints that read y and are curved, or has too
// many variables.
func New(p *problem.Problem) *Relaxation {
	if len(p.Duals) > 0 || p.Coupled != nil && !p.Facts.AffineCoupled || len(p.X.Balls) > 0 || p.X.Extended != nil || (p.Dx+p.Dy)*(p.Dx+p.Dy) > tolerance.MostNumbers { // the Hessian of f may be dense
		return nil
	}
	r := &Relaxation{p: p, n: p.Dx + p.Dy, unit: linalg.RowRatio(p.Rows.A, p.Rows.B), gx: make([]float64, p.Dx), gy: make([]float64, p.AnswerLen()), y: make([]float64, p.AnswerLen())}
	r.lo, r.hi = p.X.Boxes(r.n)
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
		for j, v := range p.Rows.A.Entries(i) {
			entry(j, -v)
		}
		for j, v := range p.Rows.B.Entries(i) {
			entry(p.Dx+j, v*r.unit)
		}
		end(-p.Rows.Rhs[i], kind)
	}
	for i, kind := range p.X.Kind {
		for j, v := range p.X.E.Entries(i) {
			entry(j, -v)
		}
		end(-p.X.Rhs[i], kind)
	}
	if p.Coupled != nil && !r.readCoupled(entry, end) {
		return nil
	}
	return r
}

// readCoupled appends the leader's affine constraints c <= 0 or = 0 that read y, read off their values; false where these are not finite.
func (r *Relaxation) readCoupled(entry func(j int, v float64), end func(side float64, kind problem.Kind)) bool {
	at, columns, err := problem.Affine(r.n, r.n, len(r.p.Coupled.Kind), nil, func(dst, z []float64) {
		x, y := r.split(z)
		r.p.F.ValueGrad(r.gx, r.gy, x, y)
		copy(dst, r.p.CoupledPart(r.gy))
	})
	if err != nil {
		return false
	}
	r.coupled = r.rows.Rows
	for i, kind := range r.p.Coupled.Kind {
		for j, c := range columns {
			entry(j, -c[i])
		}
		end(at[i], kind)
	}
	return true
}

// holds reports that the leader's constraints that read y hold at z, to what rounding leaves of their terms.
func (r *Relaxation) holds(z []float64) bool {
	if r.p.Coupled == nil {
		return true
	}
	for i := r.coupled; i < r.rows.Rows; i++ {
		short := r.side[i] - r.rows.RowDot(i, z)
		if r.equal[i] {
			short = math.Abs(short)
		}
		if short > tolerance.Sign*r.rows.AddTerms(math.Abs(r.side[i]), i, z) {
			return false
		}
	}
	return true
}

// Holds reports that the leader's constraints that read y hold at (x, y).
func (r *Relaxation) Holds(x, y []float64) bool { return r.holds(r.join(x, y)) }

// join is (x, s).
func (r *Relaxation) join(x, y []float64) []float64 {
	z := make([]float64, r.n)
	copy(z, x)
	for j, v := range y[:r.p.Dy] {
		z[r.p.Dx+j] = v / r.unit
	}
	return z
}

// split is (x, answer): y, and weights of 0; the answer is shared with r until its next use.
func (r *Relaxation) split(z []float64) (x, answer []float64) {
	for j, v := range z[r.p.Dx:] {
		r.y[j] = v * r.unit
	}
	return z[:r.p.Dx], r.y
}

// evaluate returns f at z, and its gradient in z in grad (len n).
func (r *Relaxation) evaluate(grad, z []float64) float64 {
	x, y := r.split(z)
	v := r.p.F.ValueGrad(r.gx, r.gy, x, y)
	copy(grad, r.gx)
	for j, g := range r.gy[:r.p.Dy] {
		grad[r.p.Dx+j] = g * r.unit
	}
	return v
}
