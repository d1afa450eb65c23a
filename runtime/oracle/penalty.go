package oracle

import (
	"context"
	"fmt"
	"math"

	"bilevelc/runtime/method"

	"gonum.org/v1/gonum/mat"
)

// PenaltySettings are the settings of the oracle `penalty`.
type PenaltySettings struct {
	Alpha     float64 `setting:"alpha" doc:"accuracy of the hypergradient: a1 = alpha^-2, a2 = alpha^-4" min:"1e-5" max:"1"`
	Metric    bool    `setting:"metric" doc:"minimize by conjugate gradients in the metric a1 C I + a2 B_I'B_I, at a cost almost independent of alpha, instead of by plain accelerated gradients, at a cost like 1/alpha"`
	Tolerance float64 `setting:"tolerance" doc:"the minimization stops where the penalty function's gradient (plainly: in the dual norm of its metric) has fallen by alpha times this" min:"1e-12" max:"1"`
	MaxCalls  int     `setting:"max_calls" doc:"points at which gradients are taken after which the minimization gives up" min:"1"`
}

// DefaultPenalty are the defaults. The tolerance leaves the minimization's
// error well below the O(alpha) of the penalty itself.
func DefaultPenalty() *PenaltySettings {
	return &PenaltySettings{Alpha: 1e-2, Metric: true, Tolerance: 1e-2, MaxCalls: 1000000}
}

// Validate checks the ranges.
func (s *PenaltySettings) Validate() error { return method.Validate(s) }

func init() {
	registry.Register("penalty", Spec{
		Name:      "penalty",
		Summary:   "minimizes f + a1 (g + lambda*'h - g*) + a2/2 |h_I|^2 over y and returns its gradient in x, with an error of order alpha",
		Reference: "alg:inexact-gradient-oracle, eqn:penalty-lagrangian, thm:cost_of_computing_ystar_gammastar_inequality",
		Cost:      "~sqrt(kappa_g) log(1/alpha) gradients in the metric, ~1/alpha plainly",
		Settings:  method.Describe(DefaultPenalty()),
		New: func(values method.Values) (Oracle, error) {
			s := DefaultPenalty()
			if err := method.Apply(s, values); err != nil {
				return nil, err
			}
			return &Penalty{Settings: *s}, nil
		},
	})
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
type Penalty struct{ Settings PenaltySettings }

// Gradient implements Oracle.
func (o *Penalty) Gradient(ctx context.Context, dst []float64, at *At) (float64, error) {
	q := newPenalized(at, o.Settings)
	minimize := q.accelerated
	if o.Settings.Metric {
		minimize = q.truncated
	}
	w, nu, left, err := minimize(ctx)
	if err != nil {
		return 0, err
	}
	q.gradX(dst, w, nu)
	// O(alpha), with the constant that the force grad_y f sets (its bound,
	// thm:diff_in_hypergrad_and_gradLagr, needs more than is known here), and
	// what the minimization left.
	return (o.Settings.Alpha + left) * norm(q.force), nil
}

// penalized is the penalty function at one lower solution.
type penalized struct {
	at     *At
	s      PenaltySettings
	a1, a2 float64
	active []int // I

	force []float64 // grad_y f at y*
	g0    []float64 // grad_y g at y*
	y     []float64 // len Dy: scratch, the point of the last evaluation
	calls int       // points at which the minimization has taken gradients
}

func newPenalized(at *At, s PenaltySettings) *penalized {
	p := at.Problem
	n := p.Dy
	q := &penalized{at: at, s: s, a1: math.Pow(s.Alpha, -2), a2: math.Pow(s.Alpha, -4), active: at.held(),
		force: make([]float64, n), g0: make([]float64, n), y: make([]float64, n)}
	p.F.GradY(q.force, at.X, at.Lower.Y)
	p.G.GradY(q.g0, at.X, at.Lower.Y)
	return q
}

// count counts a point at which gradients are taken, and gives up at the limit.
func (q *penalized) count() error {
	if q.calls++; q.calls > q.s.MaxCalls {
		return fmt.Errorf("penalty: not minimized within gradients at %d points", q.s.MaxCalls)
	}
	return nil
}

// moveTo sets y to y* + t v.
func (q *penalized) moveTo(t float64, v []float64) []float64 {
	copy(q.y, q.at.Lower.Y)
	axpy(q.y, t, v)
	return q.y
}

// pull adds B_I'nu to dst (len Dy).
func (q *penalized) pull(dst, nu []float64) {
	for r, i := range q.active {
		q.at.Problem.Rows.B.AddRow(dst, i, nu[r])
	}
}

// activeRows is B_I, |I| x Dy; nil if I is empty.
func (q *penalized) activeRows() *mat.Dense {
	if len(q.active) == 0 {
		return nil
	}
	b := mat.NewDense(len(q.active), len(q.force), nil)
	for r, i := range q.active {
		q.at.Problem.Rows.B.AddRow(b.RawRowView(r), i, 1)
	}
	return b
}

// gradX sets dst to grad_x of the penalty function at y* + w; nu = a2 B_I w.
func (q *penalized) gradX(dst, w, nu []float64) {
	p, n := q.at.Problem, q.at.Problem.Dx
	y := q.moveTo(1, w)
	at, base := make([]float64, n), make([]float64, n)
	p.F.GradX(dst, q.at.X, y)
	p.G.GradX(at, q.at.X, y)
	p.G.GradX(base, q.at.X, q.at.Lower.Y)
	for j := range dst {
		dst[j] += q.a1 * (at[j] - base[j])
	}
	for r, i := range q.active {
		p.Rows.A.AddRow(dst, i, -nu[r])
	}
}
