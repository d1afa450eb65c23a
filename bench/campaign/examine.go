package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"bilevelc/bench/campaign/truth"
	"bilevelc/runtime"
)

// exactly is what numbers of a document are to agree to, relative to the sizes of the terms
// that they are sums of, and what a point may miss a row by.
const exactly = 1e-8

// inquiry is one system under the eyes of the truth.
type inquiry struct {
	*report
	*system
	rng     *rand.Rand
	problem *runtime.Problem
	best    *truth.Answer // F's least value
}

func (q *inquiry) false(kind, format string, args ...any) {
	q.Findings = append(q.Findings, finding{Kind: kind, Detail: fmt.Sprintf(format, args...)})
}

func (q *inquiry) soft(kind, reason, format string, args ...any) {
	q.Findings = append(q.Findings, finding{Kind: kind, Detail: fmt.Sprintf(format, args...), Soft: true, Reason: generic(reason)})
}

// examineSystem asks the tool about the system of a seed, and reduces what shows a false statement.
func examineSystem(seed uint64) *report {
	if seed%(uint64(len(families))+1) == uint64(len(families)) {
		return examineSmooth(seed)
	}
	s := drawSystem(seed)
	r := &report{Seed: seed, Family: s.family}
	ask(r, s, seed)
	for _, f := range r.Findings {
		if !f.Soft {
			r.Wrong = r.Text
			if strings.HasPrefix(f.Kind, "eval") {
				continue
			}
			small, found := reduce(s, seed, f.Kind)
			if found != nil {
				r.Small, r.SmallFindings = small.text(), found
			}
			break
		}
	}
	return r
}

// ask examines one system.
func ask(r *report, s *system, seed uint64) {
	r.Text = s.text()
	defer func() {
		if err := recover(); err != nil {
			r.Findings = append(r.Findings, finding{Kind: "panic", Detail: fmt.Sprintf("%v\n%s", err, debug.Stack())})
		}
	}()
	q := &inquiry{report: r, system: s, rng: rand.New(rand.NewPCG(seed, 0x61736b))}
	q.run()
}

func (q *inquiry) run() {
	model, err := runtime.Compile("model.blv", q.Text)
	if err != nil {
		q.false("refused", "compile: %v", mainError(err))
		return
	}
	q.best = q.Minimize(&q.F, truth.Region{})
	problem, err := model.Bind(nil, runtime.BindOptions{})
	if err != nil {
		switch {
		case strings.Contains(err.Error(), "E0910"): // as it says: ties and multipliers do not go together
			q.Outcomes = append(q.Outcomes, "refused: multipliers of a follower with ties")
		case !q.best.Feasible:
			q.Outcomes = append(q.Outcomes, "refused at bind, and infeasible")
		default:
			q.false("refused", "bind: %v", mainError(err))
		}
		return
	}
	q.problem = problem
	opts := runtime.Options{Seed: q.rng.Uint64N(100) + 1, TimeLimit: timeLimit}
	switch q.rng.IntN(8) {
	case 0:
		opts.Search = runtime.SearchFully
	case 1:
		opts.Search = runtime.SearchNone
	}
	began := time.Now()
	result, err := problem.Solve(context.Background(), opts)
	q.Seconds = time.Since(began).Seconds()
	if err != nil {
		if strings.Contains(err.Error(), "E0904") && slices.Contains(q.Whole, true) {
			q.Outcomes = append(q.Outcomes, "refused: whole numbers")
			return
		}
		q.false("solve error", "%v", firstLine(err))
		return
	}
	q.Outcomes = append(q.Outcomes, "solve "+result.Status.String())
	before := len(q.Findings)
	q.judge(result)
	if result.Status == runtime.Solved {
		q.verified(result, slices.ContainsFunc(q.Findings[before:], func(f finding) bool { return !f.Soft }))
		q.forge(result)
	}
	q.evaluations()
}

// judge holds a result against the truth.
func (q *inquiry) judge(r *runtime.Result) {
	switch r.Status {
	case runtime.Infeasible:
		if q.best.Feasible {
			q.false("infeasible", "F = %v at w = %v: %s", q.best.Value, q.best.W, r.Reason)
		}
		return
	case runtime.Unbounded:
		if !q.best.Feasible {
			q.false("unbounded", "nothing is feasible: %s", r.Reason)
		} else if !q.best.Far {
			q.false("unbounded", "F is at least %v, at w = %v: %s", q.best.Value, q.best.W, r.Reason)
		}
		return
	case runtime.Solved:
	default:
		if !q.best.Feasible || q.best.Far {
			q.Outcomes = append(q.Outcomes, "no answer, and there is none")
		} else {
			q.soft("no answer", r.Reason, "%s: %s", r.Status, r.Reason)
		}
	}
	if !r.HasPoint() {
		return
	}
	if !q.best.Feasible {
		q.false("point of an infeasible problem", "%s at x = %v, y = %v", r.Status, q.upperOf(r.Upper.Variables), q.lowerOf(r))
		return
	}
	if r.Status != runtime.Solved {
		return // its best point is worth what its reason says
	}
	before := len(q.Findings)
	q.point(r, "solve")
	if len(q.Findings) > before {
		q.snapped(r, before)
	}
	q.ofAll(r)
	q.local(r)
}

// snapped looks again at what is false of x where x is off a tie by its rounding, which no double may
// hold: what is said is true of an x that is nearer than that.
func (q *inquiry) snapped(r *runtime.Result, before int) {
	again := *r
	again.Upper.Variables = slices.Clone(r.Upper.Variables)
	moved := false
	for i, v := range again.Upper.Variables {
		v.Data = slices.Clone(v.Data)
		for j, t := range v.Data {
			unit := 1.0 // of x: that of its bounds
			if k := i + j; !math.IsInf(q.Lo[k], 0) && !math.IsInf(q.Hi[k], 0) {
				unit = math.Max(math.Abs(q.Lo[k]), math.Abs(q.Hi[k])) * math.Pow10(at(q.ux, k))
			}
			step := math.Max(unit, math.Abs(t)) * 1e-13
			v.Data[j] = math.Round(t/step) * step
			moved = moved || v.Data[j] != t
		}
		again.Upper.Variables[i] = v
	}
	found := q.Findings[before:]
	q.Findings = slices.Clone(q.Findings[:before])
	q.point(&again, "solve")
	if len(q.Findings) > before || !moved {
		q.Findings = append(q.Findings[:before], found...)
		return
	}
	q.soft("off a tie by rounding", "", "%s: %s", found[0].Kind, found[0].Detail)
}

// read gives entries by the names that the model has for them.
func (q *inquiry) read(vs runtime.Values, name string, n int, units []int) []float64 {
	out := make([]float64, n)
	for j := range out {
		if v, ok := vs.Get(name); ok {
			out[j] = v.Data[j]
		} else if v, ok := vs.Get(fmt.Sprintf("%s%d", name, j+1)); ok {
			out[j] = v.Data[0]
		} else {
			out[j] = math.NaN()
		}
		out[j] *= math.Pow10(-at(units, j))
	}
	return out
}

func (q *inquiry) upperOf(vs runtime.Values) []float64 { return q.read(vs, "x", q.Dx, q.ux) }
func (q *inquiry) lowerOf(r *runtime.Result) []float64 {
	return q.read(r.Lower.Variables, "y", q.Dy, q.uy)
}

// ofF is F in the truth's sense and units.
func (q *inquiry) ofF(v runtime.Number) float64 {
	if q.maxF {
		v = -v
	}
	return float64(v) * math.Pow10(-q.uf)
}

// multipliers are those of the rows that are not bounds, 0 for the others.
func (q *inquiry) multipliersOf(r *runtime.Result) []float64 {
	out := make([]float64, len(q.Rows))
	for i := range out {
		if v, ok := r.Lower.Multipliers.Get(fmt.Sprintf("r%d", i+1)); ok && q.bound[i] == 0 {
			out[i] = v.Data[0] * math.Pow10(at(q.ur, i)-q.ug)
		}
	}
	return out
}

// point checks x, y, F and what is said of ties.
func (q *inquiry) point(r *runtime.Result, of string) {
	x, y := q.upperOf(r.Upper.Variables), q.lowerOf(r)
	for j, v := range x {
		tolerance := exactly * (1 + math.Abs(v))
		if v < q.Lo[j]-tolerance || v > q.Hi[j]+tolerance || q.Whole[j] && v != math.Round(v) {
			q.false(of+" outside X", "x = %v", x)
		}
	}
	for k, rows := range [][]truth.Linear{q.Rows, q.Upper} {
		for i, row := range rows {
			if of == "eval" && k == 1 {
				break
			}
			v, terms := -row.Rhs, math.Abs(row.Rhs)
			for j, a := range row.A {
				v, terms = v+a*x[j], terms+math.Abs(a*x[j])
			}
			for j, c := range row.C {
				v, terms = v+c*y[j], terms+math.Abs(c*y[j])
			}
			if v > exactly*(1+terms) || row.Equal && v < -exactly*(1+terms) {
				q.false(of+" row violated", "row %d of level %d by %.3g of %.3g at x = %v, y = %v", i+1, k, v, terms, x, y)
			}
		}
	}
	w := append(append(slices.Clone(x), y...), q.multipliersOf(r)...)
	f, terms := q.F.Value(w)
	if claimed := q.ofF(r.Upper.Objective); !(math.Abs(claimed-f) <= exactly*(terms+1e-3)) {
		q.false(of+" F", "F = %v, f at its x, y and multipliers is %v (terms of %.3g) at w = %v", claimed, f, terms, w)
	}
	q.answers(r, of, x, y, f, terms)
}

// answers compares y with the follower's exact answers at x.
func (q *inquiry) answers(r *runtime.Result, of string, x, y []float64, f, terms float64) {
	own := q.Responds(x)
	if !own.Feasible {
		q.Outcomes = append(q.Outcomes, "x beside where the follower has an answer")
		return
	}
	g := q.Follower()
	w := append(append(slices.Clone(x), y...), make([]float64, len(q.Rows))...)
	if v, size := g.Value(w); v-own.Value > exactly*(1+math.Max(size, own.Terms)) {
		q.false(of+" follower", "g = %v at y = %v, the least is %v at y = %v; x = %v", v, y, own.Value, own.W[q.Dx:q.Dx+q.Dy], x)
		return
	}
	best := q.Minimize(&q.F, truth.Region{X: x})
	if q.Upper != nil || !best.Feasible { // at answers that the leader's rows may forbid
		best = q.without().Minimize(&q.F, truth.Region{X: x})
	}
	if !best.Feasible {
		q.Outcomes = append(q.Outcomes, "truth unknown")
		return
	}
	if r.Lower.Ties == nil {
		for j := range y {
			if most := math.Max(math.Abs(best.Least[j]-y[j]), math.Abs(best.Most[j]-y[j])); q.strict() && most > 1e-6*(1+math.Abs(y[j])) {
				q.false(of+" y", "y = %v, truly %v at x = %v", y, best.W[q.Dx:q.Dx+q.Dy], x)
				return
			}
		}
		return
	}
	t := r.Lower.Ties
	minus := q.F
	minus.Const, minus.C, minus.H = -minus.Const, times64(minus.C, -1), slices.Clone(minus.H)
	for i := range minus.H {
		minus.H[i] = times64(minus.H[i], -1)
	}
	worst := q.without().Minimize(&minus, truth.Region{X: x})
	apart := 0.0
	for j := range y {
		apart = math.Max(apart, (best.Most[j]-best.Least[j])/(1+math.Abs(best.Most[j])))
	}
	switch {
	case t.Unique && apart > 1e-6:
		q.false(of+" unique", "y from %v to %v at x = %v", best.Least, best.Most, x)
	case !t.Unique && apart < 1e-12:
		q.soft(of+" not unique", "", "the only y is %v at x = %v", best.W[q.Dx:q.Dx+q.Dy], x)
	}
	if math.IsNaN(float64(t.Optimistic)) {
		q.soft(of+" best not found", "", "%v at x = %v", best.Value, x)
	} else if q.Upper == nil && math.Abs(q.ofF(t.Optimistic)-best.Value) > exactly*(1e-3+terms+best.Terms) && !best.Far {
		q.false(of+" best", "%v, truly %v at x = %v", q.ofF(t.Optimistic), best.Value, x)
	}
	if math.IsNaN(float64(t.Pessimistic)) {
		q.soft(of+" worst not found", "", "%v at x = %v", -worst.Value, x)
	} else if math.Abs(q.ofF(t.Pessimistic)+worst.Value) > exactly*(1e-3+terms+worst.Terms) && !worst.Far {
		q.false(of+" worst", "%v, truly %v at x = %v", q.ofF(t.Pessimistic), -worst.Value, x)
	}
	if q.Upper == nil && !math.IsNaN(float64(t.Optimistic)) && f-best.Value > exactly*(1e-3+terms+best.Terms) && !best.Far {
		q.false(of+" not the best answer", "F = %v with y = %v, %v with the follower's best answer for the leader, at x = %v", f, y, best.Value, x)
	}
	if t.Safe != nil {
		q.safe(t, x, of)
	}
}

// safe checks the safe point: the follower's only answer there gives what is said.
func (q *inquiry) safe(t *runtime.Ties, x []float64, of string) {
	z := q.upperOf(t.Safe.Variables)
	best := q.Minimize(&q.F, truth.Region{X: z})
	if !best.Feasible {
		q.false(of+" safe point infeasible", "x = %v", z)
		return
	}
	apart := 0.0
	for j := range best.Most {
		apart = math.Max(apart, (best.Most[j]-best.Least[j])/(1+math.Abs(best.Most[j])))
	}
	if apart > 1e-6 {
		q.false(of+" safe point with a choice", "y from %v to %v at x = %v", best.Least, best.Most, z)
	}
	if v := q.ofF(t.Safe.Objective); math.Abs(v-best.Value) > exactly*(1e-3+best.Terms) {
		q.false(of+" F at the safe point", "%v, truly %v at x = %v", v, best.Value, z)
	}
	distance := 0.0
	for j := range x {
		distance = math.Max(distance, math.Abs(x[j]-z[j])*math.Pow10(at(q.ux, j)))
		if z[j] < q.Lo[j] || z[j] > q.Hi[j] {
			q.false(of+" safe point outside X", "x = %v", z)
		}
	}
	if math.Abs(distance-float64(t.Safe.Distance)) > 1e-6*distance+1e-12 {
		q.false(of+" distance of the safe point", "%v, truly %v", t.Safe.Distance, distance)
	}
}

// without is the program without the leader's rows that read y, in which all of the follower's
// answers at an x are.
func (q *inquiry) without() *truth.System {
	s := *q.System
	s.Upper = nil
	return &s
}

func times64(v []float64, by float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = by * v[i]
	}
	return out
}

// ofAll checks what is said of all x.
func (q *inquiry) ofAll(r *runtime.Result) {
	f, size := q.ofF(r.Upper.Objective), 1e-3+q.best.Terms
	// y is known to the rounding of the terms of its rows, which x makes where it is far out.
	far, slope := largest(q.best.W[:q.Dx+q.Dy]), largest(q.F.Slope(q.best.W))
	for _, v := range q.upperOf(r.Upper.Variables) {
		far = math.Max(far, math.Abs(v))
	}
	size += slope * far * 0x1p-40 / exactly
	if q.best.Far {
		if r.Global != nil && (r.Global.Proved || !math.IsInf(float64(r.Global.Bound), 0)) {
			q.false("bound of what has none", "bound %v, proved %v; F = %v at w = %v", r.Global.Bound, r.Global.Proved, q.best.Value, q.best.W)
		} else {
			q.Outcomes = append(q.Outcomes, "local point of an unbounded problem")
		}
		return
	}
	if f < q.best.Value-10*exactly*size {
		q.false("better than the optimum", "F = %v, the least is %v at w = %v", f, q.best.Value, q.best.W)
	}
	if r.Global == nil {
		q.Outcomes = append(q.Outcomes, "nothing said of other x")
		return
	}
	b := q.ofF(r.Global.Bound)
	if b > q.best.Value+10*exactly*size {
		q.false("bound", "%v, F is %v at w = %v", b, q.best.Value, q.best.W)
	}
	switch {
	case r.Global.Proved && f-q.best.Value > float64(r.Global.Within)*math.Abs(f)*1.01+10*exactly*size:
		q.false("proved", "F = %v, the least is %v at w = %v", f, q.best.Value, q.best.W)
	case r.Global.Proved && f-b > float64(r.Global.Within)*math.Max(math.Abs(f), math.Abs(b))*1.01+10*exactly*size:
		q.soft("proved within less than the gap", "", "F = %v, bound %v, within %v", f, b, r.Global.Within)
	case r.Global.Proved:
		q.Outcomes = append(q.Outcomes, "proved")
	case f-q.best.Value > 1e-6*size:
		q.Outcomes = append(q.Outcomes, "not proved, a better point is known")
		q.soft("not proved", r.Global.Why, "F = %v, the least is %v at w = %v: %s", f, q.best.Value, q.best.W, r.Global.Why)
	default:
		q.Outcomes = append(q.Outcomes, "not proved, and the optimum")
		q.soft("optimum not proved", r.Global.Why, "%v: %s", f, r.Global.Why)
	}
}

// local looks for lower values near a point that is said to be stationary: the fall within
// a distance is at most of its square.
func (q *inquiry) local(r *runtime.Result) {
	x, y := q.upperOf(r.Upper.Variables), q.lowerOf(r)
	w := append(append(slices.Clone(x), y...), q.multipliersOf(r)...)
	f, terms := q.F.Value(w)
	slope := 0.0
	for _, v := range q.F.Slope(w) {
		slope = math.Max(slope, math.Abs(v))
	}
	size := 1.0
	for _, v := range w[:q.Dx+q.Dy] {
		size = math.Max(size, math.Abs(v))
	}
	around := map[int]float64{}
	for i := range q.Dx + q.Dy {
		around[i] = w[i]
	}
	for i := range q.Rows { // multipliers that F reads stay near theirs, too
		if at := q.Dx + q.Dy + i; q.F.C[at] != 0 || slices.ContainsFunc(q.F.H[at], func(h float64) bool { return h != 0 }) {
			around[at] = w[at]
		}
	}
	if len(r.Lower.Dependent) > 0 && len(around) > q.Dx+q.Dy {
		q.Outcomes = append(q.Outcomes, "multipliers are not unique, as it says")
		return
	}
	falls := true
	report := ""
	for _, radius := range []float64{1e-3 * size, 1e-4 * size} {
		near := q.Minimize(&q.F, truth.Region{Around: around, Radius: radius})
		falls = falls && near.Feasible && f-near.Value > 3e-3*radius*slope && f-near.Value > 10*exactly*terms
		report = fmt.Sprintf("F falls by %.3g from %v within %.3g, to w = %v", f-near.Value, f, radius, near.W)
	}
	if falls {
		q.false("not stationary", "%s; %s", report, r.Reason)
	} else {
		q.Outcomes = append(q.Outcomes, "stationary")
	}
}

// verified asks the tool to check its own document.
func (q *inquiry) verified(r *runtime.Result, wrong bool) {
	report, err := q.problem.Verify(r)
	switch {
	case err != nil:
		q.false("verify error", "%s: %v", r.Status, firstLine(err))
	case report.OK() && wrong:
		q.false("verify accepts", "%s: a document with the false statement above", r.Status)
	case !report.OK() && r.Status == runtime.Solved && !wrong:
		q.false("verify rejects", "%s: %s", r.Status, report.Failures()[0])
	case !report.OK() && !wrong:
		q.soft("verify rejects a run without an answer", r.Reason, "%s: %s", r.Status, report.Failures()[0])
	}
}

// evaluate asks for F and the follower's answers at x.
func (q *inquiry) evaluate(x []float64) (*runtime.Result, error) {
	values := runtime.Values{}
	if q.vector {
		values = runtime.Values{{Name: "x", Shape: []int{q.Dx}}}
	}
	for j := range x {
		v := x[j] * math.Pow10(at(q.ux, j))
		if q.vector {
			values[0].Data = append(values[0].Data, v)
		} else {
			values = append(values, runtime.Value{Name: q.x(j), Data: []float64{v}})
		}
	}
	return q.problem.Eval(context.Background(), values, runtime.Options{})
}

// evaluations asks for F and the follower's answers at points of X.
func (q *inquiry) evaluations() {
	for range 2 {
		x := make([]float64, q.Dx)
		for j := range x {
			lo, hi := math.Max(q.Lo[j], -20), math.Min(q.Hi[j], 20)
			x[j] = math.Min(math.Max(math.Round(lo+(hi-lo)*q.rng.Float64()), lo), hi)
		}
		r, err := q.evaluate(x)
		if err != nil {
			q.false("eval error", "%v at x = %v", firstLine(err), x)
			continue
		}
		own := q.Responds(x)
		if own.Far {
			continue // where rows meet at the end of space they may not
		}
		switch r.Status {
		case runtime.Solved:
			if !own.Feasible {
				q.false("eval without an answer", "no y satisfies the rows at x = %v; y = %v", x, q.lowerOf(r))
				continue
			}
			q.Outcomes = append(q.Outcomes, "eval solved")
			q.point(r, "eval")
		case runtime.Infeasible:
			if own.Feasible {
				q.false("eval infeasible", "y = %v at x = %v: %s", own.W[q.Dx:q.Dx+q.Dy], x, r.Reason)
			} else {
				q.Outcomes = append(q.Outcomes, "eval infeasible")
			}
		default:
			if own.Feasible && !own.Far {
				q.soft("eval", r.Reason, "%s: %s at x = %v", r.Status, r.Reason, x)
			}
		}
	}
}
