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
