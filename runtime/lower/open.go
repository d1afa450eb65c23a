package lower

import (
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// This file deals with objectives that are not defined on some of the rows, as
// y log y is not at y = 0. Such a row is open: it holds no solution, so that it
// is never put into a face; steps go at most a share of the way to it.

// discover marks the rows on which the objective is not defined, among those that
// hold at or are violated at a point at which it is not. Each is tried by itself,
// from y, where the objective is defined. It reports whether there were any.
func (w *activeSet) discover(y, undefined []float64) bool {
	found := false
	size := linalg.NormInf(undefined)
	at := make([]float64, len(y))
	grad := make([]float64, len(y))
	for i := range w.open {
		q := w.poly
		if w.open[i] || q.equal(i) || q.norm[i] == 0 || q.slack(i, undefined) > q.rounding(i, undefined)+tolerance.Feasibility*(size+q.size[i]) {
			continue
		}
		copy(at, y)
		w.onto(at, i, y)
		if value := w.obj.ValueGrad(grad, at); math.IsNaN(value) || math.IsInf(value, 0) || !linalg.Finite(grad) {
			w.open[i], w.opened, found = true, true, true
		}
	}
	return found
}

// onto moves at, a copy of y, onto row i.
func (w *activeSet) onto(at []float64, i int, y []float64) {
	q := w.poly
	if j := q.bound[i]; j >= 0 {
		at[j] = q.rhs[i] / q.coef[i]
	} else {
		q.rows.B.AddRow(at, i, -q.slack(i, y)/q.norm[i])
	}
}

// shun takes the open rows out of the face at y, and has curvature measured with
// differences that keep away from them.
func (w *activeSet) shun(y []float64) {
	for i, open := range w.open {
		if open && w.face.in[i] {
			w.face.drop(i)
		}
	}
	w.release(y)
	w.curvature.room = w.room
	w.renew(y)
	w.bestNorm = math.Inf(1)
}

// reachOpen is the length of a step along d that goes the whole way to the first
// open row; +Inf where none is ahead.
func (w *activeSet) reachOpen(y, d []float64) float64 {
	length := math.Inf(1)
	if !w.opened {
		return length
	}
	for i, open := range w.open {
		if !open {
			continue
		}
		if v := w.poly.speed(i, d); v < 0 {
			length = math.Min(length, w.poly.slack(i, y)/-v)
		}
	}
	return length
}

// room is how far a difference of gradients may go along v on both sides: to a
// 64th of the way to an open row, so that the terms of higher order are small.
func (w *activeSet) room(v []float64) float64 {
	least := math.Inf(1)
	for i, open := range w.open {
		if !open {
			continue
		}
		if s := math.Abs(w.poly.speed(i, v)); s > 0 {
			least = math.Min(least, w.poly.slack(i, w.curvature.at)/s)
		}
	}
	return least / 64
}
