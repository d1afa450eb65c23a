package elab

import (
	"slices"

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
	r.look(e, nil, nil)
	return r.result
}

type reader struct {
	program *ir.Program
	found   func(x lang.Expr, s *ir.Symbol, way []*lang.Name) bool
	seen    map[lang.Node]bool // lets and functions
	result  []*lang.Name
}

// look goes through an expression in which local names hide those of the model.
func (r *reader) look(e lang.Expr, way []*lang.Name, hidden []string) {
	lang.Walk(e, func(x lang.Expr) bool {
		if r.result != nil {
			return false
		}
		switch x := x.(type) {
		case *lang.Name:
			if !slices.Contains(hidden, x.Name) {
				r.lead(x, x, way)
			}
		case *lang.Call:
			r.lead(x, &lang.Name{At: x.Fn.At, Name: x.Fn.Name}, way)
		case *lang.Comprehension:
			inner := hidden[:len(hidden):len(hidden)]
			for i := range x.Binders {
				b := &x.Binders[i]
				r.look(b.Lo, way, inner)
				r.look(b.Hi, way, inner)
				for _, n := range b.Names() {
					inner = append(inner, n.Name)
				}
			}
			r.look(x.Cond, way, inner)
			r.look(x.Body, way, inner)
			return false
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
	switch d := s.Decl.(type) {
	case *lang.Let:
		if !call {
			r.seen[d] = true
			r.look(d.Value, to, nil)
		}
	case *lang.Fn:
		if call {
			r.seen[d] = true
			var params []string
			for i := range d.Params {
				params = append(params, d.Params[i].Name.Name)
				if t := d.Params[i].Type; t != nil {
					for _, size := range t.Dims {
						r.look(size, to, nil)
					}
				}
			}
			r.look(d.Body, to, params)
		}
	}
}
