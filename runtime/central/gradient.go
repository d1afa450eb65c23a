package central

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Evaluate moves to the point of the path at x and returns F_mu there, with its
// gradient in grad (len Dx). With the KKT matrix K of the path, K (p, q) = (grad_y f, 0),
//
//	grad F_mu = grad_x f - D_y(grad_x g) p - A'q + sum_i B_i p/s_i grad mu,
//
// where the middle term is a difference of gradients of g along p, and mu reads x as Barrier says.
func (c *Path) Evaluate(ctx context.Context, grad, x []float64, mu float64) (float64, error) {
	if err := c.At(ctx, x, mu); err != nil {
		return 0, err
	}
	value := c.p.F.ValueGrad(grad, c.gradY, x, c.y)
	c.adjointProduct(grad, x, c.gradY, 0, tolerance.Roundoff)
	copy(c.adjoint, c.step[:c.n])
	for _, v := range grad {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, ErrOff
		}
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, ErrOff
	}
	return value, nil
}

// adjointProduct adds D'w to dst (len Dx), D = dy/dx, for a w on y (len n), from a solution to a
// part of w, and share times the gradient of mu(x)/mu. It leaves p in c.step.
func (c *Path) adjointProduct(dst, x, w []float64, share, part float64) {
	clear(c.rhs)
	copy(c.rhs, w)
	c.solve(part)
	p := c.step[:c.n]
	weights := c.weights
	clear(weights)
	if c.barrier.share != 1 {
		share += c.barrier.sum(func(i int) float64 { return c.mu / c.s[i] * c.along(i, p) })
		c.barrier.weigh(weights, share, c.barrier.share, c.barrier.force)
		if !c.separable {
			c.cross(dst, x, c.barrier.At, weights)
			clear(weights)
		}
	}
	linalg.Axpy(weights, -1, p)
	c.cross(dst, x, c.y, weights)
	rows := c.p.Rows
	for i, j := range c.bound {
		if j >= 0 && c.tied[i] {
			// The equation of the row, eliminated from K.
			if q := -c.weight[i] * c.along(i, p); q != 0 {
				rows.A.AddRow(dst, i, -q)
			}
		}
	}
	for k, i := range c.general {
		if q := c.step[c.n+k]; q != 0 && c.tied[i] {
			rows.A.AddRow(dst, i, -q)
		}
	}
}

// cross adds D_y(grad_x g) v at (x, y) to dst (len Dx), by a difference of
// gradients along v (len n). Central differences of a quadratic are exact.
func (c *Path) cross(dst, x, y, v []float64) {
	length := linalg.Norm(v)
	if !(length > 0) {
		return
	}
	t := math.Cbrt(tolerance.Roundoff) * (1 + linalg.Norm(y)) / length
	if c.p.Facts.QuadraticInY {
		t = 0x1p-4 * (1 + linalg.Norm(y)) / length
	}
	floats.AddScaledTo(c.probe, y, t, v)
	c.p.G.GradX(c.front, x, c.probe)
	floats.AddScaledTo(c.probe, y, -t, v)
	c.p.G.GradX(c.back, x, c.probe)
	for j := range dst {
		dst[j] += (c.front[j] - c.back[j]) / (2 * t)
	}
}
