package kkt

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// equilibrate divides columns and multiplies rows of the relaxation by powers of two such that the terms of rows at solutions are about 1, whatever units the model is in. First
// the logarithms of the entries, and of the sides of rows, come as near to 0 as they can in least squares: that is the same in all units. Then, by means of rows and columns in turn, entries below 1 count by their size: what is nothing beside others of its row and column has no say. At last the largest of each row and column
// becomes about 1, and no unit of a variable is above all values within its bounds. It reports whether all numbers that are finite stay so, and all that are not 0.
// A column of one entry, as that of a bound's multiplier, fits any unit of its row: it has no say in it where there is anything else.
func (s *System) equilibrate() bool {
	a, b := s.Relaxation.A, &s.Relaxation.Bounds
	row, col := make([]float64, a.Rows), make([]float64, s.N) // logarithms
	limit, count := make([]float64, s.N), make([]int, s.N)
	for j := range limit {
		limit[j] = math.Inf(1)
		if v := math.Max(math.Abs(b.Lo[j]), math.Abs(b.Hi[j])); v > 0 {
			limit[j] = math.Log2(v)
		}
	}
	for _, j := range a.Col {
		count[j]++
	}
	logs := each.Of(a.Val, func(v float64) float64 { return math.Log2(math.Abs(v)) })
	side := func(v float64) float64 { return math.Log2(math.Abs(v)) }
	lo, hi := each.Of(b.RowLo, side), each.Of(b.RowHi, side)
	leastSquares(a, logs, lo, hi, count, row, col)
	columns := make([]tally, s.N)
	for kind, sweep := 1, 0; kind < 3; sweep++ {
		middle, changed := (*tally).mean, 0.0
		if kind == 2 {
			middle = (*tally).largest
		}
		weight := func(v float64) float64 {
			if kind == 2 || v >= 0 {
				return 1
			}
			return math.Exp2(v)
		}
		clear(columns)
		for i := range row {
			var several, bounded, alone tally
			side := func(v float64) {
				if !math.IsInf(v, 1) {
					several.add(v, weight(v+row[i]))
				}
			}
			if side(lo[i]); b.RowHi[i] != b.RowLo[i] {
				side(hi[i])
			}
			for t := a.Ptr[i]; t < a.Ptr[i+1]; t++ {
				switch j := a.Col[t]; {
				case count[j] > 1:
					several.add(logs[t]+col[j], weight(logs[t]+col[j]+row[i]))
				case !math.IsInf(limit[j], 1):
					bounded.add(logs[t]+limit[j], 1)
				default:
					alone.add(logs[t], 1)
				}
			}
			for _, of := range [...]tally{several, bounded, alone} {
				if of.n > 0 {
					changed = math.Max(changed, math.Abs(row[i]+middle(&of)))
					row[i] = -middle(&of)
					break
				}
			}
			for t := a.Ptr[i]; t < a.Ptr[i+1]; t++ {
				j := a.Col[t]
				columns[j].add(logs[t]+row[i], weight(logs[t]+row[i]+col[j]))
			}
		}
		for j := range columns {
			to := -middle(&columns[j])
			switch {
			case columns[j].n == 0 && !math.IsInf(limit[j], 1):
				to = limit[j] // nothing but its bounds says what its unit is
			case kind == 2 && columns[j].n > 0:
				to = math.Min(to, limit[j])
			}
			changed = math.Max(changed, math.Abs(to-col[j]))
			col[j] = to
		}
		if changed < 0.5 || sweep == tolerance.Sweeps {
			kind, sweep = kind+1, 0
		}
	}
	s.ColScale, s.RowScale = powers(col), powers(row)
	ok := true
	scale := func(v *float64, by float64) {
		was := *v
		*v *= by
		ok = ok && (math.IsInf(was, 0) || !math.IsInf(*v, 0)) && (was == 0 || *v != 0)
	}
	for i, by := range s.RowScale {
		cols, vals := a.Row(i)
		for t, j := range cols {
			scale(&vals[t], by*s.ColScale[j])
		}
		scale(&b.RowLo[i], by)
		scale(&b.RowHi[i], by)
	}
	for j, by := range s.ColScale {
		scale(&b.Lo[j], 1/by)
		scale(&b.Hi[j], 1/by)
	}
	return ok
}

// settled is what is left of logarithms in least squares: which power of two is next to it does not depend on the units of a model, and halfway it is the larger.
const settled = 0x1p-20

// leastSquares adds to rows and columns, from 0, what brings the logarithms of entries, but of columns of one, and of the ends of rows next to 0 (Curtis and Reid 1972), by conjugate gradients in which each row and column has the weight of a unit.
func leastSquares(a *sparse.CSR, logs, lo, hi []float64, count []int, row, col []float64) {
	m, n := len(row), len(row)+len(col)
	residual, weight := make([]float64, n), make([]float64, n)
	ends := make([]float64, m) // how many a row has
	for i := range row {
		for _, end := range [2]float64{lo[i], hi[i]} {
			if !math.IsInf(end, 0) && (ends[i] == 0 || hi[i] != lo[i]) {
				ends[i]++
				residual[i] -= end
			}
		}
		weight[i] += ends[i]
		for t := a.Ptr[i]; t < a.Ptr[i+1]; t++ {
			if j := a.Col[t]; count[j] > 1 && !math.IsInf(logs[t], 0) {
				residual[i] -= logs[t]
				residual[m+j] -= logs[t]
				weight[i]++
				weight[m+j]++
			}
		}
	}
	for k, w := range weight {
		if weight[k] = 0; w > 0 {
			weight[k] = 1 / math.Sqrt(w)
		}
		residual[k] *= weight[k]
	}
	cg := linalg.Conjugate{R: residual, P: make([]float64, n)}
	cg.Start()
	v, product := make([]float64, n), make([]float64, n)
	for range tolerance.DenseOrder {
		for k, w := range weight {
			v[k], product[k] = w*cg.P[k], 0
		}
		for i := range m {
			product[i] += ends[i] * v[i]
			for t := a.Ptr[i]; t < a.Ptr[i+1]; t++ {
				if j := m + a.Col[t]; count[a.Col[t]] > 1 && !math.IsInf(logs[t], 0) {
					sum := v[i] + v[j]
					product[i] += sum
					product[j] += sum
				}
			}
		}
		for k, w := range weight {
			product[k] *= w
		}
		curved := linalg.Dot(cg.P, product)
		if !(curved > 0) {
			return
		}
		step := cg.RR / curved
		linalg.Axpy(row, step, v[:m])
		linalg.Axpy(col, step, v[m:])
		linalg.Axpy(cg.R, -step, product)
		if cg.Turn(); linalg.NormInf(cg.R) < settled*settled || linalg.NormInf(v)*step < settled*settled {
			return
		}
	}
}

// shortenUnit makes the unit of column j no longer than a length, to a power of two.
func (s *System) shortenUnit(j int, length float64) {
	r := s.Relaxation
	_, e := math.Frexp(length)
	by := math.Ldexp(1, e) / s.ColScale[j]
	if !(by < 1) || by == 0 {
		return
	}
	s.ColScale[j] *= by
	r.Lo[j], r.Hi[j] = r.Lo[j]/by, r.Hi[j]/by
	for k, col := range r.A.Col {
		if col == j {
			r.A.Val[k] *= by
		}
	}
}

// shortenByF makes the unit of an entry of x that no row reads, which its bounds alone have told, no longer than what a quadratic f says where it curves up along it: as far as its least is from 0, and moves
// where others move by their units; a unit of x at least, as what is left of linear terms may be rounding.
func (s *System) shortenByF(hess *sparse.CSR, lin []float64) {
	if hess == nil {
		return
	}
	free := each.Below(s.Nx, func(j int) bool { return hess.At(j, j) > 0 })
	for _, j := range s.Relaxation.A.Col {
		if j < s.Nx {
			free[j] = false
		}
	}
	length := slices.Clone(s.ColScale)
	unit, _, _ := s.P.Units(nil)
	for j, is := range free {
		if is {
			length[j] = math.Max(unit[j], math.Abs(lin[j])/hess.At(j, j))
		}
	}
	for range tolerance.Propagations {
		for j, is := range free {
			if !is {
				continue
			}
			for k, v := range hess.Entries(j) {
				length[j] = math.Max(length[j], math.Abs(v)/hess.At(j, j)*length[k])
			}
		}
	}
	for j, is := range free {
		if is && length[j] > 0 { // else it is 0
			s.shortenUnit(j, length[j])
		}
	}
}

// tally is of logarithms: their weighted sum, the sum of the weights, and the largest. That of 0 is none.
type tally struct {
	sum, weights, most float64
	n                  int
}

func (t *tally) add(v, weight float64) {
	if math.IsInf(v, -1) {
		return
	}
	if t.n == 0 || v > t.most {
		t.most = v
	}
	t.sum += weight * v
	t.weights += weight
	t.n++
}

func (t *tally) largest() float64 { return t.most }

func (t *tally) mean() float64 {
	if t.weights == 0 {
		return t.most
	}
	return t.sum / t.weights
}

// powers are the powers of two next to 2^v. Products of two of them are doubles.
func powers(v []float64) []float64 {
	return each.Of(v, func(e float64) float64 {
		return math.Ldexp(1, int(math.Floor(math.Min(math.Max(e, -500), 500)+0.5+settled)))
	})
}
