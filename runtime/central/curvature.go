package central

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Second is the second derivative of F_mu at the last point that Evaluate has found. It
// is valid until the path moves on.
//
// With the adjoint p of the gradient (see Evaluate) and the derivative D = dy/dx of the
// path, which the KKT matrix gives,
//
//	F_mu'' = (I, D)' (f'' - (p'grad_y g)'' + sum_i (B_i p) (mu/s_i)'') (I, D),
//
// the derivatives in the middle being those in (x, y), s_i' = (-A_i, B_i), of
// mu in x (Barrier): the equations that make y are linear in the multipliers of equality rows and, but for g and
// the barrier, in y. A product with a vector costs two solves and differences of
// gradients of f and g; H itself is never formed.
type Second struct {
	c         *Path
	x         []float64
	p         []float64 // len n
	rowForces []float64 // len m: lambda_i/s_i^2 B_i p = mu/s_i^3 B_i p
	weight    float64   // the derivative of F_mu by the share of the barrier; 0 where mu does not read x
	size      float64   // of (x, y)

	step   float64  // of differences along the direction in x
	sides  [2]place // ahead and behind
	dy, ds []float64
	side   []float64 // len m
	wx, wy []float64
	ax, ay []float64 // gradients ahead and behind
	bx, by []float64
	px, py []float64 // a point
}

// place is a point beside x: grad_y g there, the barrier, and the slope in x of what F_mu reads of x through it and, where that is all that it reads of it, through -p'grad_y g.
type place struct {
	x, grad, force, slope []float64
	share                 float64
}

// Second prepares the second derivative at the x of the last Evaluate.
func (c *Path) Second(x []float64) *Second {
	v := func(k int) []float64 { return make([]float64, k) }
	nx := len(x)
	s := &Second{c: c, x: append([]float64(nil), x...), p: append([]float64(nil), c.adjoint...), rowForces: v(c.m), side: v(c.m),
		dy: v(c.n), ds: v(c.m), wx: v(nx), wy: v(c.n), ax: v(nx), ay: v(c.n), bx: v(nx), by: v(c.n), px: v(nx), py: v(c.n)}
	for k := range s.sides {
		s.sides[k] = place{x: v(nx), grad: v(c.n), force: v(c.n), slope: v(nx), share: 1}
	}
	for i, l := range c.lambda {
		if c.s[i] > 0 {
			s.rowForces[i] = l / (c.s[i] * c.s[i]) * c.along(i, s.p)
			if c.barrier.share != 1 {
				s.weight += s.rowForces[i] * c.s[i] * c.mu / l
			}
		}
	}
	s.size = math.Max(1, math.Max(linalg.NormInf(s.x), linalg.NormInf(c.y)))
	return s
}

// Apply sets dst to F_mu” v (both len Dx).
func (s *Second) Apply(dst, v []float64) {
	c, rows := s.c, s.c.p.Rows
	length := linalg.NormInf(v)
	if length == 0 {
		clear(dst)
		return
	}
	s.beside(v, length)
	relative := 0.0 // the change of mu(x), relative to it
	if c.barrier.share != 1 {
		relative = (s.sides[0].share - s.sides[1].share) / (2 * s.step) / c.barrier.share
	}
	s.answer(v, relative)
	// f''
	t := math.Cbrt(tolerance.Roundoff) * s.size / math.Max(length, linalg.NormInf(s.dy))
	s.gradients(c.p.F.ValueGrad, s.ax, s.ay, t, v, s.dy)
	s.gradients(c.p.F.ValueGrad, s.bx, s.by, -t, v, s.dy)
	for j := range s.wx {
		s.wx[j] = (s.ax[j] - s.bx[j]) / (2 * t)
	}
	for j := range s.wy {
		s.wy[j] = (s.ay[j] - s.by[j]) / (2 * t)
	}
	for j := range s.wx {
		s.wx[j] += (s.sides[0].slope[j] - s.sides[1].slope[j]) / (2 * s.step)
	}
	if !c.separable {
		s.mixed(v)
	}
	share := 0.0 // the weight with which the share's gradient enters
	for i, b := range s.rowForces {
		if b != 0 {
			w := b * (2*s.ds[i] - relative*c.s[i])
			if c.tied[i] {
				rows.A.AddRow(s.wx, i, -w)
			}
			if j := c.bound[i]; j >= 0 {
				s.wy[j] += w * c.coefficient[i]
			} else {
				rows.B.AddRow(s.wy, i, w)
			}
			share -= b * s.ds[i] * c.mu / c.lambda[i]
		}
	}
	copy(dst, s.wx)
	c.adjointProduct(dst, s.x, s.wy, share, tolerance.SolveAccuracy)
}

// beside measures g and the barrier on both sides of x along v, whose largest entry is length.
func (s *Second) beside(v []float64, length float64) {
	c := s.c
	s.step = math.Cbrt(tolerance.Roundoff) * s.size / length
	for k, t := range [2]float64{s.step, -s.step} {
		at := &s.sides[k]
		floats.AddScaledTo(at.x, s.x, t, v)
		c.p.G.GradY(at.grad, at.x, c.y)
		weights, y := s.py, c.barrier.At
		clear(weights)
		if c.barrier.share != 1 {
			at.share = c.barrier.measure(at.force, at.x)
			c.barrier.weigh(weights, s.weight, at.share, at.force)
		}
		if c.separable && !c.p.Facts.JointlyQuadratic {
			y = c.y
			linalg.Axpy(weights, -1, s.p)
		}
		clear(at.slope)
		c.cross(at.slope, at.x, y, weights)
	}
}

// answer sets dy and ds to the derivatives of y and of the slacks along v, along which mu(x) changes by a part of it.
func (s *Second) answer(v []float64, relative float64) {
	c := s.c
	clear(c.rhs[c.n:])
	for j, ahead := range s.sides[0].grad {
		c.rhs[j] = -(ahead - s.sides[1].grad[j]) / (2 * s.step)
	}
	for i := range s.ds {
		s.ds[i] = -c.across(i, v)
		s.side[i] = s.ds[i] - relative*c.s[i]
		if j := c.bound[i]; j >= 0 {
			c.rhs[j] -= c.coefficient[i] * c.weight[i] * s.side[i]
		}
	}
	for k, i := range c.general {
		c.rhs[c.n+k] = s.side[i]
	}
	c.solve(tolerance.SolveAccuracy)
	copy(s.dy, c.step)
	for i := range s.ds {
		s.ds[i] += c.along(i, s.dy)
	}
}

// mixed subtracts (p'grad_y g)” (v, dy) from w, by second differences of gradients of g.
func (s *Second) mixed(v []float64) {
	c := s.c
	e := math.Sqrt(math.Sqrt(tolerance.Roundoff)) * s.size
	along, across := e/math.Max(linalg.NormInf(v), linalg.NormInf(s.dy)), e
	if m := linalg.NormInf(s.p); m > 0 {
		across /= m
	} else {
		return
	}
	scale := 1 / (4 * along * across)
	for _, sign := range [][2]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}} {
		for j, w := range v {
			s.px[j] = s.x[j] + sign[0]*along*w
		}
		for j, w := range s.dy {
			s.py[j] = c.y[j] + sign[0]*along*w + sign[1]*across*s.p[j]
		}
		c.p.G.ValueGrad(s.ax, s.ay, s.px, s.py)
		f := sign[0] * sign[1] * scale
		floats.AddScaled(s.wx, -f, s.ax)
		floats.AddScaled(s.wy, -f, s.ay)
	}
}

// gradients evaluates those of f at (x, y) + t (v, dy).
func (s *Second) gradients(f func(dx, dy, x, y []float64) float64, dx, dy []float64, t float64, v, w []float64) {
	floats.AddScaledTo(s.px, s.x, t, v)
	floats.AddScaledTo(s.py, s.c.y, t, w)
	f(dx, dy, s.px, s.py)
}
