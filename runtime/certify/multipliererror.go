package certify

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// multiplierErrors is by how much the document's multipliers may be off from those of the follower's exact stationarity, B'lambda = grad_y g: what the entries of that leave and round, delta, moves them together, and weighted
// least squares keep the movement of each to sqrt(n) times the root of its entry in the diagonal of the inverse of B W^2 B', W = 1/delta, over the rows whose multipliers are not 0 (Bjorck, Numerical Methods for Least Squares Problems,
// sec. 4.3). +Inf for other rows, for all where these depend on each other to rounding, and where their products take more than a second's work.
func (v *verification) multiplierErrors(force []float64) []float64 {
	p, lambda := v.p, v.doc.Lambda
	out := make([]float64, p.Rows.Len())
	var rows []int
	place, n := make(map[int]int), 0 // of the entries of y that these rows read
	for i := range out {
		out[i] = math.Inf(1)
		if lambda[i] == 0 && p.Rows.Kind[i] != problem.Equal {
			continue
		}
		rows = append(rows, i)
		for j := range p.Rows.B.Nonzeros(i) {
			if _, known := place[j]; !known {
				place[j] = n
				n++
			}
		}
	}
	k := len(rows)
	if k == 0 || k > n || k*k*n > tolerance.Second {
		return out
	}
	left := gradY(v.d.g, v.doc.X, v.doc.Y)
	p.Rows.B.AddMulVecT(left, -1, lambda)
	b, sizes := mat.NewDense(k, n, nil), make([]float64, k)
	for a, i := range rows {
		for j, c := range p.Rows.B.Nonzeros(i) {
			if delta := math.Abs(left[j]) + tolerance.Eliminated*force[j]; delta > 0 {
				b.Set(a, place[j], c/delta)
			}
		}
		if sizes[a] = mat.Norm(b.RowView(a), 2); !(sizes[a] > 0) || math.IsInf(sizes[a], 1) {
			return out
		}
		row := b.RawRowView(a)
		for j := range row {
			row[j] /= sizes[a]
		}
	}
	var gram mat.SymDense
	gram.SymOuterK(1, b)
	var factor mat.Cholesky
	if !factor.Factorize(&gram) || factor.Cond() > 1/tolerance.Rounded {
		return out
	}
	var inverse mat.SymDense
	if factor.InverseTo(&inverse) != nil {
		return out
	}
	for a, i := range rows {
		out[i] = math.Sqrt(float64(n)*inverse.At(a, a)) / sizes[a]
	}
	return out
}
