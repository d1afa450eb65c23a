package main

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/internal/planted"
	"bilevelc/runtime/method"
	"bilevelc/runtime/problem"
)

// The study of rates runs each method with the parameters of its theorem and
// counts the calls until the first point that is stationary by a check of its
// own: exact for the valley, whose Goldstein subdifferential is known, and by
// sampled exact gradients for planted problems. It does so on two kinds of
// problem: the valley, built anew for each target as the hardest case is, and
// a planted problem that stays the same. Beside the measured calls stands the
// budget of the theorem, iterations by its formula times the measured calls of
// one evaluation.

// rate is one curve: a method with an oracle, against one parameter.
type rate struct {
	name     string
	method   string
	oracle   string
	values   func(epsilon float64) method.Values // of the oracle, for the target
	param    string                              // "epsilon", "delta" or "d"
	theory   float64                             // exponent of the theorem, of the parameter
	hard     bool                                // the valley; otherwise the planted problem
	expected float64                             // exponent to expect on it; see README
	grid     []float64
}

// setting is one point of a curve's grid.
type setting struct {
	d              int
	delta, epsilon float64
}

// at is the setting of the curve with its parameter at v.
func (r *rate) at(v float64) setting {
	s := setting{d: 4, delta: 0.2, epsilon: 0.25}
	if !r.hard {
		s.epsilon = 0.1
	}
	switch r.param {
	case "epsilon":
		s.epsilon = v
	case "delta":
		s.delta = v
	case "d":
		s.d = int(v)
	}
	return s
}

// rates lists the curves. The planted problem is the easier one, so its targets
// are smaller.
func rates() []rate {
	none := func(float64) method.Values { return nil }
	plain := func(epsilon float64) method.Values { return method.Values{"alpha": epsilon, "metric": false} }
	metric := func(epsilon float64) method.Values { return method.Values{"alpha": epsilon} }
	// alg:LE-inexact-gradient-oracle: a forward difference of size epsilon^2.
	paper := func(epsilon float64) method.Values {
		return method.Values{"central": false, "delta": epsilon * epsilon}
	}
	deltas := []float64{0.4, 0.2, 0.1, 0.05}
	out := []rate{
		{name: "pgd, difference", method: "pgd", oracle: "difference", values: paper, param: "epsilon", hard: true, theory: -2, expected: -2,
			grid: []float64{0.1, 0.05, 0.025, 0.0125, 0.00625}},
		{name: "pgd, difference", method: "pgd", oracle: "difference", values: paper, param: "epsilon", theory: -2, expected: 0,
			grid: []float64{0.1, 0.05, 0.025, 0.0125, 0.00625}},
	}
	for _, o := range []rate{
		{name: "oigrm, penalty, plain", oracle: "penalty", values: plain, theory: -4},
		{name: "oigrm, penalty, metric", oracle: "penalty", values: metric, theory: -3},
		{name: "oigrm, face", oracle: "face", values: none, theory: -3},
	} {
		o.method = "oigrm"
		// Where gradients are of order 1 until the optimum, as at sharp kinks, the
		// way there is walked at the speed D = delta/M per step: one power of
		// epsilon less.
		out = append(out,
			o.curve("epsilon", o.theory, true, o.theory, 0.3, 0.2, 0.13, 0.088, 0.06),
			o.curve("epsilon", o.theory, false, o.theory+1, 0.15, 0.1, 0.07, 0.05),
			o.curve("delta", -1, true, -1, deltas...),
			o.curve("delta", -1, false, -1, deltas...))
	}
	izo := rate{name: "izo, value", method: "izo", oracle: "value", values: none}
	return append(out,
		izo.curve("epsilon", -3, true, -3, 0.3, 0.2, 0.13, 0.088),
		izo.curve("epsilon", -3, false, -2, 0.2, 0.14, 0.1, 0.07),
		izo.curve("delta", -1, true, -1, deltas...),
		izo.curve("delta", -1, false, -1, deltas...),
		izo.curve("d", 1, true, 1, 2, 4, 8, 16, 32),
		izo.curve("d", 1, false, 1, 2, 4, 8, 16))
}

// curve is the rate with a parameter, an exponent of theory, a problem, the
// exponent to expect on it, and a grid.
func (r rate) curve(param string, theory float64, hard bool, expected float64, grid ...float64) rate {
	r.param, r.theory, r.hard, r.expected, r.grid = param, theory, hard, expected, grid
	return r
}

// rateRow is one run.
type rateRow struct {
	rate   *rate
	at     setting
	value  float64 // of the parameter
	seed   uint64
	result outcome
	budget float64 // iterations of the theorem times calls of each
}

// steep and gap of the valleys: L = 1 and F(x0) - inf F = 1.
const steep, gap = 1.0, 1.0

// rampSlope is the slope of a valley's floor over the target: a little more
// than one, so that its floor is not stationary.
const rampSlope = 1.25

// measure runs the curve at one value of its parameter.
func (r *rate) measure(v float64, seed uint64) rateRow {
	s := r.at(v)
	row := rateRow{rate: r, at: s, value: v, seed: seed}
	e := experiment{oracle: r.oracle, oracleValues: r.values(s.epsilon), method: r.method, seed: seed, block: 1}
	// The target of the theorems is epsilon + alpha, with alpha the error of the
	// oracle, which the penalty takes to be epsilon. All have the same target.
	target := 2 * s.epsilon
	lipschitz, fall := steep, gap
	if r.hard {
		slope := rampSlope * target
		if r.method == "pgd" {
			slope = rampSlope * s.epsilon
		}
		// Of inequality rows L is 1 whatever the slope.
		across := steep
		if r.method != "pgd" {
			across = math.Sqrt(steep*steep - slope*slope)
		}
		w := newValley(s.d, r.method == "pgd", across, slope, seed)
		e.problem = w.problem()
		e.start = w.start(gap)
		e.stationary = func(x []float64) bool { return w.goldstein(x, s.delta) <= target }
		if r.method == "pgd" {
			e.stationary = func(x []float64) bool { return norm(w.gradient(x)) <= s.epsilon }
			e.methodValues = method.Values{"smoothness": steep}
		}
	} else {
		f := newFixed(s.d, r.method == "pgd", seed)
		if r.method != "pgd" { // epsilon is in units of L, which is 1 in the valley
			s.epsilon *= f.lipschitz
			target *= f.lipschitz
		}
		e.problem, e.start, lipschitz, fall = f.problem, f.start, f.lipschitz, f.gap
		e.stationary = func(x []float64) bool { return f.goldstein(x, s.delta, seed) <= target }
		if r.method == "pgd" {
			e.stationary = func(x []float64) bool { return norm(f.gradient(x)) <= s.epsilon }
			e.methodValues = method.Values{"smoothness": f.smoothness}
		}
	}
	e.solver = defaultSolver(e.problem)
	iterations := r.plan(&e, s, lipschitz, fall)
	err := must.Try(func() { row.result = e.run() })
	must.Be(err == nil, "%s at %s = %g, seed %d: %w", r.name, r.param, v, seed, err)
	row.budget = iterations * row.result.each
	return row
}

// plan sets the parameters of the theorem and returns the evaluations of F that
// it allows.
func (r *rate) plan(e *experiment, s setting, lipschitz, fall float64) float64 {
	switch r.method {
	case "pgd": // pr:inexact-pgd, N = 4 C_F gap / epsilon^2, two points a step
		c := e.methodValues["smoothness"].(float64)
		e.methodValues["accelerate"], e.methodValues["epsilon"] = false, 0.0
		n := 4 * c * fall / (s.epsilon * s.epsilon)
		e.evaluations = int(10*n) + 1000
		return n
	case "oigrm": // M = 4 G^2/epsilon^2, K = 2 gap/(delta epsilon)
		square := lipschitz*lipschitz + s.epsilon*s.epsilon
		m := math.Ceil(4 * square / (s.epsilon * s.epsilon))
		k := math.Ceil(2 * fall / (s.delta * s.epsilon))
		e.methodValues = method.Values{"delta": s.delta, "epsilon": s.epsilon, "lipschitz": lipschitz, "gap": fall,
			"block": int(m), "blocks": int(k)}
		e.block, e.skip = int(m), 1
		e.evaluations = int(m*k) + 10
		return m * k
	}
	// izo: rho = min(delta/2, gap/L), nu = delta - rho, M = 9 d L^2/epsilon^2,
	// K = 3 gap/(nu epsilon); its values are exact to about 1e-13, so that
	// alpha is 0.
	rho := math.Min(s.delta/2, fall/lipschitz)
	nu := s.delta - rho
	m := math.Ceil(9 * float64(s.d) * lipschitz * lipschitz / (s.epsilon * s.epsilon))
	k := math.Ceil(3 * fall / (nu * s.epsilon))
	e.methodValues = method.Values{"delta": s.delta, "epsilon": s.epsilon, "alpha": 0.0, "lipschitz": lipschitz, "gap": fall,
		"block": int(m), "blocks": int(k)}
	e.block, e.skip = int(m), 1
	e.evaluations = 2*int(m*k) + 10
	return 2 * m * k
}

// fixed is a planted problem that does not change with the target, with its
// constants.
type fixed struct {
	instance   *planted.Instance
	problem    *problem.Problem
	start      []float64
	lipschitz  float64
	gap        float64
	smoothness float64
}

// fixedDistance is how far from the optimum the planted problems start.
const fixedDistance = 1.5

func newFixed(d int, links bool, seed uint64) *fixed {
	o := planted.Options{Dx: d, Dy: 2*d + 2, Floors: d + 1, Kinks: d, Condition: valleyCondition, Seed: seed}
	if links {
		o = planted.Options{Dx: d, Dy: 2*d + 2, Links: d, Condition: valleyCondition, Seed: seed}
	}
	in := must.Get(planted.New(o))
	f := &fixed{instance: in, problem: in.Problem, start: slices.Clone(in.Problem.Start)}
	away := distance(f.start, in.Optimum.X)
	for j, x := range in.Optimum.X {
		f.start[j] = x + (f.start[j]-x)*fixedDistance/away
	}
	e, ok := in.Exact(f.start)
	must.Be(ok, "the planted problem has no closed form")
	f.gap = e.F - in.Optimum.F
	// The largest gradient, and the largest change of gradient, between points
	// of the ball around the optimum that holds the start.
	source := directions(seed)
	for range 200 {
		p, q := source.inBall(in.Optimum.X, fixedDistance), source.inBall(in.Optimum.X, fixedDistance)
		gp, gq := f.gradient(p), f.gradient(q)
		f.lipschitz = math.Max(f.lipschitz, norm(gp))
		f.smoothness = math.Max(f.smoothness, distance(gp, gq)/distance(p, q))
	}
	f.lipschitz = math.Max(f.lipschitz, norm(e.Gradient))
	f.smoothness *= 1.5 // sampled from below
	return f
}

func (f *fixed) gradient(x []float64) []float64 {
	e, _ := f.instance.Exact(x)
	return e.Gradient
}

// goldstein bounds dist(0, dF_delta(x)) from above by the hull of exact gradients
// sampled in the ball. Where one gradient says that no element can be short
// enough to matter, few are sampled.
func (f *fixed) goldstein(x []float64, delta float64, seed uint64) float64 {
	source := directions(seed)
	gradients := [][]float64{f.gradient(x)}
	for range 30 * len(x) {
		gradients = append(gradients, f.gradient(source.inBall(x, delta)))
	}
	return minNorm(gradients)
}

// measureRates runs all curves, in order of curve, seed and grid. Runs share
// nothing, so that the results are the same however many go at a time.
func measureRates(o options) []rateRow {
	all := rates()
	var rows []rateRow
	for i := range all {
		grid := all[i].grid
		if o.quick {
			grid = grid[1:3]
		}
		for seed := uint64(1); seed <= uint64(o.count(3, 2)); seed++ {
			for _, v := range grid {
				rows = append(rows, rateRow{rate: &all[i], value: v, seed: seed})
			}
		}
	}
	parallel(o.threads, len(rows), func(i int) {
		r := &rows[i]
		*r = r.rate.measure(r.value, r.seed)
		fmt.Fprintf(o.progress, "rates: %s, %s, %s = %g, seed %d\n", r.rate.name, kind(r.rate.hard), r.rate.param, r.value, r.seed)
	})
	return rows
}

// rateFact is a fitted exponent.
type rateFact struct {
	rate             *rate
	measured, budget exponent // of calls
	points, each     exponent // of evaluations of F, and of the calls of one
	missed           int      // runs that spent the budget without a stationary point
	used             float64
}

func rateFacts(rows []rateRow) []rateFact {
	var facts []rateFact
	for i, first := range rows {
		if i > 0 && rows[i-1].rate == first.rate {
			continue
		}
		f := rateFact{rate: first.rate}
		var measured, budget, points, each []point
		var used []float64
		for _, r := range rows[i:] {
			if r.rate != first.rate {
				break
			}
			if !r.result.reached {
				f.missed++
				continue
			}
			measured = append(measured, point{r.seed, r.value, float64(r.result.calls)})
			budget = append(budget, point{r.seed, r.value, r.budget})
			points = append(points, point{r.seed, r.value, float64(r.result.points)})
			each = append(each, point{r.seed, r.value, r.result.each})
			used = append(used, float64(r.result.calls)/r.budget)
		}
		f.measured, f.budget = fitPower(measured), fitPower(budget)
		f.points, f.each = fitPower(points), fitPower(each)
		_, f.used, _ = quartiles(used)
		facts = append(facts, f)
	}
	return facts
}

func kind(hard bool) string {
	if hard {
		return "valley"
	}
	return "planted"
}

func runRates(o options) *results {
	rows := either(o, measureRates, storedRates)
	r := &results{}
	raw := newTable("rates", "method", "problem", "parameter", "d", "delta", "epsilon", "seed", "reached",
		"calls", "evaluations", "calls_per_evaluation", "budget_calls")
	for _, w := range rows {
		raw.add(w.rate.name, kind(w.rate.hard), w.rate.param, w.at.d, w.at.delta, w.at.epsilon, w.seed, w.result.reached,
			w.result.calls, w.result.points, w.result.each, w.budget)
	}
	fits := newTable("rates_fits", "method", "problem", "parameter", "theory", "expected", "measured", "half_interval_95",
		"min", "max", "evaluations", "evaluations_half_interval_95", "calls_per_evaluation", "calls_per_evaluation_half_interval_95",
		"budget", "budget_half_interval_95", "part_of_budget", "missed")
	for _, f := range rateFacts(rows) {
		fits.add(f.rate.name, kind(f.rate.hard), f.rate.param, f.rate.theory, f.rate.expected, f.measured.mean, f.measured.half,
			f.measured.min, f.measured.max, f.points.mean, f.points.half, f.each.mean, f.each.half, f.budget.mean, f.budget.half, f.used, f.missed)
		r.say("rates: %-27s %-8s %-8s theory %+.0f, expected here %+.0f, measured %s = evaluations %.2f and calls of each %.2f; budget %.2f, %.2g of it used, %d missed",
			f.rate.name, kind(f.rate.hard), f.rate.param, f.rate.theory, f.rate.expected, f.measured, f.points.mean, f.each.mean, f.budget.mean, f.used, f.missed)
	}
	r.tables = append(r.tables, raw, fits)
	r.figures = rateFigures(rows)
	return r
}

// rateFigures draws one figure for each parameter and kind of problem.
func rateFigures(rows []rateRow) []figure {
	var out []figure
	for _, f := range []struct{ name, method, param, title, label string }{
		{"rates_pgd_epsilon", "pgd", "epsilon", "Equality rows: calls until |grad F| <= epsilon", "epsilon"},
		{"rates_oigrm_epsilon", "oigrm", "epsilon", "oigrm: calls until (delta, 2 epsilon)-stationary", "epsilon"},
		{"rates_oigrm_delta", "oigrm", "delta", "oigrm: calls until (delta, 2 epsilon)-stationary", "delta"},
		{"rates_izo_epsilon", "izo", "epsilon", "izo: calls until (delta, 2 epsilon)-stationary", "epsilon"},
		{"rates_izo_delta", "izo", "delta", "izo: calls until (delta, 2 epsilon)-stationary", "delta"},
		{"rates_izo_d", "izo", "d", "izo: calls until (delta, 2 epsilon)-stationary", "d, dimension of x"},
	} {
		fig := figure{name: f.name, title: f.title, xLabel: f.label, yLabel: "calls to f, grad f, g, grad g", reversed: f.param != "d"}
		var guides []series
		seen := map[float64]bool{}
		for i, first := range rows {
			if i > 0 && rows[i-1].rate == first.rate || first.rate.method != f.method || first.rate.param != f.param {
				continue
			}
			var measured, budget []point
			for _, r := range rows[i:] {
				if r.rate != first.rate {
					break
				}
				if r.result.reached {
					measured = append(measured, point{r.seed, r.value, float64(r.result.calls)})
					budget = append(budget, point{r.seed, r.value, r.budget})
				}
			}
			fig.series = append(fig.series, series{name: fmt.Sprintf("%s, %s", first.rate.name, kind(first.rate.hard)), bands: medians(measured)})
			if first.rate.hard {
				fig.series = append(fig.series, series{name: "  its budget", bands: medians(budget), bound: true})
				if t := first.rate.theory; !seen[t] {
					seen[t] = true
					guides = append(guides, guideThrough(fmt.Sprintf("slope of theory: %s^%g", f.param, t), medians(measured), t, 0.5))
				}
			}
		}
		fig.series = append(fig.series, guides...)
		out = append(out, fig)
	}
	return out
}
