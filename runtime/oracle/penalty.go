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
	Metric    bool    `setting:"metric" doc:"minimize in the metric a1 C_g I + a2 B_I'B_I, at a cost almost independent of alpha, instead of plainly, at a cost like 1/alpha"`
	Tolerance float64 `setting:"tolerance" doc:"the minimization stops where its gradient, in the metric, has fallen by alpha times this" min:"1e-12" max:"1"`
	MaxCalls  int     `setting:"max_calls" doc:"gradients of g after which the minimization gives up" min:"1"`
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
//	grad_w = grad_y f(y* + w) + a1 (grad_y g(y* + w) - grad_y g(y*)) + a2 B_I'B_I w,
//	grad_x = grad_x f(y* + w) + a1 (grad_x g(y* + w) - grad_x g(y*)) - a2 A_I'B_I w,
//
// in which an error e of y* or lambda* is no longer amplified to a1 e.
type Penalty struct{ Settings PenaltySettings }

// Gradient implements Oracle.
func (o *Penalty) Gradient(ctx context.Context, dst []float64, at *At) (float64, error) {
	q, err := newPenalized(at, o.Settings)
	if err != nil {
		return 0, err
	}
	left, err := q.minimize(ctx)
	if err != nil {
		return 0, err
	}
	q.gradX(dst)
	// O(alpha), with the constant that the force grad_y f sets (its bound,
	// thm:diff_in_hypergrad_and_gradLagr, needs more than is known here), and
	// what the minimization left.
	c := norm(q.force)
	return (o.Settings.Alpha + left) * c, nil
}

// penalized is the penalty function at one lower solution.
type penalized struct {
	at     *At
	s      PenaltySettings
	a1, a2 float64
	active []int
	b      *mat.Dense // |I| x Dy: rows B_I; nil if I is empty
	sigma  float64    // estimate of |B_I|^2

	force  []float64 // grad_y f(y*)
	y, w   []float64
	g0, g  []float64 // grad_y g at y* and at y* + w
	f      []float64 // grad_y f at y* + w
	bw     []float64 // B_I w
	scale  float64   // C in the metric a1 C I + a2 B_I'B_I
	smooth mat.Cholesky
}

func newPenalized(at *At, s PenaltySettings) (*penalized, error) {
	p := at.Problem
	n := p.Dy
	q := &penalized{at: at, s: s, a1: math.Pow(s.Alpha, -2), a2: math.Pow(s.Alpha, -4), active: at.Face,
		force: make([]float64, n), y: make([]float64, n), w: make([]float64, n), g0: make([]float64, n),
		g: make([]float64, n), f: make([]float64, n), bw: make([]float64, len(at.Face))}
	p.F.ValueGradY(q.force, at.X, at.Lower.Y)
	p.G.GradY(q.g0, at.X, at.Lower.Y)
	if k := len(q.active); k > 0 {
		q.b = mat.NewDense(k, n, nil)
		for r, i := range q.active {
			p.Rows.B.AddRow(q.b.RawRowView(r), i, 1)
		}
		var svd mat.SVD
		if !svd.Factorize(q.b, mat.SVDNone) {
			return nil, fmt.Errorf("penalty: the singular values of the active rows were not found")
		}
		q.sigma = math.Pow(svd.Values(nil)[0], 2)
	}
	return q, nil
}

// rescale sets C and, with the metric, factorizes (a1 C / a2) I + B_I B_I'.
func (q *penalized) rescale(c float64) error {
	q.scale = c
	if q.b == nil || !q.s.Metric {
		return nil
	}
	k := len(q.active)
	m := mat.NewSymDense(k, nil)
	m.SymOuterK(1, q.b)
	for i := range k {
		m.SetSym(i, i, m.At(i, i)+q.a1*c/q.a2)
	}
	if !q.smooth.Factorize(m) {
		return fmt.Errorf("penalty: the metric of the active rows is not positive definite")
	}
	return nil
}

// precondition overwrites v with M^-1 v: M = a1 C I + a2 B_I'B_I in the metric,
// by the formula of Sherman, Morrison and Woodbury, M = (a1 C + a2 |B_I|^2) I
// plainly.
func (q *penalized) precondition(v []float64) {
	if !q.s.Metric || q.b == nil {
		c := 1 / (q.a1*q.scale + q.a2*q.sigma)
		for i := range v {
			v[i] *= c
		}
		return
	}
	x := mat.NewVecDense(len(v), v)
	var bv, t mat.VecDense
	bv.MulVec(q.b, x)
	if err := q.smooth.SolveVecTo(&t, &bv); err != nil {
		return // ill-conditioned beyond use: what is left is a plain step
	}
	var up mat.VecDense
	up.MulVec(q.b.T(), &t)
	x.AddScaledVec(x, -1, &up)
	x.ScaleVec(1/(q.a1*q.scale), x)
}

// grad sets dst to the penalty function's gradient at w.
func (q *penalized) grad(dst, w []float64) {
	p := q.at.Problem
	for i, v := range q.at.Lower.Y {
		q.y[i] = v + w[i]
	}
	p.G.GradY(q.g, q.at.X, q.y)
	p.F.GradY(q.f, q.at.X, q.y)
	for i := range dst {
		dst[i] = q.f[i] + q.a1*(q.g[i]-q.g0[i])
	}
	if q.b != nil {
		bw := mat.NewVecDense(len(q.bw), q.bw)
		x := mat.NewVecDense(len(w), w)
		bw.MulVec(q.b, x)
		var up mat.VecDense
		up.MulVec(q.b.T(), bw)
		axpy(dst, q.a2, up.RawVector().Data)
	}
}

// minimize runs Nesterov's accelerated gradient method in the metric, with
// restarts by the gradient's sign (O'Donoghue and Candes 2015) in place of the
// unknown modulus, and C doubled where two gradients show more curvature. It
// returns the factor by which the gradient has fallen.
func (q *penalized) minimize(ctx context.Context) (left float64, err error) {
	n := len(q.w)
	c := q.at.Problem.Facts.Smoothness + q.at.Problem.Facts.SmoothnessF/q.a1
	if q.at.Problem.Facts.Smoothness == 0 {
		c = q.curvature()
	}
	if err := q.rescale(c); err != nil {
		return 0, err
	}
	v, last := make([]float64, n), make([]float64, n) // extrapolated point and the one before
	gv, next, step := make([]float64, n), make([]float64, n), make([]float64, n)
	smooth, lastSmooth := make([]float64, n), make([]float64, n) // gradient without the rows' part
	start, momentum := -1.0, 1.0
	for calls := 0; calls < q.s.MaxCalls; calls++ {
		if calls%64 == 0 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		q.grad(gv, v)
		for i := range smooth {
			smooth[i] = q.f[i] + q.a1*q.g[i]
		}
		if calls > 0 && q.tooCurved(v, last, smooth, lastSmooth) {
			if err := q.rescale(2 * q.scale); err != nil {
				return 0, err
			}
			copy(v, last)
			copy(q.w, last)
			momentum = 1
			continue
		}
		copy(step, gv)
		q.precondition(step)
		size := math.Sqrt(dot(gv, step)) // of the gradient, in the dual metric
		if math.IsNaN(size) {
			return 0, fmt.Errorf("penalty: the gradient of f or g is not a number")
		}
		if start < 0 {
			start = size
		}
		if size <= q.s.Alpha*q.s.Tolerance*start {
			copy(q.w, v)
			return size / math.Max(start, 1e-300), nil
		}
		uphill := 0.0
		for i := range next {
			next[i] = v[i] - step[i]
			uphill += gv[i] * (next[i] - q.w[i])
		}
		after := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
		beta := (momentum - 1) / after
		if uphill > 0 {
			after, beta = 1, 0
		}
		copy(last, v)
		copy(lastSmooth, smooth)
		for i := range v {
			v[i] = next[i] + beta*(next[i]-q.w[i])
		}
		copy(q.w, next)
		momentum = after
	}
	return 0, fmt.Errorf("penalty: not minimized within %d gradients", q.s.MaxCalls)
}

// tooCurved reports that f + a1 g has more curvature between two points than
// a1 C, by more than rounding makes of its gradients.
func (q *penalized) tooCurved(v, last, grad, lastGrad []float64) bool {
	curved, squared := 0.0, 0.0
	for i := range v {
		s := v[i] - last[i]
		curved += (grad[i] - lastGrad[i]) * s
		squared += s * s
	}
	noise := 1e-15 * (norm(grad) + norm(lastGrad)) * math.Sqrt(squared)
	return curved > q.a1*q.scale*squared*(1+1e-6)+noise
}

// curvature estimates C_g by the gradient's change along itself, the first step
// of the power method; minimize raises it where it is too small.
func (q *penalized) curvature() float64 {
	size := norm(q.force)
	if size == 0 {
		return 1
	}
	h := 1e-4 * (1 + norm(q.at.Lower.Y))
	copy(q.y, q.at.Lower.Y)
	axpy(q.y, h/size, q.force)
	q.at.Problem.G.GradY(q.g, q.at.X, q.y)
	if c := distance(q.g, q.g0) / h; c > 0 && !math.IsInf(c, 0) {
		return 2 * c
	}
	return 1
}

// gradX sets dst to grad_x of the penalty function at y* + w.
func (q *penalized) gradX(dst []float64) {
	p, n := q.at.Problem, q.at.Problem.Dx
	for i, v := range q.at.Lower.Y {
		q.y[i] = v + q.w[i]
	}
	at, base := make([]float64, n), make([]float64, n)
	p.F.GradX(dst, q.at.X, q.y)
	p.G.GradX(at, q.at.X, q.y)
	p.G.GradX(base, q.at.X, q.at.Lower.Y)
	for j := range dst {
		dst[j] += q.a1 * (at[j] - base[j])
	}
	for _, i := range q.active {
		p.Rows.A.AddRow(dst, i, -q.a2*p.Rows.B.RowDot(i, q.w))
	}
}
