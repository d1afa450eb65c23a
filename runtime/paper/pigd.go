package paper

import (
	"context"
	"fmt"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/method"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
)

// pigdSettings are the settings of the method `pigd`.
type pigdSettings struct {
	Steps      string  `setting:"steps" doc:"plain gradient steps, or Adam's as in the paper's experiment" words:"plain,adam"`
	Delta      float64 `setting:"delta" doc:"radius of the perturbation" min:"0"`
	Epsilon    float64 `setting:"epsilon" doc:"plain steps: target of the theorem, from which the budget follows; 0: the budget is iterations" min:"0"`
	Rate       float64 `setting:"rate" doc:"step size eta; 0 derives it from the theorem (plain) or takes 0.1 (adam)" min:"0"`
	Iterations int     `setting:"iterations" doc:"budget T, where epsilon does not derive it" min:"1"`
	Lipschitz  float64 `setting:"lipschitz" doc:"L, the Lipschitz constant of F; 0 estimates it from sampled gradients" min:"0"`
	Gap        float64 `setting:"gap" doc:"F(x0) - inf F; 0 estimates it" min:"0"`
	Decay      float64 `setting:"decay" doc:"adam: the step size falls to this part of itself over the budget" min:"1e-12" max:"1"`
}

func init() {
	outer.Register(outer.Spec{
		Name:      "pigd",
		Summary:   "gradient descent on F with the gradient taken at a randomly perturbed point; plain or Adam steps",
		Reference: "alg: PIGD, thm:practical_Lipschitz-min-with-inexact-grad-oracle; Adam: Kingma and Ba 2014",
		Assumes:   []problem.Assumption{problem.StronglyConvexG, problem.LipschitzF, problem.SmoothF},
	}, &pigdSettings{Steps: "adam", Delta: 1e-3, Iterations: 1000, Decay: 1e-3}, func(s pigdSettings, given method.Values) (outer.Method, error) {
		if _, both := given["iterations"]; both && s.Epsilon > 0 {
			return nil, &method.Error{Setting: "epsilon", Reason: "the theorem derives the budget from it, and iterations sets the budget: give one of them"}
		}
		if s.Epsilon > 0 && s.Steps != "plain" {
			return nil, &method.Error{Setting: "epsilon", Reason: "the theorem that derives the budget from it is about plain steps: give steps = plain, or iterations"}
		}
		return &pigd{Settings: s}, nil
	})
}

// pigd is the method `pigd`: x_{t+1} = proj(x_t - eta g_t), with g_t the inexact
// gradient at x_t + delta w_t, w_t uniform on the unit sphere. The perturbed
// point and the step are projected onto X and D, the whole space in the paper.
type pigd struct {
	Settings pigdSettings
	outer.Keeps[pigdState]
}

type pigdState struct {
	X             []float64
	F             float64 // at the last perturbed point
	T             int
	Budget        int // T of the theorem, or as set
	Rate          float64
	First, Second []float64 // Adam's moments
	Kept          []float64 // x_t drawn uniformly from x_0 .. x_t (reservoir of one)
	LastStep      float64
	GradNorm      float64
	Constants     constants
}

func (m *pigd) Valid(d outer.Dimensions) error {
	s := &m.State
	if s.T < 0 || s.Budget < 1 || !(s.Rate > 0) {
		return fmt.Errorf("step %d of %d, rate %v", s.T, s.Budget, s.Rate)
	}
	return outer.Vectors(d.X, s.X, s.First, s.Second, s.Kept)
}

// Iterate implements Method.
func (m *pigd) Iterate() (x []float64, f, step, measure float64) {
	return m.State.X, m.State.F, m.State.LastStep, m.State.GradNorm
}

// Begin implements Method.
func (m *pigd) Begin(ctx context.Context, run *outer.Run) (err error) {
	defer must.Catch(&err)
	n := run.Dim()
	c := must.Get(estimate(ctx, run, m.Settings.Delta, m.Settings.Lipschitz, m.Settings.Gap))
	m.State = pigdState{X: run.Start, F: c.F0, First: make([]float64, n), Second: make([]float64, n), Kept: run.Start,
		Constants: *c, Rate: m.Settings.Rate, Budget: m.Settings.Iterations}
	if m.Settings.Epsilon > 0 {
		m.State.Budget = count(m.work(n) / math.Pow(m.Settings.Epsilon, 4))
	}
	if m.State.Rate == 0 {
		m.State.Rate = 0.1
		if m.Settings.Steps == "plain" {
			m.State.Rate = m.eta(n)
		}
	}
	return nil
}

// The proof bounds the mean of |grad F_delta(x_t)|^2 over T steps, but for L alpha, by
//
//	A/(eta T) + eta B,  A = gap + delta L,  B = L sqrt(d) (alpha + L)^2 / delta,
//
// with the O() of its smoothness term as 1. eta = sqrt(A/(B T)) makes that
// 2 sqrt(A B/T), which is epsilon^2 for T = 4 A B/epsilon^4.
func (m *pigd) bound(n int) (a, b float64) {
	c := &m.State.Constants
	delta := math.Max(m.Settings.Delta, 1e-12)
	return c.Gap + delta*c.Lipschitz, c.Lipschitz * math.Sqrt(float64(n)) * math.Pow(c.Lipschitz+c.GradError, 2) / delta
}

// eta is the step size of the theorem for the budget.
func (m *pigd) eta(n int) float64 {
	a, b := m.bound(n)
	return math.Sqrt(a / (b * float64(m.State.Budget)))
}

// work is T epsilon^4 of the theorem.
func (m *pigd) work(n int) float64 {
	a, b := m.bound(n)
	return 4 * a * b
}

// Predict is the budget, with the accuracy that the theorem promises for it.
func (m *pigd) Predict(run *outer.Run) *outer.Budget {
	t := float64(m.State.Budget)
	b := &outer.Budget{Iterations: t, Evaluations: t, Chosen: m.Settings.Epsilon == 0}
	switch {
	case m.Settings.Steps != "plain":
		b.Basis = "as set; the theorem is about plain steps"
	case m.Settings.Rate > 0:
		b.Basis = "with the rate set by hand: no theorem speaks of the outcome"
	default:
		b.Basis = fmt.Sprintf("thm:practical_Lipschitz-min-with-inexact-grad-oracle, which promises epsilon = %.3g for it, with %s",
			math.Pow(m.work(run.Dim())/t, 0.25), &m.State.Constants)
	}
	return b
}

// Step implements Method.
func (m *pigd) Step(ctx context.Context, run *outer.Run) (_ string, err error) {
	defer must.Catch(&err)
	s := &m.State
	if s.T >= s.Budget {
		return "", outer.Spent(fmt.Sprintf("the budget of %d steps is used up, and the theorem speaks of an iterate drawn at random", s.Budget))
	}
	w := make([]float64, run.Dim())
	run.Direction(w)
	z := linalg.Plus(s.X, m.Settings.Delta, w)
	must.Do(run.Project(z, z))
	g := must.Get(run.Gradient(ctx, z))
	s.T++
	next := linalg.Plus(s.X, -s.Rate, g.G)
	if m.Settings.Steps == "adam" {
		next = m.adam(g.G)
	}
	must.Do(run.Project(next, next))
	if run.Rand.IntN(s.T) == 0 {
		s.Kept = s.X
	}
	s.LastStep, s.F, s.GradNorm = linalg.Distance(next, s.X), g.F, linalg.Norm(g.G)
	s.X = next
	return "", nil
}

// adam is Adam's step with its usual constants and a rate that falls
// geometrically over the budget, so that the last steps settle.
func (m *pigd) adam(g []float64) []float64 {
	const beta1, beta2 = 0.9, 0.999
	s := &m.State
	first, second, next := make([]float64, len(g)), make([]float64, len(g)), make([]float64, len(g))
	t := float64(s.T)
	rate := s.Rate * math.Pow(m.Settings.Decay, (t-1)/float64(m.State.Budget))
	for j, v := range g {
		first[j] = beta1*s.First[j] + (1-beta1)*v
		second[j] = beta2*s.Second[j] + (1-beta2)*v*v
		a := first[j] / (1 - math.Pow(beta1, t))
		b := second[j] / (1 - math.Pow(beta2, t))
		if next[j] = s.X[j]; b > 0 { // else no gradient has had this entry
			next[j] -= rate * a / math.Sqrt(b)
		}
	}
	s.First, s.Second = first, second
	return next
}

// Finish implements Method.
func (m *pigd) Finish(ctx context.Context, run *outer.Run, result *outer.Result) error {
	result.Parameters = m.State.Constants.parameters()
	result.Parameters["eta"], result.Parameters["delta"], result.Parameters["T"] = m.State.Rate, m.Settings.Delta, float64(m.State.Budget)
	// Values at unperturbed points have not been seen: the last may be the best.
	if last, err := run.Point(ctx, m.State.X); err == nil && last.F < result.Best.F {
		result.Best = last
	}
	return finishSampled(ctx, run, result, m.State.Kept, math.Max(m.Settings.Delta, 1e-12))
}
