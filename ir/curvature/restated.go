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
	if re.Tied {
		out.refused = pr.notRising()
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
		square := pr.Graph.Binary(expr.Mul, k.Variable, k.Variable, k.Span)
		g = pr.plus(g, alpha/2, pr.Graph.Reduce(expr.Sum, square, k.Span))
	}
	return g
}

func (pr *prover) plus(g *expr.Node, weight float64, n *expr.Node) *expr.Node {
	at := pr.Lower.Span
	return pr.Graph.Binary(expr.Add, g, pr.Graph.Binary(expr.Mul, pr.Graph.Number(weight), n, at), at)
}

// notRising finds a kink that the lower objective or a row of the model's own reads,
// alone or within another one that they read, and with which they are not shown to
// rise: its hidden variable would not be pressed against its rows. Where nothing but the
// levels' objectives presses hidden variables (ir.Restated.Tied) it finds one with which the upper
// objective or one of its constraints is not shown to rise, too, and sets ir.Restated.Loose.
func (pr *prover) notRising() *Blame {
	k := pr.hiddenVariables()
	if bad, at := k.risesWith(pr.Lower.Objective, pr.feasible, "the lower objective"); bad != nil {
		bad.upper = pr.Plain != nil && pr.study(pr.Plain, expr.DependsY, pr.feasible, pr.budget()).differentiate(true).gradient[at].isZero()
		return bad
	}
	// So are rows of the model's own that hold the hidden variables down.
	for i, row := range pr.Rows {
		for j, v := range pr.B.Entries(i) {
			if row.Family.Hidden || j < pr.Restated.Declared {
				continue
			}
			k.reads[j] = true
			why := ""
			switch {
			case row.Equal:
				why = "it is an equality"
			case v > 0:
				why = "it has the wrong curvature there"
			default:
				continue
			}
			out := k.blame(j, why)
			out.row = row.Family.Name
			return out
		}
	}
	if bad := k.within(); bad != nil || !pr.Restated.Tied {
		return bad
	}
	loose := make([]bool, pr.Lower.Dim)
	for j := pr.Restated.Declared; j < pr.Lower.Dim; j++ {
		loose[j] = !k.reads[j]
	}
	f, dom := pr.Upper.Objective, pr.withMultipliers(pr.feasible)
	if pr.Penalized != nil { // the weights of constraints are the last variables
		f, dom.y = pr.Penalized, slices.Clone(dom.y)
		for _, row := range pr.Coupled {
			weight := wholeLine()
			if !row.Equal {
				weight.Lo = 0
			}
			dom.y = append(dom.y, weight)
		}
	}
	if bad, _ := k.risesWith(f, dom, "the upper level"); bad != nil {
		return bad
	}
	if slices.Contains(loose, true) {
		pr.Restated.Loose = loose
	}
	return k.within()
}

// hiddenVariables are those of kinks, and which of them something reads that is to rise with them.
type hiddenVariables struct {
	*prover
	owner []*ir.Kink // of each entry of y
	reads []bool
}

func (pr *prover) hiddenVariables() *hiddenVariables {
	out := &hiddenVariables{pr, make([]*ir.Kink, pr.Lower.Dim), make([]bool, pr.Lower.Dim)}
	for i := range pr.Restated.Kinks {
		k := &pr.Restated.Kinks[i]
		for j := range k.Variable.Shape.Len() {
			out.owner[k.Variable.Offset+j] = k
		}
	}
	return out
}

func (h *hiddenVariables) blame(j int, reason string) *Blame {
	k := h.owner[j]
	return &Blame{Expr: k.Text, Place: place(k.Span), Reason: reason, Span: k.Span}
}

// risesWith finds a kink with which an expression is not shown to rise, and the entry of y that it is.
func (h *hiddenVariables) risesWith(n *expr.Node, dom domain, name string) (bad *Blame, at int) {
	s := newStudy(h.Graph, n, expr.DependsY, dom, h.budget())
	s.shares = h.shares
	slopes := s.differentiate(true).gradient
	for j := h.Restated.Declared; j < h.Lower.Dim; j++ {
		if slopes[j].isZero() {
			continue
		}
		h.reads[j] = true
		switch {
		case slopes[j].Lo >= 0:
		case slopes[j].Hi <= 0:
			bad = h.blame(j, "it has the wrong curvature here: no row can hold a variable to it")
			bad.fix = "use " + smoothKinks
		default:
			bad = h.blame(j, name+" is not shown to rise with it")
		}
		if bad != nil {
			own, foreign := h.Lower.Span, h.Upper.Span
			if n != h.Lower.Objective {
				own, foreign = foreign, own
			}
			if k := strings.Index(own.Text(), bad.Span.Text()); k >= 0 && !bad.Span.IsZero() { // as own says it, too
				bad.Span = diag.Span{Source: own.Source, Start: own.Start + k, End: own.Start + k + len(bad.Span.Text())}
			}
			bad.Span = ownSpan(bad.Span, own, foreign)
			bad.Place = place(bad.Span)
			return bad, j
		}
	}
	return nil, 0
}

// within finds a kink inside another one that is read, which does not rise with it, and sets reads of the others.
func (h *hiddenVariables) within() *Blame {
	// The rows u/r - t <= 0 of later kinks first: t is the last column of its row.
	for i := len(h.Rows) - 1; i >= 0 && h.Rows[i].Family.Hidden; i-- {
		cols, vals := h.B.Row(i)
		last := len(cols) - 1
		if !h.reads[cols[last]] {
			continue
		}
		for c, j := range cols[:last] {
			if j < h.Restated.Declared {
				continue
			}
			if h.reads[j] = true; vals[c] > 0 {
				return h.blame(j, "within `"+h.owner[cols[last]].Text+"` it has the wrong curvature")
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

// smoothKinks is what a kink that no row takes may be instead.
const smoothKinks = "a smooth function such as smoothabs(u, eps), smoothmax(u, v, eps) or huber(u, delta)"

// restatedDiagnostics are the kinks that could not be restated.
func (p *Proof) restatedDiagnostics(out *diag.List) {
	if b := p.refused; b != nil {
		d := out.Errorf(diag.NotSmooth, b.Span, "`%s` cannot be restated by rows", b.Expr)
		d.Detail = b.Reason + ": a kink of the lower objective is restated where it is convex and the objective rises with it"
		switch {
		case b.upper:
			d.Detail = b.Reason + ": where the follower breaks ties in the leader's favour, a kink of the upper objective is restated that the leader keeps down"
			d.Fix = "`abs`, `max` and norms take part where they are to be small, `min` where it is to be large; or use a smooth function such as smoothabs(u, eps) or smoothmax(u, v, eps)"
			return
		case b.row != "":
			d.Detail = "the points at which `" + b.row + "` holds are not convex: " + b.Reason
			d.Fix = "a row of the lower level takes a convex kink where it is to be small, and a concave one where it is to be large, as in `max(a, b) <= c` and `min(a, b) >= c`"
			return
		case p.maximize:
			d.Detail = b.Reason + ": a kink of a lower objective that is maximized is restated where it is concave and the objective falls with it"
		}
		if d.Fix = b.fix; b.fix == "" {
			d.Fix = "bound what it is multiplied with so that its sign is known, as by `nonneg` or box(0, 10), or use " + smoothKinks
		}
	}
	if b := p.open; b != nil && p.Convexity.Outcome != refuted {
		d := out.Errorf(diag.NotSmooth, p.kinks[0].Span, "`%s` cannot be restated by rows", p.kinks[0].Text)
		d.Detail = fmt.Sprintf("the curvature that its hidden variable needs is taken from that of the lower objective in y, which is not proved: %s: %s", b.Expr, b.Reason)
		d.Fix = "add a strongly convex term, such as " + p.quadraticTerm() + ", or use a smooth function such as smoothabs(u, eps) or smoothmax(u, v, eps)"
	}
}

// NotRestated is a kink that could not be restated by rows; nil where all were.
func (p *Proof) NotRestated() *Blame { return p.refused }

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
