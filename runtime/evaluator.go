package runtime

import (
	"context"
	"errors"
	"math"

	"bilevelc/internal/must"
	"bilevelc/runtime/document"
	"bilevelc/runtime/named"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
)

// evaluator gives F and the follower's answer at points x: by an oracle (oracleEvaluator), or on the follower's KKT system (systemPoint). It is not safe for concurrent use.
type evaluator interface {
	evaluate(ctx context.Context, x []float64) (answer, error)
	Calls() Calls
}

// answer is F and the follower's answer at one x, with their derivatives, of what is minimized and in the units of y in which it is. At a kink these are of one of the pieces that meet,
// beside a *KinkError, or one-sided.
type answer interface {
	at() *oracle.Point
	gradient(ctx context.Context) (grad []float64, accuracy float64, err error) // of F
	product(ctx context.Context, dy, dlambda []float64) (product []float64, accuracy float64, err error)
	// tangent is the derivative along dx at an answer (y, lambda), of several one that is as good. The error is a *KinkError or a noSlope where there is none.
	tangent(ctx context.Context, dx []float64) (t *oracle.Tangent, y, lambda []float64, err error)
}

// evaluator chooses by the options, and gives the problem that is evaluated. The follower's own answer of least norm has no derivatives: with them it is that of the regularized follower.
func (p *Problem) evaluator(opts Options, derivatives bool) (_ evaluator, of *Problem, err error) {
	defer must.Catch(&err)
	if q := p.evaluates(opts); q != nil && !(derivatives && q.exactTies == document.LeastNorm) {
		must.Do(q.takes(opts))
		e := q.counted().systemPoint()
		return e, e.p, nil
	}
	_, _, h, err := p.choose(opts)
	return oracleEvaluator{h}, p, err
}

// oracleEvaluator evaluates F by an oracle.
type oracleEvaluator struct{ *oracle.Hyper }

func (h oracleEvaluator) evaluate(ctx context.Context, x []float64) (_ answer, err error) {
	defer must.Catch(&err)
	pt := must.Get(h.Value(ctx, x))
	return &oracleAnswer{h: h.Hyper, pt: must.Get(h.WithoutPenalty(ctx, pt))}, nil
}

// oracleAnswer is what an oracle gives at one x.
type oracleAnswer struct {
	h     *oracle.Hyper
	pt    *oracle.Point
	state *oracle.Sensitivity // made when a derivative of the answer is first asked for
}

func (a *oracleAnswer) at() *oracle.Point { return a.pt }

func (a *oracleAnswer) gradient(ctx context.Context) (grad []float64, accuracy float64, err error) {
	if a.pt.Grad == nil {
		if err := a.h.Complete(ctx, a.pt); err != nil {
			a.pt.Grad = nil
			return nil, 0, err
		}
	}
	if rows := rowsThatMeet(a.pt, a.h.Problem()); len(rows) > 0 {
		err = &KinkError{Rows: rows, Reason: "rows with neither slack nor multiplier; the gradient is of one of the pieces that meet"}
	}
	return a.pt.Grad, a.pt.GradError, err
}

func (a *oracleAnswer) product(ctx context.Context, dy, dlambda []float64) (product []float64, accuracy float64, err error) {
	defer must.Catch(&err)
	s := must.Get(a.sensitivity(ctx))
	product = make([]float64, len(a.pt.X))
	accuracy, err = s.Reverse(ctx, product, dy, dlambda)
	return product, accuracy, err
}

func (a *oracleAnswer) tangent(ctx context.Context, dx []float64) (t *oracle.Tangent, y, lambda []float64, err error) {
	s, err := a.sensitivity(ctx)
	if err == nil {
		t, err = s.Forward(ctx, dx)
	}
	return t, a.pt.Lower.Y, a.pt.Lower.Lambda, err
}

func (a *oracleAnswer) sensitivity(ctx context.Context) (_ *oracle.Sensitivity, err error) {
	if a.state == nil {
		a.state, err = a.h.Sensitivity(ctx, a.pt)
	}
	return a.state, err
}

// rowsThatMeet are the rows of the lower level that may change their state at a point.
func rowsThatMeet(pt *oracle.Point, of *problem.Problem) (rows []string) {
	for _, i := range pt.Undecided {
		if i < of.Rows.Len() {
			rows = append(rows, of.Rows.RowName(i))
		}
	}
	return rows
}

// sensitivities are the derivatives of F and of the follower's answer in every entry of x: to the right, and to the left too at points that are sided, or where there is none to the right.
func (p *Problem) sensitivities(ctx context.Context, a answer, sided bool) (_ []EntrySensitivity, err error) {
	defer must.Catch(&err)
	dx := make([]float64, p.Numeric.Dx)
	out := make([]EntrySensitivity, len(dx))
	for j := range out {
		e := &out[j]
		e.Entry, dx[j] = p.IR.Upper.EntryName(j), 1
		if e.Right = must.Get(p.rates(ctx, a, dx, 1)); sided || e.Right.Reason != "" {
			dx[j] = -1
			e.Left = must.Get(p.rates(ctx, a, dx, -1))
		}
		dx[j] = 0
	}
	return out, nil
}

// rates are the derivatives along dx, times sign.
func (p *Problem) rates(ctx context.Context, a answer, dx []float64, sign float64) (*Rates, error) {
	t, at, err := p.tangent(ctx, a, dx)
	if err != nil {
		if ctx.Err() != nil || !errors.As(err, new(*oracle.KinkError)) && !errors.As(err, new(*oracle.LowerError)) && !errors.As(err, new(noSlope)) {
			return nil, err
		}
		none := Number(math.NaN())
		return &Rates{Objective: none, ErrorVariables: none, ErrorMultipliers: none, Reason: err.Error()}, nil
	}
	return &Rates{Objective: Number(sign*t.F + 0), Variables: named.Variables(&p.IR.Lower, t.Y, sign), Multipliers: named.MultiplierRates(p.IR.Rows, at, t.Lambda, sign),
		ErrorVariables: Number(t.AccuracyY), ErrorMultipliers: Number(t.AccuracyLambda)}, nil
}

// tangent is the derivative along dx in the model's own units and sense, with hidden entries of y and rows, and the multipliers that it is of.
func (p *Problem) tangent(ctx context.Context, a answer, dx []float64) (_ *Tangent, multipliers []float64, err error) {
	defer must.Catch(&err)
	t, y, multipliers, err := a.tangent(ctx, dx)
	must.Do(err)
	_, sign := sense(&p.IR.Upper)
	dy := p.units.Leave(t.Y)
	lambda, err := p.ownRates(a.at().X, p.units.Leave(y), multipliers, dx, dy, t.Lambda)
	return &Tangent{Y: dy, Lambda: lambda, F: sign * t.F, AccuracyY: p.units.LeaveError(t.ErrorY), AccuracyLambda: t.ErrorLambda}, multipliers, err
}
