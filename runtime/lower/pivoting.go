package lower

import (
	"cmp"
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
// The quadratic has the gradient grad at base; nil stands for 0 of both. On success y is set to its minimizer over the rows, to the
// rounding of H, and the rows that hold it are returned, ascending. Which rows take part is decided by this call alone: what
// earlier ones have left of them saves work.
func (w *denseHessian) pivots(q *polyhedron, y, base, grad []float64, guess []int) (active []int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	vectors := make([]float64, 2*w.n)
	pulled, z := vectors[:w.n], vectors[w.n:] // -U^-T grad, and the point at hand
	if grad != nil {
		linalg.Axpy(pulled, -1, grad)
		w.factors.SolveT(pulled)
	}
	in, was, met := make([]bool, q.m), make([]bool, q.m), make([]bool, q.m)
	slacks := make([]float64, 2*q.m)
	slack, at := slacks[:q.m], slacks[q.m:] // at base, of the rows that take part, and at z
	for i := range in {
		in[i] = q.norm[i] > 0 && q.equal(i)
	}
	for _, i := range guess {
		in[i] = q.norm[i] > 0
	}
	outside := func(i int, s float64, y []float64, size float64) bool {
		s += tolerance.Feasibility * (size + q.size[i])
		return s < 0 && s < -q.rounding(i, y)
	}
	var taking []int // the rows that take part
	take := func(i int) {
		if !met[i] {
			met[i], slack[i] = true, q.slack(i, base)
			taking = append(taking, i)
		}
	}
	room := func(more int) bool {
		count := len(taking) + more
		return count*(w.n+count/2) <= tolerance.MostNumbers
	}
	var force []float64
	fewest, patience := q.m+1, tolerance.Exchanges
	for {
		active = active[:0]
		copy(was, in)
		for i, is := range in {
			if is {
				active = append(active, i)
				take(i)
			}
		}
		if len(active) > w.n || !room(0) {
			return nil, false
		}
		w.reach(q, taking)
		m := w.faceOf(q, slices.Clone(active))
		if m.factors == nil {
			return nil, false
		}
		force = append(force[:0], make([]float64, len(active))...)
		for a, i := range active {
			force[a] = -slack[i] - linalg.Dot(w.whitened[w.place[i]], pulled)
		}
		m.factors.SolveT(force)
		m.factors.Solve(force)
		copy(z, pulled)
		w.push(z, active, force)
		wrong, size := 0, linalg.NormInf(base)
		for a, i := range active {
			if force[a] < 0 && !q.equal(i) {
				in[i] = false
				wrong++
			}
		}
		// A row that takes part tells its slack without the solve for z.
		for _, i := range taking {
			if !was[i] && outside(i, slack[i]+linalg.Dot(w.whitened[w.place[i]], z), base, size) {
				in[i] = true
				wrong++
			}
		}
		if wrong == 0 {
			w.factors.Solve(z)
			if base != nil {
				linalg.Axpy(z, 1, base)
			}
			size = linalg.NormInf(z)
			var others []int
			for i := range in {
				if was[i] || q.norm[i] == 0 {
					continue
				}
				if at[i] = q.slack(i, z); outside(i, at[i], z, size) {
					in[i] = true
					wrong++
				}
				if !met[i] {
					others = append(others, i)
				}
			}
			if wrong == 0 {
				copy(y, z)
				return active, linalg.Finite(y)
			}
			// One pass over U takes many rows: with those that come in, the nearest others, a quarter as many as are known.
			slices.SortStableFunc(others, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
			if others = others[:min(len(others), len(taking)/4)]; len(others) > 0 && room(len(others)) {
				for _, i := range others {
					take(i)
				}
				fewest, patience = q.m+1, tolerance.Exchanges
			}
		}
		switch {
		case wrong < fewest:
			fewest, patience = wrong, tolerance.Exchanges
		case patience > 0:
			patience--
		default:
			return nil, false
		}
	}
}
