package sequential

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// balanced are multipliers next to lambda that balance the forces on each entry of y to their own rounding: what a program leaves of them is rounding of the largest force of all, beside which those on an
// entry that other rows hold at 0 may be small. Of rows that hold, with the least change by their own sizes: the weighted least squares problem
//
//	minimize |D_r (r - B_S' d)| over d,   r = grad_y g - B'lambda,   D_r = 1/(the largest term of r_j, those of grad_y g as its curvature tells; the least of these where r_j has none),
//
// by conjugate gradients on its normal equations from d = 0 (Bjorck 1996, section 7.4) for each of the followers, each row in the unit in which it has the length 1. y stays, and so does lambda where that
// does not lower the residual, or turns a sign.
func (a *answers) balanced(x, y, lambda []float64) []float64 {
	p := a.v.p
	terms, left, size := make([]float64, p.Dy), make([]float64, p.Dy), make([]float64, p.Dy)
	rest := func(l []float64) { // of the forces on each entry, with the largest of them
		p.G.GradY(left, x, y)
		for j, g := range left {
			terms[j] = a.h.AddTerms(math.Abs(g), j, y)
		}
		for i, t := range l {
			for j, v := range p.Rows.B.Entries(i) {
				left[j] -= v * t
				terms[j] = math.Max(terms[j], math.Abs(v*t))
			}
		}
	}
	worst := func() float64 {
		return each.LargestBelow(len(left), func(j int) float64 { return math.Abs(left[j]) / size[j] })
	}
	rest(lambda)
	best, before := lambda, math.Inf(1)
	for enough := tolerance.Sign; ; enough = tolerance.FewRoundings { // as balanced as the program's multipliers are as a whole; then a round takes what the rounding of the one before has left
		least := math.Inf(1)
		for _, t := range terms {
			if t > 0 {
				least = math.Min(least, t)
			}
		}
		for j, t := range terms {
			if size[j] = t; t == 0 { // an entry that no force acts on is to stay so
				size[j] = least
			}
		}
		off := worst()
		if !(off > enough) {
			return best
		}
		var rows []int
		var unit []float64
		own, entries := make([][]int, len(a.v.followers)), make([][]sparse.Entry, len(a.v.followers)) // of each follower the places of its rows, and their entries
		for i, kind := range p.Rows.Kind {
			if kind != problem.Equal && !(best[i] > 0) {
				continue
			}
			length, of := 0.0, 0
			for j, v := range p.Rows.B.Nonzeros(i) {
				// a pattern may join followers, which its values do not
				length, of = math.Hypot(length, v/size[j]), a.v.owner[j]
			}
			if length == 0 {
				continue
			}
			for j, v := range p.Rows.B.Nonzeros(i) {
				entries[of] = append(entries[of], sparse.Entry{Row: len(own[of]), Col: a.v.place[j], Val: v / size[j] / length})
			}
			own[of] = append(own[of], len(rows))
			rows, unit = append(rows, i), append(unit, 1/length)
		}
		for j, t := range size {
			left[j] /= t
		}
		d := make([]float64, len(rows))
		for of, ys := range a.v.followers {
			for k, t := range a.leastSquares(sparse.FromEntries(len(own[of]), len(ys), entries[of]), linalg.Gather(left, ys)) {
				d[own[of][k]] = t
			}
		}
		out := slices.Clone(best)
		for k, i := range rows {
			if math.Abs(d[k]) <= tolerance.FewRoundings { // it changes the forces on each entry by no more than their rounding, and may be all that a force is
				continue
			}
			if out[i] += unit[k] * d[k]; p.Rows.Kind[i] != problem.Equal && out[i] < 0 {
				return best
			}
		}
		if rest(out); !(worst() < off) {
			return best
		}
		best = out
		moved := linalg.NormInf(d)
		if moved > before/2 {
			return best
		}
		before = moved
	}
}

// leastSquares is the d with the least |r - B'd|.
func (a *answers) leastSquares(b *sparse.CSR, r []float64) []float64 {
	d, residual := make([]float64, b.Rows), slices.Clone(r)
	forward := func(dst, d []float64) {
		a.qp.Work += int64(2 * b.NNZ())
		clear(dst)
		b.AddMulVecT(dst, 1, d)
	}
	sparse.LeastSquares(d, residual, 4*b.Rows, forward, b.MulVec, func(_, _ float64) bool { return linalg.NormInf(residual) <= tolerance.FewRoundings })
	return d
}
