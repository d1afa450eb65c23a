package lang

import (
	"sort"

	"bilevelc/lang/diag"
)

// A NameKind tells what a definition is.
type NameKind uint8

// The kinds of definitions.
const (
	ParamName NameKind = iota
	DataName
	SetName
	LetName
	FnName
	VarName
	ConstraintName // of `dual`, and of results
	FollowerName
	ReportName
	IndexName     // of a comprehension, a family or a block that stands for many
	ParameterName // of a function
	SizeName      // of a function's own, in the types of its parameters
	ModelName
	KeyName // of a part of a set's tuples
)

func (k NameKind) String() string {
	return [...]string{"param", "data", "set", "let", "fn", "var", "constraint", "follower", "report", "index",
		"parameter", "size", "model", "key"}[k]
}

// Definition is one place of a model that gives a name its meaning.
type Definition struct {
	Name  Ident
	Kind  NameKind
	Decl  Node      // the declaration, constraint, binder, parameter or block that it stands in
	Level *Level    // that holds it, nil at the top
	Scope diag.Span // where it is seen; all of the file for a name of the model
	Uses  []Use     // in order of place; the definition itself is none
}

// Use is one place that reads a name.
type Use struct {
	Place diag.Span
	Expr  Expr // the *Name or *Call; nil where it is no expression, as behind `within` and `start`
}

// Names is the index of all names of a file: what each place means. It is made
// from the tree alone, by the rules of scope, so that it is there however much of
// the model does not check.
type Names struct {
	Definitions []*Definition // in order of place
	// Free are the names that no definition of the file gives a meaning:
	// functions of the library, words of the language, slips.
	Free []Ident
}

// NamesOf makes the index of a file. library tells the functions that are called
// without a definition in the model, which a value of the same name does not hide.
func NamesOf(file *File, library func(string) bool) *Names {
	n := &namer{names: &Names{}, library: library, file: file.Span(), global: map[string]*Definition{},
		constraints: map[string]*Definition{}}
	n.declare(file)
	for _, d := range file.Decls {
		n.decl(d)
	}
	sortNames(n.names)
	return n.names
}

// At is the definition whose name, or a use of it, stands at an offset, with that
// place; nil where none does. A name is also at the place right behind it.
func (n *Names) At(offset int) (*Definition, Use) {
	touches := func(s diag.Span) bool { return s.Start <= offset && offset <= s.End && s.Start < s.End }
	for _, d := range n.Definitions {
		if touches(d.Name.Place) {
			return d, Use{Place: d.Name.Place}
		}
		for _, u := range d.Uses {
			if touches(u.Place) {
				return d, u
			}
		}
	}
	return nil, Use{}
}

// FreeAt is the name without a definition that stands at an offset, or nil.
func (n *Names) FreeAt(offset int) *Ident {
	for i := range n.Free {
		if p := n.Free[i].Place; p.Start <= offset && offset <= p.End {
			return &n.Free[i]
		}
	}
	return nil
}

// Visible lists the definitions that an expression at an offset sees, innermost
// first where one hides another; constraints are seen inside `dual` only.
func (n *Names) Visible(offset int) []*Definition {
	var out []*Definition
	for i := len(n.Definitions) - 1; i >= 0; i-- {
		if s := n.Definitions[i].Scope; s.Start <= offset && offset <= s.End {
			out = append(out, n.Definitions[i])
		}
	}
	return out
}

// Lookup is the definition of the model, not of a scope inside it, that has a name
// and one of the kinds; nil where there is none.
func (n *Names) Lookup(name string, kinds ...NameKind) *Definition {
	for _, d := range n.Definitions {
		for _, k := range kinds {
			if d.Name.Name == name && d.Kind == k {
				return d
			}
		}
	}
	return nil
}

// A namer walks a file.
type namer struct {
	names       *Names
	library     func(string) bool
	file        diag.Span
	global      map[string]*Definition
	constraints map[string]*Definition // of the lower level
	level       *Level
}

// A nameScope is what an expression sees besides the model's names.
type nameScope struct {
	parent *nameScope
	names  map[string]*Definition
}

func (s *nameScope) find(name string) *Definition {
	for ; s != nil; s = s.parent {
		if d := s.names[name]; d != nil {
			return d
		}
	}
	return nil
}

// define adds a definition. Of two with one name the first has the uses.
func (n *namer) define(name Ident, kind NameKind, decl Node, scope diag.Span, in map[string]*Definition) {
	if name.Name == "" {
		return // the parser has reported that it is missing
	}
	d := &Definition{Name: name, Kind: kind, Decl: decl, Level: n.level, Scope: scope}
	n.names.Definitions = append(n.names.Definitions, d)
	if in != nil && in[name.Name] == nil {
		in[name.Name] = d
	}
}

// declare enters the names of the model, which are seen everywhere.
func (n *namer) declare(file *File) {
	if file.Model != nil {
		n.define(*file.Model, ModelName, file, diag.Span{Start: 0, End: -1}, nil)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *Param:
			n.define(d.Name, ParamName, d, n.file, n.global)
		case *Data:
			n.define(d.Name, DataName, d, n.file, n.global)
		case *IndexSet:
			n.define(d.Name, SetName, d, n.file, n.global)
			for _, k := range d.Keys {
				n.define(k, KeyName, d, diag.Span{Start: 0, End: -1}, nil)
			}
		case *Let:
			n.define(d.Name, LetName, d, n.file, n.global)
		case *Fn:
			n.define(d.Name, FnName, d, n.file, n.global)
		case *Level:
			n.level = d
			if d.Name != nil {
				n.define(*d.Name, FollowerName, d, diag.Span{Start: 0, End: -1}, nil)
			}
			for _, item := range d.Items {
				n.declareItem(d, item)
			}
			n.level = nil
		case *Report:
			for _, item := range d.Items {
				n.define(item.Name, ReportName, item, diag.Span{Start: 0, End: -1}, nil)
			}
		}
	}
}

func (n *namer) declareItem(level *Level, item LevelItem) {
	switch item := item.(type) {
	case *Var:
		n.define(item.Name, VarName, item, n.file, n.global)
	case *Let:
		if level.Binders == nil { // else it is of one follower
			n.define(item.Name, LetName, item, n.file, n.global)
		}
	case *SubjectTo:
		for _, c := range item.Constraints {
			if c.Name == nil {
				continue
			}
			in := n.constraints
			if !level.Lower {
				in = nil
			}
			n.define(*c.Name, ConstraintName, c, n.file, in)
		}
	}
}

func (n *namer) decl(d Decl) {
	switch d := d.(type) {
	case *Param:
		n.typ(nil, &d.Type)
		n.expr(nil, d.Default)
	case *Data:
		n.typ(nil, &d.Type)
		n.expr(nil, d.Value)
		if d.Gen != nil {
			n.exprs(nil, d.Gen.Args)
		}
	case *IndexSet:
		for _, w := range d.Within {
			n.use(nil, w, nil)
		}
		if v := d.Value; v != nil {
			n.expr(nil, v.Lo)
			n.expr(nil, v.Hi)
			for _, e := range v.Elems {
				n.exprs(nil, e.Parts)
			}
			n.expr(n.binders(nil, v.Binders, v.Place), v.Cond)
		}
	case *Let:
		n.expr(nil, d.Value)
	case *Fn:
		n.fn(d)
	case *Level:
		n.block(d)
	case *Solve:
		for _, item := range d.Items {
			if item.Start {
				n.use(nil, item.Name, nil)
			} else if _, word := item.Value.(*Name); word {
				continue // a method's name, not one of the model's
			}
			n.expr(nil, item.Value)
		}
	case *Report:
		for _, item := range d.Items {
			n.expr(nil, item.Value)
		}
	}
}

// fn gives a function's parameters and own sizes their scope, which is the
// function: parameters that are sizes themselves come first.
func (n *namer) fn(d *Fn) {
	s := &nameScope{names: map[string]*Definition{}}
	for i := range d.Params {
		p := &d.Params[i]
		n.define(p.Name, ParameterName, p, d.Place, s.names)
	}
	types := make([]*TypeExpr, 0, len(d.Params)+1)
	for i := range d.Params {
		types = append(types, d.Params[i].Type)
	}
	for _, t := range append(types, d.Result) {
		if t == nil {
			continue
		}
		for _, e := range t.Dims {
			if size, ok := e.(*Name); ok && s.names[size.Name] == nil && n.global[size.Name] == nil {
				n.define(Ident{At: size.At, Name: size.Name}, SizeName, d, d.Place, s.names)
				continue
			}
			n.expr(s, e)
		}
	}
	n.expr(s, d.Body)
}

func (n *namer) block(d *Level) {
	n.level = d
	defer func() { n.level = nil }()
	s := n.binders(nil, d.Binders, d.Place)
	if d.Binders != nil {
		own := &nameScope{parent: s, names: map[string]*Definition{}}
		for _, item := range d.Items {
			if let, ok := item.(*Let); ok {
				n.define(let.Name, LetName, let, d.Place, own.names)
			}
		}
		s = own
	}
	for _, item := range d.Items {
		switch item := item.(type) {
		case *Var:
			n.typ(s, &item.Type)
			if item.Set != nil {
				n.exprs(s, item.Set.Args)
			}
		case *Let:
			n.expr(s, item.Value)
		case *Objective:
			n.expr(s, item.Value)
		case *SubjectTo:
			for _, c := range item.Constraints {
				in := n.binders(s, c.Binders, c.Place)
				n.expr(in, c.Cond)
				n.exprs(in, c.Terms)
			}
		}
	}
}

// binders opens the scope of indices; a later range may use the earlier ones.
func (n *namer) binders(s *nameScope, list []Binder, scope diag.Span) *nameScope {
	for i := range list {
		b := &list[i]
		n.expr(s, b.Lo)
		n.expr(s, b.Hi)
		s = &nameScope{parent: s, names: map[string]*Definition{}}
		for _, name := range b.Names() {
			n.define(name, IndexName, b, scope, s.names)
		}
	}
	return s
}

func (n *namer) typ(s *nameScope, t *TypeExpr) { n.exprs(s, t.Dims) }

func (n *namer) exprs(s *nameScope, list []Expr) {
	for _, e := range list {
		n.expr(s, e)
	}
}

func (n *namer) expr(s *nameScope, e Expr) {
	if e == nil {
		return
	}
	Walk(e, func(e Expr) bool {
		switch e := e.(type) {
		case *Name:
			n.use(s, Ident{At: e.At, Name: e.Name}, e)
		case *Call:
			return n.call(e)
		case *Comprehension:
			if e.Fn.Name != "" {
				n.names.Free = append(n.names.Free, e.Fn)
			}
			in := n.binders(s, e.Binders, e.Place)
			n.expr(in, e.Cond)
			n.expr(in, e.Body)
			return false
		}
		return true
	})
}

// call resolves the name of a function, and that of a constraint inside `dual`. It
// reports whether the arguments are still to be walked.
func (n *namer) call(e *Call) bool {
	d := n.global[e.Fn.Name]
	if d != nil && (d.Kind == FnName || !n.library(e.Fn.Name)) {
		d.Uses = append(d.Uses, Use{e.Fn.Place, e})
		return true
	}
	if e.Fn.Name != "" {
		n.names.Free = append(n.names.Free, e.Fn)
	}
	if e.Fn.Name != "dual" || len(e.Args) != 1 {
		return true
	}
	row, ok := e.Args[0].(*Name)
	if !ok {
		return true
	}
	if c := n.constraints[row.Name]; c != nil {
		c.Uses = append(c.Uses, Use{row.Place, row})
	} else {
		n.names.Free = append(n.names.Free, Ident{At: row.At, Name: row.Name})
	}
	return false
}

func (n *namer) use(s *nameScope, name Ident, e Expr) {
	d := s.find(name.Name)
	if d == nil {
		d = n.global[name.Name]
	}
	switch {
	case name.Name == "":
	case d == nil:
		n.names.Free = append(n.names.Free, name)
	default:
		d.Uses = append(d.Uses, Use{name.Place, e})
	}
}

func sortNames(n *Names) {
	sort.SliceStable(n.Definitions, func(i, j int) bool {
		return n.Definitions[i].Name.Place.Start < n.Definitions[j].Name.Place.Start
	})
	for _, d := range n.Definitions {
		sort.SliceStable(d.Uses, func(i, j int) bool { return d.Uses[i].Place.Start < d.Uses[j].Place.Start })
	}
}
