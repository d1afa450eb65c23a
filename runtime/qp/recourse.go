package qp

import (
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Recourse answers for which x the lower level's rows h(x, y) = A x - B y - b
// have a solution y, that is, describes D = { x : some y is feasible }. Not safe
// for concurrent use.
type Recourse struct {
	rows   *problem.Rows
	minusB *sparse.CSR
	h      *Hessian
	ws     Workspace
	rhs    []float64 // len m: b - A x
	y      []float64 // len dy: the last feasible y found, the next guess
	warm   []int
	always bool
}

// NewRecourse prepares for rows over dy variables y.
func NewRecourse(rows *problem.Rows, dy int) *Recourse {
	r := &Recourse{rows: rows, h: Identity(dy), rhs: make([]float64, rows.Len()), y: make([]float64, dy)}
	r.minusB = &sparse.CSR{Rows: rows.B.Rows, Cols: rows.B.Cols, Ptr: rows.B.Ptr, Col: rows.B.Col,
		Val: make([]float64, len(rows.B.Val))}
	for k, v := range rows.B.Val {
		r.minusB.Val[k] = -v
	}
	r.always = r.complete()
	return r
}

// Always reports that some y is feasible for every x.
func (r *Recourse) Always() bool { return r.always }

// complete tests a sufficient condition for D to be the whole space: there is
// a direction d with B_E d = 0 and B_I d >= 1, and the equality rows of B are
// independent; y far enough along d then satisfies any right-hand side.
func (r *Recourse) complete() bool {
	equal := r.equal()
	kept, impossible := presolve(r.minusB, equal)
	if impossible || len(kept) == 0 {
		return !impossible
	}
	var f factor
	f.reset(r.h.Dim())
	normal, coef, rest := make([]float64, r.h.Dim()), make([]float64, r.h.Dim()), make([]float64, r.h.Dim())
	side := make([]float64, len(equal))
	for i, eq := range equal {
		if !eq {
			side[i] = -1
			continue
		}
		clear(normal)
		r.minusB.AddRow(normal, i, 1)
		size := norm2(normal)
		if f.size == r.h.Dim() || size == 0 {
			return false
		}
		left := f.split(normal, coef, rest)
		if left <= dependence*size {
			return false
		}
		f.push(coef, rest, left)
	}
	s := Solve(&Problem{H: r.h, C: make([]float64, r.h.Dim()), A: r.minusB, Equal: equal, B: side}, &r.ws)
	return s.Status == Solved
}

func (r *Recourse) equal() []bool {
	equal := make([]bool, r.rows.Len())
	for i, k := range r.rows.Kind {
		equal[i] = k == problem.Equal
	}
	return equal
}

// Feasible looks for a y with h(x, y) <= 0 or = 0 as the rows ask, near the one
// it found last. It returns y, shared with r until the next call, or a Farkas
// vector u (len m, its own): u'B = 0, u >= 0 on inequality rows, u'(A x - b) > 0.
// Both are nil where rounding does not let either be found.
func (r *Recourse) Feasible(x []float64) (y, farkas []float64) {
	satisfied := true
	for i := range r.rhs {
		ax := r.rows.A.RowDot(i, x)
		r.rhs[i] = r.rows.Rhs[i] - ax
		h := r.minusB.RowDot(i, r.y) - r.rhs[i]
		if r.rows.Kind[i] == problem.Equal {
			h = math.Abs(h)
		}
		satisfied = satisfied && h <= 0
	}
	if satisfied {
		return r.y, nil
	}
	c := make([]float64, len(r.y))
	for j, v := range r.y {
		c[j] = -v
	}
	s := Solve(&Problem{H: r.h, C: c, A: r.minusB, Equal: r.equal(), B: r.rhs, Warm: r.warm}, &r.ws)
	switch s.Status {
	case Solved:
		copy(r.y, s.Z)
		r.warm = s.Active
		return r.y, nil
	case Infeasible:
		return nil, s.Farkas
	}
	return nil, nil
}

// Cut turns a Farkas vector of some x outside D into a half space that contains
// D and not that x: normal'x <= side, or = side where only equality rows take
// part. The normal has unit length; it is zero, and D empty, where u'A = 0.
func (r *Recourse) Cut(farkas []float64) Cut {
	c := Cut{Normal: make([]float64, r.rows.A.Cols), Equal: true}
	size := 0.0
	for i, u := range farkas {
		if u == 0 {
			continue
		}
		r.rows.A.AddRow(c.Normal, i, u)
		_, vals := r.rows.A.Row(i)
		size += math.Abs(u) * norm2(vals)
		c.Side += u * r.rows.Rhs[i]
		c.Equal = c.Equal && r.rows.Kind[i] == problem.Equal
	}
	norm := norm2(c.Normal)
	if norm <= feasibility*size || norm == 0 {
		clear(c.Normal)
		return c
	}
	for j := range c.Normal {
		c.Normal[j] /= norm
	}
	c.Side /= norm
	return c
}

// Cut is a half space, or hyperplane, in x that contains D.
type Cut struct {
	Normal []float64 // len dx, unit or zero
	Side   float64
	Equal  bool
}
