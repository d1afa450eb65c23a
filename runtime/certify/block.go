package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// block is a part of y that g and the rows do not mix with others, with its
// Hessian H + rho E'E, where E are its equality rows: on any face, all of which
// hold them, that is the same KKT system with the right side moved by rho E'b,
// and it is positive definite where H is so along E only. Where H is 0 that is where E alone fixes the block, whatever rho is.
type block struct {
	p       *problem.Problem
	entries []int
	place   []int // entry of y -> position
	h       *mat.SymDense
	factor  mat.Cholesky
	rho     float64
	equal   []int        // equality rows in H + rho E'E, independent ones
	lifts   map[int]lift // of the rows that faces have held so far
	span    span         // of rows that faces have held
	least   float64      // estimate of the smallest eigenvalue
	top     float64      // bound of the largest
}

// lift is a row over the entries of its block, B_i, and (H + rho E'E)^-1 B_i'.
type lift struct{ normal, solved []float64 }

// partition is the problem's blocks, checked to be one; otherwise y as a whole.
func partition(p *problem.Problem) [][]int {
	whole, owner, seen := [][]int{each.Number(p.Dy)}, make([]int, p.Dy), 0 // owner: 0 for none
	for k, entries := range p.Blocks {
		for _, j := range entries {
			if j < 0 || j >= p.Dy || owner[j] > 0 {
				return whole
			}
			owner[j] = k + 1
		}
		seen += len(entries)
	}
	if seen != p.Dy || seen == 0 {
		return whole
	}
	for i := range p.Rows.Kind {
		cols, _ := p.Rows.B.Row(i)
		if slices.ContainsFunc(cols, func(j int) bool { return owner[j] != owner[cols[0]] }) {
			return whole
		}
	}
	return p.Blocks
}

// factorize factorizes H, or H + rho E'E with growing rho where H is not
// positive definite by itself.
func (b *block) factorize(equal []int) error {
	top := mat.Norm(b.h, math.Inf(1))
	if !isNumber(top) {
		return errCurvature
	}
	plain := b.h
	b.top = top
	// rho |E|^2 a few orders above H shows whether H is positive definite
	// along E; much more would cost the digits of H.
	for _, rho := range []float64{0, 10, 1e3} {
		if rho > 0 {
			b.equal = b.independent(equal)
			if len(b.equal) == 0 {
				return errCurvature
			}
			longest := 0.0
			for _, i := range b.equal {
				_, vals := b.p.Rows.B.Row(i)
				longest = math.Max(longest, norm(vals))
			}
			b.rho = rho * orOne(top) / (longest * longest)
			b.h = mat.NewSymDense(len(b.entries), nil)
			b.h.CopySym(plain)
			for _, i := range b.equal {
				b.h.SymRankOne(b.h, b.rho, mat.NewVecDense(len(b.entries), b.row(i)))
			}
		}
		if b.factor.Factorize(b.h) {
			if b.least = top / math.Max(1, b.factor.Cond()); top == 0 {
				b.least = math.Inf(1) // no error of a force moves y
			}
			return nil
		}
	}
	return errCurvature
}

// row is row i of B over the block's entries.
func (b *block) row(i int) []float64 {
	dense := make([]float64, len(b.entries))
	for j, v := range b.p.Rows.B.Entries(i) {
		dense[b.place[j]] = v
	}
	return dense
}

// lift is that of row i, made when it is asked for first.
func (b *block) lift(i int) lift {
	if _, ok := b.lifts[i]; !ok {
		normal := b.row(i)
		b.lifts[i] = lift{normal, factored(&b.factor, normal)}
	}
	return b.lifts[i]
}

// pair is B_i (H + rho E'E)^-1 B_j' of two rows that are lifted.
func (b *block) pair(i, j int) float64 {
	return floats.Dot(b.lifts[i].normal, b.lifts[j].solved)
}

// independent is a maximal independent subset of rows of B, earlier ones first. Rows that are
// independent of more than these are independent: those that faces had before are not looked at again.
func (b *block) independent(rows []int) []int {
	depends := func(i int) bool { return !b.span.add(i, b.row) }
	if slices.ContainsFunc(rows, depends) {
		b.span = span{}
		return slices.DeleteFunc(slices.Clone(rows), depends)
	}
	return slices.Clone(rows)
}

// span is that of independent rows, by Gram-Schmidt with reorthogonalization.
type span struct {
	rows  []int // ascending
	basis [][]float64
}

// add takes row i into the span, where it is not in it, and reports true; false where it depends on
// others (tolerance.Dependence).
func (s *span) add(i int, row func(i int) []float64) bool {
	at, in := slices.BinarySearch(s.rows, i)
	if in {
		return true
	}
	rest := row(i)
	if !s.extend(rest, len(rest)) {
		return false
	}
	s.rows = slices.Insert(s.rows, at, i)
	return true
}

// extend takes from v its part along the basis, as far as its first n entries are in that, and adds what is left, of length 1, to it;
// false where nothing is.
func (s *span) extend(v []float64, n int) bool {
	size := norm(v[:n])
	length := size
	for range 2 {
		before := length
		for _, q := range s.basis {
			floats.AddScaled(v, -floats.Dot(q[:n], v[:n]), q)
		}
		if length = norm(v[:n]); length > 0.7*before {
			break // "twice is enough" (Kahan), and once where little is cancelled
		}
	}
	if length <= tolerance.Dependence*size {
		return false
	}
	s.basis = append(s.basis, scaled(v, 1/length))
	return true
}
