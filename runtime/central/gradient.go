package central

import (
	"context"
	"math"

	"bilevelc/runtime/linalg"
)

// Evaluate moves to the point of the path at x and returns F_mu there, with its
// gradient in grad (len Dx). With the KKT matrix K of the path, K (p, q) = (grad_y f, 0),
//
//	grad F_mu = grad_x f - D_y(grad_x g) p - A'q,
//
// where the middle term is a difference of gradients of g along p.
func (c *Path) Evaluate(ctx context.Context, grad, x []float64, mu float64) (float64, error) {
	if err := c.At(ctx, x, mu); err != nil {
		return 0, err
	}
	value := c.p.F.ValueGrad(grad, c.pulled, x, c.y)
	c.pullBack(grad, x, c.pulled, unit)
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

// pullBack adds D'w to dst (len Dx), D = dy/dx, for a w on y (len n), from a solution to a
// part of w. It leaves p in c.step.
func (c *Path) pullBack(dst, x, w []float64, part float64) {
	clear(c.rhs)
	copy(c.rhs, w)
	c.solveTo(part)
	p := c.step[:c.n]
	length := linalg.Norm(p)
	if length > 0 {
		size := 1 + linalg.Norm(c.y)
		t := math.Cbrt(unit) * size / length
		if c.p.Facts.QuadraticInY {
			t = 0x1p-4 * size / length // central differences of a quadratic are exact
		}
		ahead, behind := make([]float64, len(x)), make([]float64, len(x))
		c.along(ahead, x, t)
		c.along(behind, x, -t)
		for j := range dst {
			dst[j] -= (ahead[j] - behind[j]) / (2 * t)
		}
	}
	rows := c.p.Rows
	for i, j := range c.bound {
		if j >= 0 {
			// The equation of the row, eliminated from K.
			if q := -c.lambda[i] / c.s[i] * rows.B.RowDot(i, p); q != 0 {
				rows.A.AddRow(dst, i, -q)
			}
		}
	}
	for k, i := range c.general {
		if q := c.step[c.n+k]; q != 0 {
			rows.A.AddRow(dst, i, -q)
		}
	}
}

// along sets dst to grad_x g at y + t p.
func (c *Path) along(dst, x []float64, t float64) {
	for j, v := range c.y {
		c.probe[j] = v + t*c.step[j]
	}
	c.p.G.GradX(dst, x, c.probe)
}
