package certify

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/problem"
)

// block is a part of y that g and the rows do not mix with others, with its
// Hessian H + rho E'E, where E are its equality rows: on any face, all of which
// hold them, that is the same KKT system with the right side moved by rho E'b,
// and it is positive definite where H is so along E only.
type block struct {
	entries []int
	place   map[int]int // entry of y -> position
	h       *mat.SymDense
	factor  mat.Cholesky
	rho     float64
	equal   []int             // equality rows, independent ones
	solved  map[int][]float64 // (H + rho E'E)^-1 B_i' by row
	order   map[int]int       // of these rows, from 0
	pairs   pairs             // B_i (H + rho E'E)^-1 B_j' by order
	least   float64           // estimate of the smallest eigenvalue
	top     float64           // bound of the largest
}

// partition is the problem's blocks, checked to be one; otherwise y as a whole.
func partition(p *problem.Problem) [][]int {
	whole := make([]int, p.Dy)
	owner := make([]int, p.Dy)
	for j := range whole {
		whole[j], owner[j] = j, -1
	}
	seen := 0
	for k, entries := range p.Blocks {
		for _, j := range entries {
			if j < 0 || j >= p.Dy || owner[j] >= 0 {
				return [][]int{whole}
			}
			owner[j] = k
			seen++
		}
	}
	if seen != p.Dy || seen == 0 {
		return [][]int{whole}
	}
	for i := range p.Rows.Kind {
		cols, _ := p.Rows.B.Row(i)
		for _, j := range cols {
			if owner[j] != owner[cols[0]] {
				return [][]int{whole}
			}
		}
	}
	return p.Blocks
}

// factorize factorizes H, or H + rho E'E with growing rho where H is not
// positive definite by itself.
func (b *block) factorize(p *problem.Problem, equal []int) error {
	top := mat.Norm(b.h, math.Inf(1))
	if math.IsNaN(top) || math.IsInf(top, 0) {
		return errCurvature
	}
	plain := b.h
	b.top = top
	// rho |E|^2 a few orders above H shows whether H is positive definite
	// along E; much more would cost the digits of H.
	for _, rho := range []float64{0, 10, 1e3} {
		if rho > 0 {
			b.equal = b.independent(p, equal)
			if len(b.equal) == 0 {
				return errCurvature
			}
			longest := 0.0
			for _, i := range b.equal {
				_, vals := p.Rows.B.Row(i)
				longest = math.Max(longest, norm(vals))
			}
			b.rho = rho * top / (longest * longest)
			b.h = mat.NewSymDense(len(b.entries), nil)
			b.h.CopySym(plain)
			for _, i := range b.equal {
				b.h.SymRankOne(b.h, b.rho, mat.NewVecDense(len(b.entries), b.row(p, i)))
			}
		}
		if b.factor.Factorize(b.h) {
			b.least = top / math.Max(1, b.factor.Cond())
			return nil
		}
	}
	return errCurvature
}

// row is row i of B over the block's entries.
func (b *block) row(p *problem.Problem, i int) []float64 {
	dense := make([]float64, len(b.entries))
	cols, vals := p.Rows.B.Row(i)
	for k, j := range cols {
		dense[b.place[j]] = vals[k]
	}
	return dense
}

// solve makes solved[i] of a row, in the block's places.
func (b *block) solve(i int, row []float64) []float64 {
	solved, ok := b.solved[i]
	if !ok {
		solved = factored(&b.factor, row)
		b.solved[i], b.order[i] = solved, len(b.order)
	}
	return solved
}

// gram is B (H + rho E'E)^-1 B' of rows that are solved. Faces have most of their rows in common.
func (b *block) gram(index []int, rows [][]float64) *mat.SymDense {
	m := mat.NewSymDense(len(index), nil)
	for k, i := range index {
		for l, j := range index[:k+1] {
			m.SetSym(k, l, b.pairs.of(b.order[i], b.order[j], func() float64 { return floats.Dot(rows[k], b.solved[j]) }))
		}
	}
	return m
}

// independent is a maximal independent subset of rows of B, earlier ones first,
// by Gram-Schmidt with reorthogonalization. A row depends on the earlier
// ones where less than 1e-9 of its length is left: about the square root of the
// rounding of the Schur complement that is built from it.
func (b *block) independent(p *problem.Problem, rows []int) []int {
	const left = 1e-9
	var kept []int
	var basis [][]float64
	for _, i := range rows {
		rest := b.row(p, i)
		size := norm(rest)
		length := size
		for range 2 {
			before := length
			for _, q := range basis {
				floats.AddScaled(rest, -floats.Dot(q, rest), q)
			}
			if length = norm(rest); length > 0.7*before {
				break // "twice is enough" (Kahan), and once where little is cancelled
			}
		}
		if length <= left*size {
			continue
		}
		for j := range rest {
			rest[j] /= length
		}
		kept = append(kept, i)
		basis = append(basis, rest)
	}
	return kept
}
