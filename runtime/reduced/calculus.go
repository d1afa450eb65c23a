package reduced

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// point is (w, y, duals): what f reads, duals the multipliers in problem.Duals.
type point struct{ w, y, dual []float64 }

func newPoint(nw, n, duals int) point {
	return point{make([]float64, nw), make([]float64, n), make([]float64, duals)}
}

func (p point) size() float64 {
	return math.Max(linalg.NormInf(p.w), math.Max(linalg.NormInf(p.y), linalg.NormInf(p.dual)))
}

func (p point) dot(q point) float64 {
	return linalg.Dot(p.w, q.w) + linalg.Dot(p.y, q.y) + linalg.Dot(p.dual, q.dual)
}

// calculus evaluates f, its gradients and products with its Hessian, the last by differences of gradients: one gradient, exact but for
// rounding, where f is quadratic, and two elsewhere. Nothing else of the package asks f.
type calculus struct {
	p         *problem.Problem
	nx, nw    int
	quadratic bool
	answer    []float64
	gx, ga    []float64
	at, slope point // the last point, and the gradient there
	calls     int64
}

func newCalculus(p *problem.Problem, nw int) *calculus {
	return &calculus{p: p, nx: p.Dx, nw: nw, quadratic: p.Facts.DegreeF <= 2, answer: make([]float64, p.AnswerLen()),
		gx: make([]float64, p.Dx), ga: make([]float64, p.AnswerLen()), at: newPoint(nw, p.Dy, len(p.Duals)), slope: newPoint(nw, p.Dy, len(p.Duals))}
}

func (c *calculus) fill(y, dual []float64) {
	copy(c.answer, y)
	copy(c.answer[c.p.Dy:], dual)
}

// value is f at p.
func (c *calculus) value(p point) float64 {
	c.calls++
	c.fill(p.y, p.dual)
	return c.p.F.Value(p.w[:c.nx], c.answer)
}

// noise is what the accuracy of p makes of f, by the terms of its slopes there: two values that differ by less are one.
func (c *calculus) noise(p point) float64 {
	g := newPoint(c.nw, len(p.y), len(p.dual))
	return noise(c.gradient(g, p), g, p)
}

// noise is that of a value of f at p, where its gradient is g.
func noise(value float64, g, p point) float64 {
	terms := math.Abs(value)
	for _, v := range [3][2][]float64{{g.w, p.w}, {g.y, p.y}, {g.dual, p.dual}} {
		for i, t := range v[0] {
			terms += math.Abs(t * v[1][i])
		}
	}
	return tolerance.Rounded * terms
}

// gradient sets dst to the gradient of f at p, and returns f.
func (c *calculus) gradient(dst, p point) float64 {
	c.calls++
	c.fill(p.y, p.dual)
	v := c.p.F.ValueGrad(c.gx, c.ga, p.w[:c.nx], c.answer)
	copy(dst.w, c.gx) // of further variables it is 0
	copy(dst.y, c.ga)
	copy(dst.dual, c.ga[len(dst.y):])
	return v
}

// begin makes p the point of products, and returns f and its gradient there, which products do not change.
func (c *calculus) begin(p point) (float64, point) {
	copy(c.at.w, p.w)
	copy(c.at.y, p.y)
	copy(c.at.dual, p.dual)
	v := c.gradient(c.slope, c.at)
	return v, c.slope
}

// product sets dst to the Hessian of f at the point of begin times d. A step is as long as the point is large where f is quadratic, so that rounding
// is relative to the gradients; elsewhere as long as central differences want: the cube root of the unit roundoff.
func (c *calculus) product(dst, d point) {
	length := d.size()
	if length == 0 {
		clear(dst.w)
		clear(dst.y)
		clear(dst.dual)
		return
	}
	size := math.Max(1, c.at.size())
	step := func(t float64, out point) {
		q := newPoint(c.nw, len(c.at.y), len(c.at.dual))
		floats.AddScaledTo(q.w, c.at.w, t, d.w)
		floats.AddScaledTo(q.y, c.at.y, t, d.y)
		floats.AddScaledTo(q.dual, c.at.dual, t, d.dual)
		c.gradient(out, q)
	}
	if c.quadratic {
		t := size / length
		step(t, dst)
		difference(dst, c.slope, t)
		return
	}
	t := math.Cbrt(0x1p-52) * size / length
	back := newPoint(c.nw, len(c.at.y), len(c.at.dual))
	step(t, dst)
	step(-t, back)
	difference(dst, back, 2*t)
}

// difference sets a to (a - b)/t.
func difference(a, b point, t float64) {
	for _, v := range [3][2][]float64{{a.w, b.w}, {a.y, b.y}, {a.dual, b.dual}} {
		for i := range v[0] {
			v[0][i] = (v[0][i] - v[1][i]) / t
		}
	}
}
