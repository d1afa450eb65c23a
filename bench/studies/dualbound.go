package main

import (
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/oracle"

	"gonum.org/v1/gonum/mat"
)

// linearized holds the derivatives of a problem with quadratic f and g at one
// lower solution, from differences of gradients, which are exact for quadratics
// up to rounding, and the norms that the bounds need.
//
// Notation: H = grad_yy g, Q = grad_yy f, N = grad_xy g (Dx x Dy),
// K = a1 H + Q + a2 B_I'B_I with a1 = alpha^-2 and a2 = alpha^-4. mu and C_g bound
// H, C_f bounds Q. e and z are the errors of lambda and y, the active rows I
// right; "extra" is what they add to the error of the gradient.
//
// Penalty to the letter (alg:inexact-gradient-oracle), with grad g*(x) =
// grad_x g(x, y) + A'lambda from the approximate solution itself, the envelope
// theorem being the only way to it: e moves the minimizer by w_e = a1 K^-1 B_I'e
// and so the gradient by (a1 N - a2 A_I'B_I) w_e. As a2 B_I K^-1 B_I' <= I and
// |K^-1 B_I'| <= 1/sqrt(a1 a2 mu) = alpha^3/sqrt(mu),
//
//	extra <= a1 |A_I| |e| + a1^2 |N| alpha^3/sqrt(mu) |e|,
//
// of order |e|/alpha^2: an alpha-accurate hypergradient needs |e| = O(alpha^3).
// z moves nothing in y's minimization, but grad g* by a1 |N| |z|.
//
// The same with the exact grad g* (what the paper's remark on approximate dual
// solutions supposes): a1 A_I'e is added, which cancels the main part, as
// I - a2 B_I K^-1 B_I' = (I + a2 B_I (a1 H + Q)^-1 B_I')^-1 <= (a1 C_g + C_f)/(a2 s^2)
// with s the least singular value of B_I:
//
//	extra <= a1 (|A_I| + |N| |B_I|/mu) (a1 C_g + C_f)/(a2 s^2) |e|,
//
// of order |e|, independent of alpha.
//
// Ours (package oracle, Penalty) uses B_I'lambda* = grad_y g(x, y*) and measures
// the minimizer from y: lambda does not enter but through I, and z only as a
// shift of the base point, at which grad_y f differs by Q z:
//
//	extra <= (|grad_xy f| + (a1 |N| |K^-1| + a2 |A_I'B_I K^-1|) |Q|) |z|
//	      <= (|N|/mu + |A_I| |B_I| (a1 C_g + C_f)/(a1 mu s^2)) C_f |z|   (grad_xy f = 0).
//
// Differences of Lagrangians with the step t (face: t of the order of |y|;
// difference: t = alpha), forward: the perturbed solution is computed anew, so
// that only the subtracted Lagrangian is wrong:
//
//	extra <= (|A_I| |e| + |N| |z|)/t + C_f |dy*/dx| |z|,
//
// where the last term is for a direction grad_y f(x, y) taken at the wrong y.
type linearized struct {
	at      *oracle.At
	a1, a2  float64
	h, q, n *mat.Dense // H, Q: Dy x Dy; N: Dx x Dy
	a, b    *mat.Dense // A_I: k x Dx; B_I: k x Dy
	exactG  []float64  // grad g*(x) from the accurate lower solution

	normA, normB, normN, least float64 // least: s
	mu, cg, cf                 float64
	speed                      float64 // |dy*/dx| on the face
	step                       float64 // t of face
}

func linearize(at *oracle.At) *linearized {
	p := at.Problem
	l := &linearized{at: at, a1: math.Pow(dualAlpha, -2), a2: math.Pow(dualAlpha, -4),
		h: mat.NewDense(p.Dy, p.Dy, nil), q: mat.NewDense(p.Dy, p.Dy, nil), n: mat.NewDense(p.Dx, p.Dy, nil),
		a: mat.NewDense(len(at.Face), p.Dx, nil), b: mat.NewDense(len(at.Face), p.Dy, nil), exactG: make([]float64, p.Dx)}
	y := append([]float64(nil), at.Lower.Y...)
	gx0, gy0, fy0 := make([]float64, p.Dx), make([]float64, p.Dy), make([]float64, p.Dy)
	p.G.ValueGrad(gx0, gy0, at.X, y)
	p.F.GradY(fy0, at.X, y)
	gx, gy, fy := make([]float64, p.Dx), make([]float64, p.Dy), make([]float64, p.Dy)
	for j := range y {
		y[j]++ // a unit step: exact for quadratics
		p.G.ValueGrad(gx, gy, at.X, y)
		p.F.GradY(fy, at.X, y)
		y[j] = at.Lower.Y[j]
		add(gx, -1, gx0)
		add(gy, -1, gy0)
		add(fy, -1, fy0)
		l.n.SetCol(j, gx)
		l.h.SetCol(j, gy)
		l.q.SetCol(j, fy)
	}
	for k, i := range at.Face {
		p.Rows.A.AddRow(l.a.RawRowView(k), i, 1)
		p.Rows.B.AddRow(l.b.RawRowView(k), i, 1)
	}
	copy(l.exactG, gx0)
	p.Rows.A.AddMulVecT(l.exactG, 1, at.Lower.Lambda)
	values := func(m mat.Matrix) []float64 {
		var svd mat.SVD
		must.Be(svd.Factorize(m, mat.SVDNone), "singular values were not found")
		return svd.Values(nil)
	}
	h, b := values(l.h), values(l.b)
	l.cg, l.mu = h[0], h[len(h)-1]
	l.normB, l.least = b[0], b[len(b)-1]
	l.normA, l.normN, l.cf = values(l.a)[0], values(l.n)[0], values(l.q)[0]
	l.speed = values(l.jacobian())[0]
	l.step = l.faceStep(fy0)
	return l
}

// jacobian is dy*/dx (Dy x Dx) on the face, from the KKT system
// H dy - B_I'dlambda = -N'dx, B_I dy = A_I dx.
func (l *linearized) jacobian() *mat.Dense {
	n, k := l.h.RawMatrix().Rows, l.b.RawMatrix().Rows
	dx := l.n.RawMatrix().Rows
	kkt, rhs := mat.NewDense(n+k, n+k, nil), mat.NewDense(n+k, dx, nil)
	kkt.Slice(0, n, 0, n).(*mat.Dense).Copy(l.h)
	kkt.Slice(n, n+k, 0, n).(*mat.Dense).Copy(l.b)
	kkt.Slice(0, n, n, n+k).(*mat.Dense).Scale(-1, l.b.T())
	rhs.Slice(0, n, 0, dx).(*mat.Dense).Scale(-1, l.n.T())
	rhs.Slice(n, n+k, 0, dx).(*mat.Dense).Copy(l.a)
	var both mat.Dense
	err := both.Solve(kkt, rhs)
	must.Be(err == nil, "the KKT system of the face: %w", err)
	return mat.DenseCopyOf(both.Slice(0, n, 0, dx))
}

// faceStep is the t of the oracle face for quadratic g: where y moves by about
// 1 + |y|, by the curvature of g along grad_y f.
func (l *linearized) faceStep(fy []float64) float64 {
	size := norm(fy)
	var hf mat.VecDense
	hf.MulVec(l.h, mat.NewVecDense(len(fy), fy))
	curvature := norm(hf.RawVector().Data) / size
	return (1 + norm(l.at.Lower.Y)) * curvature / size
}

// inFace is the part of v that keeps the active rows tight.
func (l *linearized) inFace(v []float64) []float64 {
	var gram, bv, c, normal mat.Dense
	x := mat.NewDense(len(v), 1, append([]float64(nil), v...))
	gram.Mul(l.b, l.b.T())
	bv.Mul(l.b, x)
	if err := c.Solve(&gram, &bv); err != nil {
		return v
	}
	normal.Mul(l.b.T(), &c)
	x.Sub(x, &normal)
	return x.RawMatrix().Data
}

// literal is alg:inexact-gradient-oracle at an approximate lower solution (y,
// lambda, I), its minimization solved exactly; grad g* from that solution, or
// exact.
func (l *linearized) literal(at *oracle.At, exact bool) []float64 {
	p := at.Problem
	n, k := p.Dy, len(at.Face)
	a, b := mat.NewDense(max(k, 1), p.Dx, nil), mat.NewDense(max(k, 1), n, nil)
	for r, i := range at.Face {
		p.Rows.A.AddRow(a.RawRowView(r), i, 1)
		p.Rows.B.AddRow(b.RawRowView(r), i, 1)
	}
	// The gradient of the penalty function at y, and a Newton step, exact here.
	y := at.Lower.Y
	gy, fy := make([]float64, n), make([]float64, n)
	p.G.GradY(gy, at.X, y)
	p.F.GradY(fy, at.X, y)
	p.Rows.B.AddMulVecT(gy, -1, at.Lower.Lambda)
	h := make([]float64, p.Rows.Len())
	p.Rows.Residual(h, at.X, y)
	add(fy, l.a1, gy)
	for r, i := range at.Face {
		add(fy, -l.a2*h[i], b.RawRowView(r))
	}
	var curvature, bb, w mat.Dense
	bb.Mul(b.T(), b)
	bb.Scale(l.a2, &bb)
	curvature.Scale(l.a1, l.h)
	curvature.Add(&curvature, l.q)
	curvature.Add(&curvature, &bb)
	if err := w.Solve(&curvature, mat.NewDense(n, 1, fy)); err != nil {
		return make([]float64, p.Dx)
	}
	minimizer := append([]float64(nil), y...)
	add(minimizer, -1, w.RawMatrix().Data)

	grad, part := make([]float64, p.Dx), make([]float64, p.Dx)
	p.F.GradX(grad, at.X, minimizer)
	p.G.GradX(part, at.X, minimizer)
	p.Rows.A.AddMulVecT(part, 1, at.Lower.Lambda)
	add(grad, l.a1, part)
	if exact {
		copy(part, l.exactG)
	} else {
		p.G.GradX(part, at.X, y)
		p.Rows.A.AddMulVecT(part, 1, at.Lower.Lambda)
	}
	add(grad, -l.a1, part)
	p.Rows.Residual(h, at.X, minimizer)
	for r, i := range at.Face {
		add(grad, l.a2*h[i], a.RawRowView(r))
	}
	return grad
}

func (l *linearized) boundLiteral(e, z float64) float64 {
	return (l.a1*l.normA+l.a1*l.a1*l.normN/math.Sqrt(l.a1*l.a2*l.mu))*e + l.a1*l.normN*z
}

func (l *linearized) boundEnvelope(e, _ float64) float64 {
	return l.a1 * (l.normA + l.normN*l.normB/l.mu) * (l.a1*l.cg + l.cf) / (l.a2 * l.least * l.least) * e
}

func (l *linearized) boundShifted(_, z float64) float64 {
	return (l.normN/l.mu + l.normA*l.normB*(l.a1*l.cg+l.cf)/(l.a1*l.mu*l.least*l.least)) * l.cf * z
}

func (l *linearized) boundFace(e, z float64) float64 { return l.boundForward(e, z, l.step) }

func (l *linearized) boundDifference(e, z float64) float64 { return l.boundForward(e, z, dualAlpha) }

func (l *linearized) boundForward(e, z, t float64) float64 {
	return (l.normA*e+l.normN*z)/t + l.cf*l.speed*z
}
