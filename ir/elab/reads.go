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
func Reads(e lang.Expr, p *ir.Program, found func(x lang.Expr, s *ir.Symbol, way []*lang.Name) bool) []*lang.Name {
	r := reader{program: p, found: found, seen: map[lang.Node]bool{}}
	r.look(e, nil)
	return r.result
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

type reader struct {
	program *ir.Program
	found   func(x lang.Expr, s *ir.Symbol, way []*lang.Name) bool
	seen    map[lang.Node]bool // lets and functions
	result  []*lang.Name
}

// look goes through an expression, or a declaration that the way leads to.
func (r *reader) look(n lang.Node, way []*lang.Name) {
	lang.Inspect(n, func(x lang.Expr, in *lang.Scope) bool {
		if r.result != nil {
			return false
		}
		switch x := x.(type) {
		case *lang.Name:
			if in.Find(x.Name) == nil {
				r.lead(x, x, way)
			}
		case *lang.Call:
			r.lead(x, &lang.Name{At: x.Fn.At, Name: x.Fn.Name}, way)
		}
		return r.result == nil
	})
}

// lead follows a name of the model.
func (r *reader) lead(x lang.Expr, name *lang.Name, way []*lang.Name) {
	to := append(way[:len(way):len(way)], name)
	s := r.program.Symbols[name.Name]
	_, call := x.(*lang.Call)
	read := s
	if call {
		read = nil
	}
	if r.found(x, read, way) {
		r.result = to
		return
	}
	if s == nil || r.seen[s.Decl] {
		return
	}
	switch s.Decl.(type) {
	case *lang.Let:
		if call {
			return
		}
	case *lang.Fn:
		if !call {
			return
		}
	default:
		return
	}
	r.seen[s.Decl] = true
	r.look(s.Decl, to)
}
