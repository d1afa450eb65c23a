package sequential

import (
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// balanced are multipliers next to lambda that balance the forces on each entry of y to their own rounding: what a program leaves of them is rounding of the largest force of all, beside which those on an
// entry that other rows hold at 0 may be small. Of rows that hold, with the least change by their own sizes: the weighted least squares problem
//
//	minimize |D_r (r - B_S' d)| over d,   r = grad_y g - B'lambda,   D_r = 1/(the largest term of r_j),
//
// by conjugate gradients on its normal equations from d = 0 (Bjorck 1996, section 7.4), each row in the unit in which it has the length 1. y stays, and so does lambda where that
// does not lower the residual, or turns a sign.
func (a *answers) balanced(x, y, lambda []float64) []float64 {
	p := a.v.p
	terms, left := make([]float64, p.Dy), make([]float64, p.Dy)
	rest := func(l []float64) (worst float64) {
		p.G.GradY(left, x, y)
		for j, g := range left {
			terms[j] = math.Abs(g)
		}
		for i, t := range l {
			cols, vals := p.Rows.B.Row(i)
			for k, j := range cols {
				left[j] -= vals[k] * t
				terms[j] = math.Max(terms[j], math.Abs(vals[k]*t))
			}
		}
		for j, t := range left {
			if terms[j] > 0 {
				worst = math.Max(worst, math.Abs(t)/terms[j])
			}
		}
		return worst
	}
	worst := rest(lambda)
	if !(worst > kkt.Tolerance) { // as balanced as the program's multipliers are as a whole
		return lambda
	}
	var rows []int
	var unit []float64
	entries := []sparse.Entry{}
	for i, kind := range p.Rows.Kind {
		if kind != problem.Equal && !(lambda[i] > 0) {
			continue
		}
		cols, vals := p.Rows.B.Row(i)
		length := 0.0
		for k, j := range cols {
			if terms[j] > 0 {
				length = math.Hypot(length, vals[k]/terms[j])
			}
		}
		if length == 0 {
			continue
		}
		for k, j := range cols {
			if terms[j] > 0 {
				entries = append(entries, sparse.Entry{Row: len(rows), Col: j, Val: vals[k] / terms[j] / length})
			}
		}
		rows, unit = append(rows, i), append(unit, 1/length)
	}
	if len(rows) == 0 {
		return lambda
	}
	b, weight := sparse.FromEntries(len(rows), p.Dy, entries), slices.Clone(terms)
	best := lambda
	for worst > tolerance.FewRoundings { // a round takes what the rounding of the one before has left
		for j, t := range weight {
			if t > 0 {
				left[j] /= t
			}
		}
		d := a.leastSquares(b, left)
		out := append([]float64(nil), best...)
		for k, i := range rows {
			if out[i] += unit[k] * d[k]; p.Rows.Kind[i] != problem.Equal && out[i] < 0 {
				return best
			}
		}
		before := worst
		if worst = rest(out); !(worst < before) {
			return best
		}
		if best = out; worst > before/2 {
			break
		}
	}
	return best
}

// leastSquares is the d with the least |r - B'd|, by conjugate gradients.
func (a *answers) leastSquares(b *sparse.CSR, r []float64) []float64 {
	d, s, step, image := make([]float64, b.Rows), make([]float64, b.Rows), make([]float64, b.Rows), make([]float64, b.Cols)
	residual := append([]float64(nil), r...)
	b.MulVec(s, residual)
	copy(step, s)
	gamma := linalg.Dot(s, s)
	for range 4 * b.Rows {
		a.qp.Work += int64(2 * b.NNZ())
		clear(image)
		b.AddMulVecT(image, 1, step)
		size := linalg.Dot(image, image)
		if !(gamma > 0) || !(size > 0) || linalg.NormInf(residual) <= tolerance.FewRoundings {
			break
		}
		alpha := gamma / size
		linalg.Axpy(d, alpha, step)
		linalg.Axpy(residual, -alpha, image)
		b.MulVec(s, residual)
		next := linalg.Dot(s, s)
		for k := range step {
			step[k] = s[k] + next/gamma*step[k]
		}
		gamma = next
	}
	return d
}
