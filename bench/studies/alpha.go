package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/planted"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
)

// contestant is a way to make a hypergradient of accuracy alpha.
type contestant struct {
	name   string
	oracle string
	values func(alpha float64) method.Values
}

// contestants of the study of alpha. The perturbation of `difference` is the
// paper's: forward, of size alpha; `face` has no such parameter.
func contestants() []contestant {
	return []contestant{
		{"penalty, plain", "penalty", func(alpha float64) method.Values {
			return method.Values{"alpha": alpha, "metric": false, "max_calls": 100000000}
		}},
		{"penalty, metric", "penalty", func(alpha float64) method.Values { return method.Values{"alpha": alpha} }},
		{"face", "face", func(float64) method.Values { return nil }},
		{"difference", "difference", func(alpha float64) method.Values {
			return method.Values{"central": false, "delta": alpha}
		}},
	}
}

// alphaRow is one hypergradient.
type alphaRow struct {
	oracle    string
	condition float64
	alpha     float64
	seed      uint64
	lower     int64 // calls of the lower solve, which every oracle needs
	calls     int64 // calls of the oracle itself
	error     float64
}

// alphaGrid are the accuracies of the study.
func alphaGrid(quick bool) []float64 {
	if quick {
		return []float64{0.3, 0.03, 0.003}
	}
	return []float64{0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4}
}

// measureAlpha makes hypergradients of planted problems at their start, where
// about half of the floors are active, and compares them with the exact ones.
func measureAlpha(o options) []alphaRow {
	conditions := []float64{5, 100}
	if o.quick {
		conditions = conditions[:1]
	}
	var rows []alphaRow
	for _, condition := range conditions {
		for seed := uint64(1); seed <= uint64(o.count(5, 2)); seed++ {
			in := must.Get(planted.New(planted.Options{Dx: 20, Dy: 40, Links: 2, Floors: 20, Active: 8, Condition: condition, Seed: seed}))
			p := in.Problem.Counted()
			exact, _ := in.Exact(p.Start)
			at := solveAt(p, p.Start)
			solve := p.Calls().Total()
			for _, c := range contestants() {
				for _, alpha := range alphaGrid(o.quick) {
					before := p.Calls()
					var grad []float64
					err := must.Try(func() { grad = hypergradient(c.oracle, c.values(alpha), at) })
					must.Be(err == nil, "%s at alpha = %g: %w", c.name, alpha, err)
					rows = append(rows, alphaRow{oracle: c.name, condition: condition, alpha: alpha, seed: seed, lower: solve,
						calls: p.Calls().Sub(before).Total(), error: distance(grad, exact.Gradient)})
				}
			}
		}
	}
	return rows
}

// solveAt solves the lower level at x with the default solver.
func solveAt(p *problem.Problem, x []float64) *oracle.At {
	solver := newSolver(lower.Default)
	s := solver.Solve(context.Background(), p, lower.G(p, x), x, nil)
	must.Be(s.Status == lower.Solved, "the lower level: %s: %s", s.Status, s.Reason)
	return &oracle.At{Problem: p, Solver: solver, X: x, Lower: s, Face: s.Active}
}

func newSolver(name string) lower.Solver { return must.Get(must.Get(lower.Lookup(name)).New(nil)) }

// newHyper is F with a lower solver and an oracle by name.
func newHyper(p *problem.Problem, solver, name string, values method.Values) *oracle.Hyper {
	return oracle.New(p, newSolver(solver), newOracle(name, values))
}

func newOracle(name string, values method.Values) oracle.Oracle {
	return must.Get(must.Get(oracle.Lookup(name)).New(values))
}

// hypergradient is made by an oracle at a lower solution.
func hypergradient(name string, values method.Values, at *oracle.At) []float64 {
	grad := make([]float64, at.Problem.Dx)
	must.Get(newOracle(name, values).Gradient(context.Background(), grad, at))
	return grad
}

// alphaFact is what the study finds of one oracle at one condition number.
type alphaFact struct {
	oracle    string
	condition float64
	slope     exponent // of calls against 1/alpha
	ratio     float64  // largest over smallest median, over the range of alpha
	whole     float64  // the same with the lower solve
}

func alphaFacts(rows []alphaRow) []alphaFact {
	var facts []alphaFact
	for _, condition := range []float64{5, 100} {
		for _, c := range contestants() {
			var own, whole []point
			for _, r := range rows {
				if r.oracle == c.name && r.condition == condition {
					own = append(own, point{r.seed, 1 / r.alpha, float64(r.calls)})
					whole = append(whole, point{r.seed, 1 / r.alpha, float64(r.calls + r.lower)})
				}
			}
			if own == nil {
				continue
			}
			facts = append(facts, alphaFact{c.name, condition, fitPower(own), spanOf(medians(own)), spanOf(medians(whole))})
		}
	}
	return facts
}

// spanOf is the largest median over the smallest.
func spanOf(bands []band) float64 {
	by := func(a, b band) int { return cmp.Compare(a.mid, b.mid) }
	return slices.MaxFunc(bands, by).mid / slices.MinFunc(bands, by).mid
}

func runAlpha(o options) *results {
	rows := either(o, measureAlpha, storedAlpha)
	r := &results{}
	raw := newTable("alpha", "oracle", "condition", "alpha", "seed", "lower_calls", "oracle_calls", "error")
	for _, w := range rows {
		raw.add(w.oracle, w.condition, w.alpha, w.seed, w.lower, w.calls, w.error)
	}
	fits := newTable("alpha_fits", "oracle", "condition", "exponent", "half_interval_95", "ratio_oracle", "ratio_with_lower_solve")
	for _, f := range alphaFacts(rows) {
		fits.add(f.oracle, f.condition, f.slope.mean, f.slope.half, f.ratio, f.whole)
		r.say("alpha: %-16s condition %3g: calls ~ alpha^-(%s); largest over smallest %.2f (%.2f with the lower solve)",
			f.oracle, f.condition, f.slope, f.ratio, f.whole)
	}
	r.tables = append(r.tables, raw, fits)
	for _, condition := range []float64{5, 100} {
		calls := figure{name: fmt.Sprintf("alpha_calls_%g", condition), reversed: true,
			title:  fmt.Sprintf("Calls for one hypergradient, condition number of g: %g", condition),
			xLabel: "accuracy alpha", yLabel: "calls to f, grad f, g, grad g"}
		errors := figure{name: fmt.Sprintf("alpha_error_%g", condition), reversed: true,
			title:  fmt.Sprintf("Error of the hypergradient, condition number of g: %g", condition),
			xLabel: "accuracy alpha", yLabel: "|gradient - exact gradient|"}
		var plain []band
		for _, c := range contestants() {
			var cost, wrong []point
			for _, w := range rows {
				if w.oracle == c.name && w.condition == condition {
					cost = append(cost, point{w.seed, w.alpha, float64(w.calls)})
					wrong = append(wrong, point{w.seed, w.alpha, w.error})
				}
			}
			if cost == nil {
				continue
			}
			if plain == nil {
				plain = medians(cost)
			}
			calls.series = append(calls.series, series{name: c.name, bands: medians(cost)})
			errors.series = append(errors.series, series{name: c.name, bands: medians(wrong)})
		}
		if plain == nil {
			continue
		}
		calls.series = append(calls.series, guideThrough("theory of the plain penalty: 1/alpha", plain, -1, 1.6))
		line := each.Of(plain, func(b band) band { return band{b.x, b.x, b.x, b.x} })
		errors.series = append(errors.series, series{name: "alpha", bands: line, guide: true})
		r.figures = append(r.figures, calls, errors)
	}
	return r
}
