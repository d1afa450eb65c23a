package qp

import (
	"context"
	"math"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Recourse answers for which x the lower level's rows h(x, y) = A x - B y - b that
// read y have a solution y, that is, describes D = { x : some y is feasible } but
// for the rows that read x alone. Not safe for concurrent use.
type Recourse struct {
	rows   *problem.Rows
	use    []int // the rows that read y
	minusB *sparse.CSR
	equal  []bool
	h      *Hessian
	ws     Workspace
	rhs    []float64 // b - A x of the rows in use
	terms  []float64 // the sizes of the terms of rhs
	y      []float64 // len dy: the last feasible y found, the next guess
	warm   []int
	always bool
	known  bool // whether always is
	ctx    context.Context
}

// newRecourse prepares for rows over dy variables y.
func newRecourse(rows *problem.Rows, dy int) *Recourse {
	r := &Recourse{rows: rows, h: Identity(dy), y: make([]float64, dy), minusB: sparse.WithRoom(dy, rows.Len(), rows.B.NNZ())}
	tied := false // some row ties y to x
	for i, kind := range rows.Kind {
		if !rows.B.Reads(i) {
			continue
		}
		r.use, r.equal = append(r.use, i), append(r.equal, kind == problem.Equal)
		cols, vals := rows.B.Row(i)
		r.minusB.AppendScaled(cols, 0, vals, -1, 1)
		r.minusB.EndRow()
		_, vals = rows.A.Row(i)
		tied = tied || linalg.Norm(vals) > 0
	}
	r.rhs, r.terms = make([]float64, len(r.use)), make([]float64, len(r.use))
	r.always, r.known = !tied, !tied
	return r
}

// Always reports that the rows in use do not restrict x: some y is feasible for
// every x, or none is for any, because they do not read x.
// False, too, where the context has ended before that was found out.
func (r *Recourse) Always() bool {
	if !r.known {
		r.always = r.complete()
		r.known = r.ctx == nil || r.ctx.Err() == nil
	}
	return r.always
}

// complete tests a sufficient condition for D to be the whole space: there is
// a direction d with B_E d = 0 and B_I d >= 1, and the equality rows of B are
// independent; y far enough along d then satisfies any right-hand side.
func (r *Recourse) complete() bool {
	kept, impossible := presolve(r.minusB, r.equal)
	if impossible || len(kept) == 0 {
		return !impossible
	}
	var f linalg.QR
	f.Reset(r.h.Dim())
	normal, coef, rest := make([]float64, r.h.Dim()), make([]float64, r.h.Dim()), make([]float64, r.h.Dim())
	side := make([]float64, len(r.equal))
	for i, eq := range r.equal {
		if !eq {
			side[i] = -linalg.RowNorm(r.minusB, i) // in the row's own unit
			continue
		}
		if r.ctx != nil && r.ctx.Err() != nil {
			return false
		}
		clear(normal)
		r.minusB.AddRow(normal, i, 1)
		size := linalg.Norm(normal)
		if f.Size() == r.h.Dim() {
			return false
		}
		left := f.Split(normal, coef, rest)
		if left <= tolerance.Dependence*size {
			return false
		}
		f.Push(coef, rest, left)
	}
	s := Solve(&Problem{H: r.h, C: make([]float64, r.h.Dim()), A: r.minusB, Equal: r.equal, B: side, Context: r.ctx}, &r.ws)
	return s.Status == Solved
}

// Feasible looks for a y that satisfies the rows in use at x, near the one it found
// last. It returns y, shared with r until the next call, or a Farkas vector u (len
// m, its own): u'B = 0, u >= 0 on inequality rows, u'(A x - b) > 0. Both are nil
// where rounding does not let either be found, or the context has ended.
func (r *Recourse) Feasible(x []float64) (y, farkas []float64) {
	satisfied := true
	for k, i := range r.use {
		r.rhs[k], r.terms[k] = r.rows.Rhs[i], math.Abs(r.rows.Rhs[i])
		for j, v := range r.rows.A.Entries(i) {
			r.rhs[k] -= v * x[j]
			r.terms[k] += math.Abs(v * x[j])
		}
		h := r.minusB.RowDot(k, r.y) - r.rhs[k]
		if r.equal[k] {
			h = math.Abs(h)
		}
		satisfied = satisfied && h <= 0
	}
	if satisfied {
		return r.y, nil
	}
	c := each.Of(r.y, func(v float64) float64 { return -v })
	s := Solve(&Problem{H: r.h, C: c, A: r.minusB, Equal: r.equal, B: r.rhs, Terms: r.terms, Warm: r.warm, Context: r.ctx}, &r.ws)
	switch s.Status {
	case Solved:
		copy(r.y, s.Z)
		r.warm = s.Active
		return r.y, nil
	case Infeasible:
		farkas = make([]float64, r.rows.Len())
		linalg.Scatter(farkas, r.use, s.Farkas)
		return nil, farkas
	}
	return nil, nil
}

// contains reports whether some y is feasible at x, or nothing shows that none is.
func (r *Recourse) contains(x []float64) (bool, error) {
	if r.Always() {
		return true, nil
	}
	y, _ := r.Feasible(x)
	if y == nil && r.ctx != nil && r.ctx.Err() != nil {
		return false, context.Cause(r.ctx)
	}
	if y == nil {
		return false, nil
	}
	// A y that crosses rows by more than rounding, but by too little for a proof that
	// there is none, is one of a point next to x.
	for k := range r.use {
		h := r.minusB.RowDot(k, y) - r.rhs[k]
		if r.equal[k] {
			h = math.Abs(h)
		}
		cols, vals := r.minusB.Row(k)
		terms := r.terms[k]
		for t, j := range cols {
			terms += math.Abs(vals[t] * y[j])
		}
		if h > tolerance.SumRounding*terms {
			return false, nil
		}
	}
	return true, nil
}
