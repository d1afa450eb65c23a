package check

import (
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
)

// readText names the variable that an expression depends on: "the variable
// `y`". In the body of a function it depends on the call which one that is.
func (c *checker) readText(s *scope, e lang.Expr, deps expr.Deps) string {
	if s.frame != nil {
		return "a variable"
	}
	way := elab.Reads(e, c.declaration, func(x lang.Expr, _ []*lang.Name) bool { return c.variableOf(x)&deps != 0 })
	switch len(way) {
	case 0:
		return "a variable"
	case 1:
		return "the variable `" + way[0].Name + "`"
	}
	return "the variable `" + way[len(way)-1].Name + "` through `" + way[0].Name + "`"
}

// declaration is what a name of the model declares, or nil.
func (c *checker) declaration(name string) lang.Node {
	if s := c.symbols[name]; s != nil {
		return s.symbol.Decl
	}
	return nil
}

// variableOf is the level whose variable an expression names; 0 for others.
func (c *checker) variableOf(x lang.Expr) expr.Deps {
	if n, ok := x.(*lang.Name); ok {
		if s := c.symbols[n.Name]; s != nil && s.symbol.Kind == ir.VarSymbol {
			return s.value.deps
		}
	}
	return 0
}
