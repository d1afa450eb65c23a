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
	way := elab.Reads(e, c.program, func(_ lang.Expr, s *ir.Symbol, _ []*lang.Name) bool { return variable(s)&deps != 0 })
	switch len(way) {
	case 0:
		return "a variable"
	case 1:
		return "the variable `" + way[0].Name + "`"
	}
	return "the variable `" + way[len(way)-1].Name + "` through `" + way[0].Name + "`"
}

// variable is the level whose variable a symbol is; 0 for others.
func variable(s *ir.Symbol) expr.Deps {
	if s == nil || s.Kind != ir.VarSymbol {
		return 0
	}
	return s.Deps
}
