package activeset

import (
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/tolerance"
)

// scaling turns a program into one whose coefficients are near 1: variables
// z = d z~, rows times r, the objective times sigma, all powers of two, so that
// nothing is rounded.
type scaling struct {
	d, r  []float64
	sigma float64
}

// equilibrate balances [Q A'; A 0] by square roots of the largest entries of
// its rows, in turn (Ruiz 2001).
func equilibrate(n int, q, a *sparse.CSR) scaling {
	m := 0
	if a != nil {
		m = a.Rows
	}
	s := scaling{d: slices.Repeat([]float64{1}, n), r: slices.Repeat([]float64{1}, m), sigma: 1}
	both := [2][]float64{s.d, s.r}
	mq := 0.0
	if q != nil {
		for _, v := range q.Val {
			mq = max(mq, math.Abs(v))
		}
	}
	big := [2][]float64{make([]float64, n), make([]float64, m)}
	for range tolerance.Sweeps {
		clear(big[0])
		clear(big[1])
		if mq > 0 {
			for i := 0; i < n; i++ {
				cols, vals := q.Row(i)
				for k, j := range cols {
					big[0][i] = max(big[0][i], math.Abs(vals[k])/mq*s.d[i]*s.d[j])
				}
			}
		}
		for i := 0; i < m; i++ {
			cols, vals := a.Row(i)
			for k, j := range cols {
				v := math.Abs(vals[k]) * s.r[i] * s.d[j]
				big[0][j], big[1][i] = max(big[0][j], v), max(big[1][i], v)
			}
		}
		for w, v := range both {
			for i := range v {
				if big[w][i] > 0 {
					v[i] /= math.Sqrt(big[w][i])
				}
			}
		}
	}
	for _, v := range both {
		for i := range v {
			v[i] = powerOfTwo(v[i])
		}
	}
	return s
}

// powerOfTwo is the nearest, in logarithm, to v > 0.
func powerOfTwo(v float64) float64 {
	e := math.Round(math.Log2(v))
	return math.Ldexp(1, int(min(max(e, -300), 300))) // squares stay in range
}

// objective sets sigma, and returns the scaled objective.
func (s *scaling) objective(q *sparse.CSR, c []float64) (*sparse.CSR, []float64) {
	most := 0.0
	if q != nil {
		for i := 0; i < q.Rows; i++ {
			cols, vals := q.Row(i)
			for k, j := range cols {
				most = max(most, math.Abs(vals[k]*s.d[i]*s.d[j]))
			}
		}
	}
	if most == 0 {
		q = nil
		for j, v := range c {
			most = max(most, math.Abs(v*s.d[j]))
		}
	}
	s.sigma = 1
	if most > 0 {
		s.sigma = 1 / powerOfTwo(most)
	}
	cs := make([]float64, len(c))
	for j, v := range c {
		cs[j] = s.sigma * s.d[j] * v
	}
	if q == nil {
		return nil, cs
	}
	return s.scaled(q, s.sigma, s.d), cs
}

// rows is the scaled A.
func (s *scaling) rows(a *sparse.CSR) *sparse.CSR {
	if a == nil {
		return nil
	}
	return s.scaled(a, 1, s.r)
}

// scaled is a matrix with its rows times sigma and those numbers, on scaled variables.
func (s *scaling) scaled(m *sparse.CSR, sigma float64, rows []float64) *sparse.CSR {
	out := &sparse.CSR{Rows: m.Rows, Cols: m.Cols, Ptr: m.Ptr, Col: m.Col, Val: make([]float64, len(m.Val))}
	for i := 0; i < m.Rows; i++ {
		for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
			out.Val[k] = sigma * rows[i] * s.d[m.Col[k]] * m.Val[k]
		}
	}
	return out
}
