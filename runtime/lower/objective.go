package lower

import (
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// Curvature is what is known of an Objective's second derivatives in y; zero
// values mean "not known".
type Curvature struct {
	Mu        float64 // modulus of strong convexity
	C         float64 // Lipschitz constant of the gradient
	Quadratic bool    // the objective is quadratic in y
	Fixed     bool    // and its Hessian is the same at every x
}

// knownObjective is an Objective whose curvature is known. Solvers treat any other
// objective as general.
type knownObjective interface {
	Objective
	Curvature() Curvature
}

// curvatureOf is the known curvature of an objective.
func curvatureOf(obj Objective) Curvature {
	if k, ok := obj.(knownObjective); ok {
		return k.Curvature()
	}
	return Curvature{}
}

// gradient is an Objective whose gradient costs less without its value.
type gradient interface {
	Objective
	Grad(dst, y []float64)
}

// gradOf sets dst to the gradient of an objective at y. AtX has no method Grad: a type
// that embeds it would inherit the gradient of g for its own.
func gradOf(obj Objective, dst, y []float64) {
	switch o := obj.(type) {
	case *AtX:
		o.G.GradY(dst, o.X, y)
	case gradient:
		o.Grad(dst, y)
	default:
		obj.ValueGrad(dst, y)
	}
}

// AtX is g(x, .) of a problem at a fixed x.
type AtX struct {
	G     problem.Function
	X     []float64
	Facts problem.Facts
}

// G returns g(x, .) with what the compiler proved of it. It holds x, which the
// caller may change between solves.
func G(p *problem.Problem, x []float64) *AtX { return &AtX{G: p.G, X: x, Facts: p.Facts} }

// nearG is an Objective whose Hessian in y is that of g(x, .), or next to it:
// g perturbed by little. Sparse solves take the one for the other.
type nearG interface {
	Objective
	BaseG() *AtX
}

// plusLinear is an objective as g(x, .) plus a linear function of y, nil for none; g is nil where it is not of that form.
func plusLinear(obj Objective) (g *AtX, slope []float64) {
	switch o := obj.(type) {
	case *AtX:
		return o, nil
	case *Tilted:
		return o.AtX, o.Slope
	}
	return nil, nil
}

// Tilted is g(x, .) + slope'y: g perturbed by a linear function. Its curvature is
// that of g.
type Tilted struct {
	*AtX
	Slope []float64 // len Dy
}

// Value is that of the sum.
func (o *Tilted) Value(y []float64) float64 { return o.AtX.Value(y) + linalg.Dot(o.Slope, y) }

// ValueGrad is the value, and the gradient in y in dst.
func (o *Tilted) ValueGrad(dst, y []float64) float64 {
	v := o.AtX.ValueGrad(dst, y) + linalg.Dot(o.Slope, y)
	linalg.Axpy(dst, 1, o.Slope)
	return v
}

// Grad is the gradient alone.
func (o *Tilted) Grad(dst, y []float64) {
	o.G.GradY(dst, o.X, y)
	linalg.Axpy(dst, 1, o.Slope)
}

// BaseG is o itself.
func (o *AtX) BaseG() *AtX { return o }

// Value is g(x, y).
func (o *AtX) Value(y []float64) float64 { return o.G.Value(o.X, y) }

// ValueGrad is g(x, y), and its gradient in y in dst.
func (o *AtX) ValueGrad(dst, y []float64) float64 { return o.G.ValueGradY(dst, o.X, y) }

// Curvature repeats the problem's facts of g.
func (o *AtX) Curvature() Curvature {
	return Curvature{Mu: o.Facts.StrongConvexity, C: o.Facts.Smoothness,
		Quadratic: o.Facts.QuadraticInY, Fixed: o.Facts.QuadraticInY && o.Facts.FixedHessian}
}
