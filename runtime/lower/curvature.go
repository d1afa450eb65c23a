package lower

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// curvature multiplies by the Hessian H of an objective at a point, from
// gradients: H v = (grad(y + t v) - grad(y - t v)) / 2t, or for a quadratic,
// where any step is exact, (grad(y + t v) - grad(y)) / t with a long one. The
// products are kept on an orthonormal basis V of the directions asked so far,
// so that a direction in its span costs no call: all products of one solve
// together cost at most n (quadratic) or 2n gradients.
type curvature struct {
	obj       Objective
	quadratic bool
	n         int
	at        []float64 // the point, len n
	grad      []float64 // the gradient there, len n
	v, hv     []float64 // k x n, row-major: V and H V
	k, limit  int
	largest   float64                   // the largest |H v| over unit v so far: estimates C_g from below
	gradients int                       // calls made
	room      func(v []float64) float64 // unless nil, how far a difference may go along v
	shrink    float64                   // of the step of a central difference, near the edge of the domain
	length    float64                   // on which the gradient is curved (lengthsOf), where it is not affine; 0 before it is measured
	lengthAt  float64                   // |y| where it was
	along     float64                   // |H y| at a point near by, where it is not affine; 0 before it is measured

	// memory is that of an earlier solve, where its products are in use; whole
	// is not nil where it knows all of H, which then takes the place of V and H V.
	memory  *Memory
	hessian *denseHessian

	origin                         []float64 // the gradient at 0, len n; empty before it was asked for
	rest, probe, end, behind, coef []float64 // scratch: see work
}

// work makes room for what differences and products take.
func (c *curvature) work() { room(c.n, &c.rest, &c.probe, &c.end, &c.behind, &c.coef) }

// atZero is the gradient at 0.
func (c *curvature) atZero() []float64 {
	if len(c.origin) < c.n {
		c.work()
		c.origin = resize(c.origin, c.n)
		clear(c.probe)
		gradOf(c.obj, c.origin, c.probe)
		c.gradients++
	}
	return c.origin
}

// reset starts anew for an objective with n entries.
func (c *curvature) reset(obj Objective, quadratic bool, n int) {
	c.obj, c.quadratic, c.n = obj, quadratic, n
	room(n, &c.at, &c.grad)
	c.limit, c.origin = min(n, tolerance.MostNumbers/max(1, 2*n)), c.origin[:0]
	c.gradients, c.largest, c.length, c.lengthAt, c.along = 0, 0, 0, 0, 0
	c.clear()
}

// resume goes on from the products of a solve that a reset has just ended.
func (c *curvature) resume(ended *curvature) {
	c.k, c.v, c.hv, c.largest = ended.k, ended.v, ended.hv, ended.largest
	c.length, c.lengthAt = ended.length, ended.lengthAt
	c.memory, c.hessian = ended.memory, ended.hessian
}

// clear forgets the products.
func (c *curvature) clear() {
	c.k, c.v, c.hv, c.shrink = 0, c.v[:0], c.hv[:0], 1
	c.memory, c.hessian = nil, nil
}

// recall starts from the memory of an earlier solve.
func (c *curvature) recall(m *Memory) {
	if m == nil || m.N != c.n {
		return
	}
	if c.hessian = m.unpacked(curvatureOf(c.obj).Mu); c.hessian != nil {
		c.memory, c.k, c.largest = m, c.n, c.hessian.largest
		return
	}
	k := len(m.V) / max(1, c.n)
	if k == 0 || k > c.limit {
		return
	}
	c.v, c.hv = append(c.v[:0], m.V...), append(c.hv[:0], m.HV...)
	c.memory, c.k = m, k
	for j := 0; j < k; j++ {
		c.largest = math.Max(c.largest, linalg.Norm(c.product(j)))
	}
}

// product is H v_j, of the basis direction j.
func (c *curvature) product(j int) []float64 { return c.hv[j*c.n : (j+1)*c.n] }

// learned is what is known by now, as a memory; nil for nothing.
func (c *curvature) learned() *Memory {
	switch {
	case c.hessian != nil || c.memory != nil && len(c.memory.V) == len(c.v):
		return c.memory
	case c.k == 0:
		return nil
	case c.k == c.n:
		return remember(c.n, c.assembled())
	}
	return &Memory{N: c.n, V: slices.Clone(c.v), HV: slices.Clone(c.hv)}
}

// move sets the point and its gradient and keeps the products, which remain
// exact for a quadratic and are an approximation otherwise.
func (c *curvature) move(y, grad []float64) {
	copy(c.at, y)
	copy(c.grad, grad)
}

// apply sets dst to H p. It reports false where a gradient was not finite.
func (c *curvature) apply(dst, p []float64) bool {
	if c.hessian != nil {
		c.hessian.multiply(dst, p)
		return true
	}
	size := linalg.Norm(p)
	clear(dst)
	if size == 0 {
		return true
	}
	c.work()
	copy(c.rest, p)
	// Directions are mostly new (residuals of conjugate gradients are
	// orthogonal to each other), which one product shows. A second
	// subtraction is needed where the first leaves little.
	for pass, before := 0, size; pass < 2 && c.k > 0; pass++ {
		// 1e-14 is the cosine below which a direction counts as orthogonal to the basis: a few roundings. A looser one would let the basis
		// lose its orthogonality step by step.
		if !c.subtract(dst, 1e-14*before) {
			break
		}
		after := linalg.Norm(c.rest)
		if after > 0.5*before {
			break
		}
		before = after
	}
	left := linalg.Norm(c.rest)
	if left <= tolerance.Dependence*size || c.k >= c.n {
		return true
	}
	for j := range c.rest {
		c.rest[j] /= left
	}
	if !c.difference(c.end, c.rest) {
		return false
	}
	c.largest = math.Max(c.largest, linalg.Norm(c.end))
	linalg.Axpy(dst, left, c.end)
	if c.k < c.limit {
		c.v = append(c.v, c.rest...)
		c.hv = append(c.hv, c.end...)
		c.k++
	}
	return true
}

// subtract takes from rest its part in the span of V and adds H times it to
// dst. It reports false, and leaves both alone, where that part is negligible.
func (c *curvature) subtract(dst []float64, negligible float64) bool {
	coef := c.coef[:c.k]
	clear(coef)
	linalg.Gemv(coef, 1, c.v, c.k, c.n, false, c.rest)
	if linalg.Norm(coef) <= negligible {
		return false
	}
	linalg.Gemv(c.rest, -1, c.v, c.k, c.n, true, coef)
	linalg.Gemv(dst, 1, c.hv, c.k, c.n, true, coef)
	return true
}

// difference sets dst to H v for a unit v.
func (c *curvature) difference(dst, v []float64) bool {
	c.work()
	if c.quadratic {
		t := c.step()
		c.forward(dst, v, t)
		if c.largest == 0 {
			// The first one shows how long a step must be for its force not to be lost in
			// the rounding of the gradient.
			if size := linalg.Norm(dst); size > 0 && size*t < linalg.Norm(c.grad) {
				c.forward(dst, v, powerOfTwo(16*linalg.Norm(c.grad)/size))
			}
		}
		return linalg.Finite(dst)
	}
	// The far ends may lie outside the domain of the objective: shorten the
	// step, down to where nothing is left of it, and keep to that nearby. Where the
	// ends are just inside, the next term of the difference is as large as the
	// first: one step shorter, it is a few thousandths.
	last, kept := math.Inf(1), 0.0 // of steps that were uneven: other directions need not be
	defer func() { c.shrink = math.Max(c.shrink, kept) }()
	for outside := false; c.shrink >= 0x1p-40; c.shrink /= 16 {
		if outside && c.room == nil && c.inside(v, c.shrink*c.step()) {
			outside = false
			continue
		}
		t := c.shrink * c.step()
		if c.room != nil {
			t = math.Min(t, c.room(v))
		}
		c.beyond(dst, v, t)
		if linalg.Finite(dst) {
			uneven, ok := c.backward(dst, v, t)
			// Along this direction the gradient may change its slope much earlier than it does on
			// the whole; but what a shorter step does not cure is rounding.
			// 0.3 is the share of a central difference up to which its two halves may differ: with a third, the next term, which is left,
			// is about a tenth of it. The edge of the domain of y log y asks for no less, where all steps are a share of the way.
			if ok && (uneven <= 0.3 || uneven > last/4) {
				return true
			}
			if ok {
				last = uneven
				kept = math.Max(kept, c.shrink)
				continue
			}
		}
		outside = true
	}
	return false
}

// beyond sets dst to the gradient at a distance of t along v.
func (c *curvature) beyond(dst, v []float64, t float64) {
	floats.AddScaledTo(c.probe, c.at, t, v)
	gradOf(c.obj, dst, c.probe)
	c.gradients++
}

// forward sets dst to the forward difference over t.
func (c *curvature) forward(dst, v []float64, t float64) {
	c.beyond(dst, v, t)
	for j := range dst {
		dst[j] = (dst[j] - c.grad[j]) / t
	}
}

// inside reports whether the objective is defined at both ends of a difference.
func (c *curvature) inside(v []float64, t float64) bool {
	for _, s := range []float64{t, -t} {
		floats.AddScaledTo(c.probe, c.at, s, v)
		if value := c.obj.Value(c.probe); math.IsNaN(value) || math.IsInf(value, 0) {
			return false
		}
	}
	return true
}

// backward completes a central difference: dst holds grad(at + t v). uneven is how
// much its halves differ, relative to it.
func (c *curvature) backward(dst, v []float64, t float64) (uneven float64, ok bool) {
	c.beyond(c.behind, v, -t)
	if !linalg.Finite(c.behind) {
		return 0, false
	}
	halves := 0.0
	for j := range dst {
		halves = math.Hypot(halves, dst[j]-c.grad[j]+(c.behind[j]-c.grad[j]))
		dst[j] = (dst[j] - c.behind[j]) / (2 * t)
	}
	if size := 2 * t * linalg.Norm(dst); size > 0 {
		uneven = halves / size
	}
	return uneven, true
}

// step is the length of a difference along a unit vector. For a quadratic the
// error is rounding alone, eps (|grad| + C |y|) / t, which a long step makes
// small: 16 times the size of y, or of the way that the gradient asks for. Otherwise
// the central difference balances t^2 against eps/t at the cube root of the rounding
// unit, relative to the length on which the gradient is curved.
func (c *curvature) step() float64 {
	size := linalg.Norm(c.at)
	if c.quadratic {
		size = math.Max(1, size)
		if c.largest > 0 {
			size = math.Max(size, linalg.Norm(c.grad)/c.largest)
		}
		return powerOfTwo(16 * size)
	}
	if c.length == 0 {
		c.length, c.lengthAt = lengthsOf(c.obj, c.at, c.grad, nil)[0], size
	}
	return math.Cbrt(0x1p-53) * math.Max(size, c.length)
}

// powerOfTwo is the one at most size, by which multiplications and divisions do not
// round.
func powerOfTwo(size float64) float64 { return math.Ldexp(1, math.Ilogb(size)) }

// flat is the curvature that counts as none. Where the objective is not known
// to be quadratic it is that of the rounding in a central difference, of terms of the size
// of H y: the largest curvature may be that of an entry that is nearly 0.
func (c *curvature) flat() float64 {
	level := tolerance.NoCurvature * c.largest
	if c.quadratic {
		return level
	}
	terms := linalg.Norm(c.grad)
	if c.along > 0 {
		terms += c.along
	} else {
		terms += c.largest * linalg.Norm(c.at)
	}
	return math.Max(level, 4*tolerance.Roundoff*terms/(c.shrink*c.step()))
}
