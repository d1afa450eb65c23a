package linalg

import (
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/tolerance"
)

// Independent sorts the given rows of b, on the columns that are not fixed and
// each scaled to unit length on all columns, by the angle with the span of those
// before it in an order of its own, from the factors of their Gram matrix. It
// returns the rows that depend on others and the least sine of the rest (1
// where there is none).
func Independent(b *sparse.CSR, rows []int, fixed func(j int) bool) (dependent []int, least float64) {
	// 1e-12 is the square of the sine of the angle between a row and the span of others from which it counts as dependent on them: products
	// of rows of unit length carry 1e-16, and the factorization divides that by the pivots before, so that angles below 1e-6 cannot be told
	// from 0 in this way.
	_, _, smallest := gramFactors(b, rows, fixed, math.Inf(1), 1e-12, func(a int) { dependent = append(dependent, rows[a]) })
	return dependent, math.Min(1, math.Sqrt(smallest))
}

// Dependent are rows of Independent that depend on others. Those with a column of their own are independent of all others, over and over: the Gram matrix is of what is left.
func Dependent(b *sparse.CSR, rows []int, fixed func(j int) bool) (dependent []int) {
	if rows = core(b, rows, fixed, 0); len(rows) > 0 {
		dependent, _ = Independent(b, rows, fixed)
	}
	return dependent
}

// gramFactors is the given rows, on the columns that are not fixed and each scaled to unit length on all columns, and the factors of their Gram matrix, with
// its smallest pivot above least; those with a smaller one are dependent, by their place, and left out. There are no factors where they take more than so many multiplications.
func gramFactors(b *sparse.CSR, rows []int, fixed func(j int) bool, most, least float64, dependent func(a int)) (unit *sparse.CSR, factors *LDL, smallest float64) {
	unit = sparse.Empty(b.Cols)
	for _, i := range rows {
		size := RowNorm(b, i)
		for j, v := range b.Nonzeros(i) {
			if !fixed(j) {
				unit.Append(j, v/size)
			}
		}
		unit.EndRow()
	}
	products := sparse.Mul(unit, unit.T())
	row, col := make([]int32, 0, (products.NNZ()+len(rows))/2), make([]int32, 0, (products.NNZ()+len(rows))/2)
	val := make([]float64, 0, (products.NNZ()+len(rows))/2)
	for a := range rows {
		diagonal := false
		for c, v := range products.Entries(a) {
			if c <= a {
				row, col, val = append(row, int32(a)), append(col, int32(c)), append(val, v)
				diagonal = diagonal || c == a
			}
		}
		if !diagonal { // nothing is left of the row
			row, col, val = append(row, int32(a)), append(col, int32(a)), append(val, 0)
		}
	}
	symbolic := analyze(len(rows), row, col)
	if symbolic.work() > most {
		return unit, nil, math.NaN()
	}
	factors = newPlain(symbolic, nil)
	return unit, factors, factors.factorSemidefinite(val, least, dependent)
}

// Spanned is a row that others nearly combine to: what is left of it beyond sum_k By_k row Of_k has the length Sine times its own, and is orthogonal to them to 1 %.
type Spanned struct {
	Row  int
	Of   []int
	By   []float64 // of few digits: combinations of rows with few digits are exact
	Sine float64
}

// NearlySpanned finds among the given rows of b those within an angle of the span of the others whose sine is at most that given, and above tolerance.Feasibility: what is left of others is rounding.
// It looks for none where products of rows are too many to keep, or their factors take more than a second.
func NearlySpanned(b *sparse.CSR, rows []int, sine float64) []Spanned {
	none := func(int) bool { return false }
	rows = core(b, rows, none, sine)
	products, count := 0, make([]int, b.Cols)
	for _, i := range rows {
		for j := range b.Nonzeros(i) {
			products += count[j]
			count[j]++
		}
	}
	if len(rows) < 2 || products > tolerance.MostNumbers {
		return nil
	}
	var dependent []int
	unit, factors, _ := gramFactors(b, rows, none, tolerance.Second, sine*sine, func(a int) { dependent = append(dependent, a) })
	if factors == nil {
		return nil
	}
	out := make([]Spanned, 0, len(dependent))
	slices.Sort(dependent)
	in := func(a int) bool { _, is := slices.BinarySearch(dependent, a); return !is }
	rest, c := make([]float64, b.Cols), make([]float64, len(rows))
	beyond := func(a int) {
		clear(rest)
		unit.AddRow(rest, a, 1)
		for k, t := range c {
			if t != 0 {
				unit.AddRow(rest, k, -t)
			}
		}
	}
	for _, a := range dependent {
		clear(c)
		factors.Refine(c, func(r, _ []float64) {
			beyond(a)
			for k := range r {
				if r[k] = 0; in(k) {
					r[k] = unit.RowDot(k, rest)
				}
			}
		}, tolerance.Halvings, 0)
		beyond(a)
		s := Spanned{Row: rows[a], Sine: Norm(rest)}
		if !(s.Sine > tolerance.Feasibility) {
			continue
		}
		for k, t := range c {
			by := RowNorm(b, rows[a]) / RowNorm(b, rows[k])
			grid := math.Ldexp(1, math.Ilogb(s.Sine*by/(100*float64(len(rows)))))
			if t = math.Round(t*by/grid) * grid; in(k) && t != 0 {
				s.Of, s.By = append(s.Of, rows[k]), append(s.By, t)
			}
		}
		out = append(out, s)
	}
	return out
}

// core is what is left of rows where one after another those go that have a column that is not fixed to themselves, with more than a share of their length: none of these is that near to the span of the others.
func core(b *sparse.CSR, rows []int, fixed func(j int) bool, share float64) []int {
	count, by := make([]int, b.Cols), make([]int, b.Cols) // rows that are left in a column, and the sum of their places
	for a, i := range rows {
		for j := range b.Nonzeros(i) {
			if !fixed(j) {
				count[j]++
				by[j] += a
			}
		}
	}
	gone := make([]bool, len(rows))
	alone := make([]int, 0, b.Cols)
	for j, n := range count {
		if n == 1 {
			alone = append(alone, j)
		}
	}
	for len(alone) > 0 {
		j := alone[len(alone)-1]
		alone = alone[:len(alone)-1]
		a := by[j]
		if count[j] != 1 || !(math.Abs(b.At(rows[a], j)) > share*RowNorm(b, rows[a])) {
			continue
		}
		gone[a] = true
		for k := range b.Nonzeros(rows[a]) {
			by[k] -= a // of fixed ones neither tells anything
			if count[k]--; count[k] == 1 {
				alone = append(alone, k)
			}
		}
	}
	var out []int
	for a, i := range rows {
		if !gone[a] {
			out = append(out, i)
		}
	}
	return out
}
