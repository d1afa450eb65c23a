package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
	"bilevelc/runtime"
)

// far is how far two numbers are apart relative to 1 and their size.
func far(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.Inf(1)
	}
	return math.Abs(a-b) / (1 + math.Max(math.Abs(a), math.Abs(b)))
}

// accuracy is what y*, lambda and F must agree to, relative to 1 and their
// size: the solvers promise 1e-8 of the KKT conditions, which the condition
// numbers of these programs (up to about 1e3) may amplify.
const accuracy = 1e-5

// rounding is what a slack far away, at 1e11, is known to, relative to the terms that it is
// a difference of: a few units in their last place. F, a sum of terms of a y that is known so, is to a
// few of these.
const rounding = 0x1p-48

// statements checks what a result says of the lower level and of F at its x.
// It returns the truth there, nil where it is not known.
func (e *examination) statements(r *runtime.Result, of string) *truth.Point {
	s := e.scale()
	x := e.upperOf(r.Upper.Variables)
	pt, ok := e.eval.At(x)
	if !ok {
		e.outcome("truth unknown")
		return nil
	}
	if pt.Violation > 1e-6 {
		// Far away, where F falls without bound, x itself is known to its rounding.
		y := e.lowerOf(r)
		least := math.Max(1e-6, rounding*each.Largest(e.Rows, func(row truth.Linear) float64 { return row.Terms(x, y) }))
		if e.eval.Infeasibility(x) > least {
			e.false(of+" point without y", "no y satisfies the rows at x = %v within %.3g, but one is returned", x, pt.Violation)
		}
		return nil
	}
	y := e.lowerOf(r)
	worst, d := apart(y, pt.Y)
	bound := float64(r.Lower.ErrorBound) * math.Pow10(-s.Y)
	if worst > accuracy {
		// Far away, at 1e14, the truth's own rounding may be more than that, and nothing else is known then.
		if exact := e.eval.Y(e.exactPoint(r)); exact != nil {
			if worst, _ := apart(y, exact); worst <= accuracy {
				e.outcome("truth known to rounding")
				return nil
			}
		}
		if d <= bound && r.Status != runtime.Solved {
			e.outcome("y within its claimed error")
			return nil
		}
		e.false(of+" y", "y = %v, truly %v at x = %v", y, pt.Y, x)
		return nil
	}
	if d > bound*(1+1e-6)+1e-10 {
		// The truth's own rounding may be more than that.
		if exact := e.eval.Y(e.exactPoint(r)); exact != nil {
			_, d = apart(y, exact)
		}
	}
	if d > bound*(1+1e-6)+1e-10 {
		e.false(of+" error bound", "|y - y*| = %.3g, claimed at most %.3g, at x = %v", d, bound, x)
	}
	sign := func(maximize bool) float64 {
		if maximize {
			return -1
		}
		return 1
	}
	upper := sign(e.maxF) * float64(r.Upper.Objective) * math.Pow10(-s.F)
	if far(upper, pt.F) > accuracy && math.Abs(upper-pt.F) > 4*rounding*e.eval.UpperTerms(x, pt.Y) {
		e.false(of+" F", "F = %v, truly %v at x = %v", upper, pt.F, x)
	}
	lower := sign(e.maxG) * float64(r.Lower.Objective) * math.Pow10(-s.G)
	// The truth's y may miss rows by pt.Violation, which grad_y g makes its share of, as it does of
	// how far y is from it, which was looked at above.
	_, pull := e.eval.LowerGradient(x, pt.Y)
	if slope := math.Sqrt(dot(pull, pull)); math.Abs(lower-pt.G) > accuracy*(1+math.Max(math.Abs(lower), math.Abs(pt.G)))+slope*(10*pt.Violation+2*d)+4*rounding*e.eval.LowerTerms(x, pt.Y) {
		e.false(of+" g", "g = %v, truly %v at x = %v", lower, pt.G, x)
	}
	e.multipliers(r, pt, y, of)
	e.hypergradient(r, pt, of)
	return pt
}

// apart is how far a and b are from each other: the worst entry, as far has it, and the length.
func apart(a, b []float64) (worst, length float64) {
	for j := range a {
		worst = math.Max(worst, far(a[j], b[j]))
		length += (a[j] - b[j]) * (a[j] - b[j])
	}
	return worst, math.Sqrt(length)
}

// multipliers checks the KKT conditions with the multipliers of the named
// rows; what is left of the gradient must be the bounds'.
func (e *examination) multipliers(r *runtime.Result, pt *truth.Point, y []float64, of string) {
	s := e.scale()
	_, rest := e.eval.LowerGradient(pt.X, y)
	size := 1.0
	// The gradient is a sum of terms that may cancel: those of x and those of y show apart.
	_, ofX := e.eval.LowerGradient(pt.X, make([]float64, len(y)))
	_, ofY := e.eval.LowerGradient(make([]float64, len(pt.X)), y)
	for j, v := range rest {
		size = math.Max(size, math.Abs(v))
		for _, part := range []float64{ofX[j], ofY[j]} {
			if !math.IsNaN(part) && !math.IsInf(part, 0) {
				size = math.Max(size, math.Abs(part))
			}
		}
	}
	for i, row := range e.Rows {
		if e.bound[i] > 0 {
			continue
		}
		v, ok := r.Lower.Multipliers.Get(fmt.Sprintf("r%d", i+1))
		if !ok {
			e.false(of+" multiplier missing", "row r%d", i+1)
			return
		}
		lambda, err := v.Scalar()
		if err != nil {
			lambda = v.Data[0]
		}
		lambda *= math.Pow10(-(s.G - s.Rows))
		size = math.Max(size, math.Abs(lambda))
		if row.Equal && e.maxG {
			continue // checked below up to the sign
		}
		slack := math.Max(0, e.eval.Slack(i, pt.X, y)-rounding*row.Terms(pt.X, y))
		if !row.Equal && (lambda < -accuracy*size || lambda > accuracy*size && slack > 1e-4) {
			e.false(of+" multiplier", "row r%d has %.6g with slack %.6g at x = %v", i+1, lambda, slack, pt.X)
			return
		}
		for j, c := range row.C {
			rest[j] += lambda * c
		}
	}
	if e.maxG {
		return // the sign of equality multipliers under maximize is the spec's business
	}
	forces := e.eval.LowerForces(pt.X, y)
	lo, hi := e.box()
	for j, v := range rest { // v = minus the bounds' part: > 0 only at a lower bound
		atLow, atHigh := y[j]-lo[j] < 1e-4, hi[j]-y[j] < 1e-4
		least := 10*accuracy*size + 4*rounding*forces[j]
		if v > least && !atLow || v < -least && !atHigh {
			e.false(of+" multipliers", "grad_y g and the rows' multipliers leave %.3g at y[%d] = %.6g, x = %v", v, j+1, y[j], pt.X)
			return
		}
	}
}

// hypergradient compares the gradient where F has one, and the strict flag.
func (e *examination) hypergradient(r *runtime.Result, pt *truth.Point, of string) {
	s := e.scale()
	kink := pt.Margin < 1e-12
	if kink && r.Stationarity.Strict {
		// The doubles of the truth do not tell a margin of 1e-13 from none; rationals do. Where G
		// is not quadratic there are none, and the rounding of numbers of moderate size decides.
		undecided, known := e.eval.Undecided(e.exactPoint(r))
		if known && !undecided || !known && pt.Margin > 1e-14*(1+largest(pt.Y)+largest(pt.Lambda)) {
			kink = false
			e.outcome("strict by less than 1e-12")
		}
	}
	if kink && r.Stationarity.Strict {
		g := e.eval.AroundX(pt.X, 1e-6, nil, 200, e.rng)
		if spread(g) > 1e-4*(1+e.size) {
			e.false(of+" strict at a kink", "strict complementarity is claimed, margin %.3g, gradients spread by %.3g, at x = %v", pt.Margin, spread(g), pt.X)
		} else {
			e.soft(of+" strict without a margin", "", "margin %.3g at x = %v", pt.Margin, pt.X)
		}
	}
	if !r.Stationarity.Strict && pt.Margin > 1e-2 && !pt.Implied {
		e.soft(of+" strict not seen", "", "margin %.3g at x = %v", pt.Margin, pt.X)
	}
	if len(r.Upper.Hypergradient) == 0 || r.Oracle == "value" {
		return
	}
	sign := 1.0
	if e.maxF {
		sign = -1
	}
	v := r.Upper.Hypergradient[0]
	gradient := times64(v.Data, math.Pow10(s.X-s.F))
	claimed := float64(r.Stationarity.GradientError) * math.Pow10(s.X-s.F)
	size := 1 + e.size
	for j := range gradient {
		gradient[j] *= sign
		size = math.Max(size, math.Abs(pt.Grad[j]))
	}
	// Where dependent equalities tie x, F has no gradient across that.
	along := e.eval.Along
	if pt.Implied {
		along = e.eval.AlongX
	}
	gradient, truly := along(gradient), along(pt.Grad)
	tolerance := 1e-4 * size
	if claimed > 0 {
		tolerance = math.Max(tolerance, 10*claimed)
	}
	switch {
	case pt.Margin > 1e-4:
		for j := range gradient {
			if !(math.Abs(gradient[j]-truly[j]) <= tolerance) {
				e.false(of+" hypergradient", "%v, truly %v (claimed error %.3g), margin %.3g, at x = %v", gradient, truly, claimed, pt.Margin, pt.X)
				return
			}
		}
	case kink:
		g := e.eval.AroundX(pt.X, 1e-6, nil, 300, e.rng)
		if len(g) > 0 && !inHull(gradient, g, tolerance, e.rng) {
			e.soft(of+" hypergradient at a kink", "", "%v is outside the hull of %d gradients around x = %v", gradient, len(g), pt.X)
		}
	}
}

// largest leaves out what is no number: where f overflows its gradient says nothing of size.
func largest(v []float64) (size float64) {
	for _, t := range v {
		if a := math.Abs(t); a > size {
			size = a
		}
	}
	return size
}

func spread(g [][]float64) float64 {
	worst := 0.0
	for _, a := range g {
		for j := range a {
			worst = math.Max(worst, math.Abs(a[j]-g[0][j]))
		}
	}
	return worst
}

// inHull looks for a direction that separates v from the hull of g.
func inHull(v []float64, g [][]float64, tolerance float64, rng *rand.Rand) bool {
	for range 200 {
		d, norm := make([]float64, len(v)), 0.0
		for j := range d {
			d[j] = rng.NormFloat64()
			norm += d[j] * d[j]
		}
		norm = math.Sqrt(norm)
		highest := math.Inf(-1)
		for _, a := range g {
			highest = math.Max(highest, dot(a, d))
		}
		if dot(v, d) > highest+tolerance*norm {
			return false
		}
	}
	return true
}
