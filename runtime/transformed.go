package runtime

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/curvature"
	"bilevelc/ir/expr"
	"bilevelc/runtime/compile"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/named"
	"bilevelc/runtime/tolerance"
)

// Where the follower's objective g is an increasing function of a simpler one, that one is
// minimized (curvature.Untransformed), by solvers and by verification alike: the step is part of the compiler. What a result
// says of g and of multipliers is about the model's own g; the objective that was minimized, and its
// multipliers, which need not be 0 where those of g are, stand beside them (Equivalent).

// untransformed takes the simpler objective where there is one. The limits are those of a run, so that a check decides as a run does.
func (s *steps) untransformed(bound *ir.Problem) (*ir.Problem, error) {
	rule, _, err := tiesOf(bound)
	if err != nil { // whoever reads the rule next says so
		return bound, nil
	}
	limits := bindProofs
	limits.Context = s.limits.Context
	bound = curvature.Untransformed(bound, rule != "", limits)
	return bound, s.ended()
}

// equivalent reports that a lower level with the same answers is solved in the place of the model's own.
func (p *Problem) equivalent() bool { return p.IR.Transformed != nil || p.IR.Combined != nil }

// ownValue is g in the model's own sense of a minimized objective, at x and y in the model's units, where value is that of what was minimized.
func (p *Problem) ownValue(value float64, x, y []float64) float64 {
	t := p.IR.Transformed
	if t == nil {
		return value
	}
	own, err := expr.Scalar(t.Objective, x, y)
	if err != nil {
		return math.NaN()
	}
	return own
}

// ownMultipliers are multipliers of g, at x and y in the model's units, where lambda are those of what was minimized. A multiplier of 0 stays 0 where g has no finite slope: there g rises steeper than h in each direction.
func (p *Problem) ownMultipliers(x, y, lambda []float64) []float64 {
	lambda = p.IR.Combined.Multipliers(lambda)
	if p.IR.Transformed == nil {
		return lambda
	}
	slope := p.slopes(x, y)
	out := make([]float64, len(lambda))
	for i, v := range lambda {
		if v != 0 {
			out[i] = v * slope[i]
		}
	}
	return out
}

// slopes are those of g by what is minimized, row by row.
func (p *Problem) slopes(x, y []float64) []float64 {
	out := make([]float64, len(p.IR.Rows))
	if len(out) == 0 {
		return out
	}
	v, err := expr.Eval(p.IR.Transformed.Slope, x, y)
	for i := range out {
		if out[i] = math.NaN(); err == nil {
			out[i] = v.At(i)
		}
	}
	return out
}

// slopeGradients are the gradients of w'slopes in x and y. Entries that are not finite, beside rows of weight 0 where g has no slope, are those of differences of the other rows' sum.
func (p *Problem) slopeGradients(x, y, w []float64) (inX, inY []float64, err error) {
	p.shared.slopes.Do(func() { p.shared.slope, p.shared.slopeErr = p.compileSlopes() })
	if p.shared.slopeErr != nil {
		return nil, nil, p.shared.slopeErr
	}
	inX, inY = make([]float64, len(x)), make([]float64, len(y)+len(w))
	p.shared.slope.Clone().ValueGrad(inX, inY, x, slices.Concat(y, w))
	inY = inY[:len(y)]
	x, y = slices.Clone(x), slices.Clone(y)
	weighed := func() (sum float64) {
		for i, s := range p.slopes(x, y) {
			if w[i] != 0 {
				sum += w[i] * s
			}
		}
		return sum
	}
	for _, part := range []struct{ grad, at []float64 }{{inX, x}, {inY, y}} {
		for j, t := range part.at {
			if !math.IsNaN(part.grad[j]) && !math.IsInf(part.grad[j], 0) {
				continue
			}
			step := 0x1p-17 * math.Max(math.Abs(t), 1)
			part.at[j] = t + step
			up := weighed()
			part.at[j] = t - step
			part.grad[j] = (up - weighed()) / (2 * step)
			part.at[j] = t
		}
	}
	return inX, inY, nil
}

func (p *Problem) compileSlopes() (*compile.Function, error) {
	g, slope, at := p.IR.Graph, p.IR.Transformed.Slope, p.IR.Lower.Span
	weights := g.Var("weights of slopes", true, p.IR.Lower.Dim, slope.Shape, at)
	return compile.Scalar(p.IR, g.Dot(weights, slope, at), p.IR.Lower.Dim+slope.Shape.Len(), nil)
}

// ownRates are the derivatives of the multipliers of g along dx, where y and the multipliers of what is minimized change by dy and rate.
func (p *Problem) ownRates(x, y, lambda, dx, dy, rate []float64) ([]float64, error) {
	lambda, rate = p.IR.Combined.Multipliers(lambda), p.IR.Combined.Multipliers(rate)
	if p.IR.Transformed == nil {
		return rate, nil
	}
	slope, w := p.slopes(x, y), make([]float64, len(lambda))
	out := make([]float64, len(rate))
	for i, v := range rate {
		if v != 0 {
			out[i] = v * slope[i]
		}
		if lambda[i] == 0 {
			continue
		}
		w[i] = 1
		inX, inY, err := p.slopeGradients(x, y, w)
		if err != nil {
			return nil, err
		}
		w[i] = 0
		out[i] += lambda[i] * (linalg.Dot(inX, dx) + linalg.Dot(inY, dy))
	}
	return out, nil
}

// transposed turns weights of y and of the multipliers of g into those of y and of the multipliers of what is minimized, and inX, which x has of its own. kink says that some of the multipliers that are 0 may change.
func (p *Problem) transposed(x, y, lambda, dy, dlambda []float64, kink bool) (forY, forLambda, inX []float64, err error) {
	if p.IR.Transformed == nil || dlambda == nil {
		return dy, p.IR.Combined.Weights(dlambda), nil, nil
	}
	lambda = p.IR.Combined.Multipliers(lambda)
	slope, w := p.slopes(x, y), make([]float64, len(lambda))
	forLambda = make([]float64, len(dlambda))
	for i, v := range dlambda {
		if v != 0 && (lambda[i] != 0 || kink && !math.IsInf(slope[i], 0)) { // one that is 0 stays 0, but for kinks
			forLambda[i], w[i] = v*slope[i], v*lambda[i]
		}
	}
	inX, inY, err := p.slopeGradients(x, y, w)
	if err != nil {
		return nil, nil, nil, err
	}
	return linalg.Plus(dy, 1, inY), p.IR.Combined.Weights(forLambda), inX, nil
}

// transformed checks what a document says of the model's own objective and its multipliers against those of what was minimized.
func (c *claims) transformed() {
	e := c.r.Lower.Equivalent
	c.check("lower.equivalent", (e == nil) == !c.p.equivalent(), "the lower level is solved in the place of the model's own in the model or in the document alone")
	if e == nil || !c.p.equivalent() {
		return
	}
	x, y := c.doc.X, c.p.units.Leave(c.doc.Y)
	own := func(x, y []float64) []float64 {
		return append([]float64{c.p.ownValue(c.doc.Lower, x, y)}, c.p.ownMultipliers(x, y, c.doc.Lambda)...)
	}
	want := own(x, y)
	// A few roundings of x and y may be all that g has beside its minimum.
	size := each.Of(want, func(v float64) float64 { return tolerance.SolveAccuracy * math.Abs(v) })
	for k := range 8 {
		moved := func(v []float64, from int) []float64 {
			out := make([]float64, len(v))
			for j, t := range v {
				out[j] = t * (1 + tolerance.SolveAccuracy*math.Cos(float64((k+1)*(7*(from+j)*(from+j)+3*(from+j)+1)))) // in no particular directions
			}
			return out
		}
		for i, v := range own(moved(x, 0), moved(y, len(x))) {
			size[i] = math.Max(size[i], math.Abs(v-want[i]))
		}
	}
	_, sign := sense(&c.p.IR.Lower)
	c.near("lower.objective", sign*float64(c.r.Lower.Objective), want[0], size[0])
	have, err := named.ReadMultipliers(c.p.IR.Rows, c.r.Lower.Multipliers)
	if !c.derived("lower.multipliers", err) {
		return
	}
	at, worst := -1, 0.0
	for i, v := range have {
		if d := apart(v, want[i+1]) - size[i+1]; d > worst {
			at, worst = i, d
		}
	}
	if at >= 0 {
		c.check("lower.multipliers", false, "that of %s is %.6g by that of what was minimized", c.p.IR.Rows[at].Name, want[at+1])
		return
	}
	c.check("lower.multipliers", true, "")
}
