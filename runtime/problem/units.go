package problem

import (
	"math"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/tolerance"
)

// Units are lengths of the entries of x and y beside which a value of them is small: 1, or where that is less the width of the box that bounds, balls and rows of both levels leave (the size of a value that is the only one; 0 where it is the bounds of x that leave 0 alone), or, of an entry without one, the
// largest that balances, in one row, its side and entries with a box, or, of an entry of y, what else moves it against its curvature in g: balanced are these lengths (len Dy; 0 for none) where x is as long as its
// units, or nil. The rest is the part of each length without that limit which a term has to be taken for at least, so that what counts as 0 of it (tolerance.Sign) is what bounds of relaxations leave of the term over all its length as rounding
// (2^-48, see package tree); 0 where no length is known.
func (p *Problem) Units(balanced func(x []float64) []float64) (x, y, rest []float64) {
	rows := append(p.X.boxRows(), p.boxRows()...)
	b := p.X.narrowed(p.Dx+p.Dy, rows)
	unit := b.widths()
	for j := range p.Dx {
		if lo, hi := p.X.Box(j); lo == 0 && hi == 0 {
			unit[j] = 0
		}
	}
	balance := make([]float64, len(unit))
	for _, r := range rows {
		b.balance(balance, r)
	}
	settle := func(first, end int) []float64 {
		for j := first; j < end; j++ {
			if t := balance[j]; t > 0 && math.IsInf(unit[j], 1) {
				unit[j] = t
			}
			if !math.IsInf(unit[j], 1) {
				rest[j] = 0x1p-48 / tolerance.Sign * unit[j]
			}
			unit[j] = math.Min(unit[j], 1)
		}
		return unit[first:end:end]
	}
	rest = make([]float64, len(unit))
	x = settle(0, p.Dx)
	if balanced != nil {
		for j, t := range balanced(x) {
			balance[p.Dx+j] = math.Max(balance[p.Dx+j], t)
		}
	}
	return x, settle(p.Dx, len(unit)), rest
}

// Ranges are the box of the n entries of x that bounds, balls and rows of X leave, which may have no end.
func (s *Set) Ranges(n int) (lo, hi []float64) {
	b := s.narrowed(n, s.boxRows())
	return b.lo, b.hi
}

// narrowed is the box of the first n entries of x and y that bounds, balls and some rows leave.
func (s *Set) narrowed(n int, rows []boxRow) *box {
	b := new(box)
	b.lo, b.hi = s.Boxes(n)
	for _, ball := range s.Balls {
		for j := ball.Start; j < ball.End; j++ {
			b.lo[j], b.hi[j] = math.Max(b.lo[j], ball.At(j)-ball.Radius), math.Min(b.hi[j], ball.At(j)+ball.Radius)
		}
	}
	for range tolerance.Propagations {
		for _, r := range rows {
			b.narrow(r)
		}
	}
	return b
}

// box is what is known of the range of each column.
type box struct{ lo, hi []float64 }

// widths are those of the box, of one value its size; +Inf where there is none, or rows leave 0 alone, to rounding.
func (b *box) widths() []float64 {
	out := make([]float64, len(b.lo))
	for j := range out {
		if out[j] = b.hi[j] - b.lo[j]; out[j] == 0 {
			out[j] = math.Abs(b.lo[j])
		}
		if !(out[j] > 0) {
			out[j] = math.Inf(1)
		}
	}
	return out
}

// balance makes the lengths of a row's entries without a width at least what balances its side and the entries that have one.
func (b *box) balance(length []float64, r boxRow) {
	size := math.Abs(r.rhs)
	for _, t := range r.terms {
		if width := b.hi[t.column] - b.lo[t.column]; !math.IsInf(width, 1) {
			size += math.Abs(t.value) * math.Max(width, math.Max(math.Abs(b.lo[t.column]), math.Abs(b.hi[t.column])))
		}
	}
	for _, t := range r.terms {
		length[t.column] = math.Max(length[t.column], size/math.Abs(t.value))
	}
}

// boxRow is a row over x and y: the sum of its terms is at most rhs, or equal to it.
type boxRow struct {
	terms []term
	rhs   float64
	kind  Kind
}

// term is a coefficient of a row.
type term struct {
	column int
	value  float64
}

// boxRows are the rows of X.
func (s *Set) boxRows() []boxRow {
	return each.Below(len(s.Kind), func(i int) boxRow { return boxRow{appendTerms(nil, s.E, i, 0, 1), s.Rhs[i], s.Kind[i]} })
}

// boxRows are the rows of the lower level.
func (p *Problem) boxRows() []boxRow {
	return each.Below(len(p.Rows.Kind), func(i int) boxRow {
		return boxRow{appendTerms(appendTerms(nil, p.Rows.A, i, 0, 1), p.Rows.B, i, p.Dx, -1), p.Rows.Rhs[i], p.Rows.Kind[i]}
	})
}

// appendTerms appends those of row i of a, whose first column is first, times sign.
func appendTerms(to []term, a *sparse.CSR, i, first int, sign float64) []term {
	for j, v := range a.Nonzeros(i) {
		to = append(to, term{first + j, sign * v})
	}
	return to
}

// narrow makes the box what a row leaves of it.
func (b *box) narrow(r boxRow) {
	b.below(r.terms, r.rhs, 1)
	if r.kind == Equal {
		b.below(r.terms, -r.rhs, -1)
	}
}

// below narrows the box by sign times the sum of terms <= rhs.
func (b *box) below(row []term, rhs, sign float64) {
	least := func(t term) float64 {
		if sign*t.value > 0 {
			return sign * t.value * b.lo[t.column]
		}
		return sign * t.value * b.hi[t.column]
	}
	sum, open := 0.0, 0 // of those that have a least value, and how many have none
	for _, t := range row {
		if v := least(t); math.IsInf(v, -1) {
			open++
		} else {
			sum += v
		}
	}
	for _, t := range row {
		own := least(t)
		rest := rhs - sum
		switch {
		case !math.IsInf(own, -1):
			if open > 0 {
				continue
			}
			rest += own
		case open > 1:
			continue
		}
		if end, j := rest/(sign*t.value), t.column; sign*t.value > 0 {
			b.hi[j] = math.Min(b.hi[j], end)
		} else {
			b.lo[j] = math.Max(b.lo[j], end)
		}
	}
}

// MultiplierUnits are lengths of the multipliers beside which a value of them is small: 1, or what balances the forces (len Dy: sizes of the terms of grad_y g where x and y are as
// long as their units) where that is less.
func (p *Problem) MultiplierUnits(forces []float64) []float64 {
	out := make([]float64, p.Rows.Len())
	for i := range out {
		out[i] = 1
		for j, v := range p.Rows.B.Entries(i) {
			if t := forces[j] / math.Abs(v); t > 0 {
				out[i] = math.Min(out[i], t)
			}
		}
	}
	return out
}
