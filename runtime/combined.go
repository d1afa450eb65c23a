package runtime

import (
	"maps"
	"math"
	"math/big"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Equality rows that nearly depend on others are combined with them, once and exactly, until none does (ir.Combined): in rows as they stand, everything that is computed from them would lose
// as many digits as the sine of their angle has zeros. Like curvature.Untransformed the step is part of the compiler: solvers, proofs and verification see the rows as combined. What a
// result says of rows is about the model's own.

// combined takes the combined rows where there are any. Upper levels that read multipliers keep those of the model's own rows.
func combined(bound *ir.Problem) *ir.Problem {
	if len(bound.Duals) > 0 {
		return bound
	}
	equal := each.WhereBelow(len(bound.Rows), func(i int) bool { return bound.Rows[i].Equal && !bound.Rows[i].Family.Hidden })
	c := &combiner{of: bound, rows: map[int]map[int]*big.Float{}, out: &ir.Combined{A: bound.A, B: bound.B, Rhs: bound.Rhs}}
	q := *bound
	for range equal { // rows that are combined at once may nearly depend on each other still: at least one no longer does
		before := len(c.out.Steps)
		for _, s := range linalg.NearlySpanned(q.B, equal, math.Sqrt(tolerance.HalfDigits)) { // others lose less than a quarter of the digits
			c.combine(s)
		}
		if len(c.out.Steps) == before {
			break
		}
		q.A, q.B, q.Rhs = c.rounded()
	}
	if len(c.out.Steps) == 0 {
		return bound
	}
	q.Combined = c.out
	return &q
}

// combiner holds combined rows, exactly: by column, those of A and Rhs behind those of B.
type combiner struct {
	of   *ir.Problem
	rows map[int]map[int]*big.Float
	out  *ir.Combined
}

// exact is enough for a product of any two doubles beside any other.
const exact = 4400

func (c *combiner) row(i int) map[int]*big.Float {
	if row := c.rows[i]; row != nil {
		return row
	}
	row := map[int]*big.Float{}
	put := func(j int, v float64) { row[j] = new(big.Float).SetPrec(exact).SetFloat64(v) }
	for j, v := range c.of.B.Nonzeros(i) {
		put(j, v)
	}
	for j, v := range c.of.A.Nonzeros(i) {
		put(c.of.Lower.Dim+j, v)
	}
	if v := c.of.Rhs[i]; v != 0 {
		put(c.of.Lower.Dim+c.of.Upper.Dim, v)
	}
	return row
}

// combine is the step that a span asks for, unless a coefficient leaves the range of doubles.
func (c *combiner) combine(s linalg.Spanned) {
	row := map[int]*big.Float{}
	add := func(i int, by float64) {
		for j, v := range c.row(i) {
			if row[j] == nil {
				row[j] = new(big.Float).SetPrec(exact)
			}
			row[j].Add(row[j], new(big.Float).SetPrec(exact).Mul(v, new(big.Float).SetFloat64(by)))
		}
	}
	add(s.Row, 1)
	for k, i := range s.Of {
		add(i, -s.By[k])
	}
	exponent := -math.Ilogb(s.Sine)
	for _, v := range row {
		v.SetMantExp(v, exponent)
		if t, _ := v.Float64(); math.IsInf(t, 0) || v.Sign() != 0 && math.Abs(t) < 0x1p-1022 {
			return
		}
	}
	c.rows[s.Row] = row
	c.out.Steps = append(c.out.Steps, ir.Combination{Row: s.Row, Of: s.Of, By: s.By, Scale: math.Ldexp(1, exponent), Sine: s.Sine})
}

// rounded are the rows, coefficients rounded once.
func (c *combiner) rounded() (a, b *sparse.CSR, rhs []float64) {
	a, b, rhs = sparse.Empty(c.of.A.Cols), sparse.Empty(c.of.B.Cols), slices.Clone(c.of.Rhs)
	for i := range rhs {
		row := c.rows[i]
		if row == nil {
			a.AppendAll(c.of.A.Row(i))
			b.AppendAll(c.of.B.Row(i))
		} else {
			rhs[i] = 0
			for _, j := range slices.Sorted(maps.Keys(row)) {
				switch v, _ := row[j].Float64(); {
				case v == 0:
				case j < b.Cols:
					b.Append(j, v)
				case j < b.Cols+a.Cols:
					a.Append(j-b.Cols, v)
				default:
					rhs[i] = v
				}
			}
		}
		a.EndRow()
		b.EndRow()
	}
	return a, b, rhs
}

// ownRows are the rows of the model at y in its units: those of solvers, but where they are combined.
func (p *Problem) ownRows(y []float64) (rows *problem.Rows, own []float64) {
	if p.IR.Combined == nil {
		return p.Numeric.Rows, y
	}
	of := *p.Numeric.Rows
	of.A, of.B, of.Rhs = p.IR.Own()
	return &of, p.units.Leave(y)
}
