package runtime

import (
	"fmt"
	"slices"

	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/sequential"
	"bilevelc/runtime/system"
)

// systemOf says, in words, why a problem is not solved on its KKT system: that is neither one of linear rows and pairs nor a smooth one; "" where it is, and linear says which.
func (p *Problem) systemOf() (why string, linear bool) {
	steep := len(p.Numeric.Facts.Steep) > 0 && p.smoothUpper()
	if why = kkt.Applies(p.Numeric); why == "" && (!steep || p.Numeric.Integer != nil) {
		return "", true
	}
	if p.Numeric.Integer != nil { // only a search finds whole numbers, or a look at each
		if why = kkt.AppliesCurved(p.Numeric); why == "" || !system.EachSmooth(p.Numeric) {
			return why, false
		}
	}
	switch other := sequential.Applies(p.Numeric); {
	case other != "":
		return why + ", and " + other, false
	case !twice(p.IR.Lower.Objective):
		return "g may not be twice continuously differentiable", false
	case !p.smoothUpper():
		return "the upper level may not be smooth everywhere", false
	}
	return "", false
}

// smoothUpper reports that f and the constraints of the upper level have no kink where they have a value: they are proved to be smooth, or every operation is smooth inside its domain and no value is finite at the
// edge of that, as those of logarithms and quotients are, but for powers from 1 on, and for roots at bounds of X (ir.Roots).
func (p *Problem) smoothUpper() bool {
	n := objectiveOf(p.IR)
	if p.smoothF() && n.Smooth() {
		return true
	}
	return !slices.ContainsFunc(expr.Reachable(n), func(m *expr.Node) bool {
		switch {
		case m.Deps == 0:
			return false
		case m.Op == expr.Sqrt:
			return p.IR.Facts.Roots == nil
		case m.Op == expr.Pow:
			exponent := m.Args[1]
			return exponent.Op != expr.Const || p.IR.Facts.Roots == nil && slices.ContainsFunc(exponent.Value.Values(), func(v float64) bool { return v > 0 && v < 1 })
		}
		return !m.Op.Info().Smooth
	})
}

// twice reports that no operation of an expression on variables has a kink, or a derivative with one, as powers up to 2 of positive parts have.
func twice(n *expr.Node) bool {
	return !slices.ContainsFunc(expr.Reachable(n), func(m *expr.Node) bool {
		kinked := func(p float64) bool { return !(p > 2) }
		return m.Deps != 0 && (!m.Op.Info().Smooth || m.Op == expr.PosPow && (m.Args[1].Op != expr.Const || slices.ContainsFunc(m.Args[1].Value.Values(), kinked)))
	})
}

// onSystem is the problem that a run with these options solves on its KKT system; nil where it takes another way (whyNot).
func (p *Problem) onSystem(opts Options) *Problem {
	if p.whyNot(opts) != "" {
		return nil
	}
	if p.ties != nil {
		return p.exact
	}
	return p
}

// otherMethod says which other method than that on the KKT system the options or the model name; "" for none.
func (p *Problem) otherMethod(opts Options) string {
	if opts.Method != "" && opts.Method != SystemMethod || opts.Oracle != "" || opts.Solver != "" || len(opts.Settings) > 0 || opts.offSystem ||
		opts.Resume != nil && opts.Resume.Method != SystemMethod {
		return "another method is asked for"
	}
	if otherSetting(p.IR.Settings) != nil {
		return "the model asks for another method"
	}
	return ""
}

// otherSetting is a setting of a `solve` block that names another method than that on the KKT system, or is one of its settings; nil where there is none.
func otherSetting(settings []ir.Setting) *ir.Setting {
	for i, s := range settings {
		if !slices.Contains([]string{"starts", "max_iter", "time_limit", "gap", "nodes", "ties"}, s.Name) && !(s.Name == "method" && s.Word == SystemMethod) {
			return &settings[i]
		}
	}
	return nil
}

// onlyOnSystem refuses a run away from the KKT system of a follower that is taken in no other way (withTies): other methods need one answer and one multiplier of
// each row to each x, and would follow whichever their lower solver ends at.
func (p *Problem) onlyOnSystem(opts Options) error {
	why := p.whyNot(opts)
	if p.exactTies == "" || why == "" {
		return nil
	}
	if err := settingsOffSystem(p.IR, p.exactTies); err != nil {
		return err
	}
	what := solvedBy(p.IR, p.exactTies)
	if p.otherMethod(opts) != "" {
		return &UsageError{Err: fmt.Errorf("%s: it takes no other method, oracle, solver or settings; leave them out", what)}
	}
	return &UsageError{Err: fmt.Errorf("%s, which does not take this problem: %s", what, why)}
}

// settingsOffSystem refuses settings of the model's `solve` block that are of other methods than onlyOnSystem takes.
func settingsOffSystem(p *ir.Problem, rule string) error {
	s := otherSetting(p.Settings)
	if s == nil {
		return nil
	}
	var diags diag.List
	diags.Errorf(diag.RunSetting, s.Span, "%s: it takes no `%s`", solvedBy(p, rule), s.Name).Fix = "leave it out"
	return diags
}

// solvedBy says what a follower with a rule of the ties is solved with that is taken on its KKT system only.
func solvedBy(p *ir.Problem, rule string) string {
	reads := ""
	if len(p.Duals) > 0 {
		reads = " with an upper level that reads multipliers (`dual`)"
	}
	return fmt.Sprintf("ties = %s%s is solved on the follower's KKT system, by method %s alone", rule, reads, SystemMethod)
}

// whyNot says what keeps a run from the KKT system: the options or the model name another method, or the system is not of this class; "" where nothing does.
func (p *Problem) whyNot(opts Options) string {
	if why := p.otherMethod(opts); why != "" {
		return why
	}
	q := p
	if p.ties != nil {
		if q = p.exact; q == nil || q.exactTies != document.Optimistic {
			return "the follower is not taken as it stands" + p.notExact
		}
	}
	why, linear := q.systemOf()
	if linear && q.Numeric.Facts.DegreeF > 2 && !q.smoothUpper() {
		return "the upper objective may not be smooth everywhere"
	}
	if why != "" {
		return why
	}
	if n := q.Numeric; !linear && p.ties == nil && n.Integer == nil && !n.HasInequalities() && n.Coupled == nil && len(n.Facts.Steep) == 0 && (!q.small() || q.newton()) {
		return "F is smooth, as the follower has no inequalities, so that there is nothing for an active-set method to find"
	}
	if !system.TooLarge(q.Numeric, linear) || system.EachPart(q.Numeric) {
		return ""
	}
	if !linear {
		return "it is too large"
	}
	if why := system.OneAnswer(q.Numeric); why != "" {
		return system.LargeText(q.Numeric) + ", and " + why
	}
	return ""
}
