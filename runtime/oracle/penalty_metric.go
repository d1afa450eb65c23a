package oracle

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/linalg"
)

// pair is a direction u of the scaled unknown a1 w together with its image
// nu = alpha^-2 B_I u, to which it adds as a multiplier: a2 B_I w = alpha^-2 B_I u.
// B_I u is of order alpha^2 of u, so that computing it from u would cancel;
// pairs are made by the metric, which gives both parts to full accuracy, and
// combined linearly, which keeps them so for every alpha.
//
// A gradient is a pair as well: (h, nu) stands for h + B_I'nu.
type pair struct {
	u  []float64 // len Dy
	nu []float64 // len |I|
}

func newPair(n, k int) pair { return pair{make([]float64, n), make([]float64, k)} }

// add adds t p to d.
func (d pair) add(t float64, p pair) {
	linalg.Axpy(d.u, t, p.u)
	linalg.Axpy(d.nu, t, p.nu)
}

// pairing is u'(h + B_I'nu) of a direction and a gradient, without the
// cancellation in B_I u.
func (d pair) pairing(alpha float64, gradient pair) float64 {
	return linalg.Dot(d.u, gradient.u) + alpha*alpha*linalg.Dot(d.nu, gradient.nu)
}

// copy sets d to p.
func (d pair) copy(p pair) {
	copy(d.u, p.u)
	copy(d.nu, p.nu)
}

// set sets d to the sum a + t p; d may be a.
func (d pair) set(a pair, t float64, p pair) {
	d.copy(a)
	d.add(t, p)
}

// metric is M = C I + alpha^-2 B_I'B_I, the metric a1 C I + a2 B_I'B_I of the
// unknown w in terms of u = a1 w. M^-1 r is
//
//	nu = argmin |r - B_I'nu|^2 + alpha^2 C |nu|^2,  u = (r - B_I'nu) / C,
//
// by the formula of Sherman, Morrison and Woodbury. The least-squares problem is
// solved by QR factors, so that rows that depend on each other or are badly
// scaled do no harm.
type metric struct {
	c     float64
	alpha float64
	b     *mat.Dense // |I| x n; nil if I is empty
	qr    mat.QR     // of [B_I'; alpha sqrt(C) I]
	rhs   *mat.VecDense
	nu    *mat.VecDense
}

func newMetric(b *mat.Dense, alpha, c float64) *metric {
	m := &metric{b: b, alpha: alpha}
	m.rescale(c)
	return m
}

// rescale sets C.
func (m *metric) rescale(c float64) {
	m.c = c
	if m.b == nil {
		return
	}
	k, n := m.b.Dims()
	stacked := mat.NewDense(n+k, k, nil)
	stacked.Slice(0, n, 0, k).(*mat.Dense).Copy(m.b.T())
	for i := range k {
		stacked.Set(n+i, i, m.alpha*math.Sqrt(c))
	}
	m.qr.Factorize(stacked)
	m.rhs, m.nu = mat.NewVecDense(n+k, nil), mat.NewVecDense(k, nil)
}

// solve sets dst to M^-1 r with its image.
func (m *metric) solve(dst pair, r []float64) error {
	copy(dst.u, r)
	if m.b != nil {
		m.rhs.Zero()
		copy(m.rhs.RawVector().Data, r)
		// A Condition tells of a solution that is there, if not to all digits.
		if err := m.qr.SolveVecTo(m.nu, false, m.rhs); err != nil && !errors.As(err, new(mat.Condition)) {
			return err
		}
		copy(dst.nu, m.nu.RawVector().Data)
		u := mat.NewVecDense(len(dst.u), dst.u)
		m.rhs.SliceVec(0, len(r)).(*mat.VecDense).MulVec(m.b.T(), m.nu)
		u.SubVec(u, m.rhs.SliceVec(0, len(r)))
	}
	for i := range dst.u {
		dst.u[i] /= m.c
	}
	return nil
}
