package main

import (
	"math"
	"slices"
	"strconv"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
	"bilevelc/runtime"
)

// answers compares y with the follower's exact answers at x.
func (q *inquiry) answers(r *runtime.Result, of string, x, y []float64, f, terms float64) {
	own := q.Responds(x)
	if !own.Feasible {
		q.outcome("x beside where the follower has an answer")
		return
	}
	g := q.Follower()
	w := append(append(slices.Clone(x), y...), make([]float64, len(q.Rows))...)
	if v, size := g.Value(w); v-own.Value > exactly*(1+math.Max(size, own.Terms))+q.rounding(g, w) {
		q.false(of+" follower", "g = %v at y = %v, the least is %v at y = %v; x = %v", v, y, own.Value, own.W[q.Dx:q.Dx+q.Dy], x)
		return
	}
	best := q.Minimize(&q.F, truth.Region{X: x})
	if q.Upper != nil || !best.Feasible { // at answers that the leader's rows may forbid
		best = q.without().Minimize(&q.F, truth.Region{X: x})
	}
	if !best.Feasible {
		q.outcome("truth unknown")
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
	rounding := q.rounding(&q.F, w)
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
	unique := t.Unique
	if t.UniqueAnswer != nil { // beside the multipliers that F reads
		unique = *t.UniqueAnswer
	}
	switch {
	case unique && apart > 1e-6:
		q.false(of+" unique", "y from %v to %v at x = %v", best.Least, best.Most, x)
	case !unique && apart < 1e-12:
		q.soft(of+" not unique", "", "the only y is %v at x = %v", best.W[q.Dx:q.Dx+q.Dy], x)
	}
	if math.IsNaN(float64(t.Optimistic)) {
		q.soft(of+" best not found", "", "%v at x = %v", best.Value, x)
	} else if q.Upper == nil && math.Abs(q.ofF(t.Optimistic)-best.Value) > exactly*(1e-3+terms+best.Terms)+rounding && !best.Far {
		q.false(of+" best", "%v, truly %v at x = %v", q.ofF(t.Optimistic), best.Value, x)
	}
	if math.IsNaN(float64(t.Pessimistic)) {
		q.soft(of+" worst not found", "", "%v at x = %v", -worst.Value, x)
	} else if math.Abs(q.ofF(t.Pessimistic)+worst.Value) > exactly*(1e-3+terms+worst.Terms)+rounding && !worst.Far {
		q.false(of+" worst", "%v, truly %v at x = %v", q.ofF(t.Pessimistic), -worst.Value, x)
	}
	if q.Upper == nil && !math.IsNaN(float64(t.Optimistic)) && f-best.Value > exactly*(1e-3+terms+best.Terms)+rounding && !best.Far {
		q.false(of+" not the best answer", "F = %v with y = %v, %v with the follower's best answer for the leader, at x = %v", f, y, best.Value, x)
	}
	if t.Safe != nil {
		q.safe(t, x, of)
	}
}

// rounding is what a function's value may differ by where y is known to rounding only, and multipliers to that of the forces which they balance.
func (q *inquiry) rounding(of *truth.Quadratic, w []float64) (sum float64) {
	slope := of.Slope(w)
	known := q.known(w[:q.Dx], w[q.Dx:q.Dx+q.Dy])
	for j, d := range known {
		sum += math.Abs(slope[q.Dx+j]) * d
		force := 0.0
		for k, u := range known {
			force += math.Abs(q.Q[j][k]) * u
		}
		for i, p := range q.P {
			force += math.Abs(p[j]*w[i]) * truth.Given
		}
		for i, row := range q.Rows {
			if row.C[j] != 0 {
				sum += math.Abs(slope[q.Dx+q.Dy+i]) * force / math.Abs(row.C[j])
			}
		}
	}
	return sum
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
	if v := q.ofF(t.Safe.Objective); math.Abs(v-best.Value) > exactly*(1e-3+best.Terms)+q.rounding(&q.F, best.W) {
		q.false(of+" F at the safe point", "%v, truly %v at x = %v", v, best.Value, z)
	}
	distance, written := 0.0, q.read(t.Safe.Variables, "x", q.Dx, nil)
	for j := range x {
		distance = math.Max(distance, math.Abs(x[j]-z[j])*math.Pow10(at(q.ux, j)))
		if written[j] < q.bounds(q.Lo[j], j) || written[j] > q.bounds(q.Hi[j], j) {
			q.false(of+" safe point outside X", "x = %v", z)
		}
	}
	if math.Abs(distance-float64(t.Safe.Distance)) > 1e-6*distance+1e-12 {
		q.false(of+" distance of the safe point", "%v, truly %v", t.Safe.Distance, distance)
	}
}

// bounds is a bound of entry j of x, to the last bit, in the units of the text.
func (q *inquiry) bounds(v float64, j int) float64 {
	written, err := strconv.ParseFloat(decimalLiteral(v+0, at(q.ux, j)), 64)
	if err != nil {
		panic(err)
	}
	return written
}

// without is the program without the leader's rows that read y, in which all of the follower's
// answers at an x are.
func (q *inquiry) without() *truth.System {
	s := *q.System
	s.Upper = nil
	return &s
}

// evaluations asks for F and the follower's answers at points of X.
func (q *inquiry) evaluations() {
	for range 2 {
		x := each.Below(q.Dx, func(j int) float64 {
			lo, hi := math.Max(q.Lo[j], -20), math.Min(q.Hi[j], 20)
			return math.Min(math.Max(math.Round(lo+(hi-lo)*q.rng.Float64()), lo), hi)
		})
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
			q.outcome("eval solved")
			q.point(r, "eval")
		case runtime.Infeasible:
			if own.Feasible {
				q.false("eval infeasible", "y = %v at x = %v: %s", own.W[q.Dx:q.Dx+q.Dy], x, r.Reason)
			} else {
				q.outcome("eval infeasible")
			}
		default:
			if own.Feasible && !own.Far {
				q.soft("eval", r.Reason, "%s: %s at x = %v", r.Status, r.Reason, x)
			}
		}
	}
}
