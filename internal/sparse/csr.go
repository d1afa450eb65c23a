// Package sparse is the one sparse matrix of the project: compressed sparse
// rows. The compiler keeps sparse data and constraint rows in it and the
// runtime reads them, so it stands below both and imports nothing. Classes
// are of columns that rows join.
package sparse

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// CSR is an m x n matrix in compressed sparse rows. Columns ascend within a
// row and are distinct; explicit zeros are allowed.
type CSR struct {
	Rows, Cols int
	Ptr        []int     // len Rows+1
	Col        []int     // len Ptr[Rows]
	Val        []float64 // len Ptr[Rows]
}

// Entry is one coefficient, from 0.
type Entry struct {
	Row, Col int
	Val      float64
}

// FromEntries builds a matrix; entries of one place are added up. It panics
// on an entry outside the matrix, which is a bug of the caller.
func FromEntries(rows, cols int, entries []Entry) *CSR {
	for _, e := range entries {
		if e.Row < 0 || e.Row >= rows || e.Col < 0 || e.Col >= cols {
			panic(fmt.Sprintf("sparse: entry (%d, %d) outside %d x %d", e.Row, e.Col, rows, cols))
		}
	}
	sorted := arranged(rows, cols, entries)
	m := &CSR{Rows: rows, Cols: cols, Ptr: make([]int, rows+1), Col: make([]int, 0, len(entries)), Val: make([]float64, 0, len(entries))}
	last := -1
	for _, e := range sorted {
		if k := len(m.Col) - 1; last == e.Row && k >= 0 && m.Col[k] == e.Col {
			m.Val[k] += e.Val
			continue
		}
		m.Col = append(m.Col, e.Col)
		m.Val = append(m.Val, e.Val)
		m.Ptr[e.Row+1]++
		last = e.Row
	}
	for i := 0; i < rows; i++ {
		m.Ptr[i+1] += m.Ptr[i]
	}
	return m
}

// arranged are the entries by row, then column, those of one place in their order: as they are, by counting, or by comparisons where there are few of them.
func arranged(rows, cols int, entries []Entry) []Entry {
	byPlace := func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Col, b.Col)) }
	if slices.IsSortedFunc(entries, byPlace) {
		return entries
	}
	out := append([]Entry(nil), entries...)
	if len(entries) < (rows+cols)/8 {
		slices.SortStableFunc(out, byPlace)
		return out
	}
	from := append([]Entry(nil), entries...)
	pass := func(to, from []Entry, n int, key func(e *Entry) int) {
		next := make([]int, n+1)
		for i := range from {
			next[key(&from[i])+1]++
		}
		for i := range n {
			next[i+1] += next[i]
		}
		for i := range from {
			k := key(&from[i])
			to[next[k]] = from[i]
			next[k]++
		}
	}
	pass(out, from, cols, func(e *Entry) int { return e.Col })
	pass(from, out, rows, func(e *Entry) int { return e.Row })
	return from
}

// FromDense keeps the nonzero entries of a row-major rows x cols array.
func FromDense(rows, cols int, a []float64) *CSR {
	nonzeros := 0
	for _, v := range a {
		if v != 0 {
			nonzeros++
		}
	}
	m := &CSR{Rows: rows, Cols: cols, Ptr: make([]int, rows+1), Col: make([]int, 0, nonzeros), Val: make([]float64, 0, nonzeros)}
	for i := 0; i < rows; i++ {
		for j := 0; j < cols; j++ {
			if v := a[i*cols+j]; v != 0 {
				m.Col = append(m.Col, j)
				m.Val = append(m.Val, v)
			}
		}
		m.Ptr[i+1] = len(m.Col)
	}
	return m
}

// NNZ is the number of stored entries.
func (m *CSR) NNZ() int { return len(m.Col) }

// Row returns the columns and values of row i, shared with the matrix.
func (m *CSR) Row(i int) (cols []int, vals []float64) {
	return m.Col[m.Ptr[i]:m.Ptr[i+1]], m.Val[m.Ptr[i]:m.Ptr[i+1]]
}

// Entries are the columns and values of row i, for what is not done often: a loop over Row
// takes half the time.
func (m *CSR) Entries(i int) iter.Seq2[int, float64] {
	return func(yield func(j int, v float64) bool) {
		cols, vals := m.Row(i)
		for t, j := range cols {
			if !yield(j, vals[t]) {
				return
			}
		}
	}
}

// Nonzeros are the Entries that are not 0.
func (m *CSR) Nonzeros(i int) iter.Seq2[int, float64] {
	return func(yield func(j int, v float64) bool) {
		for j, v := range m.Entries(i) {
			if v != 0 && !yield(j, v) {
				return
			}
		}
	}
}

// First is the first entry of row i that is not 0; -1 and 0 where there is none.
func (m *CSR) First(i int) (j int, v float64) {
	for j, v := range m.Nonzeros(i) {
		return j, v
	}
	return -1, 0
}

// Reads reports that row i has an entry that is not 0.
func (m *CSR) Reads(i int) bool {
	_, vals := m.Row(i)
	return slices.ContainsFunc(vals, func(v float64) bool { return v != 0 })
}

// RowDot returns row i times x (len Cols).
func (m *CSR) RowDot(i int, x []float64) float64 {
	cols, vals := m.Row(i)
	if n := len(cols); n >= contiguous && cols[n-1]-cols[0] == n-1 {
		return floats.Dot(vals, x[cols[0]:cols[n-1]+1])
	}
	s := 0.0
	for k, j := range cols {
		s += vals[k] * x[j]
	}
	return s
}

// AddDot is a sum and `by` (1 or -1) times RowDot in twice the working precision (Ogita, Rump and Oishi 2005): a double, and what is to be added to it.
func (m *CSR) AddDot(sum, by float64, i int, x []float64) (_, rest float64) {
	cols, vals := m.Row(i)
	for t, j := range cols {
		v := by * vals[t]
		p := v * x[j]
		next := sum + p
		back := next - sum
		rest += math.FMA(v, x[j], -p) + ((sum - (next - back)) + (p - back))
		sum = next
	}
	return sum, rest
}

// AddTerms is a sum with the sizes of the terms of RowDot, added one after the other.
func (m *CSR) AddTerms(sum float64, i int, x []float64) float64 {
	cols, vals := m.Row(i)
	for t, j := range cols {
		sum += math.Abs(vals[t] * x[j])
	}
	return sum
}

// RowTerms is the sum of the sizes of the terms of RowDot.
func (m *CSR) RowTerms(i int, x []float64) float64 {
	cols, vals := m.Row(i)
	n, k := len(cols), 0
	var s0, s1, s2, s3 float64 // which the compiler keeps in registers, as it does not an array
	if n >= contiguous && cols[n-1]-cols[0] == n-1 {
		for x := x[cols[0] : cols[n-1]+1]; k+4 <= n; k += 4 {
			v, x := vals[k:k+4:k+4], x[k:k+4:k+4]
			s0 += math.Abs(v[0] * x[0])
			s1 += math.Abs(v[1] * x[1])
			s2 += math.Abs(v[2] * x[2])
			s3 += math.Abs(v[3] * x[3])
		}
	}
	for ; k < n; k++ {
		s0 += math.Abs(vals[k] * x[cols[k]])
	}
	return (s0 + s1) + (s2 + s3)
}

// contiguous is the length from which it pays to ask whether a row's entries stand
// side by side, as those of a dense row do.
const contiguous = 8

// AddRow adds alpha times row i to dst (len Cols).
func (m *CSR) AddRow(dst []float64, i int, alpha float64) {
	cols, vals := m.Row(i)
	if n := len(cols); n >= contiguous && cols[n-1]-cols[0] == n-1 {
		floats.AddScaled(dst[cols[0]:cols[n-1]+1], alpha, vals)
		return
	}
	for k, j := range cols {
		dst[j] += alpha * vals[k]
	}
}

// MulVec sets dst (len Rows) to m x (x of len Cols).
func (m *CSR) MulVec(dst, x []float64) {
	for i := range dst[:m.Rows] {
		dst[i] = m.RowDot(i, x)
	}
}

// AddMulVecT adds alpha m' z (z of len Rows) to dst (len Cols).
func (m *CSR) AddMulVecT(dst []float64, alpha float64, z []float64) {
	for i, zi := range z[:m.Rows] {
		if zi != 0 {
			m.AddRow(dst, i, alpha*zi)
		}
	}
}

// T returns the transpose.
func (m *CSR) T() *CSR {
	t := &CSR{Rows: m.Cols, Cols: m.Rows, Ptr: make([]int, m.Cols+1),
		Col: make([]int, len(m.Col)), Val: make([]float64, len(m.Val))}
	for _, j := range m.Col {
		t.Ptr[j+1]++
	}
	for j := 0; j < m.Cols; j++ {
		t.Ptr[j+1] += t.Ptr[j]
	}
	next := append([]int(nil), t.Ptr[:m.Cols]...)
	for i := 0; i < m.Rows; i++ {
		for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
			p := next[m.Col[k]]
			t.Col[p], t.Val[p] = i, m.Val[k]
			next[m.Col[k]]++
		}
	}
	return t
}

// Dense returns the row-major Rows x Cols array.
func (m *CSR) Dense() []float64 {
	a := make([]float64, m.Rows*m.Cols)
	for i := 0; i < m.Rows; i++ {
		for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
			a[i*m.Cols+m.Col[k]] = m.Val[k]
		}
	}
	return a
}
