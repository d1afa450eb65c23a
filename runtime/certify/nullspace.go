package certify

import (
	"gonum.org/v1/gonum/mat"
)

// nullSpace solves the system of a face in the space Z that its rows leave: with
// B' = Q [R; 0], Q = [Y Z], u is Y R'^-1 b and what Z'H Z asks for beside it. No
// curvature that the rows make up for is divided by (Nocedal, Wright 2006, 16.2).
type nullSpace struct {
	y, z    *mat.Dense // n x k and n x (n - k); z is nil where no space is left
	r       *mat.TriDense
	reduced mat.Cholesky // of Z'H Z
}

// newNullSpace factorizes the rows, columns of bt (n x k, independent), and h along what
// they leave.
func newNullSpace(h *mat.SymDense, bt *mat.Dense) (*nullSpace, error) {
	s := newSpaces(bt)
	for i := range s.r.RawTriangular().N {
		if s.r.At(i, i) == 0 {
			return nil, errFace
		}
	}
	if s.z != nil && !s.reduced.Factorize(along(h, s.z)) {
		return nil, errCurvature
	}
	return s, nil
}

// newSpaces factorizes the rows.
func newSpaces(bt *mat.Dense) *nullSpace {
	n, k := bt.Dims()
	var qr mat.QR
	qr.Factorize(bt)
	var q, r mat.Dense
	qr.QTo(&q)
	qr.RTo(&r)
	s := &nullSpace{y: mat.DenseCopyOf(q.Slice(0, n, 0, k)), r: mat.NewTriDense(k, mat.Upper, nil)}
	s.r.Copy(r.Slice(0, k, 0, k))
	if k < n {
		s.z = mat.DenseCopyOf(q.Slice(0, n, k, n))
	}
	return s
}

// along is Z'H Z.
func along(h *mat.SymDense, z *mat.Dense) *mat.SymDense {
	var hz, zhz mat.Dense
	hz.Mul(h, z)
	zhz.Mul(z.T(), &hz)
	n := zhz.RawMatrix().Rows
	sym := mat.NewSymDense(n, nil) // rounding has made it a little unsymmetric
	for i := range n {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, (zhz.At(i, j)+zhz.At(j, i))/2)
		}
	}
	return sym
}

// transposed are rows as columns, over the block's entries.
func (b *block) transposed(rows []int) *mat.Dense {
	bt := mat.NewDense(len(b.entries), len(rows), nil)
	for c, i := range rows {
		bt.SetCol(c, b.row(i))
	}
	return bt
}

// alongRows is the block's Hessian along its equality rows, which is where a modulus
// has to hold; nil where they leave no space.
func (b *block) alongRows(equal []int) *mat.SymDense {
	rows := b.independent(equal)
	if len(rows) == 0 {
		return b.h
	}
	if s := newSpaces(b.transposed(rows)); s.z != nil {
		return along(b.h, s.z)
	}
	return nil
}

// solve returns u and v of the system.
func (s *nullSpace) solve(h *mat.SymDense, a, b []float64) (u, v []float64) {
	var along, held, rest mat.VecDense
	// Errors of these solves are warnings about conditioning: the solution is there, and
	// refinement improves it.
	_ = along.SolveVec(s.r.T(), mat.NewVecDense(len(b), b))
	held.MulVec(s.y, &along)
	image := func() {
		rest.MulVec(h, &held)
		rest.SubVec(mat.NewVecDense(len(a), a), &rest)
	}
	image()
	if s.z != nil {
		var asked, free, moved mat.VecDense
		asked.MulVec(s.z.T(), &rest)
		_ = s.reduced.SolveVecTo(&free, &asked)
		moved.MulVec(s.z, &free)
		held.AddVec(&held, &moved)
		image()
	}
	var forces, multipliers mat.VecDense
	forces.MulVec(s.y.T(), &rest)
	_ = multipliers.SolveVec(s.r, &forces)
	return held.RawVector().Data, multipliers.RawVector().Data
}
