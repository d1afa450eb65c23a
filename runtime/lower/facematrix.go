package lower

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// FaceMatrix is that of the equations of a face of a quadratic: y and the multipliers there, and
// how errors move them,
//
//	[ H  -B' ] (dy)       (-grad + B'lambda)
//	[ B   0  ] (dlambda) = (gaps).
//
// Its rows are taken at length 1, times the largest curvature: then both parts are of one size.
type FaceMatrix struct {
	n       int
	rows    []int
	norm    []float64 // of the rows, in their order
	largest float64
	lu      mat.LU
}

// newFaceMatrix factorizes; nil where rows depend on each other or the curvatures differ by more
// than there are digits.
func newFaceMatrix(w *denseHessian, b *sparse.CSR, rows []int) *FaceMatrix {
	n, k := w.n, len(rows)
	m := &FaceMatrix{n: n, rows: rows, norm: make([]float64, k), largest: w.largest}
	if k > n || !(w.largest > 0) || math.IsInf(w.largest, 1) {
		return nil
	}
	full := mat.NewDense(n+k, n+k, nil)
	for i := range n {
		for j := range n {
			full.Set(i, j, w.at(max(i, j), min(i, j)))
		}
	}
	for a, i := range rows {
		cols, vals := b.Row(i)
		m.norm[a] = linalg.Norm(vals)
		for t, j := range cols {
			c := vals[t] / m.norm[a] * w.largest
			full.Set(n+a, j, c)
			full.Set(j, n+a, -c)
		}
	}
	m.lu.Factorize(full)
	// 0x1p50 is the condition of a face's matrix up to which its solutions have a digit.
	if !(m.lu.Cond() < 0x1p50) {
		return nil
	}
	return m
}

// Face is the matrix of some rows of B, ascending, with the Hessian that a memory holds whole; nil
// where it does not, or where the matrix is singular to rounding, or too large to be worth it.
func (m *Memory) Face(p *problem.Problem, rows []int) *FaceMatrix {
	h := m.unpacked(p.Facts.StrongConvexity)
	if h == nil || h.n != p.Dy || h.n > tolerance.DenseOrder || len(rows) > h.n {
		return nil
	}
	return newFaceMatrix(h, p.Rows.B, rows)
}

// Largest is the largest curvature, of a column.
func (m *FaceMatrix) Largest() float64 { return m.largest }

// Adjoint takes a functional of y (len Dy) and of the multipliers (in the order of the rows; nil:
// none) back to the right side: of a unit in each entry of the force on y, and in each row's h, it
// is what the functional changes by. false where that is not finite.
func (m *FaceMatrix) Adjoint(ofY, ofLambda []float64) (forces, gaps []float64, ok bool) {
	c := make([]float64, m.n+len(m.rows))
	copy(c, ofY)
	for a, v := range ofLambda {
		c[m.n+a] = v * m.largest / m.norm[a]
	}
	out, ok := m.solve(c, true)
	if !ok {
		return nil, nil, false
	}
	for a := range m.rows {
		out[m.n+a] *= m.largest / m.norm[a]
	}
	return out[:m.n], out[m.n:], true
}

// step solves for dy and the change of the multipliers (len m), from the gradient at y and them.
func (m *FaceMatrix) step(q *polyhedron, grad, y, lambda []float64) (dy, change []float64, ok bool) {
	b := make([]float64, m.n+len(m.rows))
	q.lagrangianGradient(b[:m.n], grad, lambda)
	floats.Scale(-1, b[:m.n])
	for a, i := range m.rows {
		b[m.n+a] = -(q.rows.B.RowDot(i, y) - q.rhs[i]) / m.norm[a] * m.largest
	}
	out, ok := m.solve(b, false)
	if !ok {
		return nil, nil, false
	}
	change = make([]float64, q.m)
	for a, i := range m.rows {
		change[i] = out[m.n+a] * m.largest / m.norm[a]
	}
	return out[:m.n], change, true
}

func (m *FaceMatrix) solve(b []float64, transposed bool) ([]float64, bool) {
	var z mat.VecDense
	if err := m.lu.SolveVecTo(&z, transposed, mat.NewVecDense(len(b), b)); err != nil && !errors.As(err, new(mat.Condition)) {
		return nil, false
	}
	out := z.RawVector().Data
	return out, linalg.Finite(out)
}
