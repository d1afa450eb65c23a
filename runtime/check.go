package runtime

import (
	"fmt"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/ir/curvature"
	"bilevelc/ir/data"
	"bilevelc/ir/facts"
	"bilevelc/lang/diag"
	"bilevelc/runtime/compile"
	"bilevelc/runtime/document"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
)

// Checked is what a check of a model found.
type Checked struct {
	Problem  *ir.Problem
	Proof    *curvature.Proof
	Abstract bool // no data were given: the proofs hold for any data
	Warnings diag.List

	ties     *ties  // nil for a strongly convex follower, and where
	rule     string // breaks the ties of one that is taken as it stands; "" for none
	standing bool   // with ties: runs take the follower as it stands unless they name another method
	why      string // they do not, where that is known
}

// Check proves what it can about the model: with its data where set supplies
// them, for any data where set is empty and the model needs some. The error
// is a diag.List.
func (m *Model) Check(set *data.Set, opts BindOptions) (_ *Checked, err error) {
	defer must.Catch(&err)
	s := begin(opts, curvature.Defaults())
	set = m.with(set)
	how := opts.binding()
	bound, err := s.bind(m.Program, set, how)
	if list, _ := err.(diag.List); err != nil && len(set.Entries) == 0 && s.ended() == nil && !list.Has(diag.BindTooLarge) { // which stays so
		how.Abstract, s.diags = true, nil
		bound, err = s.bind(m.Program, set, how)
	}
	must.Do(err)
	warnings := func() diag.List { return append(append(diag.List(nil), m.Warnings...), s.diags...) }
	rule, _, err := tiesOf(bound)
	must.Do(err)
	if onlyExact(bound, rule) {
		proof := must.Get(s.standing(bound, rule, how.Abstract))
		if rule == document.Optimistic {
			must.Do(settingsOffSystem(bound, rule))
		}
		return &Checked{Problem: bound, Proof: proof, Abstract: how.Abstract, rule: rule, Warnings: warnings()}, nil
	}
	var exact *Problem // as withTies has it
	var why string
	if rule == document.Optimistic && !how.Abstract {
		exact, why = s.exactly(bound, rule)
	}
	found := len(s.diags)
	bound, t, err := s.breakTies(bound, how.Abstract)
	var known *proven
	if err == nil {
		known, err = s.prove(bound)
	}
	switch {
	case err == nil:
		if exact != nil {
			why = exact.whyNot(Options{})
		}
		return &Checked{Problem: bound, Proof: known.proof, Abstract: how.Abstract, ties: t, standing: exact != nil && why == "", why: why, Warnings: warnings()}, nil
	case exact != nil && s.ended() == nil:
		s.diags = s.diags[:found]
		return &Checked{Problem: exact.IR, Proof: exact.Proof, rule: rule, Warnings: warnings()}, nil
	}
	return nil, err
}

// standing is what is proved of a problem whose follower is taken as it stands; with its data the error says why it cannot be.
func (s *steps) standing(bound *ir.Problem, rule string, abstract bool) (_ *curvature.Proof, err error) {
	defer must.Catch(&err)
	if abstract {
		proof := curvature.Prove(bound, s.limits)
		bound.Facts, bound.Blocks = proof.Facts(), facts.Blocks(bound)
		return proof, s.ended()
	}
	p := must.Get(s.asItStands(bound, rule))
	*bound = *p.IR
	return p.Proof, nil
}

// Text is the check for people, with derivations where explain is set.
func (c *Checked) Text(explain bool) string {
	var b strings.Builder
	const system = "on the follower's KKT system: g is taken as it stands, and need not be strongly convex"
	switch {
	case c.standing:
		fmt.Fprintf(&b, "ties: %s, %s\nfor methods by name, g below has a small strongly convex term more (tau %g)\n", c.ties.rule, system, c.ties.tau)
	case c.ties != nil:
		fmt.Fprintf(&b, "ties: %s, so g below is the follower's objective with a small strongly convex term (tau %g)\n", c.ties.rule, c.ties.tau)
	case c.rule != "":
		fmt.Fprintf(&b, "ties: %s, %s\n", c.rule, system)
	}
	if c.Problem.Transformed != nil {
		b.WriteString("g: the follower's objective is an increasing function of a simpler one with the same best answers, which is minimized in its place, and is g below\n")
	}
	b.WriteString(c.Proof.Text(explain))
	if note := followersNote(ownBlocks(c.Problem)); note != "" {
		fmt.Fprintf(&b, "lower level: %s\n", note)
	}
	if c.Abstract {
		b.WriteString("no data given: the claims hold for any data of these shapes\n")
		return diag.ShownLines(b.String())
	}
	b.WriteString("methods\n")
	p := &Problem{IR: c.Problem, Proof: c.Proof, Numeric: compile.Problem(c.Problem, nil, nil)}
	for _, m := range Methods() {
		switch {
		case c.ties != nil && !c.standing && m.Kind == "method" && m.Name == SystemMethod: // as a run has it
			fmt.Fprintf(&b, "  %-6s %-10s does not apply: the follower is not taken as it stands", m.Kind, m.Name)
			if c.why != "" {
				b.WriteString(": " + c.why)
			}
			b.WriteByte('\n')
		case c.rule == "" || m.Name == SystemMethod:
			fmt.Fprintf(&b, "  %-6s %-10s %s\n", m.Kind, m.Name, m.standing(p, c.rule))
		}
	}
	if c.rule != "" {
		b.WriteString("  the other methods, oracles and solvers do not apply: they need one answer and one multiplier of each row to each x\n")
	}
	return diag.ShownLines(b.String())
}

// Standing says whether a method applies to the problem, and what its theory assumes
// there beyond what is proved.
func (p *Problem) Standing(m MethodInfo) string { return m.standing(p, p.exactTies) }

// standing says whether a method applies to a problem, and what its theory assumes
// there beyond what is proved. tied is the rule of the ties of a follower that is taken
// on its KKT system alone, or "".
func (m *MethodInfo) standing(of *Problem, tied string) string {
	p := of.Numeric
	if m.Kind == "method" && m.Name == SystemMethod {
		why, linear := of.systemOf()
		switch {
		case why != "":
			return "does not apply: " + why
		case tied == document.Pessimistic:
			return "evaluates F at a given x (`bilevelc eval`), and does not solve"
		case !linear:
			return "applies, on the system linearized at one point after another"
		}
		return "applies"
	}
	if tied != "" {
		return "does not apply: it needs one answer and one multiplier of each row to each x"
	}
	if m.Kind == "solver" {
		spec, err := lower.Lookup(m.Name)
		if err == nil {
			err = spec.Needs.Check(m.Name, p)
		}
		if err != nil {
			return err.Error()
		}
		return "applies"
	}
	var parts []string
	for _, of := range []struct {
		words  string
		proved bool
	}{{"assumes ", false}, {"proved: ", true}} {
		if those := each.Where(m.Assumes, func(a problem.Assumption) bool { return p.Proved(a) == of.proved }); len(those) > 0 {
			parts = append(parts, of.words+diag.Join(those, ", ", problem.Assumption.String))
		}
	}
	return strings.Join(parts, "; ")
}
