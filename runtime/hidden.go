package runtime

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/tolerance"
)

// What was made of functions with kinks (ir.Restated), hidden variables and rows of
// the lower level, is no part of what a result says. The certificate, which is about
// the problem that was solved, keeps their values as evidence.

// hidden reports that row i is none of the model's own.
func hidden(rows []ir.Row, i int) bool { return rows[i].Family.Hidden }

// evidence is the hidden part of a lower solution; nil where there is none.
func (p *Problem) evidence(s *lower.Solution) *certify.Hidden {
	re := p.IR.Restated
	if re == nil {
		return nil
	}
	out := &certify.Hidden{Values: slices.Clone(s.Y[re.Declared:])}
	for i := range p.IR.Rows {
		if hidden(p.IR.Rows, i) {
			out.Multipliers = append(out.Multipliers, s.Lambda[i])
		}
	}
	return out
}

// restore puts the hidden part of a document's certificate into its y and lambda.
func (p *Problem) restore(doc *certify.Document) error {
	re := p.IR.Restated
	if re == nil {
		return nil
	}
	var h *certify.Hidden
	if doc.Certificate != nil && doc.Certificate.Lower != nil {
		h = doc.Certificate.Lower.Hidden
	}
	places := each.WhereBelow(len(p.IR.Rows), func(i int) bool { return hidden(p.IR.Rows, i) })
	if h == nil || len(h.Values) != p.IR.Lower.Dim-re.Declared || len(h.Multipliers) != len(places) {
		return fmt.Errorf("the certificate lacks the %d values and %d multipliers of what restates functions with kinks", p.IR.Lower.Dim-re.Declared, len(places))
	}
	copy(doc.Y[re.Declared:], h.Values)
	linalg.Scatter(doc.Lambda, places, h.Multipliers)
	return nil
}

// kinks checks that the objective is f at the document's x and the model's own y, what restates kinks being the larger of its sides, which two rows each keep it above: they are no part of what a document may say not to be
// solved. It is f to what the rows may be off by, by their terms.
func (c *claims) kinks() {
	re := c.p.IR.Restated
	if re == nil {
		return
	}
	rows, x, y := c.p.Numeric.Rows, c.doc.X, slices.Clone(c.doc.Y)
	slope, terms, open := make([]float64, c.p.Numeric.AnswerLen()), make([]float64, len(y)), slices.Repeat([]bool{true}, len(y))
	c.p.Numeric.F.GradY(slope, x, c.p.Numeric.Answer(y, c.doc.Lambda))
	for i := range c.p.IR.Rows { // those of a kink before those of kinks that read it
		cols, vals := rows.B.Row(i)
		if !hidden(c.p.IR.Rows, i) || len(cols) == 0 {
			continue
		}
		k := 0 // the entry that the row is of: its side reads none behind it
		for at, j := range cols {
			if j > cols[k] {
				k = at
			}
		}
		j := cols[k]
		side := y[j] + (rows.A.RowDot(i, x)-rows.Rhs[i]-rows.B.RowDot(i, y))/vals[k]
		terms[j] = math.Max(terms[j], rows.B.AddTerms(rows.A.AddTerms(math.Abs(rows.Rhs[i]), i, x), i, y)/vals[k])
		if open[j] || side > y[j] {
			y[j], open[j] = side, false
		}
	}
	size := 0.0
	for j, t := range terms {
		size += math.Abs(slope[j]) * t
	}
	f := c.p.Numeric.F.Value(x, c.p.Numeric.Answer(y, c.doc.Lambda))
	c.check("objective with the kinks at the model's own variables", math.Abs(c.doc.Upper-f) <= tolerance.Target*math.Max(size, math.Abs(f)), "claimed %.10g, found %.10g, to be minimized", c.doc.Upper, f)
}

// margins are the least multiplier of the active inequalities and the least slack of
// the inactive ones among the model's own rows. Conditions on x alone do not count:
// they are no part of y's complementarity.
func (p *Problem) margins(s *lower.Solution, active, weak []int, h []float64) (multiplier, slack float64) {
	listed := map[int]bool{}
	for _, list := range [][]int{active, weak, s.Dependent} {
		for _, i := range list {
			listed[i] = true
		}
	}
	multiplier, slack = math.Inf(1), math.Inf(1)
	for _, i := range active {
		if row := p.IR.Rows[i]; !row.Equal && !row.Family.Hidden {
			multiplier = math.Min(multiplier, s.Lambda[i])
		}
	}
	for i, row := range p.IR.Rows {
		if cols, _ := p.IR.B.Row(i); !row.Equal && !row.Family.Hidden && !listed[i] && len(cols) > 0 {
			slack = math.Min(slack, -h[i])
		}
	}
	return multiplier, slack
}
