package runtime

import (
	"fmt"
	"math"
	"slices"

	"bilevelc/ir"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/problem"
)

// verifySummaries checks the numbers that sum up what the certificate proves:
// the senses, the KKT residuals, the active rows, the stationarity measure.
func (p *Problem) verifySummaries(r *Result, doc *certify.Document, add func(claim string, ok bool, detail string)) {
	for _, level := range []struct {
		name  string
		claim string
		of    *ir.Level
	}{{"upper", r.Upper.Sense, &p.IR.Upper}, {"lower", r.Lower.Sense, &p.IR.Lower}} {
		word, _ := sense(level.of)
		add("sense of the "+level.name+" level", level.claim == word, "the model says "+word)
	}
	found := p.residualsAt(doc)
	for _, c := range []struct {
		name           string
		claimed, found float64
	}{
		{"stationarity", float64(r.Residuals.Stationarity), found.Stationarity},
		{"primal", float64(r.Residuals.Primal), found.Primal},
		{"dual", float64(r.Residuals.Dual), found.Dual},
		{"complementarity", float64(r.Residuals.Complementarity), found.Complementarity},
		{"upper", float64(r.Residuals.Upper), p.upperViolation(doc.X)},
	} {
		ok := math.Abs(c.claimed-c.found) <= residualTolerance*(1+found.Scale)
		add("residual: "+c.name, ok, fmt.Sprintf("claimed %.3g, found %.3g", c.claimed, c.found))
	}
	if r.Certificate == nil {
		return
	}
	if lower := r.Certificate.Lower; lower != nil {
		add("active rows by name", slices.Equal(r.Lower.Active, rowNames(p.IR.Rows, lower.Active)), "")
	}
	norm := math.NaN()
	if g := r.Certificate.Goldstein; g != nil {
		norm = g.Norm
	} else if m := r.Certificate.GradientMapping; m != nil {
		norm = m.Norm
	}
	if !math.IsNaN(norm) {
		claimed := float64(r.Stationarity.Value)
		ok := math.Abs(claimed-norm) <= measureTolerance*(norm+maxAbs(doc.Hypergradient))
		add("stationarity measure", ok, fmt.Sprintf("claimed %.3g, the certificate gives %.3g", claimed, norm))
	}
}

const (
	// residualTolerance is how far KKT residuals may be from what is found
	// here, relative to the gradient of g: both are sums of cancelling terms,
	// and a point is accepted as solved to about 1e-8.
	residualTolerance = 1e-6
	// measureTolerance is the cancellation in a norm of a combination of
	// gradients, relative to the gradients.
	measureTolerance = 1e-9
)

// residualsAt evaluates the KKT conditions at the document's point, each in
// the max norm (lower.Residuals says what each is), and the size of the
// gradient of g.
func (p *Problem) residualsAt(doc *certify.Document) (found struct{ Stationarity, Primal, Dual, Complementarity, Scale float64 }) {
	rows := p.Numeric.Rows
	gradient := make([]float64, p.Numeric.Dy)
	p.Numeric.G.GradY(gradient, doc.X, doc.Y)
	found.Scale = maxAbs(gradient)
	h := make([]float64, rows.Len())
	rows.Residual(h, doc.X, doc.Y)
	for i, v := range h {
		cols, vals := rows.B.Row(i)
		for k, j := range cols {
			gradient[j] -= vals[k] * doc.Lambda[i]
		}
		if rows.Kind[i] == problem.Equal {
			found.Primal = math.Max(found.Primal, math.Abs(v))
			continue
		}
		found.Primal = math.Max(found.Primal, v)
		found.Dual = math.Max(found.Dual, -doc.Lambda[i])
		found.Complementarity = math.Max(found.Complementarity, math.Abs(doc.Lambda[i]*v))
	}
	found.Stationarity = maxAbs(gradient)
	return found
}
