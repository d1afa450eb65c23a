package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// variable checks a var's type and set.
func (c *checker) variable(e *entry, d *lang.Var) value {
	v := value{deps: expr.DependsX, degree: affine}
	if e.symbol.Lower {
		v.deps = expr.DependsY
	}
	c.kind(d, e.symbol.Lower)
	v.typ = c.written(&d.Type)
	if d.Set != nil {
		c.set(d, v.typ, e.symbol.Lower)
	}
	return v
}

// kind checks a variable of whole numbers: it is the leader's, and a binary one has no set beside.
func (c *checker) kind(d *lang.Var, lower bool) {
	switch {
	case d.Kind == lang.ContinuousVar:
	case lower:
		e := c.errorf(c.global, diag.IntegerFollower, d.Word, "the lower variable `%s` is %s", d.Name.Name, d.Kind)
		e.Detail = "the follower's answer is described by its KKT conditions, which hold for continuous variables only: " +
			"they say nothing about the best of whole numbers"
		e.Fix = "let the upper level decide it, or leave it out"
		if d.Type.Kind == lang.KindReal {
			e.Fix = "let the upper level decide it, or write `real`"
		}
	case d.Kind == lang.BinaryVar && d.Set != nil:
		e := c.errorf(c.global, diag.BinarySet, d.Word.To(d.Set.Span()), "the binary variable `%s` is given a set", d.Name.Name)
		e.Detail = "a binary variable takes the values 0 and 1"
		e.Fix = "write `binary` alone, or, for other whole numbers, `integer in " + d.Set.Span().Text() + "`"
	}
}

// set checks `in box(lo, hi)` and the others.
func (c *checker) set(d *lang.Var, t ir.Type, lower bool) {
	set := d.Set
	name := set.Name.Name
	of, fix := familyOf(name, sets)
	if of == nil {
		e := c.errorf(c.global, diag.UnknownSet, set.Name.Span(), "there is no set `%s`", name)
		e.Detail = "the sets are box(lo, hi), nonneg, simplex(s), ball(r) and free"
		e.Fix = fix
		return
	}
	if len(set.Args) != len(of.args) {
		c.errorf(c.global, diag.Arity, set.Span(), "`%s` takes %d argument%s, but is given %d",
			name, len(of.args), diag.Plural(len(of.args)), len(set.Args)).Fix = of.use
		return
	}
	if name == "ball" && lower {
		e := c.errorf(c.global, diag.LowerBall, set.Span(), "the lower variable `%s` cannot be in a ball", d.Name.Name)
		e.Detail = "a ball is not a linear constraint, and the lower level's constraints are linear"
		e.Fix = "use `box(-r, r)`"
		return
	}
	if name == "simplex" && elab.IsScalar(t) {
		c.errorf(c.global, diag.ArgumentType, set.Span(), "a scalar cannot be in a simplex").Fix = "use `box(0, s)`"
		return
	}
	vs := make([]value, len(set.Args))
	for i, a := range set.Args {
		what := fmt.Sprintf("the %s of `%s`", of.args[i], name)
		if name == "box" {
			c.bounds, c.row = true, fmt.Sprintf("subject to %s %s %s", d.Name.Name, [...]string{">=", "<="}[i], a.Span().Text())
			vs[i] = c.fitting(a, t, what, true)
			c.bounds, c.row = false, ""
		} else {
			vs[i] = c.fixedScalar(a, what)
		}
	}
	c.nonempty(set, vs)
}

// cross is the relative amount by which bounds that the text computes may cross
// without being called empty: binding decides what is below (E0814).
const cross = 1e-9

// nonempty reports sets that the text alone shows to be empty.
func (c *checker) nonempty(set *lang.Set, args []value) {
	switch set.Name.Name {
	case "box":
		if lo, hi := args[0].num, args[1].num; lo != nil && hi != nil && *lo-*hi > cross*(math.Abs(*lo)+math.Abs(*hi)) {
			c.errorf(c.global, diag.EmptySet, set.Span(), "this box is empty: its lower bound %v is above its upper bound %v", *lo, *hi).Fix =
				fmt.Sprintf("write the lower bound first: `box(%s, %s)`", set.Args[1].Span().Text(), set.Args[0].Span().Text())
		}
	case "simplex", "ball":
		if v := args[0].num; v != nil && *v < 0 {
			c.errorf(c.global, diag.EmptySet, set.Args[0].Span(), "this %s is empty: %v is negative", set.Name.Name, *v)
		}
	}
}

// level checks a level's objective and constraints.
func (c *checker) level(l *ir.LevelDecl) {
	word := l.Block.Word()
	for _, f := range l.Followers {
		if f.Objective != nil {
			c.objective(word, f.Objective)
			c.refuseDual(f.Objective.Value)
		}
	}
	if o := l.Objective; o != nil && len(l.Followers) == 0 {
		c.objective(word, o)
		if l.Block.Lower {
			c.refuseDual(o.Value)
		}
	}
	if len(l.Followers) > 0 {
		c.apart(l)
	}
	named := names{}
	for i, r := range l.Constraints {
		if i > 0 {
			c.continued(l.Constraints[i-1], r)
		}
		if r.Name != nil && r.Name.Name != "" {
			c.once(named, r.Name.Name, *r.Name, diag.DeclaredTwice, "two constraints are named `%s`")
		}
		c.constraint(r, l.Block.Lower)
		if l.Block.Lower {
			for _, t := range r.Terms {
				c.refuseDual(t)
			}
		}
	}
}

func (c *checker) objective(word string, o *lang.Objective) {
	v := c.operand(c.global, o.Value)
	c.smoothObjective(word, o, v)
	if isUnknown(v.typ) {
		return
	}
	if f := elab.Objective(word, o, v.typ); f != nil {
		c.fault(c.global, f)
		return
	}
	if v.deps == 0 {
		c.warnf(diag.IdleObjective, o.Value.Span(), "the %s objective does not depend on any variable", word)
	}
}

// constraint checks one relation or family.
func (c *checker) constraint(r *lang.Constraint, lower bool) {
	s := c.global
	if len(r.Binders) > 0 {
		s = c.binders(s, r.Binders, r.Cond != nil)
	}
	if r.Cond != nil {
		c.condition(s, r.Cond)
	}
	terms := make([]value, len(r.Terms))
	whole := true
	for i, e := range r.Terms {
		terms[i] = c.operand(s, e)
		whole = whole && !isUnknown(terms[i].typ)
	}
	if whole {
		c.relation(s, r, terms)
	}
	if lower {
		c.affineRelation(r, terms)
	} else {
		c.smoothUpper(r, terms)
	}
	switch deps := join(elab.Bool, terms...).deps; {
	case !whole:
	case deps == 0:
		c.warnf(diag.IdleConstraint, r.Span(), "%s reads no variable", constraintText(r)).Detail =
			"it holds always or never"
	case lower && deps&expr.DependsY == 0:
		d := c.warnf(diag.LeaderRow, r.Span(), "%s of the lower level reads no lower variable", constraintText(r))
		d.Detail = "the follower cannot move it: an x that breaks it leaves the follower no feasible answer, and is ruled out for the leader"
		d.Fix = "put it among the constraints of the upper level, where it means the same"
	}
}

// continued warns of a row right below another that a minus starts, with a blank behind it as between two terms: a newline
// has ended the row above.
func (c *checker) continued(above, r *lang.Constraint) {
	text, from, to := r.Place.Source.Text, above.Place.End, r.Place.Start
	if above.Place.Source != r.Place.Source || from > to || !strings.HasPrefix(text[to:], "- ") || strings.Contains(text[from:to], ";") ||
		r.Place.Source.Pos(to).Line != r.Place.Source.Pos(from).Line+1 {
		return
	}
	up, down := false, false
	for _, op := range append(above.Ops[:len(above.Ops):len(above.Ops)], r.Ops...) {
		up, down = up || op == lang.LessEq, down || op == lang.GreaterEq
	}
	at := r.Place
	at.End = at.Start + 1
	d := c.warnf(diag.OperatorAtStart, at, "a line starts with `-`, and is a row of its own")
	d.Detail = "A newline ends a statement unless a bracket is open or the line ends in an operator."
	if d.Fix = "a new row starts with a `-` that no blank follows"; !up || !down { // else they are no chain
		d.Fix = "put `-` at the end of the line above to go on with that row; " + d.Fix
	}
	d.Related = []diag.Related{{Span: above.Span(), Message: "this row has ended"}}
}

// relation checks that the sides of a constraint go together.
func (c *checker) relation(s *scope, r *lang.Constraint, terms []value) {
	up, down := false, false
	for i, op := range r.Ops {
		up, down = up || op == lang.LessEq, down || op == lang.GreaterEq
		a, b := terms[i], terms[i+1]
		if _, fault := elab.Relation(r, i, a.typ, b.typ); fault != nil {
			c.fault(s, fault)
			continue
		}
		switch {
		case elab.IsScalar(a.typ):
			c.forgottenIndex(s, r, r.Terms[i+1], b.typ)
		case elab.IsScalar(b.typ):
			c.forgottenIndex(s, r, r.Terms[i], a.typ)
		}
	}
	if up && down {
		c.errorf(s, diag.MixedChain, r.Span(), "this chain of relations runs in two directions").Fix =
			"write `lo <= e <= hi`, or two constraints"
	}
}

// forgottenIndex reports a side of a family's relation that is a whole array
// and uses none of the family's indices, while the other side is a scalar:
// each entry would be compared once for each index, which is an error of the model.
func (c *checker) forgottenIndex(s *scope, r *lang.Constraint, side lang.Expr, t ir.Type) {
	if len(r.Binders) == 0 || !elab.IsArray(t) {
		return
	}
	var likely []string // the indices that range over the array's dimensions
	if mentionsIndex(side, r.Binders) {
		return
	}
	array := lang.FindName(side, func(n *lang.Name, _ *lang.Scope) bool {
		e := c.symbols[n.Name]
		return e != nil && elab.IsArray(e.value.typ)
	})
	for i := range t.Dims {
		if name := c.indexOver(s, r, dim(t, i), likely); name != "" {
			likely = append(likely, name)
		}
	}
	d := c.errorf(s, diag.ForgottenIndex, side.Span(), "`%s` is a whole array here: an index is missing", elab.Quote(side))
	d.Detail = elab.SizeOf(side, t) + ", the other side is a scalar for each " +
		diag.Join(indices(r.Binders), " and ", func(n lang.Ident) string { return "`" + n.Name + "`" })
	if array != nil && len(likely) == len(t.Dims) {
		d.Fix = fmt.Sprintf("did you mean `%s[%s]`?", array.Name, strings.Join(likely, ", "))
		return
	}
	d.Fix = "index the array; a relation that holds for all of its entries stands in a constraint of its own"
}

// indexOver finds an index of the family that ranges over a dimension and is
// not taken yet.
func (c *checker) indexOver(s *scope, r *lang.Constraint, n *poly, taken []string) string {
	for _, name := range indices(r.Binders) {
		if slices.Contains(taken, name.Name) {
			continue
		}
		v := s.names[name.Name]
		if v.set != nil && v.set.size.key() == n.key() {
			return name.Name
		}
		if v.size == nil || v.size.bare() == nil {
			continue
		}
		hi, set := v.size.bare().hi, setOf(n)
		if hi != nil && compare(hi, n) == elab.Agree || set != nil && set.hi != nil && hi == set.hi {
			return name.Name
		}
	}
	return ""
}

// smoothUpper checks an upper constraint: affine ones in the upper variables are
// part of X, others may be curved, may read the lower level's answer and may have
// kinks, but no jumps.
func (c *checker) smoothUpper(r *lang.Constraint, terms []value) {
	for i, v := range terms {
		for _, k := range v.kinks {
			if restatable[k.what] {
				continue
			}
			d := c.errorf(c.global, diag.CoupledNotSmooth, k.at, "upper %s applies `%s`, which jumps, to variables", constraintText(r), k.what)
			d.Detail = "an upper constraint may read variables and multipliers through continuous functions only: the methods follow their gradients"
			d.Fix, d.Context, d.Related = smoothChoice(k.what), r.Terms[i].Span(), k.related
			break
		}
	}
}

// constraintText names a constraint: by its name, or by its text.
func constraintText(r *lang.Constraint) string {
	if r.Name != nil && r.Name.Name != "" {
		return fmt.Sprintf("constraint `%s` (`%s`)", r.Name.Name, relationText(r))
	}
	return fmt.Sprintf("constraint `%s`", relationText(r))
}

func relationText(r *lang.Constraint) string {
	return elab.QuoteSpan(r.Terms[0].Span().To(r.Terms[len(r.Terms)-1].Span()))
}
