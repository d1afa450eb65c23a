package planted

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// slackFunctions is an instance of the family Slack: its data in the notation
// of the package's documentation.
type slackFunctions struct {
	d      []float64   // len Dy, spectrum of the Hessian of g
	axis   []float64   // len Dy, unit or zero
	pm     *sparse.CSR // P, Dy x Dx
	p      []float64   // len Dy
	x, y   []float64   // x*, y*
	rho    float64
	nu     []float64 // len Dx
	prices []float64 // pi, len m
	offset float64   // F*
	rows   *rows
	// The slacks are affine; these are the gradients of sum_i pi_i slack_i and
	// its value at x = 0, y = 0.
	slackX, slackY []float64
	slack0         float64
}

func newSlack(o Options) *Instance {
	src := newSource(o.Seed)
	n := o.Dy
	fn := &slackFunctions{d: src.spectrum(n, o.Condition), axis: src.axis(n, o.Bounds),
		pm: src.sparseMatrix(n, o.Dx, couplings), x: src.normals(o.Dx), y: src.normals(n),
		rho: src.within(0.1, 1), nu: make([]float64, o.Dx), offset: src.within(1, 2)}
	set, side := src.upperSet(fn.x, o.UpperActive)
	for j := range fn.nu {
		fn.nu[j] = side[j] * src.within(0.1, 1)
	}
	lambda := fn.drawRows(src, o)
	fn.rows.imply(src, o.Implied)
	lambda = append(lambda, make([]float64, o.Implied)...)
	fn.prices = append(fn.prices, make([]float64, o.Implied)...)
	fn.foldPrices(o.Dx)

	in := &Instance{Options: o}
	in.Problem = &problem.Problem{
		Name: "planted", Dx: o.Dx, Dy: n,
		F:    function{&slackUpper{fn}},
		G:    function{&slackLower{fn, make([]float64, n)}},
		Rows: fn.rows.problemRows(fn.axis), X: set, Start: make([]float64, o.Dx),
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true, EqualityOnly: o.Floors+o.Implied == 0},
	}
	for _, d := range fn.d {
		in.Problem.Facts.Smoothness = math.Max(in.Problem.Facts.Smoothness, d)
	}
	for j, t := range src.normals(o.Dx) {
		in.Problem.Start[j] = math.Max(set.Lo[j], math.Min(set.Hi[j], fn.x[j]+t))
	}

	// p makes grad_y g = B' lambda* at (x*, y*).
	fn.p = make([]float64, n)
	grad := make([]float64, n)
	in.Problem.G.GradY(grad, fn.x, fn.y)
	in.Problem.Rows.B.AddMulVecT(fn.p, 1, lambda)
	for j := range fn.p {
		fn.p[j] -= grad[j]
	}
	in.Optimum = Optimum{X: fn.x, Y: fn.y, Lambda: lambda, F: fn.offset, Activity: fn.rows.activity}
	in.Model, in.Data = fn.model(in)
	return in
}

// drawRows draws the rows and returns lambda*. Each row has a coefficient of
// one at a pivot of its own and smaller ones, of sum at most dominance,
// elsewhere: restricted to the pivots, B R is strictly diagonally dominant, so
// the rows are linearly independent and feasible for every x.
func (fn *slackFunctions) drawRows(src source, o Options) (lambda []float64) {
	const dominance = 0.7
	activity := src.activities(o)
	m := len(activity)
	lambda, fn.prices = make([]float64, m), make([]float64, m)
	pivots := src.Perm(o.Dy)
	var right []sparse.Entry
	for i := range m {
		pivot := sparse.Entry{Row: i, Col: pivots[i], Val: 1}
		if o.Bounds {
			pivot.Val = src.sign() * src.within(0.5, 2)
		} else {
			first := len(right)
			right = src.sparseRow(right, i, o.Dy, couplings-1, pivot.Col)
			for k := first; k < len(right); k++ {
				right[k].Val = src.within(-1, 1) * dominance / (couplings - 1)
			}
		}
		right = append(right, pivot)
	}
	r := &rows{links: o.Links, activity: activity, shift: make([]float64, m),
		left: src.sparseMatrix(m, o.Dx, couplings), right: sparse.FromEntries(m, o.Dy, right)}
	u := make([]float64, o.Dy)
	mirror(u, fn.axis, fn.y)
	for i, is := range activity {
		slack := 0.0
		switch is {
		case inactive:
			slack = src.within(0.5, 1.5)
		case active:
			lambda[i] = src.within(0.5, 1.5)
		case link:
			lambda[i] = src.NormFloat64()
		case kink:
			fn.prices[i] = src.within(0.5, 1.5)
		}
		r.shift[i] = r.right.RowDot(i, u) - r.left.RowDot(i, fn.x) - slack
	}
	fn.rows = r
	return lambda
}

// foldPrices sums up the slacks of f into one affine function.
func (fn *slackFunctions) foldPrices(dx int) {
	fn.slackX, fn.slackY = make([]float64, dx), make([]float64, len(fn.y))
	fn.rows.left.AddMulVecT(fn.slackX, -1, fn.prices)
	fn.rows.right.AddMulVecT(fn.slackY, 1, fn.prices)
	mirror(fn.slackY, fn.axis, fn.slackY)
	fn.slack0 = -floats.Dot(fn.prices, fn.rows.shift)
}

// slackLower evaluates g.
type slackLower struct {
	*slackFunctions
	u []float64 // workspace, len Dy
}

func (e *slackLower) clone() evaluator {
	return &slackLower{e.slackFunctions, make([]float64, len(e.u))}
}

func (e *slackLower) eval(gx, gy, x, y []float64) float64 {
	value := 0.0
	if gx != nil {
		clear(gx)
		e.pm.AddMulVecT(gx, 1, y)
	}
	mirror(e.u, e.axis, y)
	for j, u := range e.u {
		value += e.d[j] / 2 * u * u
		e.u[j] = e.d[j] * u
	}
	mirror(e.u, e.axis, e.u)
	for j, t := range y {
		force := e.pm.RowDot(j, x) + e.p[j]
		value += t * force
		if gy != nil {
			gy[j] = e.u[j] + force
		}
	}
	return value
}

// slackUpper evaluates f.
type slackUpper struct{ *slackFunctions }

func (e *slackUpper) clone() evaluator { return e }

func (e *slackUpper) eval(gx, gy, x, y []float64) float64 {
	value := e.offset + e.slack0 + floats.Dot(e.slackX, x) + floats.Dot(e.slackY, y)
	for j, t := range x {
		away := t - e.x[j]
		value += (e.rho/2*away + e.nu[j]) * away
		if gx != nil {
			gx[j] = e.rho*away + e.nu[j] + e.slackX[j]
		}
	}
	for j, t := range y {
		away := t - e.y[j]
		value += away * away / 2
		if gy != nil {
			gy[j] = away + e.slackY[j]
		}
	}
	return value
}
