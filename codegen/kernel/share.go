package kernel

import (
	"math"

	"bilevelc/internal/sparse"
)

// Sparse is the project's sparse matrix.
type Sparse = sparse.CSR

// Share is piece p of count of n things, in multiples of unit.
func Share(n, unit, p, count int) (from, to int) {
	units := (n + unit - 1) / unit
	return min(n, p*units/count*unit), min(n, (p+1)*units/count*unit)
}

// Triangle is piece p of count of the rows of an n x n lower triangle, of about
// equal area: from row n sqrt(p/count) on, in multiples of 4.
func Triangle(n, p, count int) (from, to int) {
	at := func(p int) int {
		if p == count {
			return n
		}
		return int(float64(n)*math.Sqrt(float64(p)/float64(count))) &^ 3
	}
	return at(p), at(p + 1)
}
