package check

import (
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang"
)

// readText names the variable that an expression depends on: "the variable
// `y`". In the body of a function it depends on the call which one that is.
func (c *checker) readText(s *scope, e lang.Expr, deps expr.Deps) string {
	if s.frame != nil {
		return "a variable"
	}
	path := c.readPath(e, deps)
	if len(path) == 0 {
		return "a variable"
	}
	if len(path) == 1 {
		return "the variable `" + path[0].Name + "`"
	}
	return "the variable `" + path[len(path)-1].Name + "` through `" + path[0].Name + "`"
}

// readPath finds how an expression comes to read a variable of the given
// level: the names from the one in the expression, through lets and the bodies
// of functions, to the variable itself. nil: it does not.
func (c *checker) readPath(e lang.Expr, deps expr.Deps) []*lang.Name {
	f := finder{c: c, deps: deps, seen: map[lang.Node]bool{}}
	return f.in(e)
}

type finder struct {
	c    *checker
	deps expr.Deps
	seen map[lang.Node]bool // lets and functions already searched
}

func (f *finder) in(e lang.Expr) []*lang.Name {
	var found []*lang.Name
	lang.Walk(e, func(n lang.Expr) bool {
		if found != nil {
			return false
		}
		switch n := n.(type) {
		case *lang.Name:
			found = f.name(n)
		case *lang.Call:
			if s := f.c.symbols[n.Fn.Name]; s != nil && !f.seen[s.symbol.Decl] {
				if fn, ok := s.symbol.Decl.(*lang.Fn); ok {
					f.seen[fn] = true
					if path := f.in(fn.Body); path != nil {
						found = append([]*lang.Name{{At: n.Fn.At, Name: n.Fn.Name}}, path...)
					}
				}
			}
		}
		return found == nil
	})
	return found
}

func (f *finder) name(n *lang.Name) []*lang.Name {
	s := f.c.symbols[n.Name]
	if s == nil || s.value.deps&f.deps == 0 {
		return nil
	}
	if s.symbol.Kind == ir.VarSymbol {
		return []*lang.Name{n}
	}
	let, ok := s.symbol.Decl.(*lang.Let)
	if !ok || f.seen[let] {
		return nil
	}
	f.seen[let] = true
	return append([]*lang.Name{n}, f.in(let.Value)...)
}
