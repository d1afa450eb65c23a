// Package extended describes convex sets of x by rows on x and further variables u.
package extended

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/sparse"
)

// Rows are an extended formulation (Conforti, Cornuéjols and Zambelli 2010): the set is
// that of the x for which some u satisfies E (x, u) <= Rhs. Each entry of u stands for the
// larger of some sides, affine in x and in earlier entries of u, of which no coefficient
// is negative; nor is one of u in the rows of the model. Where x is in the set, the
// least u that the sides allow satisfies all rows, and that u is known at any x (Least).
type Rows struct {
	E   *sparse.CSR // columns are x, then u
	Rhs []float64
	// Of is the entry of u that a row keeps above one of its sides, with the coefficient
	// -1; -1 for a row of the model. Rows of one entry follow each other, entries in order.
	Of   []int
	Name []string // of a row of the model; "" for others
	Dim  int      // of u
}

// Len is the number of rows; 0 for nil.
func (r *Rows) Len() int {
	if r == nil {
		return 0
	}
	return len(r.Of)
}

// Extra is the number of entries of u; 0 for nil.
func (r *Rows) Extra() int {
	if r == nil {
		return 0
	}
	return r.Dim
}

// Validate reports what is wrong with rows over n entries of x.
func (r *Rows) Validate(n int) error {
	if r == nil {
		return nil
	}
	m := len(r.Of)
	if r.E == nil || r.E.Rows != m || r.E.Cols != n+r.Dim || len(r.Rhs) != m || len(r.Name) != m {
		return fmt.Errorf("%d rows over %d and %d entries do not fit their matrix", m, n, r.Dim)
	}
	next := 0
	for i, of := range r.Of {
		if of == next {
			next++
		}
		if of >= next || of >= 0 && of < next-1 {
			return fmt.Errorf("row %d belongs to entry %d of u, out of order", i, of)
		}
		for j, a := range r.E.Entries(i) {
			if math.IsNaN(a) || math.IsInf(a, 0) {
				return fmt.Errorf("row %d has the coefficient %v", i, a)
			}
			u := j - n
			if u >= 0 && of >= 0 && u > of || u >= 0 && u != of && a < 0 || u >= 0 && u == of && a != -1 {
				return fmt.Errorf("row %d: the coefficient %v of entry %d of u", i, a, u)
			}
		}
		if math.IsNaN(r.Rhs[i]) || math.IsInf(r.Rhs[i], 0) {
			return fmt.Errorf("row %d has the side %v", i, r.Rhs[i])
		}
	}
	if next != r.Dim {
		return fmt.Errorf("%d of %d entries of u have sides", next, r.Dim)
	}
	return nil
}

// Least is (x, u) with the least u that the sides allow at x.
func (r *Rows) Least(x []float64) []float64 {
	z, _ := r.least(x)
	return z
}

// least is Least, with the row of the largest side of each entry.
func (r *Rows) least(x []float64) (z []float64, from []int) {
	n := len(x)
	z, from = make([]float64, n+r.Dim), make([]int, r.Dim)
	copy(z, x)
	for k := range from {
		from[k] = -1
	}
	for i, of := range r.Of {
		if of < 0 {
			continue
		}
		// The entry's own coefficient is -1, and z has 0 or the largest side so far there.
		side := r.E.RowDot(i, z) - r.Rhs[i]
		if from[of] < 0 {
			z[n+of], from[of] = side, i
		} else if side > 0 {
			z[n+of], from[of] = z[n+of]+side, i
		}
	}
	return z, from
}

// Cut is the affine function that row i of the model is at x, and below everywhere: its
// normal in x, and its value at x. It is positive where x violates the row.
func (r *Rows) Cut(i int, x []float64) (normal []float64, value float64) {
	z, from := r.least(x)
	weights := make([]float64, len(z))
	r.E.AddRow(weights, i, 1)
	n := len(x)
	for k, row := range slices.Backward(from) {
		if w := weights[n+k]; w != 0 {
			weights[n+k] = 0
			for j, v := range r.E.Entries(row) {
				if j != n+k {
					weights[j] += w * v
				}
			}
		}
	}
	return weights[:n], r.E.RowDot(i, z) - r.Rhs[i]
}

// Slopes are by how much the left side of each row can change, at most, where x moves by
// 1 and u with it.
func (r *Rows) Slopes(n int) []float64 {
	u, out := make([]float64, r.Dim), make([]float64, r.Len())
	for i, of := range r.Of {
		size, more := 0.0, 0.0
		for j, v := range r.E.Entries(i) {
			if j < n {
				size = math.Hypot(size, v)
			} else if j-n != of {
				more += math.Abs(v) * u[j-n]
			}
		}
		if out[i] = size + more; of >= 0 {
			u[of] = max(u[of], out[i])
		}
	}
	for i, of := range r.Of {
		if of >= 0 {
			out[i] += u[of]
		}
	}
	return out
}

// Each calls f for each row of the model with its left side less its right side at x, and
// the size of the terms that this is made of, where entry j of x has the size of size(j).
func (r *Rows) Each(x []float64, size func(j int) float64, f func(i int, excess, terms float64)) {
	if r == nil {
		return
	}
	z := r.Least(x)
	n := len(x)
	of := make([]float64, r.Dim)
	for i, k := range r.Of {
		terms := math.Abs(r.Rhs[i])
		for j, v := range r.E.Entries(i) {
			if j < n {
				terms += math.Abs(v) * size(j)
			} else if j-n != k {
				terms += math.Abs(v) * of[j-n]
			}
		}
		if k >= 0 {
			of[k] = max(of[k], terms)
		} else {
			f(i, r.E.RowDot(i, z)-r.Rhs[i], terms)
		}
	}
}

// Bounds calls keep for what the rows imply of single entries of x within bounds: x_j <= at,
// or x_j >= at where upper is false, by row i of the model. Where no x within the bounds
// satisfies a row, by more than a part of its right side, impossible is told instead.
func (r *Rows) Bounds(lo, hi []float64, keep func(j int, at float64, upper bool, i int), part float64, impossible func(i int, excess float64)) {
	n := len(lo)
	low := append(slices.Clone(lo), slices.Repeat([]float64{math.Inf(-1)}, r.Dim)...)
	// least is that of the left side, without one column and the entry's own.
	least := func(i, without int) float64 {
		s := 0.0
		for j, v := range r.E.Entries(i) {
			switch {
			case j == without || v == 0:
			case v > 0:
				s += v * low[j]
			case j < n:
				s += v * hi[j]
			}
		}
		return s
	}
	for i, of := range r.Of {
		if of < 0 {
			continue
		}
		low[n+of] = max(low[n+of], least(i, n+of)-r.Rhs[i])
		if i > 0 && r.Of[i-1] == of && r.opposite(i-1, i, n+of) {
			// The larger of v + a and -v + b is at least (a + b)/2.
			low[n+of] = max(low[n+of], -(r.Rhs[i-1]+r.Rhs[i])/2)
		}
	}
	never := false
	for i, of := range r.Of {
		if excess := least(i, -1) - r.Rhs[i]; of < 0 && excess > part*math.Abs(r.Rhs[i]) {
			impossible(i, excess)
			never = true
		}
	}
	if never {
		return
	}
	high, by := slices.Repeat([]float64{math.Inf(1)}, r.Dim), make([]int, r.Dim)
	for i, of := range slices.Backward(r.Of) {
		side, from := r.Rhs[i], i
		if of >= 0 {
			side, from = side+high[of], by[of]
		}
		for j, v := range r.E.Entries(i) {
			if v == 0 || j == n+of {
				continue
			}
			rest := side - least(i, j)
			if math.IsInf(rest, 1) || math.IsNaN(rest) {
				continue
			}
			at := rest / v
			switch {
			case j < n:
				keep(j, at, v > 0, from)
			case at < high[j-n]:
				high[j-n], by[j-n] = at, from
			}
		}
	}
}

// opposite reports that two rows differ in the signs of their coefficients, but for one
// column.
func (r *Rows) opposite(a, b, but int) bool {
	ac, av := r.E.Row(a)
	bc, bv := r.E.Row(b)
	if !slices.Equal(ac, bc) {
		return false
	}
	for t, j := range ac {
		if j != but && av[t] != -bv[t] {
			return false
		}
	}
	return true
}
