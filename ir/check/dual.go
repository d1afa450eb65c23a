package check

import (
	"fmt"
	"slices"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// dualName is the function that names the multipliers of a constraint of the
// lower level.
const dualName = "dual"

// dual types dual(row): one multiplier for each row of a named constraint of
// the lower level, in the shape in which reports show them. They are part of
// the lower level's answer, as y is.
func (c *checker) dual(s *scope, e *lang.Call, _ []value) value {
	v := value{typ: elab.Unknown, deps: expr.DependsY}.curve(site{at: e.Span(), what: dualName})
	name, isName := e.Args[0].(*lang.Name)
	if !isName {
		d := c.errorf(s, diag.ArgumentType, e.Args[0].Span(), "`dual` takes the name of a constraint of the lower level")
		d.Fix = "name the constraint, as in `balance: sum(y) == demand`, and write `dual(balance)`"
		if index, ok := e.Args[0].(*lang.Index); ok {
			if name, ok := index.X.(*lang.Name); ok && constraintOf(c.program.Lower, name.Name) != nil {
				d.Fix = fmt.Sprintf("`dual(%s)` is all multipliers of the family: index those, as in `dual(%s)[...]`", name.Name, name.Name)
			}
		}
		return v
	}
	r := constraintOf(c.program.Lower, name.Name)
	if r == nil {
		d := c.errorf(s, diag.UnknownName, name.Span(), "the lower level has no constraint `%s`", name.Name)
		d.Detail = "`dual` takes the name of a constraint of the lower level; a set such as `nonneg` has to be written as a named constraint for it"
		if upper := constraintOf(c.program.Upper, name.Name); upper != nil {
			d.Summary = fmt.Sprintf("`%s` is a constraint of the upper level", name.Name)
			d.Detail = "`dual` reads multipliers of the lower level: those are part of the follower's answer"
			d.Related = []diag.Related{{Span: upper.Name.Span(), Message: "it is here"}}
		} else if near := c.nearest(name.Name, c.constraintNames); near != "" {
			d.Fix = "did you mean `" + near + "`?"
		}
		return v
	}
	if len(r.Ops) > 1 {
		d := c.errorf(s, diag.ArgumentType, name.Span(), "`%s` is a chain of %d relations, each with a multiplier of its own", name.Name, len(r.Ops))
		d.Fix = "write the chain as two constraints with two names"
		d.Related = []diag.Related{{Span: r.Name.Span(), Message: "it is here"}}
		return v
	}
	v.typ = c.rowsType(r)
	return v
}

// constraintOf finds a constraint of a level, which may be nil, by name.
func constraintOf(level *ir.LevelDecl, name string) *lang.Constraint {
	if level == nil {
		return nil
	}
	for _, r := range level.Constraints {
		if r.Name != nil && r.Name.Name == name {
			return r
		}
	}
	return nil
}

func (c *checker) constraintNames() []string {
	var out []string
	if c.program.Lower != nil {
		for _, r := range c.program.Lower.Constraints {
			if r.Name != nil {
				out = append(out, r.Name.Name)
			}
		}
	}
	return out
}

// rowsType is the type of one number a row of a constraint: that of its sides,
// and for a family the array over its indices, then over the dimensions of its sides. Families
// whose indices move with each other or are those of a vector, and those over ranges alone that have a
// condition, get their shape when the model is bound. What is wrong in the
// constraint is reported here or where the level is checked, once, but for names that
// read the multiplier: refuseDual does.
func (c *checker) rowsType(r *lang.Constraint) ir.Type {
	outer := c.reading
	c.reading = len(c.resolved)
	defer func() { c.reading = outer }()
	s := c.global
	if len(r.Binders) > 0 {
		s = c.binders(s, r.Binders, r.Cond != nil)
	}
	var sides ir.Type
	for i, t := range r.Terms {
		v := c.operand(s, t)
		if i == 0 {
			sides = v.typ
			continue
		}
		joined, problem := elab.Broadcast(sides, v.typ)
		if problem != "" {
			return elab.Unknown
		}
		sides = joined
	}
	if len(r.Binders) == 0 {
		if elab.IsScalar(sides) {
			return elab.Real
		}
		return sides
	}
	if isUnknown(sides) {
		return elab.Unknown
	}
	moves := func(n *poly) bool { return hasKind(n, indexAtom) || hasKind(n, opaqueAtom) }
	var dims []ir.Dim
	sets := slices.ContainsFunc(s.spans, func(d span) bool { return d.set })
	for _, d := range s.spans {
		if !d.set && (r.Cond != nil && !sets || d.lo == nil || moves(d.lo) || moves(d.size)) {
			return elab.Unknown
		}
		dims = append(dims, d.size)
	}
	for _, d := range sides.Dims {
		if moves(d.(*poly)) {
			return elab.Unknown
		}
		dims = append(dims, d)
	}
	return elab.Array(dims...)
}

// refuseDual reports a multiplier where only the leader may read it: it follows
// from the lower level, which therefore cannot be stated by means of it.
func (c *checker) refuseDual(e lang.Expr) {
	var call *lang.Call
	elab.Reads(e, c.program, func(x lang.Expr, _ *ir.Symbol, _ []*lang.Name) bool {
		n, ok := x.(*lang.Call)
		if ok = ok && n.Fn.Name == dualName && c.symbols[dualName] == nil; ok {
			call = n
		}
		return ok
	})
	if call == nil {
		return
	}
	d := c.errorf(c.global, diag.DualBelow, call.Span(), "the lower level reads its own multiplier `%s`", elab.Quote(call))
	d.Detail = "multipliers follow from the lower level's solution; the upper level and the report may read them"
	d.Context = e.Span()
}
