package runtime

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/system"
	"bilevelc/runtime/tolerance"
)

// branching is the follower at a point where branches meet, or it has several multipliers: which of them a direction of x takes, the KKT system tells. nil where the answer is differentiable, or there is
// no such system.
func (p *Problem) branching(x, y, lambda []float64) *tiedPoint {
	if kkt.Applies(p.Numeric) != "" || p.units != nil || system.TooLarge(p.Numeric, true) {
		return nil
	}
	e, err := p.tiedAt(x, y, lambda)
	if err != nil || e.solver.Smooth(e.here) {
		return nil
	}
	return e
}

// sensitivity checks the derivatives of F against the hypergradient, which is derived
// apart from them, where F has one.
func (c *claims) sensitivity() {
	if len(c.r.Sensitivity) == 0 {
		return
	}
	_, sign := sense(&c.p.IR.Upper)
	c.check("sensitivity: one for each entry of x", len(c.r.Sensitivity) == c.p.IR.Upper.Dim, "%d of %d", len(c.r.Sensitivity), c.p.IR.Upper.Dim)
	for j, entry := range entryNames(&c.p.IR.Upper) {
		if j >= len(c.r.Sensitivity) {
			return
		}
		e := c.r.Sensitivity[j]
		c.check("sensitivity: entry", e.Entry == entry, "it is %s", entry)
		c.check("sensitivity to "+e.Entry, c.shaped(e.Right) && (e.Left == nil || c.shaped(e.Left)), "the derivatives are not those of the follower's variables and multipliers")
		if e.Left == nil && e.Right != nil && e.Right.Reason == "" && c.r.Stationarity.Strict && j < len(c.doc.Hypergradient) {
			g := sign * c.doc.Hypergradient[j]
			// Both are differences of a first-order solver's answers.
			within := tolerance.Margin*tolerance.Target*linalg.NormInf(c.doc.Hypergradient) + float64(c.r.Stationarity.GradientError)
			c.near(fmt.Sprintf("sensitivity of F to %s, by the hypergradient", e.Entry), float64(e.Right.Objective), g, within)
		}
	}
	if c.p.tieRule() == "" {
		if e := c.p.branching(c.doc.X, c.doc.Y, c.doc.Lambda); e != nil {
			c.slopes(context.Background(), e)
		}
	}
}

// shaped reports that rates are numbers in the shapes of what they are rates of, with errors
// that are not negative, or say why there are none.
func (c *claims) shaped(r *Rates) bool {
	if r == nil {
		return false
	}
	if r.Reason != "" {
		return math.IsNaN(float64(r.Objective)) && len(r.Variables) == 0 && len(r.Multipliers) == 0
	}
	fits := func(rates, of Values) bool {
		if len(rates) != len(of) {
			return false
		}
		for _, w := range of {
			v, ok := rates.Get(w.Name)
			if !ok || !slices.Equal(v.Shape, w.Shape) || len(v.Data) != len(w.Data) || !linalg.Finite(v.Data) {
				return false
			}
		}
		return true
	}
	return fits(r.Variables, c.r.Lower.Variables) && fits(r.Multipliers, c.r.Lower.Multipliers) &&
		r.ErrorVariables >= 0 && r.ErrorMultipliers >= 0
}
