package elab

import (
	"bilevelc/ir"
	"bilevelc/lang"
)

// Reads looks for what an expression reads: in it, and in the lets and functions of the
// model that it leads to, each once. It returns the names that lead to the first name or
// call that found accepts, that one last, or nil. s is what the model declares by a name,
// nil where x is a call; way are the names that lead to x, none where x stands in the
// expression itself.
func Reads(e lang.Expr, p *ir.Program, found func(x lang.Expr, s *ir.Symbol, way []*lang.Name) bool) (result []*lang.Name) {
	seen := map[lang.Node]bool{} // lets and functions
	var look func(n lang.Node, way []*lang.Name)
	look = func(n lang.Node, way []*lang.Name) {
		lang.Inspect(n, func(x lang.Expr, in *lang.Scope) bool {
			var name *lang.Name
			call, isCall := x.(*lang.Call)
			if isCall {
				name = &lang.Name{At: call.Fn.At, Name: call.Fn.Name}
			} else if n, ok := x.(*lang.Name); ok && in.Find(n.Name) == nil {
				name = n
			}
			if result != nil || name == nil {
				return result == nil
			}
			to, s := append(way[:len(way):len(way)], name), p.Symbols[name.Name]
			read := s
			if isCall {
				read = nil
			}
			if found(x, read, way) {
				result = to
			} else if s != nil && !seen[s.Decl] {
				if _, kind, _ := Declared(s.Decl); isCall && kind == ir.FnSymbol || !isCall && kind == ir.LetSymbol {
					seen[s.Decl] = true
					look(s.Decl, to)
				}
			}
			return result == nil
		})
	}
	look(e, nil)
	return result
}

// Declared is the name that a declaration, or an item of a level, gives, and of what kind.
func Declared(d lang.Node) (name lang.Ident, kind ir.SymbolKind, ok bool) {
	switch d := d.(type) {
	case *lang.Param:
		return d.Name, ir.ParamSymbol, true
	case *lang.Data:
		return d.Name, ir.DataSymbol, true
	case *lang.IndexSet:
		return d.Name, ir.SetSymbol, true
	case *lang.Let:
		return d.Name, ir.LetSymbol, true
	case *lang.Fn:
		return d.Name, ir.FnSymbol, true
	case *lang.Var:
		return d.Name, ir.VarSymbol, true
	}
	return name, kind, false
}

// Global is what an expression names among the declarations of the model, or nil: local names
// hide those, and the library does not see them.
func Global(p *ir.Program, x lang.Expr, local func(name string) bool, library bool) *ir.Symbol {
	n, ok := x.(*lang.Name)
	if !ok || library || local(n.Name) {
		return nil
	}
	return p.Symbols[n.Name]
}

// OwnSize is the name of a size that the types of a function write, and whether it is the
// function's own, which nothing else declares.
func OwnSize(p *ir.Program, x lang.Expr, local func(name string) bool, library bool) (name string, own bool) {
	n, ok := x.(*lang.Name)
	if !ok || local(n.Name) {
		return "", false
	}
	return n.Name, library || p.Symbols[n.Name] == nil
}
