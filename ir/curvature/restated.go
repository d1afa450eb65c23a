package curvature

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// strengthen gives the hidden variables of restated kinks the curvature that strong
// convexity in (y, p) needs (ir.Restated): it finds the weight of their terms, and
// adds these to the lower objective.
func (pr *prover) strengthen(out *Proof) {
	re := pr.Restated
	if re == nil || re.Alpha > 0 || re.Curve == nil {
		return
	}
	abstract := len(pr.Unbound) > 0
	if !abstract {
		if out.refused = pr.notRising(); out.refused != nil {
			return
		}
	}
	// m(alpha), the least eigenvalue of H + alpha P (ir.Restated), rises with alpha to the least one
	// in y. The weight is to be about that: a smaller one gives the hidden variables
	// less curvature than the others have, a larger one is more than the others can bear.
	g := pr.Lower.Objective
	rising, alpha := true, 1.0
	var last *attempt
	for range strengthTries {
		var a *attempt
		if a, last = pr.proveConvex(pr.withCurve(g, alpha)); a == nil {
			break
		}
		if m := a.modulus; m >= 0.75*alpha {
			re.Alpha, re.Modulus = alpha, m-alpha/2
			out.step, out.scope = a.derivation(pr), a.scope
			if !rising || m < enough*alpha {
				break
			}
			alpha *= strengthGrowth
		} else {
			rising, alpha = false, math.Min(m, alpha/2)
		}
	}
	if re.Alpha == 0 {
		pr.Lower.Objective = pr.withCurve(g, 1) // whose witness is one in y
		out.open = last.blame(pr)
		return
	}
	if abstract { // coefficients of the rows are not known
		pr.Lower.Objective = pr.withCurve(g, re.Alpha)
		return
	}
	pr.Lower.Objective = pr.plus(g, re.Alpha, re.Curve)
}

const (
	strengthTries  = 12
	strengthGrowth = 64
	// enough is the share of alpha from which the least eigenvalue may be that of the
	// hidden variables.
	enough = 0.99
)

// withCurve is g + alpha/2 |t|^2.
func (pr *prover) withCurve(g *expr.Node, alpha float64) *expr.Node {
	for _, k := range pr.Restated.Kinks {
		square := must(pr.Graph.Binary(expr.Mul, k.Variable, k.Variable, k.Span))
		if k.Variable.Shape.Rank > 0 {
			square = must(pr.Graph.Reduce(expr.Sum, square, k.Span))
		}
		g = pr.plus(g, alpha/2, square)
	}
	return g
}

func (pr *prover) plus(g *expr.Node, weight float64, n *expr.Node) *expr.Node {
	at := pr.Lower.Span
	return must(pr.Graph.Binary(expr.Add, g, must(pr.Graph.Binary(expr.Mul, pr.Graph.Number(weight), n, at)), at))
}

// must is the node of shapes that agree.
func must(n *expr.Node, err error) *expr.Node {
	if err != nil {
		panic("curvature: " + err.Error())
	}
	return n
}

// notRising finds a kink that the lower objective or a row of the model's own reads,
// alone or within another one that they read, and with which they are not shown to
// rise: its hidden variable would not be pressed against its rows.
func (pr *prover) notRising() *Blame {
	re := pr.Restated
	s := pr.study(pr.Lower.Objective, expr.DependsY, pr.feasible, pr.budget())
	slopes := s.differentiate(true).gradient
	owner := make([]*ir.Kink, pr.Lower.Dim)
	for i := range re.Kinks {
		k := &re.Kinks[i]
		for j := range k.Variable.Shape.Len() {
			owner[k.Variable.Offset+j] = k
		}
	}
	blame := func(j int, reason string) *Blame {
		k := owner[j]
		return &Blame{Expr: k.Text, Place: place(k.Span), Reason: reason, Span: k.Span}
	}
	reads := make([]bool, pr.Lower.Dim)
	for j := re.Declared; j < pr.Lower.Dim; j++ {
		switch reads[j] = !slopes[j].isZero(); {
		case slopes[j].Lo >= 0:
		case slopes[j].Hi <= 0:
			return blame(j, "it has the wrong curvature here: no row can hold a variable to it")
		default:
			return blame(j, "the lower objective is not shown to rise with it")
		}
	}
	// So are rows of the model's own that hold the hidden variables down.
	for i, row := range pr.Rows {
		cols, vals := pr.B.Row(i)
		for c, j := range cols {
			if row.Family.Hidden || j < re.Declared {
				continue
			}
			reads[j] = true
			why := ""
			switch {
			case row.Equal:
				why = "it is an equality"
			case vals[c] > 0:
				why = "it has the wrong curvature there"
			default:
				continue
			}
			out := blame(j, why)
			out.row = row.Family.Name
			return out
		}
	}
	// The rows u/r - t <= 0 of later kinks first: t is the last column of its row.
	for i := len(pr.Rows) - 1; i >= 0 && pr.Rows[i].Family.Hidden; i-- {
		cols, vals := pr.B.Row(i)
		last := len(cols) - 1
		if !reads[cols[last]] {
			continue
		}
		for c, j := range cols[:last] {
			if j < re.Declared {
				continue
			}
			if reads[j] = true; vals[c] > 0 {
				return blame(j, "within `"+owner[cols[last]].Text+"` it has the wrong curvature")
			}
		}
	}
	return nil
}

// restatedConvexity is the claim about the objective with the terms of its hidden
// variables, whose modulus was found with their weight.
func (pr *prover) restatedConvexity(out *Proof) Convexity {
	re := pr.Restated
	step := &Step{Claim: fmt.Sprintf("the second derivative of g in y and the hidden variables is at least mu = %s", number(re.Modulus)), Modulus: &re.Modulus,
		Rule: fmt.Sprintf("kinks restated by rows, with the weight %s for what presses the hidden variables to them, half of which is taken from the rest", number(re.Alpha)),
		Span: pr.Lower.Span, Place: place(pr.Lower.Span)}
	scope := everywhere
	if out.step != nil {
		step.From, step.children = []*Step{out.step}, 1
		scope = out.scope
	}
	return Convexity{Outcome: proved, Modulus: re.Modulus, Scope: scope, Derivation: step}
}

// restatedDiagnostics are the kinks that could not be restated.
func (p *Proof) restatedDiagnostics(out *diag.List) {
	if b := p.refused; b != nil {
		d := out.Errorf(diag.NotSmooth, b.Span, "`%s` cannot be restated by rows", b.Expr)
		d.Detail = b.Reason + ": a kink of the lower objective is restated where it is convex and the objective rises with it"
		switch {
		case b.row != "":
			d.Detail = "the points at which `" + b.row + "` holds are not convex: " + b.Reason
			d.Fix = "a row of the lower level takes a convex kink where it is to be small, and a concave one where it is to be large, as in `max(a, b) <= c` and `min(a, b) >= c`"
			return
		case p.maximize:
			d.Detail = b.Reason + ": a kink of a lower objective that is maximized is restated where it is concave and the objective falls with it"
		}
		d.Fix = "use a smooth function such as smoothabs(u, eps), smoothmax(u, v, eps) or huber(u, delta)"
	}
	if b := p.open; b != nil && p.Convexity.Outcome != refuted {
		d := out.Errorf(diag.NotSmooth, p.kinks[0].Span, "`%s` cannot be restated by rows", p.kinks[0].Text)
		d.Detail = fmt.Sprintf("the curvature that its hidden variable needs is taken from that of the lower objective in y, which is not proved: %s: %s", b.Expr, b.Reason)
		d.Fix = "add a strongly convex term, such as " + p.quadraticTerm() + ", or use a smooth function such as smoothabs(u, eps) or smoothmax(u, v, eps)"
	}
}

// restatedText is what `check` says of the kinks.
func (p *Proof) restatedText() string {
	if len(p.kinks) == 0 || p.refused != nil || p.open != nil {
		return ""
	}
	var places []string
	entries := 0
	for _, k := range p.kinks {
		entries += k.Variable.Shape.Len()
		if text := "`" + k.Text + "`"; !slices.Contains(places, text) {
			places = append(places, text)
		}
	}
	if more := len(places) - maxSteps; more > 0 {
		places = append(places[:maxSteps], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s: by %d hidden lower variable%s and %d rows", strings.Join(places, ", "), entries, diag.Plural(entries), 2*entries)
}

// foldedText is what `check` says of constraints on x alone with kinks.
func (p *Proof) foldedText() string {
	var parts []string
	for _, f := range p.folded {
		text := fmt.Sprintf("`%s`: %d row%s of X", f.Family.Name, f.Rows, diag.Plural(f.Rows))
		if f.Extra > 0 {
			text += fmt.Sprintf(" with %d further variable%s", f.Extra, diag.Plural(f.Extra))
		}
		parts = append(parts, text)
	}
	if more := len(parts) - maxSteps; more > 0 {
		parts = append(parts[:maxSteps], fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}
