package lang

// Walk visits an expression and its parts in order of appearance. Where visit
// returns false, the parts of that expression are left out. Names of called
// functions and of indices are not expressions and are not visited.
func Walk(e Expr, visit func(Expr) bool) {
	if e != nil && visit(e) {
		parts(e, func(x *Expr) { Walk(*x, visit) })
	}
}

// parts shows where an expression holds its parts, in order of appearance.
func parts(e Expr, show func(*Expr)) {
	all := func(list []Expr) {
		for i := range list {
			show(&list[i])
		}
	}
	switch e := e.(type) {
	case *ListLit:
		all(e.Elems)
	case *Unary:
		show(&e.X)
	case *Binary:
		show(&e.X)
		show(&e.Y)
	case *Transpose:
		show(&e.X)
	case *Index:
		show(&e.X)
		for i := range e.Subs {
			show(&e.Subs[i].Lo)
			show(&e.Subs[i].Hi)
		}
	case *Call:
		all(e.Args)
	case *Comprehension:
		for i := range e.Binders {
			show(&e.Binders[i].Lo)
			show(&e.Binders[i].Hi)
		}
		show(&e.Cond)
		show(&e.Body)
	case *IfExpr:
		show(&e.Cond)
		show(&e.Then)
		show(&e.Else)
	case *Paren:
		show(&e.X)
	}
}
