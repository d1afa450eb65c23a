package truth

import "math"

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func axpy(dst []float64, s float64, v []float64) {
	for i := range v {
		dst[i] += s * v[i]
	}
}

// solve solves the square system m z = rhs (several right sides, one a column)
// by elimination with complete pivoting; false where m is singular relative to
// its largest entry. m and rhs are overwritten; the answer is in rhs.
func solve(m, rhs [][]float64) bool {
	n := len(m)
	order := make([]int, n)
	largest := 0.0
	for k := range order {
		order[k] = k
	}
	for k := range n {
		row, col, best := k, k, 0.0
		for i := k; i < n; i++ {
			for j := k; j < n; j++ {
				if a := math.Abs(m[i][j]); a > best {
					row, col, best = i, j, a
				}
			}
		}
		if k == 0 {
			largest = best
		}
		if best <= singular*largest || best == 0 {
			return false
		}
		m[k], m[row] = m[row], m[k]
		rhs[k], rhs[row] = rhs[row], rhs[k]
		for i := range m {
			m[i][k], m[i][col] = m[i][col], m[i][k]
		}
		order[k], order[col] = order[col], order[k]
		for i := range m {
			if i == k || m[i][k] == 0 {
				continue
			}
			factor := m[i][k] / m[k][k]
			for j := k; j < n; j++ {
				m[i][j] -= factor * m[k][j]
			}
			for j := range rhs[i] {
				rhs[i][j] -= factor * rhs[k][j]
			}
		}
	}
	out := make([][]float64, n)
	for k := range n {
		for j := range rhs[k] {
			rhs[k][j] /= m[k][k]
		}
		out[order[k]] = rhs[k]
	}
	copy(rhs, out)
	return true
}

// singular is the pivot, relative to the first, below which a matrix of small
// rationals is singular: the pivots of a regular one with entries of at most
// four digits are determinants over determinants and stay far above it, those
// of a singular one are rounding errors.
const singular = 1e-11
