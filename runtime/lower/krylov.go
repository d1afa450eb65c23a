package lower

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// krylov solves P H P d = -P grad by conjugate gradients, with H from
// gradient differences and P the projector on a face's directions. Residuals
// are kept orthogonal to all earlier ones, so that the iteration ends within
// the dimension of the face whatever the condition number.
type krylov struct {
	face      *face
	curvature *curvature
	linalg.Conjugate
	hr, hp   []float64 // len n: H R, H P
	d, hd    []float64 // len n: the solution so far, H d
	basis    []float64 // normalized residuals, rows of len n
	coef     []float64
	iterate  int     // iterations of the last solve
	finished bool    // the step of direct is taken
	mu       float64 // known modulus of strong convexity, or 0
}

// ending says why a Krylov solve stopped.
type ending uint8

const (
	reached   ending = iota // the residual is below the tolerance
	exhausted               // the face's dimension or the iteration limit is reached
	blocked                 // a row outside the face stopped the step
	flat                    // p is a descent direction without curvature
	undefined               // a gradient is not finite
	halted                  // the context ended
)

func (k *krylov) reset(f *face, c *curvature, mu float64) {
	k.face, k.curvature, k.mu = f, c, mu
}

// start begins a solve from d = 0.
func (k *krylov) start(grad []float64) {
	room(len(grad), &k.R, &k.P, &k.hr, &k.hp, &k.d, &k.hd)
	for j, t := range grad {
		k.R[j] = -t
		k.d[j], k.hd[j], k.hp[j] = 0, 0, 0
	}
	k.face.project(k.R)
	k.Start()
	k.basis = k.basis[:0]
	k.iterate, k.finished = 0, false
}

// representable reports whether |R|^2 is a number that means |R|: neither infinite
// nor lost below the smallest.
func (k *krylov) representable() bool {
	return k.RR > tolerance.LeastSquared*tolerance.LeastSquared && k.RR < 1/tolerance.LeastSquared*(1/tolerance.LeastSquared) || k.RR == 0 && linalg.Norm(k.R) == 0
}

// run continues the solve, in d, to a residual of at most tolerance. The
// boundary b, unless nil, ends a step where a row outside the face begins to
// be violated. residual is the norm reached.
func (k *krylov) run(ctx context.Context, tolerance float64, b *boundary) (end ending, residual float64) {
	dimension := len(k.d) - k.face.size()
	for {
		if !k.representable() {
			if residual = linalg.Norm(k.R); residual <= tolerance && !math.IsInf(tolerance, 0) {
				return reached, residual
			}
			return undefined, residual
		}
		residual = math.Sqrt(k.RR)
		if residual <= tolerance {
			return reached, residual
		}
		if k.finished || k.iterate >= dimension {
			return exhausted, residual
		}
		if ctx.Err() != nil {
			return halted, residual
		}
		if w := k.curvature.hessian; w != nil && w.factors != nil && w.direction(k.P, k.face, k.R) {
			return k.direct(w, tolerance, b)
		}
		// Measured along residuals, which are orthogonal to each other and so
		// new to the curvature; H p follows from them.
		if !k.curvature.apply(k.hr, k.R) {
			return undefined, residual
		}
		floats.AddScaledTo(k.hp, k.hr, k.Beta, k.hp)
		php, pp := linalg.Dot(k.P, k.hp), linalg.Dot(k.P, k.P)
		if k.mu > 0 {
			php = math.Max(php, k.mu*pp) // what is below is rounding
		} else if php <= k.curvature.flat()*pp {
			return flat, residual
		}
		k.iterate++
		alpha := k.RR / php
		if b != nil && b.stops(k.P, alpha) {
			linalg.Axpy(k.d, b.step, k.P)
			linalg.Axpy(k.hd, b.step, k.hp)
			return blocked, residual
		}
		linalg.Axpy(k.d, alpha, k.P)
		linalg.Axpy(k.hd, alpha, k.hp)
		k.remember(residual)
		linalg.Axpy(k.R, -alpha, k.hp)
		k.face.project(k.R)
		k.reorthogonalize()
		k.Turn()
	}
}

// direct is run where H is known and factorized: p leads to the solution.
func (k *krylov) direct(w *denseHessian, tolerance float64, b *boundary) (end ending, residual float64) {
	k.finished = true
	k.face.project(k.P)
	w.multiply(k.hp, k.P)
	if b != nil && b.stops(k.P, 1) {
		linalg.Axpy(k.d, b.step, k.P)
		linalg.Axpy(k.hd, b.step, k.hp)
		return blocked, math.Sqrt(k.RR)
	}
	linalg.Axpy(k.d, 1, k.P)
	linalg.Axpy(k.hd, 1, k.hp)
	linalg.Axpy(k.R, -1, k.hp)
	k.face.project(k.R)
	k.RR = linalg.Dot(k.R, k.R)
	if residual = math.Sqrt(k.RR); residual <= tolerance {
		return reached, residual
	}
	return exhausted, residual
}

// remember appends the normalized residual to the basis.
func (k *krylov) remember(norm float64) {
	if norm == 0 || len(k.basis)+len(k.R) > tolerance.MostNumbers/2 {
		return
	}
	for _, t := range k.R {
		k.basis = append(k.basis, t/norm)
	}
}

// reorthogonalize subtracts from the residual what rounding left of earlier
// ones.
func (k *krylov) reorthogonalize() {
	n := len(k.R)
	rows := len(k.basis) / max(1, n)
	if rows == 0 {
		return
	}
	k.coef = resize(k.coef, rows)
	clear(k.coef)
	linalg.Gemv(k.coef, 1, k.basis, rows, n, false, k.R)
	linalg.Gemv(k.R, -1, k.basis, rows, n, true, k.coef)
}

// boundary is the ratio test: the slacks of the rows outside a face, along a
// path of straight steps.
type boundary struct {
	poly  *polyhedron
	face  *face
	slack []float64 // len m, of rows outside the face, at the current end of the path
	speed []float64 // len m, along the step being tested
	row   int       // the row that stopped the last step, or -1
	step  float64   // the length at which it did
	sizes []float64 // len n: scratch
}

// set starts a path at y.
func (b *boundary) set(poly *polyhedron, f *face, y []float64) {
	b.poly, b.face = poly, f
	b.slack, b.speed = resize(b.slack, poly.m), resize(b.speed, poly.m)
	b.sizes = poly.sizes(b.sizes, y)
	for i := range b.slack {
		if f.in[i] || poly.norm[i] == 0 {
			continue
		}
		s := poly.slack(i, y)
		if s <= poly.near(i, y, b.sizes) {
			s = 0
		}
		b.slack[i] = s
	}
	b.row = -1
}

// along computes the speeds of the slacks along p and the length at which the
// first reaches zero (+Inf if none does), and its row. Of rows that block at
// the same length the one that p meets most squarely is taken, which keeps
// the next face well conditioned.
func (b *boundary) along(p []float64) (length float64, row int) {
	length, row = math.Inf(1), -1
	// A row parallel to the face has no speed but rounding.
	negligible := tolerance.Dependence * linalg.Norm(p)
	steepest := 0.0
	for i, s := range b.slack {
		if b.face.in[i] || b.poly.equal(i) || b.poly.norm[i] == 0 || b.face.open != nil && b.face.open[i] {
			b.speed[i] = 0
			continue
		}
		v := b.poly.speed(i, p)
		b.speed[i] = v
		if v >= -negligible {
			continue
		}
		if t := s / -v; t < length || (t == length && v < steepest) {
			length, row, steepest = t, i, v
		}
	}
	return length, row
}

// stops tests a step of length t along p: it reports true and sets row and
// step where a row is met before its end, and moves the slacks on otherwise.
func (b *boundary) stops(p []float64, t float64) bool {
	length, row := b.along(p)
	if length < t {
		b.row, b.step = row, length
		return true
	}
	for i, v := range b.speed {
		if v != 0 {
			b.slack[i] = math.Max(0, b.slack[i]+t*v)
		}
	}
	return false
}
