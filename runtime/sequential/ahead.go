package sequential

import (
	"context"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
)

// AheadApplies says, in words, what keeps Ahead from being of use; "" where nothing does.
func AheadApplies(p *problem.Problem) string {
	switch {
	case p.Facts.JointlyQuadratic:
		return "the system is linear as it stands"
	case !(p.Facts.StrongConvexity > 0):
		return "g is not shown to be strongly convex in y"
	case !p.Facts.QuadraticInY || !p.Facts.FixedHessian:
		return "the Hessian of g in y is not the same everywhere"
	case p.Coupled != nil || len(p.X.Balls) > 0:
		return "the upper level has constraints that are not linear in x"
	case p.Integer != nil:
		return "the leader has variables that take whole numbers only"
	case reduced.Sparse(p):
		return "the follower is taken with sparse factors"
	}
	return ""
}

// Ahead is the end of the path of F from x (reduced.Path), where F is lower than at x: a start that has looked past poor kinks.
func Ahead(ctx context.Context, p *problem.Problem, x []float64) ([]float64, error) {
	v, err := New(p, Options{})
	if err != nil {
		return nil, err
	}
	c := curve{v}
	lo := &lower{grad: make([]float64, p.Dy)}
	y := make([]float64, p.Dy)
	if c.Force(lo.grad, x); !linalg.Finite(lo.grad) {
		return nil, errNotFinite
	}
	if lo.h, err = v.jacobian(y, func(dst, at []float64) { p.G.GradY(dst, x, at) }, v.groups, true, v.affineColumns(x, y, p.Dx)); err != nil {
		return nil, err
	}
	lo.h = symmetric(lo.h)
	if lo.g, err = c.Slopes(x); err != nil {
		return nil, err
	}
	at := *p
	at.G, at.Parts, at.Facts.JointlyQuadratic = &follower{append([]float64(nil), x...), y, lo}, nil, true
	s, err := kkt.Read(&at)
	if err != nil {
		return nil, err
	}
	return reduced.Path(ctx, s, x, c, reduced.Options{})
}

// curve is the follower as package reduced follows its path: g is quadratic in y, so that differences in y are exact but for rounding.
type curve struct{ v *Solver }

// Force implements reduced.Curved.
func (c curve) Force(dst, x []float64) { c.v.p.G.GradY(dst, x, make([]float64, c.v.p.Dy)) }

// Slopes implements reduced.Curved.
func (c curve) Slopes(x []float64) (*sparse.CSR, error) {
	return c.v.jacobian(x, c.Force, nil, false, c.v.affineColumns(x, make([]float64, c.v.p.Dy), 0))
}

// gradX sets dst to the gradient in x of a'grad_y g, at any y.
func (c curve) gradX(dst, x, a []float64) {
	length := linalg.NormInf(a)
	clear(dst)
	if length == 0 {
		return
	}
	there, here := make([]float64, len(a)), make([]float64, len(dst))
	for j, t := range a {
		there[j] = t / length
	}
	c.v.p.G.GradX(dst, x, there)
	clear(there)
	c.v.p.G.GradX(here, x, there)
	for j := range dst {
		dst[j] = (dst[j] - here[j]) * length
	}
}

// HessianProduct implements reduced.Curved.
func (c curve) HessianProduct(dst, x, a, d []float64) {
	length := linalg.NormInf(d)
	clear(dst)
	if length == 0 {
		return
	}
	t := kkt.FirstStep * math.Max(1, linalg.NormInf(x)) / length
	moved, back := make([]float64, len(x)), make([]float64, len(dst))
	for j := range x {
		moved[j] = x[j] + t*d[j]
	}
	c.gradX(dst, moved, a)
	for j := range x {
		moved[j] = x[j] - t*d[j]
	}
	c.gradX(back, moved, a)
	for j := range dst {
		dst[j] = (dst[j] - back[j]) / (2 * t)
	}
}
