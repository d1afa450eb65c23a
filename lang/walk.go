package lang

// Walk visits an expression and its parts in order of appearance. Where visit
// returns false, the parts of that expression are left out. Names of called
// functions and of indices are not expressions and are not visited.
func Walk(e Expr, visit func(Expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	switch e := e.(type) {
	case *ListLit:
		for _, x := range e.Elems {
			Walk(x, visit)
		}
	case *Unary:
		Walk(e.X, visit)
	case *Binary:
		Walk(e.X, visit)
		Walk(e.Y, visit)
	case *Transpose:
		Walk(e.X, visit)
	case *Index:
		Walk(e.X, visit)
		for i := range e.Subs {
			Walk(e.Subs[i].Lo, visit)
			Walk(e.Subs[i].Hi, visit)
		}
	case *Call:
		for _, x := range e.Args {
			Walk(x, visit)
		}
	case *Comprehension:
		for i := range e.Binders {
			Walk(e.Binders[i].Lo, visit)
			Walk(e.Binders[i].Hi, visit)
		}
		Walk(e.Cond, visit)
		Walk(e.Body, visit)
	case *IfExpr:
		Walk(e.Cond, visit)
		Walk(e.Then, visit)
		Walk(e.Else, visit)
	case *Paren:
		Walk(e.X, visit)
	}
}

// Inspect visits every expression of a declaration or of a part of one, types'
// dimensions, sets and binders included, as Walk does.
func Inspect(n Node, visit func(Expr) bool) {
	each := func(list []Expr) {
		for _, e := range list {
			Walk(e, visit)
		}
	}
	switch n := n.(type) {
	case Expr:
		Walk(n, visit)
	case *TypeExpr:
		if n != nil {
			each(n.Dims)
		}
	case *IndexSet:
		if v := n.Value; v != nil {
			each([]Expr{v.Lo, v.Hi})
			for _, e := range v.Elems {
				each(e.Parts)
			}
			for _, b := range v.Binders {
				each([]Expr{b.Lo, b.Hi})
			}
			Walk(v.Cond, visit)
		}
	case *Param:
		Inspect(&n.Type, visit)
		Walk(n.Default, visit)
	case *Data:
		Inspect(&n.Type, visit)
		Walk(n.Value, visit)
		if n.Gen != nil {
			each(n.Gen.Args)
		}
	case *Let:
		Walk(n.Value, visit)
	case *Fn:
		for i := range n.Params {
			Inspect(n.Params[i].Type, visit)
		}
		Inspect(n.Result, visit)
		Walk(n.Body, visit)
	case *Level:
		for _, b := range n.Binders {
			each([]Expr{b.Lo, b.Hi})
		}
		for _, item := range n.Items {
			Inspect(item, visit)
		}
	case *Var:
		Inspect(&n.Type, visit)
		if n.Set != nil {
			each(n.Set.Args)
		}
	case *Objective:
		Walk(n.Value, visit)
	case *SubjectTo:
		for _, c := range n.Constraints {
			Inspect(c, visit)
		}
	case *Constraint:
		for _, b := range n.Binders {
			each([]Expr{b.Lo, b.Hi})
		}
		Walk(n.Cond, visit)
		each(n.Terms)
	case *Solve:
		for _, item := range n.Items {
			Walk(item.Value, visit)
		}
	case *Report:
		for _, item := range n.Items {
			Walk(item.Value, visit)
		}
	}
}
