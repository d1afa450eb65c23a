package lower

import (
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// pivots finds the rows that hold the minimizer of a quadratic with the Hessian H over
// the rows: the dual, in the forces nu_i = lambda_i |B_i| of the rows that take
// part, is a linear complementarity problem with their Gram matrix in the metric of
// H^-1, and block principal pivoting (Judice and Pires 1994) exchanges all rows
// at once that are on the wrong side. It ends after few exchanges or, where they
// go in circles or rows depend on each other, not at all: then a quadratic program
// takes over.
//
// free is the minimizer without rows. On success y is set to the one over them, to the
// rounding of H, and the rows that hold it are returned, ascending.
func (w *denseHessian) pivots(q *polyhedron, y, free []float64, guess []int) (active []int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slack := make([]float64, q.m) // at free
	in, was := make([]bool, q.m), make([]bool, q.m)
	for i := range slack {
		if q.norm[i] > 0 {
			slack[i] = q.slack(i, free)
			in[i] = q.equal(i)
		}
	}
	for _, i := range guess {
		in[i] = q.norm[i] > 0
	}
	z := make([]float64, w.n)
	var force []float64
	fewest, patience := q.m+1, tolerance.Exchanges
	for {
		active = active[:0]
		copy(was, in)
		for i, is := range in {
			if is {
				active = append(active, i)
			}
		}
		if len(active) > w.n || !w.room(q, active) {
			return nil, false
		}
		m := w.face(q, slices.Clone(active))
		if m.factors == nil {
			return nil, false
		}
		force = append(force[:0], make([]float64, len(active))...)
		for a, i := range active {
			force[a] = -slack[i]
		}
		m.factors.SolveT(force)
		m.factors.Solve(force)
		copy(z, free)
		wrong := 0
		for a, i := range active {
			linalg.Axpy(z, force[a], w.solved[w.place[i]])
			if force[a] < 0 && !q.equal(i) {
				in[i] = false
				wrong++
			}
		}
		size := linalg.NormInf(z)
		for i := range in {
			if was[i] || q.norm[i] == 0 {
				continue
			}
			if s := q.slack(i, z); s < 0 && s < -q.rounding(i, z)-tolerance.Feasibility*(size+q.size[i]) {
				in[i] = true
				wrong++
			}
		}
		switch {
		case wrong == 0:
			copy(y, z)
			return active, linalg.Finite(y)
		case wrong < fewest:
			fewest, patience = wrong, tolerance.Exchanges
		case patience > 0:
			patience--
		default:
			return nil, false
		}
	}
}

// room reports whether there is memory to keep what belongs to some more rows.
func (w *denseHessian) room(q *polyhedron, rows []int) bool {
	count := len(w.row)
	for _, i := range rows {
		if w.b != q.b || w.place[i] < 0 {
			count++
		}
	}
	return count*(w.n+count/2) <= tolerance.MostNumbers
}
