package reduced

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
)

// Quadratic is what an f of degree two or less may implement: its Hessian in (x, answer), both triangles, which products with it then need no gradients for.
type Quadratic interface {
	Hessian() *sparse.CSR // nil for an affine one
}

// separable is a quadratic f of which each block of the follower reads products of its own entries and of x alone, so that its Hessian in w on a piece is
//
//	R = H_ww + sum over blocks of D_b'H_bb D_b + D_b'H_bw + H_wb D_b,   y' = D,
//
// of which a change of S in one block changes one term. Each is kept.
type separable struct {
	ww    []float64     // nw x nw
	own   []*sparse.CSR // H_bb
	mixed []*sparse.CSR // H_bw: len(ys) x nw
	terms [][]float64   // nw x nw
	rows  [][]int       // the S that each belongs to; nil: none
}

// mostTerms bounds the numbers that all terms take: an eighth of a gigabyte.
const mostTerms = 1 << 24

// newSeparable splits the Hessian of f; nil where it is not known, joins blocks, or reads multipliers.
func newSeparable(f *follower) *separable {
	q, is := f.sys.P.F.(Quadratic)
	if !is || f.sparse != nil || (len(f.blocks)+1)*f.nw*f.nw > mostTerms {
		return nil
	}
	s := &separable{ww: make([]float64, f.nw*f.nw), own: make([]*sparse.CSR, len(f.blocks)), mixed: make([]*sparse.CSR, len(f.blocks)),
		terms: make([][]float64, len(f.blocks)), rows: make([][]int, len(f.blocks))}
	h := q.Hessian()
	if h == nil {
		h = sparse.FromEntries(f.sys.Nx+f.n, f.sys.Nx+f.n, nil)
	}
	nx := f.sys.Nx
	for i := range nx {
		cols, vals := h.Row(i)
		for t, j := range cols {
			if j < nx {
				s.ww[i*f.nw+j] += vals[t]
			}
		}
	}
	owner := make([]int, f.n)
	for k := range f.blocks {
		for _, j := range f.blocks[k].ys {
			owner[j] = k
		}
	}
	for k := range f.blocks {
		own, mixed := sparse.Empty(len(f.blocks[k].ys)), sparse.Empty(f.nw)
		for _, i := range f.blocks[k].ys {
			cols, vals := h.Row(nx + i)
			for t, j := range cols {
				switch {
				case vals[t] == 0:
				case j < nx:
					mixed.Append(j, vals[t])
				case j >= nx+f.n || owner[j-nx] != k:
					return nil
				default:
					own.Append(f.within[j-nx], vals[t])
				}
			}
			own.EndRow()
			mixed.EndRow()
		}
		s.own[k], s.mixed[k] = own, mixed
	}
	for i := nx + f.n; i < h.Rows; i++ {
		if _, vals := h.Row(i); slices.ContainsFunc(vals, func(v float64) bool { return v != 0 }) {
			return nil
		}
	}
	return s
}

// hessian is R on the piece, which is differentiated.
func (p *piece) hessian() []float64 {
	f, s := p.f, p.terms
	nw := f.nw
	out := slices.Clone(s.ww)
	for k := range f.blocks {
		b := &f.blocks[k]
		if rows := p.tangents[k].rows; s.terms[k] == nil || !slices.Equal(rows, s.rows[k]) {
			n := len(b.ys)
			d := b.gatherRows(p.d, nw)
			image := make([]float64, n*nw) // H_bb D_b + 2 H_bw
			for i := range n {
				cols, vals := s.own[k].Row(i)
				for t, j := range cols {
					linalg.Axpy(image[i*nw:(i+1)*nw], vals[t], d[j*nw:(j+1)*nw])
				}
				s.mixed[k].AddRow(image[i*nw:(i+1)*nw], i, 2)
			}
			term := make([]float64, nw*nw)
			if n > 0 {
				blas64.Gemm(blas.Trans, blas.NoTrans, 1, blas64.General{Rows: n, Cols: nw, Stride: nw, Data: d}, blas64.General{Rows: n, Cols: nw, Stride: nw, Data: image}, 0, blas64.General{Rows: nw, Cols: nw, Stride: nw, Data: term})
			}
			s.terms[k], s.rows[k] = term, slices.Clone(rows)
			p.work(n * nw * nw)
		}
		linalg.Axpy(out, 1, s.terms[k])
	}
	for i := range nw { // the mixed part is one half of a symmetric one
		for j := range i {
			t := (out[i*nw+j] + out[j*nw+i]) / 2
			out[i*nw+j], out[j*nw+i] = t, t
		}
	}
	p.work(len(f.blocks) * nw * nw)
	return out
}

// direct is the Newton step along the equations by a factor of
//
//	P R P + t (I - P),   P the projection onto what the equations and fixed entries leave;
//
// nil where that is not positive definite, or no more so than rounding.
func (p *piece) direct(j *judged) []float64 {
	nw := p.f.nw
	a := p.hessian()
	column := make([]float64, nw)
	across := func() { // A P
		for i := range nw {
			row := a[i*nw : (i+1)*nw]
			j.project(row)
		}
	}
	transposeSquare := func() {
		for i := range nw {
			for c := range i {
				a[i*nw+c], a[c*nw+i] = a[c*nw+i], a[i*nw+c]
			}
		}
	}
	across()
	transposeSquare()
	across()
	top := 0.0
	for i := range nw {
		top = math.Max(top, math.Abs(a[i*nw+i]))
	}
	if top == 0 {
		return nil
	}
	for i := range nw {
		clear(column)
		column[i] = 1
		j.project(column)
		column[i]--
		linalg.Axpy(a[i*nw:(i+1)*nw], -top, column)
	}
	for i := range nw {
		for c := range i {
			t := (a[i*nw+c] + a[c*nw+i]) / 2
			a[i*nw+c], a[c*nw+i] = t, t
		}
	}
	p.work(nw * nw * (nw/3 + 6*len(j.use)))
	diagonal := make([]float64, nw)
	for i := range diagonal {
		diagonal[i] = a[i*nw+i]
	}
	factor, ok := linalg.NewCholesky(nw, a)
	if !ok || !(factor.Kept(func(i int) float64 { return diagonal[i] }) > singular) {
		return nil
	}
	d := slices.Clone(j.step)
	factor.SolveT(d)
	factor.Solve(d)
	j.project(d)
	return d
}
