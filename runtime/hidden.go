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
