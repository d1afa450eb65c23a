package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
	"bilevelc/runtime"
)

// exactly is what numbers of a document are to agree to, relative to the sizes of the terms
// that they are sums of, and what a point may miss a row by.
const exactly = 1e-8

// resolved is what values of F at points that are known to rounding may differ by, relative to their terms.
const resolved = 1e-11

// examineSystem asks the tool about the system of a seed.
func examineSystem(seed uint64) *report {
	if seed%(uint64(len(families))+1) == uint64(len(families)) {
		return examineSmooth(seed)
	}
	s := drawSystem(seed)
	r := &report{Seed: seed, Family: s.family}
	r.asked(s, enumerated)
	return r
}

// enumerated asks about a system whose optimum is found by enumeration.
func enumerated(r *report, s *system) {
	q := newInquiry(r, s, 0x61736b)
	q.best = q.Minimize(&q.F, truth.Region{})
	if !q.bind(func(string) string {
		if q.best.Feasible {
			return ""
		}
		return ", and infeasible"
	}) {
		return
	}
	opts := runtime.Options{Seed: q.rng.Uint64N(100) + 1, TimeLimit: timeLimit}
	switch q.rng.IntN(8) {
	case 0:
		opts.Search = runtime.SearchFully
	case 1:
		opts.Search = runtime.SearchNone
	}
	began := time.Now()
	result, err := q.problem.Solve(context.Background(), opts)
	q.Seconds = time.Since(began).Seconds()
	if err != nil {
		if strings.Contains(err.Error(), "E0904") && slices.Contains(q.Whole, true) {
			q.outcome("refused: whole numbers")
			return
		}
		q.false("solve error", "%v", firstLine(err))
		return
	}
	q.outcome("solve %s", result.Status)
	before := q.lies()
	q.judge(result)
	if result.Status == runtime.Solved {
		for _, note := range result.Notes {
			if missesRows(note) || strings.HasPrefix(note, "held within") && strings.Contains(note, "(1 of its terms)") {
				q.false("note", "solved, and %s", note)
			}
		}
		q.verified(result, "default", q.lies() > before)
		q.proof(result)
		q.forge(result)
	}
	q.evaluations()
}

// missesRows reports that a note of a result says which rows do not hold at its point.
func missesRows(note string) bool { return strings.HasPrefix(note, "not all constraints hold") }

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
		} else if q.best.Value < -truth.FarAway/8 || q.best.Rough() {
			q.outcome("unbounded, or not to be told")
		} else if !q.best.Far {
			q.false("unbounded", "F is at least %v, at w = %v: %s", q.best.Value, q.best.W, r.Reason)
		}
		return
	case runtime.Solved:
	default:
		if !q.best.Feasible || q.best.Far {
			q.outcome("no answer, and there is none")
		} else {
			q.soft("no answer", r.Reason, "%s: %s", r.Status, r.Reason)
		}
	}
	if !r.HasPoint() {
		return
	}
	if !q.best.Feasible {
		// A failure may show where it got to, if it says that rows do not hold there.
		if r.Status == runtime.Solved || !slices.ContainsFunc(r.Notes, missesRows) {
			q.false("point of an infeasible problem", "%s at x = %v, y = %v", r.Status, q.upperOf(r.Upper.Variables), q.lowerOf(r))
		}
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

// point checks x, y, F and what is said of ties.
func (q *inquiry) point(r *runtime.Result, of string) {
	x, y := q.upperOf(r.Upper.Variables), q.lowerOf(r)
	for j, v := range x {
		tolerance := exactly * (1 + math.Abs(v))
		if v < q.Lo[j]-tolerance || v > q.Hi[j]+tolerance || q.Whole[j] && v != math.Round(v) {
			q.false(of+" outside X", "x = %v", x)
		}
	}
	known := q.known(x, y)
	for k, rows := range [][]truth.Linear{q.Rows, q.Upper} {
		for i, row := range rows {
			if of == "eval" && k == 1 {
				break
			}
			v, terms := row.Misses(x, y), row.Terms(x, y)
			tolerance := exactly * (1 + terms)
			for j, c := range row.C {
				tolerance = math.Max(tolerance, math.Abs(c)*known[j])
			}
			if v > tolerance {
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

// known is to what each entry of y is known that rows set far from where x is: to rounding of their terms.
func (q *inquiry) known(x, y []float64) []float64 {
	out := make([]float64, len(y))
	for _, row := range q.Rows {
		terms := row.Terms(x, make([]float64, q.Dy))
		for j, c := range row.C {
			if c != 0 {
				out[j] = math.Max(out[j], truth.Given*terms/math.Abs(c))
			}
		}
	}
	return out
}

func times64(v []float64, by float64) []float64 {
	return each.Of(v, func(t float64) float64 { return by * t })
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
			q.outcome("local point of an unbounded problem")
		}
		return
	}
	if f < q.best.Value-10*exactly*size {
		q.false("better than the optimum", "F = %v, the least is %v at w = %v", f, q.best.Value, q.best.W)
	}
	if r.Global == nil {
		q.outcome("nothing said of other x")
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
		q.outcome("proved")
	case f-q.best.Value > 1e-6*size:
		q.outcome("not proved, a better point is known")
		q.soft("not proved", r.Global.Why, "F = %v, the least is %v at w = %v: %s", f, q.best.Value, q.best.W, r.Global.Why)
	default:
		q.outcome("not proved, and the optimum")
		q.soft("optimum not proved", r.Global.Why, "%v: %s", f, r.Global.Why)
	}
}

// local looks for lower values near a point that is said to be stationary: the fall within
// a distance is at most of its square. Beside entries of 1e6 a distance may lead out of the
// piece of others: a fall to first order is one within all distances that doubles resolve.
func (q *inquiry) local(r *runtime.Result) {
	x, y := q.upperOf(r.Upper.Variables), q.lowerOf(r)
	w := append(append(slices.Clone(x), y...), q.multipliersOf(r)...)
	f, terms := q.F.Value(w)
	slopes := q.F.Slope(w)
	hidden := resolved * terms // a fall that is rounding: of f, or of what rows with terms of other sizes leave open of y
	for j, v := range q.known(x, y) {
		hidden = math.Max(hidden, v*math.Abs(slopes[q.Dx+j]))
	}
	read := false
	for i := range q.Rows {
		read = read || q.Reads(i)
	}
	if len(r.Lower.Dependent) > 0 && read {
		q.outcome("multipliers are not unique, as it says")
		return
	}
	sizes := q.sizes(w)
	falls := true
	report := ""
	for share, k := 1e-3, 0; falls && k < 6; share, k = share/10, k+1 {
		around := map[int]truth.Near{}
		for i, size := range sizes {
			if at := i - q.Dx - q.Dy; at < 0 || q.Reads(at) { // multipliers that F reads stay near theirs, too
				around[i] = truth.Near{Middle: w[i], Radius: share * size}
			}
		}
		near := q.Minimize(&q.F, truth.Region{Around: around})
		reach, slope := 0.0, 0.0 // of the entries that move: what F makes of a multiplier of 0 is no slope
		for i, at := range around {
			if near.Feasible && math.Abs(near.W[i]-w[i]) > resolved*at.Radius {
				reach, slope = math.Max(reach, at.Radius), math.Max(slope, math.Abs(slopes[i]))
			}
		}
		if k >= 2 && 3e-3*reach*slope <= resolved*terms {
			break
		}
		falls = near.Feasible && f-near.Value > 3e-3*reach*slope && f-near.Value > hidden
		report = fmt.Sprintf("F falls by %.3g from %v within %.3g of the size of each entry, to w = %v", f-near.Value, f, share, near.W)
	}
	if falls {
		q.false("not stationary", "%s; %s", report, r.Reason)
	} else {
		q.outcome("stationary")
	}
}

// sizes are those of the entries of w as they are computed: of x its own, of y that of the terms of rows that set it,
// and of a multiplier that of the forces that it balances.
func (q *inquiry) sizes(w []float64) []float64 {
	x, y := w[:q.Dx], w[q.Dx:q.Dx+q.Dy]
	out := each.Of(w, func(v float64) float64 { return math.Max(1, math.Abs(v)) })
	for j, v := range q.known(x, y) {
		out[q.Dx+j] = math.Max(out[q.Dx+j], v/truth.Given)
		force := math.Abs(q.Linear[j])
		for i, p := range q.P {
			force += math.Abs(p[j] * x[i])
		}
		for k, v := range q.Q[j] {
			force += math.Abs(v * y[k])
		}
		for i, row := range q.Rows {
			if at := q.Dx + q.Dy + i; row.C[j] != 0 {
				out[at] = math.Max(out[at], force/math.Abs(row.C[j]))
			}
		}
	}
	return out
}

// proof asks for the proof of what is proved of all x, and verifies the document with it.
func (q *inquiry) proof(r *runtime.Result) {
	if r.Global == nil || !r.Global.Proved || q.Seed%4 > 0 { // of one in four: it takes as long as the search
		return
	}
	with := *r
	g := *r.Global
	with.Global = &g
	var text bytes.Buffer
	if err := with.WriteProof(context.Background(), &text); err != nil {
		q.soft("no proof", err.Error(), "%v", err)
		return
	}
	report, err := q.problem.VerifyProof(&with, "proof", &text)
	switch {
	case err != nil:
		q.false("proof error", "%v", firstLine(err))
	case !report.OK():
		q.false("proof rejected", "%s", report.Failures()[0])
	default:
		q.outcome("proof verified")
	}
}
