package main

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/internal/planted"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
)

// The study of approximate dual solutions answers the question that the paper
// leaves open: how accurate must lambda* be? It moves lambda* by a random
// vector of length e on the active rows, or y* by one within the face, finds
// the active rows anew from what it then has, and compares the hypergradient
// with the exact one. The bounds are derived in dualbound.go.

// dualAlpha is the accuracy asked of the penalty, and the step of `difference`.
const dualAlpha = 1e-2

// dualErrors are the lengths e.
func dualErrors(quick bool) []float64 {
	if quick {
		return []float64{1e-4, 1e-2, 10}
	}
	var out []float64
	for k := -10.0; k <= 1.25; k += 0.5 {
		out = append(out, math.Pow(10, k))
	}
	return out
}

// estimator makes a hypergradient from an approximate lower solution, with the
// bound on its error.
type estimator struct {
	name  string
	make  func(l *linearized, at *oracle.At) []float64
	bound func(l *linearized, eLambda, eY float64) float64
}

func estimators() []estimator {
	byOracle := func(name string, values method.Values) func(*linearized, *oracle.At) []float64 {
		return func(_ *linearized, at *oracle.At) []float64 { return hypergradient(name, values, at) }
	}
	return []estimator{
		{"penalty, to the letter", func(l *linearized, at *oracle.At) []float64 { return l.literal(at, false) }, (*linearized).boundLiteral},
		{"penalty, exact grad g*", func(l *linearized, at *oracle.At) []float64 { return l.literal(at, true) }, (*linearized).boundEnvelope},
		{"penalty, ours", byOracle("penalty", method.Values{"alpha": dualAlpha, "tolerance": 1e-8}), (*linearized).boundShifted},
		{"face", byOracle("face", nil), (*linearized).boundFace},
		{"difference", byOracle("difference", method.Values{"central": false, "delta": dualAlpha}), (*linearized).boundDifference},
	}
}

// dualRow is one hypergradient from one approximate lower solution.
type dualRow struct {
	estimator string
	what      string // "lambda" or "y": what was moved
	e         float64
	seed      uint64
	margin    float64 // least multiplier of an active row, least slack of the others
	sameRows  bool    // the active rows were found right
	error     float64 // |gradient - exact gradient|
	extra     float64 // |gradient - the same estimator's at e = 0|
	bound     float64 // on extra, while the rows are right
}

func measureDual(o options) []dualRow {
	var rows []dualRow
	for seed := uint64(1); seed <= uint64(o.count(7, 2)); seed++ {
		in := must.Get(planted.New(planted.Options{Dx: 10, Dy: 24, Links: 2, Floors: 12, Active: 6, Condition: 10, Seed: seed}))
		p := in.Problem.Counted()
		exact, _ := in.Exact(p.Start)
		at := solveAt(p, p.Start)
		l := linearize(at)
		margin := math.Min(at.Lower.MinMultiplier, at.Lower.MinSlack)
		source := directions(seed)
		moves := source.inBall(make([]float64, len(at.Face)), 1)
		scale(moves, 1/norm(moves))
		shift := l.inFace(source.inBall(make([]float64, p.Dy), 1))
		scale(shift, 1/norm(shift))
		for _, est := range estimators() {
			clean := est.make(l, at)
			for _, what := range []string{"lambda", "y"} {
				for _, e := range dualErrors(o.quick) {
					moved := disturb(at, moves, shift, e, what)
					var grad []float64
					err := must.Try(func() { grad = est.make(l, moved) })
					must.Be(err == nil, "%s with an error of %g in %s: %w", est.name, e, what, err)
					row := dualRow{estimator: est.name, what: what, e: e, seed: seed, margin: margin,
						sameRows: slices.Equal(moved.Face, at.Face), error: distance(grad, exact.Gradient), extra: distance(grad, clean)}
					if what == "lambda" {
						row.bound = est.bound(l, e, 0)
					} else {
						row.bound = est.bound(l, 0, e)
					}
					rows = append(rows, row)
				}
			}
		}
	}
	return rows
}

// disturb moves lambda or y by e and finds the active rows anew: row i is active
// where its multiplier exceeds its slack, the rule of primal-dual active sets.
func disturb(at *oracle.At, moves, shift []float64, e float64, what string) *oracle.At {
	p := at.Problem
	s := &lower.Solution{Status: lower.Solved, Y: slices.Clone(at.Lower.Y), Lambda: slices.Clone(at.Lower.Lambda)}
	if what == "lambda" {
		for k, i := range at.Face {
			s.Lambda[i] += e * moves[k]
		}
	} else {
		add(s.Y, e, shift)
	}
	h := make([]float64, p.Rows.Len())
	p.Rows.Residual(h, at.X, s.Y)
	for i := range h {
		if p.Rows.Kind[i] == problem.Equal || s.Lambda[i] > -h[i] {
			s.Active = append(s.Active, i)
		} else {
			s.Lambda[i] = 0
		}
	}
	return &oracle.At{Problem: p, Solver: at.Solver, X: at.X, Lower: s, Face: s.Active}
}

// dualFact is what the study finds of one estimator.
type dualFact struct {
	estimator, what string
	slope           exponent // of the extra error against e, rows right, above rounding
	amplification   float64  // median of extra error over e, there
	violated        int      // times that the bound was exceeded
	wrong           float64  // median error where rows are wrong; NaN if never
}

// dualFloor is the extra error that rounding makes in the penalty to the letter:
// a2 = 1e8 times differences of terms of order 10, at 1e-16, and a margin of 10.
const dualFloor = 1e-6

func dualFacts(rows []dualRow) []dualFact {
	var facts []dualFact
	for _, est := range estimators() {
		for _, what := range []string{"lambda", "y"} {
			f := dualFact{estimator: est.name, what: what, slope: exponent{mean: math.NaN(), half: math.NaN()},
				amplification: math.NaN(), wrong: math.NaN()}
			var points []point
			var factors, wrong []float64
			for _, r := range rows {
				if r.estimator != est.name || r.what != what {
					continue
				}
				if !r.sameRows {
					wrong = append(wrong, r.error)
					continue
				}
				if r.extra > r.bound+dualFloor {
					f.violated++
				}
				if r.extra > 10*dualFloor {
					points = append(points, point{r.seed, r.e, r.extra})
					factors = append(factors, r.extra/r.e)
				}
			}
			if points != nil {
				_, f.amplification, _ = quartiles(factors)
			}
			if points = atLeastTwo(points); len(points) > 0 {
				f.slope = fitPower(points)
			}
			if wrong != nil {
				_, f.wrong, _ = quartiles(wrong)
			}
			facts = append(facts, f)
		}
	}
	return facts
}

// atLeastTwo leaves out seeds with a single point, of which no slope is known.
func atLeastTwo(points []point) []point {
	count := map[uint64]int{}
	for _, p := range points {
		count[p.seed]++
	}
	return slices.DeleteFunc(points, func(p point) bool { return count[p.seed] < 2 })
}

func runDual(o options) *results {
	rows := either(o, measureDual, storedDual)
	r := &results{}
	raw := newTable("dual", "estimator", "moved", "e", "seed", "margin", "rows_right", "error", "extra_error", "bound")
	for _, w := range rows {
		raw.add(w.estimator, w.what, w.e, w.seed, w.margin, w.sameRows, w.error, w.extra, w.bound)
	}
	fits := newTable("dual_fits", "estimator", "moved", "exponent", "half_interval_95", "amplification", "bound_exceeded", "error_with_wrong_rows")
	for _, f := range dualFacts(rows) {
		fits.add(f.estimator, f.what, f.slope.mean, f.slope.half, f.amplification, f.violated, f.wrong)
		r.say("dual: %-22s %-6s moved by e: extra error ~ e^%.2f, %.3g e; bound exceeded %d times; %.2g where rows are wrong",
			f.estimator, f.what, f.slope.mean, f.amplification, f.violated, f.wrong)
	}
	r.tables = append(r.tables, raw, fits)
	for _, what := range []string{"lambda", "y"} {
		fig := figure{name: "dual_" + what, title: fmt.Sprintf("Error of the hypergradient from %s* + e, alpha = %g", what, dualAlpha),
			xLabel: fmt.Sprintf("e = |%s - %s*|", what, what), yLabel: "|gradient - exact gradient|"}
		for _, est := range estimators() {
			var measured, bound []point
			for _, w := range rows {
				if w.estimator != est.name || w.what != what {
					continue
				}
				measured = append(measured, point{w.seed, w.e, w.error})
				if w.sameRows {
					// The bound on the extra error, beside the error at e = 0.
					bound = append(bound, point{w.seed, w.e, w.bound})
				}
			}
			fig.series = append(fig.series, series{name: est.name, bands: medians(measured)})
			if line := medians(bound); line[len(line)-1].mid > 0 {
				fig.series = append(fig.series, series{name: "  its bound", bands: line, bound: true})
			}
		}
		fig.series = append(fig.series, marginLine(rows, what))
		r.figures = append(r.figures, fig)
	}
	return r
}

// marginLine is a vertical line at the median margin, beyond which active rows
// can be taken for inactive ones and the reverse.
func marginLine(rows []dualRow, what string) series {
	var margins []float64
	low, high := math.Inf(1), 0.0
	for _, w := range rows {
		if w.what != what {
			continue
		}
		margins = append(margins, w.margin)
		if w.error > 0 {
			low, high = math.Min(low, w.error), math.Max(high, w.error)
		}
	}
	_, x, _ := quartiles(margins)
	return series{name: "margin of strict complementarity, median", guide: true,
		bands: []band{{x, low, low, low}, {x, high, high, high}}}
}
