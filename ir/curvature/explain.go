package curvature

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// Step is one node of a derivation: what is claimed, by which rule, of which
// part of the model, from which parts.
type Step struct {
	Claim    string
	Rule     string    `json:",omitempty"`
	Expr     string    `json:",omitempty"`
	Place    string    `json:",omitempty"`
	Range    *Interval `json:",omitempty"` // of the part's value
	Modulus  *float64  `json:",omitempty"` // what the part adds at least
	From     []*Step   `json:",omitempty"`
	Span     diag.Span `json:"-"`
	children int       // parts left out of From
}

// maxSteps bounds the parts that one step lists: a sum of thousands of terms
// is explained by its first ones.
const maxSteps = 12

// write prints the tree with two spaces a level.
func (st *Step) write(out *strings.Builder, depth int) {
	fmt.Fprintf(out, "%s%s\n", strings.Repeat("  ", depth), st.line())
	for _, c := range st.From {
		c.write(out, depth+1)
	}
	if st.children > len(st.From) {
		fmt.Fprintf(out, "%s... and %d more\n", strings.Repeat("  ", depth+1), st.children-len(st.From))
	}
}

func (st *Step) line() string {
	line := st.Claim
	if st.Expr != "" {
		line = fmt.Sprintf("%s: %s", st.Expr, line)
	}
	if st.Rule != "" {
		line += " (" + st.Rule + ")"
	}
	if st.Place != "" {
		line += " at " + st.Place
	}
	return line
}

// spanOf is where the model says n. Equal expressions are one node, which knows
// its first place only: where that lies in the other level's objective, it
// would mislead, and the study's own objective stands in.
func (s *study) spanOf(n *expr.Node) diag.Span { return ownSpan(n.Span, s.own, s.foreign) }

func ownSpan(at, own, foreign diag.Span) diag.Span {
	in := func(outer diag.Span) bool {
		return outer.Source != nil && at.Source == outer.Source && outer.Start <= at.Start && at.End <= outer.End
	}
	if in(foreign) && !in(own) {
		return own
	}
	return at
}

// text is a node as the model writes it, in one line.
func (s *study) text(n *expr.Node) string {
	if t := strings.Join(strings.Fields(n.Span.Text()), " "); t != "" {
		const room = 60
		if r := []rune(t); len(r) > room {
			t = string(r[:room-3]) + "..."
		}
		return t
	}
	if n.Name != "" {
		return n.Name
	}
	return n.Op.String()
}

func place(at diag.Span) string {
	if at.IsZero() {
		return ""
	}
	return at.String()
}

func (s *study) blameNode(n *expr.Node, reason string) *Blame {
	at := s.spanOf(n)
	return &Blame{Expr: s.text(n), Place: place(at), Reason: reason, Span: at}
}

func (s *study) blameTerm(t *term, reason string) *Blame {
	return s.blameNode(t.node, fmt.Sprintf("%s: %s", t.rule, reason))
}

// hullOf is the common range of many.
func hullOf(ranges []Interval) Interval {
	if len(ranges) == 0 {
		return Interval{}
	}
	out := ranges[0]
	for _, r := range ranges[1:] {
		out = out.hull(r)
	}
	return out
}

// termSteps explains the parts of a Hessian.
func (s *study) termSteps(terms []term) (steps []*Step) {
	for i := range terms[:min(len(terms), maxSteps)] {
		t := &terms[i]
		w := hullOf(t.w)
		st := &Step{Rule: t.rule, Expr: s.text(t.node), Place: place(s.spanOf(t.node)), Span: s.spanOf(t.node), Range: &w}
		switch {
		case t.matrix:
			st.Claim = "adds its matrix, times " + w.String()
		case !t.square():
			st.Claim = "adds mixed second derivatives, weight " + w.String()
		case w.Lo >= 0 && s.direct(t):
			d := w.Lo
			st.Modulus = &d
			st.Claim = fmt.Sprintf("adds at least %s in each of its entries", number(w.Lo))
		case w.Lo >= 0:
			st.Claim = "adds a positive semidefinite part, weight " + w.String()
		default:
			st.Claim = "has second derivatives between " + number(w.Lo) + " and " + number(w.Hi)
		}
		st.From = s.factorSteps(t)
		steps = append(steps, st)
	}
	return steps
}

// direct reports that the rows of a term's Jacobian are single unit entries:
// the term is a function of entries of y themselves.
func (s *study) direct(t *term) bool {
	j, ok := s.jacs[t.arg]
	if !ok || j.unknown || j.scale != nil {
		return false
	}
	for k := range j.rows {
		_, mid, rad := j.row(k)
		if len(mid) != 1 || math.Abs(mid[0]) != 1 || rad != nil && rad[0] != 0 {
			return false
		}
	}
	return true
}

// maxFactors bounds the ranges listed for one term.
const maxFactors = 6

// factorSteps lists the ranges of the factors without y that weigh a term:
// the operands beside the way from the objective to it.
func (s *study) factorSteps(t *term) (steps []*Step) {
	reaches := map[*expr.Node]bool{t.node: true}
	seen := map[*expr.Node]bool{}
	for _, n := range s.nodes() {
		if slices.ContainsFunc(n.Args, func(a *expr.Node) bool { return reaches[a] }) {
			reaches[n] = true
		}
	}
	var visit func(n *expr.Node)
	list := func(n *expr.Node) {
		if n.Deps == 0 || s.varies(n) || seen[n] || len(steps) >= maxFactors {
			return
		}
		seen[n] = true
		r := hullOf(s.rangeOf(n))
		st := &Step{Claim: "ranges over " + r.String(), Expr: s.text(n), Place: place(s.spanOf(n)), Range: &r, Span: s.spanOf(n)}
		for _, v := range expr.Reachable(n) {
			if v.Op == expr.Var && v != n && len(st.From) < maxFactors {
				vr := hullOf(s.rangeOf(v))
				st.From = append(st.From, &Step{Claim: "ranges over " + vr.String(), Expr: v.Name, Range: &vr, Rule: "the declared set"})
			}
		}
		steps = append(steps, st)
	}
	visit = func(n *expr.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		scales := n.Op == expr.Mul || n.Op == expr.Div || n.Op == expr.Dot || n.Op == expr.MatVec || n.Op == expr.Pow
		for _, a := range n.Args {
			if scales && s.varies(n) && !s.varies(a) {
				list(a)
			}
		}
		for _, a := range n.Args {
			if s.varies(a) && reaches[a] {
				visit(a)
			}
		}
	}
	visit(s.root)
	for _, n := range []*expr.Node{t.node, t.arg, t.other} {
		if n != nil && s.fused(n) != nil {
			for _, step := range s.fusions[n].steps {
				visit(step)
			}
		}
	}
	return steps
}

// derivation explains a modulus.
func (a *attempt) derivation(pr *prover) *Step {
	st := &Step{Span: pr.Lower.Span, Place: place(pr.Lower.Span), children: len(a.terms)}
	switch {
	case a.modulus <= 0 && a.form.failed != nil:
		st.Claim = "no lower bound on the second derivative of g in y"
	case a.modulus <= 0:
		st.Claim = fmt.Sprintf("the second derivative of g in y is at least %s", number(a.extreme.bound))
	default:
		st.Claim = fmt.Sprintf("the second derivative of g in y is at least mu = %s, %s and x in X", number(a.modulus), a.scope)
		m := a.modulus
		st.Modulus = &m
	}
	switch {
	case a.scope == alongEqualities:
		st.Rule = "smallest eigenvalue of the sum of the parts, along the equality rows"
	case a.coarse:
		st.Rule = "sum of the parts, entry by entry"
	default:
		st.Rule = "smallest eigenvalue of the sum of the parts"
	}
	st.From = a.termSteps(a.terms)
	return st
}

func (s *study) boundStep(terms []term, value float64) *Step {
	return &Step{Claim: "the norm of the second derivative is at most " + number(value),
		Rule: "largest eigenvalue of the sum of the parts", From: s.termSteps(terms), children: len(terms)}
}

func (s *study) gradientStep(value float64) *Step {
	return &Step{Claim: "the norm of the gradient is at most " + number(value), Rule: "ranges of its entries"}
}

// blame finds the part that an attempt failed at.
func (a *attempt) blame(pr *prover) *Blame {
	if e := a.escape; e != nil {
		return a.blameNode(e.node, e.reason)
	}
	if t := a.form.failed; t != nil {
		if data := expr.Missing(t.node); data != "" {
			return a.blameTerm(t, "its sign depends on data that is not supplied ("+data+")")
		}
		return a.blameTerm(t, "its second derivative has no lower bound over the ranges of x and y")
	}
	// The part that may take most away.
	var worst *term
	least := 0.0
	for i := range a.terms {
		if n := float64(a.cols()); !a.work.spend(sampleWork * n * n) { // a form of its own
			break
		}
		if own := a.below(a.terms[i:i+1], false).least(a.work, effort{}).bound; own < least {
			worst, least = &a.terms[i], own
		}
	}
	if worst != nil && !worst.matrix {
		return a.blameTerm(worst, fmt.Sprintf("it may take up to %s away from the second derivative over the ranges of x and y", number(-least)))
	}
	reason := "no part of it is shown to curve in every direction of y"
	if name := pr.directionText(a.extreme); name != "" {
		reason = "its second derivative " + name + " is not shown to be positive"
	}
	return a.blameNode(pr.Lower.Objective, reason)
}
