package lang

import "bilevelc/internal/each"

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
	switch e := e.(type) {
	case *ListLit:
		c := *e
		c.Elems = r.exprs(e.Elems)
		return &c
	case *Unary:
		c := *e
		c.X = r.expr(e.X)
		return &c
	case *Binary:
		c := *e
		c.X, c.Y = r.expr(e.X), r.expr(e.Y)
		return &c
	case *Transpose:
		c := *e
		c.X = r.expr(e.X)
		return &c
	case *Index:
		c := *e
		c.X = r.expr(e.X)
		c.Subs = r.subscripts(e.Subs)
		return &c
	case *Call:
		c := *e
		c.Args = r.exprs(e.Args)
		return &c
	case *Comprehension:
		c := *e
		binders, inner := r.binders(e.Binders)
		c.Binders = binders
		c.Cond, c.Body = inner.expr(e.Cond), inner.expr(e.Body)
		return &c
	case *IfExpr:
		c := *e
		c.Cond, c.Then, c.Else = r.expr(e.Cond), r.expr(e.Then), r.expr(e.Else)
		return &c
	case *Paren:
		c := *e
		c.X = r.expr(e.X)
		return &c
	}
	return e
}

func (r rewriter) exprs(list []Expr) []Expr {
	return each.Of(list, r.expr)
}

func (r rewriter) subscripts(subs []Subscript) []Subscript {
	out := make([]Subscript, len(subs))
	for i, s := range subs {
		out[i] = s
		out[i].Lo, out[i].Hi = r.expr(s.Lo), r.expr(s.Hi)
	}
	return out
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
	out.Cond, out.Terms = r.expr(c.Cond), r.exprs(c.Terms)
	return &out
}
