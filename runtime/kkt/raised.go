package kkt

import (
	"math"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
)

// Raised is a convex f and products of multipliers and slacks, which vanish at answers of the follower and are positive elsewhere in a relaxation, so that bounds rise (Bai, Mitchell and Pang 2014):
//
//	f + sum_b shares_b sum_(i in b) lambda_i s_i = f + sum_b shares_b (y'H y + y'G x + q'y + b'lambda)_b
//
// over the blocks b whose rows read no x. Shares are as large as they may be such that this is convex, less a little of f's own curvature; what f - F leaves open of y and lambda has an end then, where x has one in f. Where all are 0 it is f itself, and they are nil.
func (s *System) Raised(f *sparse.Quadratic) (raised *sparse.Quadratic, shares []float64) {
	if f.Hess == nil {
		return f, nil
	}
	shares = each.Of(s.blocks, func(b Block) float64 { return s.mostShare(f, b) })
	if !nonzero(shares) {
		return f, nil
	}
	w := &Weights{make([]float64, s.Ny), make([]float64, s.M)}
	with := func(by float64) *sparse.Quadratic {
		for k, b := range s.blocks {
			for _, j := range b.Y {
				w.Stationarity[j] = by * shares[k]
			}
			for _, i := range b.Rows {
				w.Rows[i] = by * shares[k]
			}
		}
		return s.plus(f, w)
	}
	// Halves and three quarters of halves have few digits, and what is less than a hundredth of what single products leave raises little.
	next := func(by float64) float64 {
		if m, _ := math.Frexp(by); m == 0.5 {
			return by * 0.75
		}
		return by / 1.5
	}
	for by := 1.0; by > 0.01; by = next(by) {
		if !Semidefinite(with(by).Hess) {
			continue
		}
		by = next(by)
		return with(by), each.Of(shares, func(v float64) float64 { return by * v })
	}
	return f, nil
}

// mostShare is the largest share of a block, to a digit or two, that f allows which has no products but one: the square of (f_xy + share G) is at most f_xx (f_yy + 2 share H).
func (s *System) mostShare(f *sparse.Quadratic, b Block) float64 {
	open := func(c int) bool { return math.IsNaN(s.fixed[c]) }
	for _, i := range b.Rows {
		for c, v := range s.P.Rows.A.Entries(i) {
			if v != 0 && open(c) {
				return 0
			}
		}
	}
	most := math.Inf(1)
	for _, j := range b.Y {
		for c, g := range s.G.Entries(j) {
			if g == 0 || !open(c) {
				continue
			}
			xx, xy, yy := f.Hess.At(c, c), f.Hess.At(c, s.Nx+j), f.Hess.At(s.Nx+j, s.Nx+j)
			if !(xx > 0) {
				return 0
			}
			half := xx*s.H.At(j, j) - g*xy
			most = math.Min(most, (half+math.Sqrt(math.Max(0, half*half+g*g*(xx*yy-xy*xy))))/(g*g))
		}
	}
	if !(most > 0) || math.IsInf(most, 1) {
		return 0
	}
	m, e := math.Frexp(most)
	return math.Ldexp(math.Floor(8*m), e-3)
}

// plus is a quadratic and the products that weights are of.
func (s *System) plus(q *sparse.Quadratic, w *Weights) *sparse.Quadratic {
	out := &sparse.Quadratic{Lin: linalg.Plus(q.Lin, 0, q.Lin), Const: q.Const}
	added := s.vanishing(out.Lin, w)
	out.Hess = sparse.Add(1, q.Hess, 1, added)
	return out
}
