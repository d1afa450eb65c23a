package certify

import (
	"errors"

	"gonum.org/v1/gonum/mat"
)

var (
	errCurvature = errors.New("the curvature of g in y, by differences of its gradient, is not positive definite")
	errFace      = errors.New("the rows of the face are dependent to working accuracy")
)

// kktSystem is the dense linear system of a face,
//
//	[ H  B' ] (u)   (a)
//	[ B  0  ] (v) = (b),
//
// with H (n x n) positive definite and B (k x n) of full rank, factorized as
// H = L L' and S = B H^-1 B'.
type kktSystem struct {
	h        *mat.SymDense
	hFactor  *mat.Cholesky
	b        *mat.Dense // nil where k = 0
	schur    mat.Cholesky
	diagonal []float64 // of S, len k
	solvedBT mat.Dense // H^-1 B', n x k
}

func factorize(h *mat.SymDense) (*mat.Cholesky, error) {
	var c mat.Cholesky
	if !c.Factorize(h) {
		return nil, errCurvature
	}
	return &c, nil
}

func newKKTSystem(h *mat.SymDense, factor *mat.Cholesky, rows [][]float64) (*kktSystem, error) {
	s := &kktSystem{h: h, hFactor: factor}
	k := len(rows)
	if k == 0 {
		return s, nil
	}
	n := h.SymmetricDim()
	s.b = mat.NewDense(k, n, nil)
	for i, row := range rows {
		s.b.SetRow(i, row)
	}
	if err := factor.SolveTo(&s.solvedBT, s.b.T()); err != nil && !isCondition(err) {
		return nil, errCurvature
	}
	var product mat.Dense
	product.Mul(s.b, &s.solvedBT)
	sym := mat.NewSymDense(k, nil)
	s.diagonal = make([]float64, k)
	for i := range k {
		s.diagonal[i] = product.At(i, i)
		for j := i; j < k; j++ {
			sym.SetSym(i, j, (product.At(i, j)+product.At(j, i))/2)
		}
	}
	if !s.schur.Factorize(sym) {
		return nil, errFace
	}
	return s, nil
}

// isCondition reports a warning about conditioning: the solution is there, and
// refinement improves it.
func isCondition(err error) bool {
	var c mat.Condition
	return errors.As(err, &c)
}

// solve returns u (len n) and v (len k). Two steps of refinement make up for
// the squared condition of S.
func (s *kktSystem) solve(a, b []float64) (u, v []float64) {
	u, v = s.solveOnce(a, b)
	for range 2 {
		ra, rb := s.residual(a, b, u, v)
		du, dv := s.solveOnce(ra, rb)
		for j := range u {
			u[j] += du[j]
		}
		for i := range v {
			v[i] += dv[i]
		}
	}
	return u, v
}

func (s *kktSystem) solveOnce(a, b []float64) (u, v []float64) {
	n := len(a)
	var w mat.VecDense
	// Errors of these solves are warnings about conditioning (see isCondition).
	_ = s.hFactor.SolveVecTo(&w, mat.NewVecDense(n, a))
	if s.b == nil {
		return w.RawVector().Data, nil
	}
	var rhs, multipliers, back mat.VecDense
	rhs.MulVec(s.b, &w)
	rhs.SubVec(&rhs, mat.NewVecDense(len(b), b))
	_ = s.schur.SolveVecTo(&multipliers, &rhs)
	back.MulVec(&s.solvedBT, &multipliers)
	w.SubVec(&w, &back)
	return w.RawVector().Data, multipliers.RawVector().Data
}

func (s *kktSystem) residual(a, b, u, v []float64) (ra, rb []float64) {
	var hu mat.VecDense
	uv := mat.NewVecDense(len(u), u)
	hu.MulVec(s.h, uv)
	ra = make([]float64, len(a))
	for j := range ra {
		ra[j] = a[j] - hu.AtVec(j)
	}
	if s.b == nil {
		return ra, nil
	}
	var btv, bu mat.VecDense
	btv.MulVec(s.b.T(), mat.NewVecDense(len(v), v))
	bu.MulVec(s.b, uv)
	rb = make([]float64, len(b))
	for j := range ra {
		ra[j] -= btv.AtVec(j)
	}
	for i := range rb {
		rb[i] = b[i] - bu.AtVec(i)
	}
	return ra, rb
}

// independent returns the indices of a maximal independent subset of rows,
// earlier ones first, by Gram-Schmidt with one reorthogonalization. A row
// depends on the earlier ones where less than 1e-9 of its length is left: the
// square root of the rounding of the Schur complement that is built from it.
func independent(rows [][]float64) []int {
	const left = 1e-9
	var kept []int
	var basis [][]float64
	for i, row := range rows {
		rest := append([]float64(nil), row...)
		for range 2 {
			for _, q := range basis {
				a := 0.0
				for j, t := range q {
					a += t * rest[j]
				}
				for j, t := range q {
					rest[j] -= a * t
				}
			}
		}
		length := norm(rest)
		if length <= left*norm(row) || length == 0 {
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
