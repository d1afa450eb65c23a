package runtime

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/runtime/certify"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/named"
	"bilevelc/runtime/tolerance"
)

// The claims about values: of the starts, the report, ties, followers by name and
// the check of the gradient.

// starts checks that the returned point is that of one of the starts, and that no other is
// worth more: by F and the penalty of what does not hold there, to what default targets leave of them and
// what rounding may leave of f's terms.
func (c *claims) starts() {
	if len(c.r.Starts) == 0 || c.r.Status == Unbounded { // the point is then where a ray begins
		return
	}
	_, sign := sense(&c.p.IR.Upper)
	best, here := math.Inf(1), math.Inf(1)
	for _, s := range c.r.Starts {
		v := sign*float64(s.Objective) + float64(s.Penalty)
		if math.IsNaN(v) {
			continue
		}
		best = math.Min(best, v)
		if s.Objective == c.r.Upper.Objective {
			here = math.Min(here, v)
		}
	}
	if c.r.onSystem() { // the searches for the global optimum, for the follower's best answer and from minimum to minimum have points of their own, and F is computed again at the one that is the result
		here = math.Min(here, c.doc.Upper)
	}
	rounding := 0.0
	for _, known := range c.report.Checks {
		if known.Claim == certify.ObjectiveClaim {
			rounding = known.Tolerance
		}
	}
	c.check("the best of the starts", here < math.Inf(1) && here <= best+tolerance.Target*math.Max(math.Abs(best), math.Abs(here))+rounding, "the best is %.10g", sign*best)
}

// values checks names and shapes, the report's expressions, and the gradient
// check.
func (c *claims) values() {
	for _, vs := range []struct {
		name       string
		have, want Values
	}{
		{"upper.variables", c.r.Upper.Variables, named.Variables(&c.p.IR.Upper, c.doc.X, 1)},
		{"upper.hypergradient", c.r.Upper.Hypergradient, named.Variables(&c.p.IR.Upper, c.doc.X, 1)},
		{"lower.variables", c.r.Lower.Variables, named.Variables(&c.p.IR.Lower, c.doc.Y, 1)},
		{"lower.multipliers", c.r.Lower.Multipliers, named.Multipliers(c.p.IR.Rows, c.h)},
		{"residuals.constraints", c.r.Residuals.Constraints, named.Residuals(c.p.IR.Rows, c.h)},
	} {
		if len(vs.have) == 0 && vs.name == "upper.hypergradient" {
			continue
		}
		c.check("names and shapes of "+vs.name, len(vs.have) == len(vs.want), "") // those that the model has were found, in their shapes, as the document was read
	}
	c.check("lower.units", slices.EqualFunc(c.r.Lower.Units, c.p.Units(), func(a, b Value) bool {
		return a.Name == b.Name && slices.Equal(a.Data, b.Data)
	}), "")
	c.check("entries at bounds", slices.Equal(c.r.Upper.AtBounds, c.p.atBounds(c.doc.X)), "")
	c.check("free entries", slices.Equal(c.r.Upper.Free, c.p.freeEntries()), "")
	// Rows that the compiler dropped have no multiplier and no residual.
	kept := named.Residuals(c.p.IR.Rows, slices.Repeat([]float64{1}, len(c.p.IR.Rows)))
	for _, vs := range []Values{c.r.Lower.Multipliers, c.r.Residuals.Constraints} {
		get := vs.Lookup()
		for _, family := range kept {
			v, _ := get(family.Name)
			for k, in := range family.Data {
				if in == 0 && k < len(v.Data) && v.Data[k] != 0 {
					c.check(EntryName(v, k), false, "this row holds for every (x, y)")
				}
			}
		}
	}
	again, err := c.p.report(c.doc.X, c.p.Numeric.Answer(c.p.units.Leave(c.doc.Y), c.doc.Lambda))
	if !c.derived("report", err) {
		return
	}
	c.check("report", len(again) == len(c.r.Report), "the model reports %d values", len(again))
	for _, v := range again {
		was, ok := c.r.Report.Get(v.Name)
		if !ok || !slices.Equal(was.Shape, v.Shape) {
			c.check("report "+v.Name, false, "missing, or of another shape")
			continue
		}
		k, worst := worstDifference(was.Data, v.Data)
		detail := ""
		if worst > 0 {
			detail = fmt.Sprintf("%s differs by %.3g", EntryName(v, k), worst)
		}
		c.check("report "+v.Name, worst <= tolerance.SolveAccuracy*linalg.NormInf(v.Data) || worst == 0, "%s", detail)
	}
	c.transformed()
	c.ties()
	c.followers()
	c.gradientCheck()
}

// ties checks what was added to the objective of a follower that is not strongly
// convex.
func (c *claims) ties() {
	t, claimed := c.p.ties, c.r.Lower.Ties
	if c.p.exactTies != "" || c.r.onSystem() && c.p.tieRule() != "" {
		c.exactTies(claimed)
		return
	}
	c.check("ties", (t == nil) == (claimed == nil), "they are broken in the model or in the document alone")
	if t == nil || claimed == nil {
		return
	}
	a, b := t.weights(t.tau)
	c.check("rule of the ties", claimed.Rule == t.rule, "it is %s", t.rule)
	c.near("ties: tau", float64(claimed.Tau), t.tau, 0)
	c.near("ties: weight of f", float64(claimed.WeightF), a, tolerance.SolveAccuracy*a)
	c.near("ties: weight of the norm", float64(claimed.WeightNorm), b, tolerance.SolveAccuracy*b)
	c.check("ties: loss", claimed.Loss >= 0, "it is negative")
	c.answers(claimed)
}

// followers checks the parts of the followers that have names against what they
// are parts of.
func (c *claims) followers() {
	fresh := &Result{}
	fresh.Lower.Variables, fresh.Lower.Multipliers = c.r.Lower.Variables, c.r.Lower.Multipliers
	if err := c.p.byFollower(fresh, c.doc.X, c.p.units.Leave(c.doc.Y)); err != nil {
		c.check("followers", false, "%v", err)
		return
	}
	want, have := fresh.Lower.Followers, c.r.Lower.Followers
	if len(want) == 0 && len(have) == 0 {
		return
	}
	c.check("followers", len(want) == len(have), "the model has %d with names", len(want))
	for i := range min(len(want), len(have)) {
		w, h := want[i], have[i]
		ok := w.Name == h.Name && w.Sense == h.Sense
		for _, pair := range [][2]Values{{w.Objective, h.Objective}, {w.Variables, h.Variables}, {w.Multipliers, h.Multipliers}} {
			ok = ok && len(pair[0]) == len(pair[1])
			for k := range min(len(pair[0]), len(pair[1])) {
				a, b := pair[0][k], pair[1][k]
				if ok = ok && a.Name == b.Name && slices.Equal(a.Shape, b.Shape); !ok {
					break
				}
				_, worst := worstDifference(a.Data, b.Data)
				ok = worst <= tolerance.SolveAccuracy*linalg.NormInf(a.Data) || worst == 0
			}
		}
		c.check("follower "+w.Name, ok, "")
	}
}

// gradientCheck checks that the errors said are those between the differences
// and the hypergradient.
func (c *claims) gradientCheck() {
	check := c.r.Check // the errors' sizes, by the document's own numbers
	if check == nil || !c.r.Stationarity.Strict {
		// At a kink the oracle's gradient that was checked need not be the one of the
		// piece that the result shows.
		return
	}
	difference, err := named.Vector(&c.p.IR.Upper, check.Difference)
	if err != nil || c.doc.Hypergradient == nil {
		c.check("gradient check", false, "%v", orNothing(err))
		return
	}
	_, sign := sense(&c.p.IR.Upper)
	sum, size := 0.0, 0.0
	for j, d := range difference {
		sum = math.Hypot(sum, sign*d-c.doc.Hypergradient[j])
		size = math.Max(size, math.Max(math.Abs(d), math.Abs(c.doc.Hypergradient[j])))
	}
	c.check("gradient check: differences", !math.IsInf(size, 1) && !math.IsNaN(sum), "they are not finite")
	c.near("gradient check: error", float64(check.Error), sum, 1e-9*size)
	length := 0.0
	for _, d := range difference {
		length = math.Hypot(length, d)
	}
	c.near("gradient check: relative error", float64(check.Relative)*(1e-300+length), sum, 1e-9*size)
}
