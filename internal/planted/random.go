package planted

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
)

// source draws everything of one instance.
type source struct{ *rand.Rand }

func newSource(seed uint64) source {
	const stream = 0x706c616e746564 // "planted": apart from other users of the seed
	return source{rand.New(rand.NewPCG(seed, stream))}
}

// normals returns n standard normal numbers.
func (s source) normals(n int) []float64 {
	return each.Below(n, func(int) float64 { return s.NormFloat64() })
}

// within returns a number of [lo, hi).
func (s source) within(lo, hi float64) float64 { return lo + (hi-lo)*s.Float64() }

// sign is -1 or 1.
func (s source) sign() float64 { return float64(2*s.IntN(2) - 1) }

// spectrum returns n numbers spaced evenly in the logarithm from 1 to cond,
// in random order.
func (s source) spectrum(n int, cond float64) []float64 {
	d := make([]float64, n)
	for i := range d {
		d[i] = 1
		if n > 1 {
			d[i] = math.Pow(cond, float64(i)/float64(n-1))
		}
	}
	s.Shuffle(n, func(i, j int) { d[i], d[j] = d[j], d[i] })
	return d
}

// axis returns a unit vector, or 0 where nothing is to be reflected.
func (s source) axis(n int, none bool) []float64 {
	if none {
		return make([]float64, n)
	}
	v := s.normals(n)
	norm := 0.0
	for _, t := range v {
		norm = math.Hypot(norm, t)
	}
	for i := range v {
		v[i] /= norm
	}
	return v
}

// sparseRow appends nnz normal entries, divided by sqrt(nnz), at distinct
// columns of row other than skip (-1: none), or as many as there are columns.
func (s source) sparseRow(list []sparse.Entry, row, cols, nnz, skip int) []sparse.Entry {
	seen := map[int]bool{skip: true}
	if skip >= 0 {
		nnz = min(nnz, cols-1)
	} else {
		nnz = min(nnz, cols)
	}
	for len(seen) <= nnz {
		j := s.IntN(cols)
		if seen[j] {
			continue
		}
		seen[j] = true
		list = append(list, sparse.Entry{Row: row, Col: j, Val: s.NormFloat64() / math.Sqrt(float64(nnz))})
	}
	return list
}

// sparseMatrix has nnz entries a row, of rows of unit expected length.
func (s source) sparseMatrix(rows, cols, nnz int) *sparse.CSR {
	var list []sparse.Entry
	for i := range rows {
		list = s.sparseRow(list, i, cols, nnz, -1)
	}
	return sparse.FromEntries(rows, cols, list)
}

// mirror sets dst to y - 2 (v'y) v; dst may be y. It is its own inverse and
// transpose.
func mirror(dst, v, y []float64) {
	a := 2 * floats.Dot(v, y)
	for i := range dst {
		dst[i] = y[i] - a*v[i]
	}
}
