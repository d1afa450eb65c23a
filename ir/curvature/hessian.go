package curvature

import (
	"math"
	"slices"

	"bilevelc/internal/directed"
	"bilevelc/internal/each"
	matrices "bilevelc/internal/gram"
	"bilevelc/internal/sparse"
)

// maxDense bounds the order of a matrix that is assembled densely: 2000^2
// doubles are 32 MB.
const maxDense = 2000

// form is a fixed symmetric matrix that lies below a Hessian in the Loewner
// order. Variables that no term couples are in different blocks. Its value is
// diag - slack on the diagonal plus a dense matrix for each block of several.
type form struct {
	n       int
	block   []int            // of each column
	cols    [][]int          // of each block
	place   []int            // of each column within its block
	dense   [][]float64      // of each block, row-major; nil for single columns and coarse blocks
	rows    []int            // rank-one parts added to each block, for the rounding bound
	diag    []float64        // rounded down
	slack   []float64        // rounded up: radii and rounding errors, by row sums (Gershgorin)
	mass    []float64        // row sums of the absolute values that were added to the dense blocks
	touched []bool           // columns in which some term is curved
	failed  *term            // a term without a finite lower bound, or nil
	squares map[int]*squares // of blocks, what is not in the upper triangle of their matrix yet
}

// below assembles a matrix below the sum of the terms, or below its negative.
// In a coarse study nothing is assembled: every part is bounded by a diagonal
// matrix, positive semidefinite parts by 0.
// The extra rows are added as squares.
func (s *study) below(terms []term, negative bool, extra ...signedTerm) *form {
	n := s.cols()
	f := &form{n: n, block: make([]int, n), place: make([]int, n), diag: make([]float64, n),
		slack: make([]float64, n), mass: make([]float64, n), touched: make([]bool, n), squares: map[int]*squares{}}
	parts := each.Below(len(terms), func(i int) signedTerm { return s.signed(&terms[i], negative) })
	parts = append(parts, extra...)
	f.partition(parts, s.coarse)
	for i := range parts {
		s.addPart(f, &parts[i])
	}
	for b, q := range f.squares {
		q.flush(f.dense[b])
		matrices.Mirror(f.dense[b], q.n)
	}
	f.round()
	return f
}

// partition finds the blocks: columns that meet in a row are in one block.
func (f *form) partition(parts []signedTerm, coarse bool) {
	classes := sparse.NewClasses(f.n)
	join := func(j *jacobian, k, with int) int {
		cols, _, _ := j.row(k)
		for _, c := range cols {
			if with >= 0 {
				classes.Join(with, c)
			}
			with = c
		}
		return with
	}
	if !coarse {
		for _, p := range parts {
			switch {
			case p.a.unknown || p.b != nil && p.b.unknown:
			case p.square():
				for k := range p.a.rows {
					if p.weight(k).Lo != 0 {
						join(p.a, k, -1)
					}
				}
			default:
				p.pairs(func(i, j, k int) { join(p.b, j, join(p.a, i, -1)) })
			}
		}
	}
	f.cols = classes.Members(f.n)
	for b, cols := range f.cols {
		for place, c := range cols {
			f.block[c], f.place[c] = b, place
		}
	}
	f.dense = make([][]float64, len(f.cols))
	f.rows = make([]int, len(f.cols))
	for b, cols := range f.cols {
		if m := len(cols); m > 1 && m <= maxDense {
			f.dense[b] = make([]float64, m*m)
		}
	}
}

// round adds the rounding errors of the dense blocks to the slack: k additions
// of rounded products lose at most gamma(k) of the sum of the absolute values.
func (f *form) round() {
	for c, mass := range f.mass {
		if mass > 0 {
			f.loosen(c, directed.MulUp(gamma(f.rows[f.block[c]]), mass)+directed.Tiny)
		}
	}
}

// matrix is the dense value of one block, slack subtracted.
func (f *form) matrix(b int) []float64 {
	m := len(f.cols[b])
	a := slices.Clone(f.dense[b])
	for i, c := range f.cols[b] {
		a[i*m+i] = directed.AddDown(a[i*m+i], directed.AddDown(f.diag[c], -f.slack[c]))
	}
	return a
}

// least is a lower bound of the smallest eigenvalue of the whole form.
func (f *form) least(work *budget, near effort) extreme {
	out := extreme{bound: math.Inf(1), estimate: math.Inf(1)}
	for b := range f.cols {
		if e := f.leastBlock(b, work, near); !(e.bound >= out.bound) {
			out = e
		}
	}
	if f.failed != nil {
		out.bound = math.Inf(-1)
	}
	return out
}

// leastBlock is a lower bound of the smallest eigenvalue of one block, with an
// approximate eigenvector in z.
func (f *form) leastBlock(b int, work *budget, near effort) extreme {
	cols := f.cols[b]
	if f.dense[b] == nil {
		out := extreme{bound: math.Inf(1)}
		for _, c := range cols {
			if v := directed.AddDown(f.diag[c], -f.slack[c]); !(v >= out.bound) {
				out = extreme{bound: v, estimate: v, vector: []float64{1}, cols: []int{c}}
			}
		}
		return out
	}
	a := f.matrix(b)
	if near.again && len(cols) > smallOrder {
		if e, ok := recheck(a, len(cols), near, cols, work); ok {
			return e
		}
	}
	e := leastEigenvalue(a, len(cols), work, near.give)
	e.cols = cols
	return e
}
