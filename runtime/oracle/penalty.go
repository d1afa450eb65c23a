package oracle

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// PenaltySettings are the settings of the oracle `penalty`.
type PenaltySettings struct {
	Alpha     float64 `setting:"alpha" doc:"accuracy of the hypergradient: a1 = alpha^-2, a2 = alpha^-4; plain accelerated gradients take no less than 1e-2 in reasonable time" min:"1e-5" max:"1"`
	Metric    bool    `setting:"metric" doc:"accelerated gradients in the metric a1 C I + a2 B_I'B_I, at a cost that grows with log(1/alpha), instead of plain ones, at a cost like 1/alpha"`
	Tolerance float64 `setting:"tolerance" doc:"the minimization stops where the penalty function's gradient (plainly: in the dual norm of its metric) has fallen by alpha times this" min:"1e-12" max:"1"`
	MaxCalls  int     `setting:"max_calls" doc:"points at which gradients are taken after which the minimization gives up" min:"1"`
}

// DefaultPenalty are the defaults. In the metric a small alpha costs no more than a
// large one; with this one the error, of order alpha^2 where f and g are smooth, is
// below what stationarity is asked for. The tolerance leaves the minimization's
// error below the O(alpha^2) of the penalty itself where f and g are smooth.
func DefaultPenalty() *PenaltySettings {
	return &PenaltySettings{Alpha: 1e-4, Metric: true, Tolerance: 1e-3, MaxCalls: 1000000}
}

func init() {
	register(Spec{
		Name:      "penalty",
		Summary:   "minimizes f + a1 (g + lambda*'h - g*) + a2/2 C |h_I|^2 over y, with rows of length 1 and the curvature C of g, and returns its gradient in x, with an error of order alpha",
		Reference: "alg:inexact-gradient-oracle, eqn:penalty-lagrangian, thm:cost_of_computing_ystar_gammastar_inequality",
		Assumes:   []problem.Assumption{problem.StronglyConvexG, problem.SmoothG, problem.SmoothF, problem.StrictComplementarity},
	}, DefaultPenalty(), func(s PenaltySettings) Oracle { return &Penalty{Settings: s} })
}

// Penalty is the oracle `penalty`. The unknown is w = y - y*, of order 1/a1, and
// the terms that cancel at y* are left out rather than subtracted: by stationarity
// B'lambda* = grad_y g(y*), and h_I(y*) = 0, so that
//
//	grad_w = grad_y f(y* + w) + a1 (grad_y g(y* + w) - grad_y g(y*)) + B_I'nu,
//	grad_x = grad_x f(y* + w) + a1 (grad_x g(y* + w) - grad_x g(y*)) - A_I'nu,
//
// with nu = a2 B_I w, in which an error e of y* or lambda* is no longer amplified
// to a1 e.
//
// How much a2/2 |h_I|^2 weighs beside a1 g is a matter of units: rows of length 1 and a g of
// curvature 1 are those of the theorem. So the active rows are taken at the length sqrt(C), C being
// the curvature of g, whatever the units that they are written in.
type Penalty struct{ Settings PenaltySettings }

// Gradient implements Oracle.
func (o *Penalty) Gradient(ctx context.Context, dst []float64, at *At) (float64, error) {
	q := newPenalized(at, o.Settings)
	at.Problem.F.GradX(dst, at.X, at.Lower.Y)
	direct := append([]float64(nil), dst...)
	defer func() { at.Terms = linalg.Norm(direct) + linalg.Distance(dst, direct) }()
	w, nu, left, err := q.minimize(ctx)
	if err != nil {
		return 0, err
	}
	q.gradX(dst, w, nu)
	terms := q.reaction(w, nu)
	// The error falls with alpha^2 once alpha is small, and with alpha at least where
	// the condition of g delays that: at twice the alpha it is at least twice as large,
	// so that the difference bounds it, up to a small factor where alpha is not below
	// the root of the condition number of g.
	coarse := o.Settings
	coarse.Alpha *= 2
	p := newPenalized(at, coarse)
	w, nu, rest, err := p.minimize(ctx)
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if err != nil { // where alpha is too large for a convex problem, twice alpha is no test
		return (o.Settings.Alpha + left) * terms, nil
	}
	double := make([]float64, len(dst))
	p.gradX(double, w, nu)
	return linalg.Distance(double, dst) + (left+rest)*terms + tolerance.SumRounding*linalg.Norm(dst), nil
}

// penalized is the penalty function at one lower solution.
type penalized struct {
	at     *At
	s      PenaltySettings
	a1     float64
	active []int     // I
	weight []float64 // of each active row (see newPenalized)

	force []float64 // grad_y f at y*
	g0    []float64 // grad_y g at y*
	reach float64   // length of a step over which a quadratic g changes in earnest
	short float64   // of the step that scaledChange takes otherwise, the part that g's curvature leaves
	y     []float64 // len Dy: scratch, the point of the last evaluation
	stiff float64   // see stiffness
	calls int       // points at which the minimization has taken gradients
}

func newPenalized(at *At, s PenaltySettings) *penalized {
	p := at.Problem
	n := p.Dy
	q := &penalized{at: at, s: s, a1: math.Pow(s.Alpha, -2), active: at.held(),
		// 16 makes a step long against y, so that the rounding of two gradients is small in their difference.
		reach: 16 * at.size(), short: 1, force: make([]float64, n), g0: make([]float64, n), y: make([]float64, n)}
	p.F.GradY(q.force, at.X, at.Lower.Y)
	p.G.GradY(q.g0, at.X, at.Lower.Y)
	q.weight = each.Of(q.active, func(i int) float64 { return math.Sqrt(q.stiffness()) / linalg.RowNorm(p.Rows.B, i) })
	return q
}

// stiffness is C, the curvature of g, as far as it is known before anything is minimized.
func (q *penalized) stiffness() float64 {
	if c := q.at.Problem.Facts.Smoothness; c > 0 && !math.IsInf(c, 1) {
		return c
	}
	if q.stiff == 0 {
		q.stiff = q.curvature()
	}
	return q.stiff
}

// moveTo sets y to y* + t v.
func (q *penalized) moveTo(t float64, v []float64) []float64 {
	copy(q.y, q.at.Lower.Y)
	linalg.Axpy(q.y, t, v)
	return q.y
}

// vector is the gradient h + B_I'nu of a pair.
func (q *penalized) vector(gradient pair) []float64 {
	v := append([]float64(nil), gradient.u...)
	for r, i := range q.active {
		q.at.Problem.Rows.B.AddRow(v, i, q.weight[r]*gradient.nu[r])
	}
	return v
}

// activeRows is B_I, |I| x Dy; nil if I is empty.
func (q *penalized) activeRows() *mat.Dense {
	if len(q.active) == 0 {
		return nil
	}
	b := mat.NewDense(len(q.active), len(q.force), nil)
	for r, i := range q.active {
		q.at.Problem.Rows.B.AddRow(b.RawRowView(r), i, q.weight[r])
	}
	return b
}

// gradX sets dst to grad_x of the penalty function at y* + w; nu = a2 B_I w.
func (q *penalized) gradX(dst, w, nu []float64) {
	p, n := q.at.Problem, q.at.Problem.Dx
	base, change := make([]float64, n), make([]float64, n)
	p.F.GradX(dst, q.at.X, q.moveTo(1, w))
	p.G.GradX(base, q.at.X, q.at.Lower.Y)
	q.scaledChange(change, p.G.GradX, base, w, p.Facts.QuadraticInY && p.Facts.FixedHessian)
	linalg.Axpy(dst, 1, change)
	for r, i := range q.active {
		p.Rows.A.AddRow(dst, i, -q.weight[r]*nu[r])
	}
}

// reaction is the size of the terms that y's reaction has in grad_x of the penalty function, in its
// units: each row's, and those of g with the entries of w in random signs, as they may cancel.
func (q *penalized) reaction(w, nu []float64) float64 {
	p, n := q.at.Problem, q.at.Problem.Dx
	base, change := make([]float64, n), make([]float64, n)
	p.G.GradX(base, q.at.X, q.at.Lower.Y)
	signed, share := make([]float64, len(w)), shares(5)
	for j, v := range w {
		signed[j] = math.Copysign(v, share())
	}
	q.scaledChange(change, p.G.GradX, base, signed, p.Facts.QuadraticInY && p.Facts.FixedHessian)
	size := linalg.Norm(change)
	for r, i := range q.active {
		size = math.Hypot(size, q.weight[r]*math.Abs(nu[r])*linalg.RowNorm(p.Rows.A, i))
	}
	return size
}

// scaledChange sets dst to a1 (grad(y* + w) - grad(y*)), where grad is a
// derivative of g that is base at y*, and returns the factor by which the rounding
// in grad counts. Taken literally the difference cancels, as w is of order
// alpha^2. So the change of a grad that is affine in y is scaled down from a long
// step. Of any other, where w is shorter than the step at which rounding and third
// derivatives balance, the parts that are odd and even in w are scaled down from
// that step, each by its own power, which leaves an error of third order in that
// step, at the level of the rounding. Where g is quadratic in y there is none, and
// the step is long.
func (q *penalized) scaledChange(dst []float64, grad func(dst, x, y []float64), base, w []float64, affine bool) (amplified float64) {
	size := linalg.Norm(w)
	if size == 0 {
		clear(dst)
		return 0
	}
	h := math.Cbrt(tolerance.FewRoundings) * q.at.size() * q.short
	if q.at.Problem.Facts.QuadraticInY {
		h = q.reach
	}
	t := h / size
	if t > 1 {
		grad(dst, q.at.X, q.moveTo(t, w))
		if affine {
			for j, v := range dst {
				dst[j] = q.a1 * (v - base[j]) / t
			}
			return q.a1 / t
		}
		behind := make([]float64, len(dst))
		grad(behind, q.at.X, q.moveTo(-t, w))
		for j, v := range dst {
			odd, even := (v-behind[j])/2, (v+behind[j])/2-base[j]
			dst[j] = q.a1 * (odd/t + even/(t*t))
		}
		if linalg.Finite(dst) {
			return q.a1 / t
		}
		// The step leaves the domain of g, in which y* + w lies.
	}
	grad(dst, q.at.X, q.moveTo(1, w))
	for j, v := range dst {
		dst[j] = q.a1 * (v - base[j])
	}
	return q.a1
}
