package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/named"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/system"
	"bilevelc/runtime/tolerance"
)

// sensitivities are those of every entry of x at a point.
func (p *Problem) sensitivities(ctx context.Context, h *oracle.Hyper, pt *oracle.Point) ([]EntrySensitivity, error) {
	s, err := h.Sensitivity(ctx, pt)
	if err != nil {
		return nil, err
	}
	sided := len(s.Undecided) > 0 || named.Unpressed(p.IR.Rows, pt.Lower.Lambda)
	return p.alongEntries(func(dx []float64, sign float64) (*Rates, error) {
		if sign < 0 && !sided {
			return nil, nil
		}
		return p.rates(ctx, s, pt, dx, sign)
	})
}

// alongEntries are the sensitivities of every entry of x, of which rates are those along dx, times sign: to the right, and to the left.
func (p *Problem) alongEntries(rates func(dx []float64, sign float64) (*Rates, error)) (_ []EntrySensitivity, err error) {
	defer must.Catch(&err)
	dx := make([]float64, p.Numeric.Dx)
	out := make([]EntrySensitivity, len(dx))
	for j := range out {
		e := &out[j]
		e.Entry, dx[j] = p.IR.Upper.EntryName(j), 1
		e.Right = must.Get(rates(dx, 1))
		dx[j] = -1
		e.Left = must.Get(rates(dx, -1))
		dx[j] = 0
	}
	return out, nil
}

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

// rates is the derivative along dx, times sign.
func (p *Problem) rates(ctx context.Context, s *oracle.Sensitivity, pt *oracle.Point, dx []float64, sign float64) (*Rates, error) {
	t, err := s.Forward(ctx, dx)
	none := Number(math.NaN())
	if err != nil {
		if ctx.Err() != nil || !errors.As(err, new(*oracle.KinkError)) && !errors.As(err, new(*oracle.LowerError)) {
			return nil, err
		}
		return &Rates{Objective: none, ErrorVariables: none, ErrorMultipliers: none, Reason: err.Error()}, nil
	}
	_, upperSign := sense(&p.IR.Upper)
	lambda, err := p.ownRates(pt.X, p.units.Leave(pt.Lower.Y), pt.Lower.Lambda, dx, p.units.Leave(t.Y), t.Lambda)
	if err != nil {
		return nil, err
	}
	return &Rates{
		Objective:      Number(upperSign*sign*t.F + 0),
		Variables:      named.Variables(&p.IR.Lower, p.units.Leave(t.Y), sign),
		Multipliers:    named.MultiplierRates(p.IR.Rows, pt.Lower.Lambda, lambda, sign),
		ErrorVariables: Number(p.units.LeaveError(t.ErrorY)), ErrorMultipliers: Number(t.ErrorLambda),
	}, nil
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
