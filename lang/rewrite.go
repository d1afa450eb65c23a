package lang

import (
	"slices"

	"bilevelc/internal/each"
)

// Rewrite copies an expression with its parts replaced: where replace returns an
// expression, that stands in the place of the part, and is not looked into. The
// names that comprehensions declare hide others inside them: replace is told the
// scope of the part, inside the one of e. Nothing of the original is changed; places stay.
func Rewrite(e Expr, in *Scope, replace func(x Expr, in *Scope) Expr) Expr {
	return rewriter{replace, in}.expr(e)
}

type rewriter struct {
	replace func(x Expr, in *Scope) Expr
	in      *Scope
}

func (r rewriter) expr(e Expr) Expr {
	if e == nil {
		return nil
	}
	if out := r.replace(e, r.in); out != nil {
		return out
	}
	if c, ok := e.(*Comprehension); ok {
		out := *c
		out.Binders, r = r.binders(c.Binders)
		out.Cond, out.Body = r.expr(c.Cond), r.expr(c.Body)
		return &out
	}
	out := shallow(e)
	parts(out, func(x *Expr) { *x = r.expr(*x) })
	return out
}

// shallow copies an expression, but not its parts.
func shallow(e Expr) Expr {
	switch e := e.(type) {
	case *ListLit:
		c := *e
		c.Elems = slices.Clone(e.Elems)
		return &c
	case *Unary:
		return new(*e)
	case *Binary:
		return new(*e)
	case *Transpose:
		return new(*e)
	case *Index:
		c := *e
		c.Subs = slices.Clone(e.Subs)
		return &c
	case *Call:
		c := *e
		c.Args = slices.Clone(e.Args)
		return &c
	case *IfExpr:
		return new(*e)
	case *Paren:
		return new(*e)
	}
	return e // has no parts
}

// binders copies binders and returns the rewriter of what they range over.
func (r rewriter) binders(list []Binder) ([]Binder, rewriter) {
	out := make([]Binder, len(list))
	for i, b := range list {
		out[i] = b
		out[i].Lo, out[i].Hi = r.expr(b.Lo), r.expr(b.Hi)
		r.in = (&namer{names: &Names{}}).indices(r.in, &b, b.Place)
	}
	return out, r
}

// RewriteConstraint is Rewrite on all parts of a constraint.
func RewriteConstraint(c *Constraint, replace func(x Expr, in *Scope) Expr) *Constraint {
	out := *c
	r := rewriter{replace, nil}
	out.Binders, r = r.binders(c.Binders)
	if len(c.Binders) == 0 {
		out.Binders = nil
	}
	out.Cond, out.Terms = r.expr(c.Cond), each.Of(c.Terms, r.expr)
	return &out
}
