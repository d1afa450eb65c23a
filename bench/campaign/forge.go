package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/bench/campaign/truth"
	"bilevelc/runtime"
)

// forge changes a true document so that it is false, and asks the tool to verify it.
func (q *inquiry) forge(r *runtime.Result) {
	x, y := q.upperOf(r.Upper.Variables), q.lowerOf(r)
	w := append(append(slices.Clone(x), y...), q.multipliersOf(r)...)
	f, terms := q.F.Value(w)
	if terms < 1e-3 || largest(x) > 1e4 {
		return // sizes of which rounding is a part that a change of 1e-3 might not leave
	}
	unit := runtime.Number(math.Pow10(q.uf))
	if q.maxF {
		unit = -unit
	}
	refused := func(what string, forged *runtime.Result) {
		report, err := q.problem.Verify(forged)
		q.outcome("forged %s", what)
		if err == nil && report.OK() {
			q.false("forgery passes: "+what, "F = %v at w = %v", f, w)
		}
	}
	copied := func() *runtime.Result {
		c := *r
		return &c
	}
	c := copied()
	c.Upper.Objective += unit * runtime.Number(1e-3*terms)
	refused("F", c)

	move := func(vs runtime.Values, k int, by float64) (runtime.Values, string) {
		out := slices.Clone(vs)
		i, j := k, 0
		if q.vector {
			i, j = 0, k
		}
		out[i].Data = slices.Clone(out[i].Data)
		out[i].Data[j] += by
		return out, out[i].Name
	}
	k := q.rng.IntN(q.Dy)
	step := 1e-3 * (1 + math.Abs(y[k])) * float64(1-2*q.rng.IntN(2))
	moved := slices.Clone(y)
	moved[k] += step
	if q.wrongAnswer(x, moved, f, terms) {
		c = copied()
		var name string
		if c.Lower.Variables, name = move(r.Lower.Variables, k, step*math.Pow10(at(q.uy, k))); name == "y" || name == fmt.Sprintf("y%d", k+1) {
			refused("y", c)
		}
	}
	k = q.rng.IntN(q.Dx)
	step = 1e-3 * (1 + math.Abs(x[k])) * float64(1-2*q.rng.IntN(2))
	moved = slices.Clone(x)
	moved[k] += step
	if q.wrongAnswer(moved, y, f, terms) {
		c = copied()
		c.Upper.Variables, _ = move(r.Upper.Variables, k, step*math.Pow10(at(q.ux, k)))
		refused("x", c)
	}
	for i, row := range q.Rows { // that of a row which alone holds an entry of y has no other value
		v, ok := r.Lower.Multipliers.Get(fmt.Sprintf("r%d", i+1))
		if !ok || q.bound[i] > 0 || largest(row.C) == 0 {
			continue
		}
		c = copied()
		c.Lower.Multipliers = slices.Clone(c.Lower.Multipliers)
		place := slices.IndexFunc(c.Lower.Multipliers, func(u runtime.Value) bool { return u.Name == v.Name })
		size := 1.0
		for _, l := range q.multipliersOf(r) {
			size = math.Max(size, math.Abs(l))
		}
		u := v
		u.Data = []float64{v.Data[0] + 1e-2*size*math.Pow10(q.ug-at(q.ur, i))}
		c.Lower.Multipliers[place] = u
		refused("multiplier", c)
		break
	}
	if g := r.Global; g != nil && g.Proved {
		c = copied()
		lie := *g
		lie.Bound += unit * runtime.Number(0.1*terms) // F itself is below
		c.Global = &lie
		refused("bound", c)
	}
	if t := r.Lower.Ties; t != nil {
		with := func(what string, change func(t *runtime.Ties)) {
			c := copied()
			u := *t
			change(&u)
			c.Lower.Ties = &u
			refused(what, c)
		}
		if !t.Unique && !math.IsNaN(float64(t.Pessimistic)) && math.Abs(float64(t.Pessimistic-t.Optimistic)) > 1e-3*terms*math.Abs(float64(unit)) {
			with("unique", func(t *runtime.Ties) { t.Unique = true })
		}
		finite := func(v runtime.Number) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
		if finite(t.Optimistic) {
			with("best", func(t *runtime.Ties) { t.Optimistic -= unit * runtime.Number(1e-3*terms) })
		}
		if finite(t.Pessimistic) {
			with("worst", func(t *runtime.Ties) { t.Pessimistic -= unit * runtime.Number(1e-3*terms) })
		}
		if t.Safe != nil {
			there := q.Minimize(&q.F, truth.Region{X: q.upperOf(t.Safe.Variables)})
			with("F at the safe point", func(t *runtime.Ties) {
				s := *t.Safe
				s.Objective -= unit * runtime.Number(math.Max(1e-3*terms, 1e-9*there.Terms)) // far away terms may be so large that their rounding is more than the former
				t.Safe = &s
			})
			with("distance of the safe point", func(t *runtime.Ties) {
				s := *t.Safe
				s.Distance *= 2
				t.Safe = &s
			})
		}
	}
	q.elsewhere(r, f, terms)
}

// wrongAnswer reports that what a document with x and y in the place of its own says is false by
// far more than rounding: F, or that y is the follower's answer.
func (q *inquiry) wrongAnswer(x, y []float64, f, terms float64) bool {
	w := append(append(slices.Clone(x), y...), make([]float64, len(q.Rows))...)
	for i := range q.Rows {
		if q.Reads(i) {
			return false
		}
	}
	if v, _ := q.F.Value(w); math.Abs(v-f) > 1e-5*terms {
		return true
	}
	for _, r := range q.Rows {
		if r.Misses(x, y) > 1e-5*(1+r.Terms(x, y)) {
			return true
		}
	}
	own := q.Responds(x)
	g, size := q.Follower().Value(w)
	return own.Feasible && g-own.Value > 1e-4*(1+size)
}

// elsewhere passes an evaluation at another x off as the proved optimum.
func (q *inquiry) elsewhere(r *runtime.Result, f, terms float64) {
	if r.Global == nil || !r.Global.Proved || r.Certificate == nil {
		return
	}
	if math.Abs(f-q.best.Value) > 1e-6*terms {
		return
	}
	for range 3 {
		x := make([]float64, q.Dx)
		for j := range x {
			lo, hi := q.Lo[j], q.Hi[j]
			if math.IsInf(lo, -1) {
				lo = math.Min(hi, 20) - 40
			}
			if math.IsInf(hi, 1) {
				hi = math.Max(lo, -20) + 40
			}
			x[j] = math.Round((lo+(hi-lo)*q.rng.Float64())*8) / 8
			if q.Whole[j] {
				x[j] = math.Round(x[j])
			}
			x[j] = math.Min(math.Max(x[j], q.Lo[j]), q.Hi[j])
		}
		there := q.Minimize(&q.F, truth.Region{X: x})
		if !there.Feasible || there.Value-q.best.Value < 1e-2*(terms+there.Terms) {
			continue
		}
		e, err := q.evaluate(x)
		if err != nil || e.Status != runtime.Solved {
			continue
		}
		forged := *e
		g := *r.Global
		g.Bound, g.Gap = e.Upper.Objective, 0
		forged.Global, forged.Method, forged.Stationarity, forged.Certificate = &g, r.Method, r.Stationarity, r.Certificate
		report, err := q.problem.Verify(&forged)
		q.outcome("forged optimum")
		if err == nil && report.OK() && !slices.ContainsFunc(report.Unchecked, func(t string) bool { return strings.HasPrefix(t, "global") }) {
			q.false("forgery passes: another point as the optimum", "F = %v at x = %v, the least is %v", there.Value, x, q.best.Value)
		}
		return
	}
}
