package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/named"
	"bilevelc/runtime/oracle"
)

// Layer is a problem as a differentiable function of x, for training loops and for
// optimizers of the caller's own: F, the follower's answer y*(x) with its multipliers,
// the gradient of F, and products with the derivatives of the answer. It is warm from
// call to call: an evaluation starts from the answers to the points before it, and from
// what they have shown of the curvature of g. So the last bits of what it gives depend
// on where it has been. All is first order: f and g are asked for values and gradients
// alone, and Calls counts them.
//
// Vectors have the order of the model's declarations, row-major: see Problem.Vector
// and Problem.Named. A Layer may be shared by goroutines, which then wait for each
// other; Problem.Evaluate gives each a layer of its own.
//
// Where the model breaks ties (solve { ties = ... }) and the follower's KKT system is kept, the
// answer is the follower's own that the rule asks for; else, and with least_norm, that of the
// regularized follower. Constraints of the upper level that are not part of X do not
// enter F.
type Layer struct {
	mu   sync.Mutex
	p    *Problem // that is evaluated
	of   evaluator
	sign float64
}

// Layer makes a layer. Of the options, the oracle and the solver, with their settings,
// and Threads count. The error is a *UsageError, or a diag.List for a fault in the
// model's `solve` block.
func (p *Problem) Layer(opts Options) (*Layer, error) {
	e, of, err := p.apart().evaluator(opts, true)
	if err != nil {
		return nil, err
	}
	_, sign := sense(&of.IR.Upper)
	return &Layer{p: of, of: e, sign: sign}, nil
}

// Dims is Problem.Dims.
func (l *Layer) Dims() (dx, dy, rows int) { return l.p.Dims() }

// Calls to f and g so far.
func (l *Layer) Calls() Calls {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of.Calls()
}

// Evaluation is F and the follower's answer at one x. Its slices are the caller's to
// read, not to change.
type Evaluation struct {
	X []float64
	F float64 // in the user's own sense
	// Y is the answer, and Lambda the multipliers of the rows h(x, y) <= 0 or = 0 of
	// the Lagrangian g + lambda'h of the minimized g, >= 0 on inequalities.
	Y, Lambda []float64
	// Accuracy is an estimate of the error of F; a bound where the modulus of g and the
	// Lipschitz constant of f are proved.
	Accuracy float64
	// Kinks are the rows that may change their state at X, as they have neither slack
	// nor a multiplier above the errors of the answer. Where there are none, the answer
	// and F are differentiable at X.
	Kinks []string

	layer  *Layer
	answer answer
}

// Evaluate solves the lower level at x (len Dx), which need not be in X. The error is a
// *StatusError, which errors.Is compares with ErrInfeasible and its kind; the cause of
// ctx; or a *UsageError.
func (l *Layer) Evaluate(ctx context.Context, x []float64) (_ *Evaluation, err error) {
	defer must.Catch(&err)
	must.Do(vector("x", x, l.p.Numeric.Dx))
	l.mu.Lock()
	defer l.mu.Unlock()
	a, err := l.of.evaluate(ctx, x)
	must.Do(outcome(ctx, err))
	_, dy, rows := l.p.Dims()
	pt := a.at()
	y := l.p.units.Leave(pt.Lower.Y)
	return &Evaluation{X: pt.X, F: l.sign * pt.F, Y: y[:dy:dy], Lambda: l.p.ownMultipliers(pt.X, y, pt.Lower.Lambda)[:rows:rows], Accuracy: pt.FError,
		Kinks: rowsThatMeet(pt, l.p.Numeric), layer: l, answer: a}, nil
}

// Gradient of F at X (len Dx) in the user's own sense, with an estimate of its error.
// At a kink it is that of one of the pieces of F that meet there, beside a
// *KinkError.
func (e *Evaluation) Gradient(ctx context.Context) (grad []float64, accuracy float64, err error) {
	l := e.layer
	l.mu.Lock()
	defer l.mu.Unlock()
	grad, accuracy, err = e.answer.gradient(ctx)
	if grad == nil {
		return nil, 0, outcome(ctx, err)
	}
	return each.Of(grad, func(v float64) float64 { return l.sign*v + 0 }), accuracy, err
}

// VJP is the product dy'(dy*/dx) + dlambda'(dlambda*/dx), len Dx, with an estimate of
// its error: what backpropagation needs. dy has length Dy, dlambda that of the rows;
// nil stands for zeros. At a kink the product is that of one of the pieces that meet
// there, beside a *KinkError: who trains through kinks goes on with it, who must not
// looks at the error.
func (e *Evaluation) VJP(ctx context.Context, dy, dlambda []float64) (product []float64, accuracy float64, err error) {
	defer must.Catch(&err)
	_, ny, rows := e.layer.Dims()
	if dy == nil {
		dy = make([]float64, ny)
	}
	must.Do(vector("dy", dy, ny))
	if dlambda != nil {
		must.Do(vector("dlambda", dlambda, rows))
	}
	e.layer.mu.Lock()
	defer e.layer.mu.Unlock()
	p, pt := e.layer.p, e.answer.at()
	dy, dlambda, own, err := p.transposed(e.X, e.Y, pt.Lower.Lambda, dy, dlambda, len(e.Kinks) > 0)
	must.Do(err)
	product, accuracy, err = e.answer.product(ctx, p.units.Leave(padded(dy, p.Numeric.Dy)), padded(dlambda, p.Numeric.Rows.Len()))
	if product == nil || err != nil && !errors.As(err, new(*KinkError)) {
		return nil, 0, outcome(ctx, err)
	}
	if own != nil {
		product = linalg.Plus(product, 1, own)
	}
	return product, accuracy, err
}

// Tangent is how the follower's answer, and F, change along a direction.
type Tangent struct {
	Y, Lambda []float64 // len Dy, rows
	F         float64   // in the user's own sense
	// AccuracyY and AccuracyLambda are estimates of the errors of Y and Lambda.
	AccuracyY, AccuracyLambda float64
}

// JVP is the derivative of the answer, and of F, along dx (len Dx). At a kink it is
// one-sided: of x + t dx as t falls to 0, and JVP of -dx need not be its negative. A
// *KinkError says that there is none, as where no y is feasible on that side, or where
// rows depend on each other.
func (e *Evaluation) JVP(ctx context.Context, dx []float64) (_ *Tangent, err error) {
	defer must.Catch(&err)
	must.Do(vector("dx", dx, len(e.X)))
	e.layer.mu.Lock()
	defer e.layer.mu.Unlock()
	t, _, err := e.layer.p.tangent(ctx, e.answer, dx)
	if none := noSlope(""); errors.As(err, &none) {
		return nil, &KinkError{Rows: e.Kinks, Reason: string(none)}
	}
	must.Do(outcome(ctx, err))
	_, ny, rows := e.layer.Dims()
	t.Y, t.Lambda = t.Y[:ny:ny], t.Lambda[:rows:rows]
	return t, nil
}

// Evaluate is Layer.Evaluate with one of the problem's own layers, of which each has
// the methods of the model or the defaults. It is warm where earlier calls have left a
// layer that no other goroutine uses now.
func (p *Problem) Evaluate(ctx context.Context, x []float64) (_ *Evaluation, err error) {
	defer must.Catch(&err)
	l, ok := p.shared.layers.Get().(*Layer)
	if !ok {
		l = must.Get(p.Layer(Options{}))
	}
	defer p.shared.layers.Put(l)
	return l.Evaluate(ctx, x)
}

// Dims are the lengths of x, of y and of the multipliers, one a row of the lower level.
func (p *Problem) Dims() (dx, dy, rows int) {
	dx, dy, rows = p.Numeric.Dx, p.Numeric.Dy, p.Numeric.Rows.Len()
	if re := p.IR.Restated; re != nil { // what restates kinks stands behind the model's own
		dy = re.Declared
		for rows > 0 && hidden(p.IR.Rows, rows-1) {
			rows--
		}
	}
	return dx, dy, rows
}

// padded is v with zeros up to n entries; nil stays nil.
func padded(v []float64, n int) []float64 {
	if v == nil || len(v) == n {
		return v
	}
	return append(v[:len(v):len(v)], make([]float64, n-len(v))...)
}

// Vector puts upper variables by name into one vector: x of Evaluate. The error is a
// *UsageError.
func (p *Problem) Vector(upper Values) ([]float64, error) { return p.upperPoint(upper) }

// Named gives what an Evaluation has by the names of the model, multipliers in the
// user's own direction.
func (p *Problem) Named(e *Evaluation) (upper, lower, multipliers Values) {
	return named.Variables(&p.IR.Upper, e.X, 1), named.Variables(&p.IR.Lower, e.Y, 1), named.Multipliers(p.IR.Rows, e.Lambda)
}

// vector checks an argument.
func vector(name string, v []float64, n int) error {
	if len(v) != n {
		return &UsageError{Err: fmt.Errorf("%s has %d entries, not %d", name, len(v), n)}
	}
	for j, t := range v {
		if math.IsNaN(t) || math.IsInf(t, 0) {
			return &UsageError{Err: fmt.Errorf("%s[%d] is %v", name, j, t)}
		}
	}
	return nil
}

// KinkError says that the follower's answer is not differentiable at a point, or, from
// JVP, that it has no derivative along a direction.
type KinkError = oracle.KinkError
