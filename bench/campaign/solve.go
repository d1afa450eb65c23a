package main

import (
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
	"bilevelc/runtime"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"

	"gonum.org/v1/gonum/floats"
)

// oddOptions draws method, oracle and solver with small budgets.
func (g *generator) oddOptions(opts *runtime.Options) {
	methods, oracles, solvers := outer.All(), oracle.All(), lower.All()
	if g.IntN(2) == 0 {
		opts.Method = methods[g.IntN(len(methods))].Name
	}
	if g.IntN(2) == 0 {
		opts.Oracle = oracles[g.IntN(len(oracles))].Name
	}
	if g.IntN(2) == 0 {
		opts.Solver = solvers[g.IntN(len(solvers))].Name
	}
	if opts.Method != "" {
		opts.MaxIter = 1 + g.IntN(60)
		opts.TimeLimit = timeLimit / 5
	}
	opts.Seed = g.Uint64N(1000)
}

// solve solves the program and checks the status and every number.
func (e *examination) solve(opts runtime.Options, joint float64) *runtime.Result {
	ended := e.within(opts.TimeLimit)
	ctx, cancel := context.WithTimeout(context.Background(), 3*timeLimit)
	defer cancel()
	r, err := e.problem.Solve(ctx, opts)
	how := "default"
	if opts.Method+opts.Oracle+opts.Solver != "" {
		how = opts.Method + "/" + opts.Oracle + "/" + opts.Solver
	}
	if err != nil {
		if errors.As(err, new(*runtime.UsageError)) && how != "default" {
			e.outcome("combination refused")
		} else {
			e.false("solve error", "%s: %v", how, firstLine(err))
		}
		return nil
	}
	if how == "default" {
		e.outcome("solve %s", r.Status)
	} else {
		e.outcome("combination %s", r.Status)
	}
	ended(how)
	var at []float64
	if r.HasPoint() {
		at = e.upperOf(r.Upper.Variables)
		if out := e.eval.OutsideX(at); out > 1e-7*(1+math.Sqrt(dot(at, at))) {
			e.false("outside X", "%s: by %.3g at x = %v", how, out, at)
		}
	}
	switch r.Status {
	case runtime.Infeasible:
		if joint <= 1e-13 {
			e.false("infeasible", "%s: rows and X have a common point: %s", how, r.Reason)
		}
		return r
	case runtime.Unbounded:
		if !e.unlimited() {
			e.false("unbounded", "%s: X is bounded: %s", how, r.Reason)
		} else {
			e.unbounded(r, how)
		}
		return r
	case runtime.NumericalFailure:
		e.noAnswer(r, how)
	case runtime.LimitReached:
		if how == "default" {
			e.noAnswer(r, how)
		}
	case runtime.Interrupted:
		e.false("interrupted", "%s: nobody interrupted: %s", how, r.Reason)
	}
	if joint > 1e-6 && r.HasPoint() {
		e.false("point of an infeasible problem", "%s: rows miss each other by %.3g; %s at x = %v", how, joint, r.Status, at)
		return r
	}
	if !r.HasPoint() {
		return r
	}
	before := e.lies()
	var pt *truth.Point
	if r.Lower.Status == lower.Solved.String() {
		pt = e.statements(r, "solve")
	} else {
		e.outcome("lower level not solved, as it says")
	}
	if r.Status == runtime.Solved && pt != nil {
		e.stationary(r, at, how)
	}
	e.verified(r, how, e.lies() > before)
	return r
}

var digits = regexp.MustCompile(`-?[0-9][0-9.]*(e[-+]?[0-9]+)?`)

// unknown reports that y* could not be found at x, as in a set of 1e-6 beside the edge of an entropy.
func (e *examination) unknown(x []float64) bool {
	_, ok := e.eval.At(x)
	return !ok
}

// noAnswer notes a run that ended without one.
func (e *examination) noAnswer(r *runtime.Result, how string) {
	if how != "default" {
		how = "combination"
	}
	reason, _, _ := strings.Cut(r.Reason, " at model")
	e.soft(how+" "+r.Status.String(), reason, "%s", r.Reason)
}

// generic takes the numbers out of a reason, so that equal reasons count
// together.
func generic(s string) string { return digits.ReplaceAllString(s, "#") }

// stationary checks that a solved point is one: that within delta there are
// gradients of F whose convex combination plus a normal is as small as claimed.
func (e *examination) stationary(r *runtime.Result, x []float64, how string) {
	s := e.scale()
	pt, ok := e.eval.At(x)
	if !ok {
		return
	}
	delta := float64(r.Stationarity.Delta) * math.Pow10(-s.X)
	claim := (float64(r.Stationarity.Value) + max(0, nanZero(float64(r.Stationarity.GradientError)))) * math.Pow10(s.X-s.F)
	extent := e.extent()
	if e.unlimited() { // x has its own size alone
		extent = math.Max(extent, largest(x))
	}
	switch {
	case delta > 1e-2*extent && e.unlimited() && largest(x) == 0:
		// Neither X nor the point says how long x is: any unit is as good.
		e.soft("delta without a length", "", "%s: delta %.3g where X is free, at x = 0", how, delta)
	case delta > 1e-2*extent && largest(x) == 0 && e.eval.Dimension() == 0:
		// Around the only point there is any radius says the same, and nothing says how long it is.
		e.soft("delta without a length", "", "%s: delta %.3g where 0 is the only x", how, delta)
	case delta > 1e-2*extent:
		e.false("delta", "%s: solved with delta %.3g in an X of size %.3g, at x = %v", how, delta, extent, x)
	}
	var given [][]float64
	if r.Certificate != nil && r.Certificate.Goldstein != nil {
		for _, sample := range r.Certificate.Goldstein.Samples {
			z := times64(sample.Point, math.Pow10(-s.X))
			if floats.Distance(z, x, 2) <= delta*(1+1e-6)+1e-13 {
				given = append(given, z)
			}
		}
	}
	if e.size <= unmet { // no drawn point was one of F: its set may have no interior
		for _, z := range e.eval.Spread(x, extent, 30, e.rng) {
			if at, ok := e.eval.At(z); ok {
				e.size = math.Max(e.size, largest(at.Grad))
			}
		}
	}
	near := math.Max(delta, 1e-8*extent)
	gradients := e.eval.Gradients(x, near, given, 200, e.rng)
	size := e.size
	for _, g := range gradients {
		size = math.Max(size, math.Sqrt(dot(g, g)))
	}
	root := math.Sqrt(float64(len(x)))
	// The truth's gradients are known to the rounding of what they are made of, by conditions of up to 1e3.
	allowed := root * (math.Max(claim, 0) + 1e-5*size + 1e-12*e.eval.Pull(pt))
	rho := math.Max(2*delta, 1e-6*extent)
	if r.Certificate != nil && r.Certificate.GradientMapping != nil { // it is of a point as near as this, at which the room of rows is another
		m := r.Certificate.GradientMapping
		allowed += root * size * m.Norm / m.Smoothness * math.Pow10(-s.X) / rho
	}
	descent := e.eval.Descent(pt, rho, gradients)
	if len(gradients) == 0 || descent > allowed || descent > 1e-3*size {
		spread := e.eval.Spread(x, near, 100, e.rng)
		gradients = e.eval.Gradients(x, near, append(slices.Clone(given), spread...), 2000, e.rng)
		descent = e.eval.Descent(pt, rho, gradients)
	}
	switch {
	case len(gradients) == 0:
		e.outcome("no gradient known near the point")
	case descent > allowed && slices.ContainsFunc(given, e.unknown):
		e.outcome("truth unknown")
	case descent > allowed && descent > 1e-3*root*size:
		e.false("not stationary", "%s: descent %.4g where gradients are %.4g; claimed %.3g within delta %.3g (%s); %d gradients known, at x = %v",
			how, descent, size, claim, delta, r.Reason, len(gradients), x)
	case descent > allowed:
		e.false("measure too small", "%s: descent %.4g where gradients are %.4g; claimed %.3g within delta %.3g (%s), at x = %v",
			how, descent, size, claim, delta, r.Reason, x)
	case descent <= 1e-3*root*size:
		e.outcome("stationary")
	case descent*extent*root <= 0x1p-53*math.Abs(pt.F):
		// All of X is not lower by as much as F is rounded.
		e.outcome("F flat to its rounding")
	default:
		e.false("solved at a large measure", "%s: descent %.4g where gradients are %.4g; claimed %.3g within delta %.3g (%s), at x = %v",
			how, descent, size, claim, delta, r.Reason, x)
	}
}

func nanZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// extent is the size of X's box.
func (e *examination) extent() float64 {
	size := each.LargestBelow(e.Dx, func(j int) float64 {
		lo, hi := e.side(j)
		return hi - lo
	})
	if size == 0 {
		return 1
	}
	return size
}

// unbounded checks that F falls far below what it is near the origin.
func (e *examination) unbounded(r *runtime.Result, how string) {
	if e.eval.FallsFar(e.rng) {
		e.outcome("unbounded, rightly")
		return
	}
	e.soft("unbounded in doubt", "", "%s: no far point with a low F was found: %s", how, r.Reason)
}

// compare holds the results of a program and of its rescaled copy together.
func (e *examination) compare(plain, again *runtime.Result) {
	if again == nil && (plain.Status == runtime.NumericalFailure || e.entropic()) {
		// As where the rows hold y at the edge of g's domain: rounding decides whether that shows before the run.
		e.soft("rescaled copy refused", "", "%+v, and the program is %s: %s", e.scale(), plain.Status, generic(plain.Reason))
		return
	}
	if again == nil {
		e.false("rescaled copy refused", "%+v", e.scale())
		return
	}
	if plain.Status != again.Status {
		e.soft("rescaled copy ends otherwise", "", "%s, rescaled by %+v %s (%s)", plain.Status, e.scale(), again.Status, generic(again.Reason))
		return
	}
	if plain.Status != runtime.Solved || plain.Method != again.Method {
		return
	}
	f := float64(again.Upper.Objective) * math.Pow10(-e.scale().F)
	if far(f, float64(plain.Upper.Objective)) > 1e-4 {
		e.outcome("rescaled copy: another local answer")
	}
}
