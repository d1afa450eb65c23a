package curvature

import (
	"fmt"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/lang/diag"
)

// quadraticTerm is a strongly convex term in the lower variables.
func (p *Proof) quadraticTerm() string {
	terms := each.Of(p.variables, func(v string) string { return "sumsq(" + v + ")" })
	if len(terms) == 1 {
		return "0.01 * " + terms[0]
	}
	return "0.01 * (" + strings.Join(terms, " + ") + ")"
}

// Diagnostics are the findings that the user must hear of: errors where the
// methods do not apply, warnings where that is open (errors under strict).
func (p *Proof) Diagnostics(strict bool) diag.List {
	var out diag.List
	open := func(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
		if strict {
			return out.Errorf(code, at, format, args...)
		}
		return out.Warnf(code, at, format, args...)
	}
	if p.restatedDiagnostics(&out); p.refused != nil {
		return out
	}
	p.smoothnessDiagnostics(&out, open, "the upper objective", p.SmoothF)
	p.smoothnessDiagnostics(&out, open, "the lower objective", p.SmoothG)
	shape, sign, fix, other := "convex", 1.0, "add", "maximize"
	if p.maximize {
		shape, sign, fix, other = "concave", -1, "subtract", "minimize"
	}
	names := strings.Join(p.variables, " and ")
	switch c := p.Convexity; {
	case c.Outcome == refuted:
		d := out.Errorf(diag.NotStronglyConvex, p.objective, "the lower objective is not strongly %s in %s", shape, names)
		w := c.Witness
		d.Detail = fmt.Sprintf("%s its second derivative is %s", w.Text, number(sign*w.Curvature))
		if w.Flat {
			d.Detail = w.Text + " it does not curve at all: its second derivative is 0"
		}
		if len(w.Ends) > 0 {
			d.Detail = fmt.Sprintf("%s it is not %s: its second difference is %s between two feasible points", w.Text, shape, number(sign*w.Curvature))
		}
		if w.Undefined {
			d.Detail = w.Text + " it is not defined between two feasible points"
		}
		if w.At != "" {
			d.Detail += ", at " + w.At
		}
		d.Detail += fmt.Sprintf("; so the best %s need not be unique", names)
		d.Fix = fmt.Sprintf("%s a strongly convex term, such as %s, over all entries of the lower variables", fix, p.quadraticTerm())
		if !w.Flat && !w.Undefined && !c.Convex {
			d.Fix = fmt.Sprintf("is a sign wrong, or is it meant to be `%s`? Otherwise %s", other, d.Fix)
		}
		if len(w.Ends) > 0 {
			d.Fix = "bound the lower variable, or what is divided by, so that it stays on one side of the place where it is not defined"
		}
		const choose = "say which of its best answers is meant: `solve { ties = optimistic }` or `least_norm`"
		switch {
		case c.Linear:
			d.Detail = fmt.Sprintf("it is linear in %s: %s, but the best %s need not be unique", names, shape, names)
			d.Fix = choose + "; or " + d.Fix
		case c.Convex:
			d.Fix += fmt.Sprintf("; or, as it is %s, %s", shape, choose)
		case w.Flat:
			d.Fix += fmt.Sprintf("; or, if it is %s, %s", shape, choose)
		}
	case c.Outcome == unknown && (p.SmoothG.Outcome == refuted || p.open != nil): // said already
	case c.Outcome == unknown && c.Blame != nil:
		at := c.Blame.Span
		if at.IsZero() {
			at = p.objective
		}
		d := open(diag.ConvexityUnknown, at, "it is not known whether the lower objective is strongly %s in %s", shape, names)
		d.Detail = fmt.Sprintf("%s: %s", c.Blame.Expr, c.Blame.Reason)
		d.Context = p.objective
	case c.Outcome == proved && c.Scope == alongEqualities:
		d := open(diag.ConvexityWeak, p.objective, "the lower objective is strongly %s only along the equality rows", shape)
		d.Detail = fmt.Sprintf("mu = %s between y that satisfy them; y*(x) is unique, but a method that leaves them may meet no curvature", number(c.Modulus))
	}
	repeated := map[diag.Span]*diag.Diagnostic{} // the first row of each family, which stands for the others
	for _, d := range p.Qualification.Dependent {
		if !d.Equality {
			continue
		}
		if first := repeated[d.Span]; d.Redundant && first != nil {
			first.Detail += "; " + d.Row + " does so too"
			continue
		}
		switch {
		case d.Inconsistent:
			e := out.Errorf(diag.EqualityInconsistent, d.Span, "%s contradicts other equality constraints: no y satisfies them, whatever x is", d.Row)
			e.Detail = "in y it is a combination of them: " + d.Text
		case d.Redundant:
			e := open(diag.RowsDependent, d.Span, "%s repeats other equality constraints", d.Row)
			e.Detail = d.Text + "; its multiplier is not unique"
			repeated[d.Span] = e
		default:
			e := open(diag.EqualityBindsX, d.Span, "%s and other equality constraints can hold only for some x", d.Row)
			e.Detail = "in y it is a combination of them: " + d.Text + "; what remains is an equation in x alone, which belongs in the upper level"
		}
	}
	return out
}

func (p *Proof) smoothnessDiagnostics(out *diag.List, open func(diag.Code, diag.Span, string, ...any) *diag.Diagnostic, what string, s Smoothness) {
	for _, b := range s.Blames {
		at := b.Span
		if at.IsZero() {
			at = p.objective
		}
		if s.Outcome == refuted {
			d := out.Errorf(diag.NotSmooth, at, "%s is not continuously differentiable", what)
			d.Detail = b.Reason
			continue
		}
		d := open(diag.SmoothnessUnknown, at, "%s may not be continuously differentiable everywhere", what)
		d.Detail, d.Fix = b.Reason, b.fix
	}
}

// Claim is one line of a proof: what is asked, and what was found about it.
type Claim struct {
	Name, Finding string
	derivation    *Step
}

// Claims are what was asked of a model, in the order of Text.
func (p *Proof) Claims() []Claim {
	var restated []Claim
	if text := p.restatedText(); text != "" {
		restated = []Claim{{"restated", text, nil}}
	}
	if text := p.foldedText(); text != "" {
		restated = append(restated, Claim{"restated", text, nil})
	}
	bound := func(name string, b Bound) Claim { return Claim{name, b.text(), b.Derivation} }
	return append(restated, Claim{"f smooth", p.SmoothF.text(), nil}, Claim{"g smooth", p.SmoothG.text(), nil},
		Claim{"g strongly convex", p.Convexity.text(), p.Convexity.Derivation}, Claim{"g quadratic in y", p.Quadratic.text(), nil},
		bound("C_g (in y)", p.SmoothnessG), bound("C_g (in x and y)", p.JointG.Bound()),
		bound("C_f (in x and y)", p.SmoothnessF), bound("L_f (in x and y)", p.LipschitzF),
		Claim{"rows of B", p.Qualification.text(), nil})
}

// Text is what `check` prints: one line a claim, with derivations if explain.
func (p *Proof) Text(explain bool) string {
	var out strings.Builder
	for _, c := range p.Claims() {
		fmt.Fprintf(&out, "%-22s %s\n", c.Name, c.Finding)
		if explain && c.derivation != nil {
			c.derivation.write(&out, 1)
		}
	}
	for _, d := range p.Qualification.Dependent {
		if explain || d.Equality {
			fmt.Fprintf(&out, "  %s\n", d.Text)
		}
	}
	return out.String()
}

func (s Smoothness) text() string {
	if len(s.Blames) == 0 {
		return s.Outcome.String()
	}
	b := s.Blames[0]
	return strings.TrimSpace(fmt.Sprintf("%s: %s: %s %s", s.Outcome, b.Expr, b.Reason, inBrackets(b.Place)))
}

func inBrackets(place string) string {
	if place == "" {
		return ""
	}
	return "(" + place + ")"
}

func (c Convexity) text() string {
	switch {
	case c.Outcome == proved:
		return fmt.Sprintf("proved: mu = %s, %s and every x in X", number(c.Modulus), c.Scope)
	case c.Linear:
		return "no: g is linear in y, so convex but not strongly; several answers may be best, and `ties` says which one is meant"
	case c.Outcome == refuted && c.Witness.Flat:
		return strings.TrimSuffix(fmt.Sprintf("no: g is flat %s, at %s", c.Witness.Text, c.Witness.At), ", at ") + "; several answers may be best, and `ties` says which one is meant"
	case c.Outcome == refuted:
		return strings.TrimSuffix(fmt.Sprintf("refuted: second derivative %s %s, at %s", number(c.Witness.Curvature), c.Witness.Text, c.Witness.At), ", at ")
	case c.Blame != nil:
		return strings.TrimSpace(fmt.Sprintf("unknown: %s: %s %s", c.Blame.Expr, c.Blame.Reason, inBrackets(c.Blame.Place)))
	}
	return c.Outcome.String()
}

func (q Quadratic) text() string {
	switch {
	case q.FixedHessian:
		return "yes, with the same Hessian for every x"
	case q.InY:
		return "yes, with a Hessian that moves with x"
	}
	return "no"
}

func (b Bound) text() string {
	switch {
	case b.Known:
		return fmt.Sprintf("%s, %s", number(b.Value), b.Scope)
	case b.Blame != nil:
		return strings.TrimSpace(fmt.Sprintf("unknown: %s: %s %s", b.Blame.Expr, b.Blame.Reason, inBrackets(b.Blame.Place)))
	}
	return "unknown"
}

func (q Qualification) text() string {
	if q.Rows == 0 {
		return "none"
	}
	if q.Rank < 0 {
		return fmt.Sprintf("%d rows, too many to decompose: %s", q.Rows, q.Standing)
	}
	return fmt.Sprintf("rank %d of %d: %s", q.Rank, q.Rows, q.Standing)
}
