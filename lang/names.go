package lang

import (
	"slices"

	"bilevelc/internal/each"
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
	n := newNamer(file.Span())
	n.library, n.visit = library, n.read
	if file.Model != nil {
		n.define(nil, *file.Model, ModelName, file, nowhere)
	}
	n.declare(file.Decls)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *IndexSet:
			for _, w := range d.Within {
				n.use(nil, w, nil)
			}
		case *Solve:
			for _, item := range d.Items {
				if item.Start {
					n.use(nil, item.Name, nil)
				}
			}
		}
		n.node(nil, d)
	}
	slices.SortStableFunc(n.names.Definitions, func(a, b *Definition) int { return a.Name.Place.Start - b.Name.Place.Start })
	for _, d := range n.names.Definitions {
		slices.SortStableFunc(d.Uses, func(a, b Use) int { return a.Place.Start - b.Place.Start })
	}
	return n.names
}

// Declared lists the definitions of declarations that are not of a scope inside them, in
// order of appearance, without their uses.
func Declared(decls []Decl) []*Definition {
	n := newNamer(diag.Span{})
	n.declare(decls)
	return n.names.Definitions
}

// IsValue reports that expressions anywhere in the model may read or call what is defined.
func (d *Definition) IsValue() bool {
	switch d.Kind {
	case ParamName, DataName, SetName, LetName, FnName, VarName:
		return true
	}
	return false
}

// Inspect visits every expression of a declaration or of a part of one, types'
// dimensions, sets and binders included, as Walk does, each with the scope inside n
// that it stands in. Words of `solve { }` that name methods are none.
func Inspect(n Node, visit func(e Expr, in *Scope) bool) {
	(&namer{visit: visit, names: &Names{}}).node(nil, n)
}

// FindName is the first name that stands as an expression in a node, with its scope, and that found
// accepts; nil for none.
func FindName(n Node, found func(x *Name, in *Scope) bool) (first *Name) {
	Inspect(n, func(e Expr, in *Scope) bool {
		if x, ok := e.(*Name); ok && first == nil && found(x, in) {
			first = x
		}
		return first == nil
	})
	return first
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
	out := each.Where(n.Definitions, func(d *Definition) bool { return d.Scope.Start <= offset && offset <= d.Scope.End })
	slices.Reverse(out)
	return out
}

// Lookup is the definition of the model, not of a scope inside it, that has a name
// and one of the kinds; nil where there is none.
func (n *Names) Lookup(name string, kinds ...NameKind) *Definition {
	for _, d := range n.Definitions {
		if d.Name.Name == name && slices.Contains(kinds, d.Kind) {
			return d
		}
	}
	return nil
}

// A Scope is what an expression sees besides the names of the model; nil is none of it.
type Scope struct {
	parent *Scope
	names  map[string]*Definition
}

// Find is the definition of a name in the scope or one around it, or nil.
func (s *Scope) Find(name string) *Definition {
	for ; s != nil; s = s.parent {
		if d := s.names[name]; d != nil {
			return d
		}
	}
	return nil
}

func (s *Scope) inner() *Scope { return &Scope{parent: s, names: map[string]*Definition{}} }

// A namer walks declarations and their parts with the rules of scope.
type namer struct {
	visit       func(Expr, *Scope) bool // as in Walk
	names       *Names
	library     func(string) bool
	file        diag.Span
	global      *Scope // what the model declares, like the next two nil where only parts are walked
	constraints *Scope // of the lower level
	lets        map[*Let]*Definition
	level       *Level
}

func newNamer(file diag.Span) *namer {
	var none *Scope
	return &namer{names: &Names{}, file: file, global: none.inner(), constraints: none.inner(), lets: map[*Let]*Definition{}}
}

// nowhere is the scope of what no expression reads by its name alone.
var nowhere = diag.Span{Start: 0, End: -1}

// define adds a definition. Of two with one name the first has the uses.
func (n *namer) define(in *Scope, name Ident, kind NameKind, decl Node, scope diag.Span) {
	if name.Name == "" {
		return // the parser has reported that it is missing
	}
	d := &Definition{Name: name, Kind: kind, Decl: decl, Level: n.level, Scope: scope}
	n.names.Definitions = append(n.names.Definitions, d)
	if let, ok := decl.(*Let); ok && n.lets != nil {
		n.lets[let] = d
	}
	if in != nil && in.names[name.Name] == nil {
		in.names[name.Name] = d
	}
}

// declare enters the names of the model, which are seen everywhere.
func (n *namer) declare(decls []Decl) {
	for _, d := range decls {
		switch d := d.(type) {
		case *Param:
			n.define(n.global, d.Name, ParamName, d, n.file)
		case *Data:
			n.define(n.global, d.Name, DataName, d, n.file)
		case *IndexSet:
			n.define(n.global, d.Name, SetName, d, n.file)
			for _, k := range d.Keys {
				n.define(nil, k, KeyName, d, nowhere)
			}
		case *Let:
			n.define(n.global, d.Name, LetName, d, n.file)
		case *Fn:
			n.define(n.global, d.Name, FnName, d, n.file)
		case *Level:
			n.level = d
			if d.Name != nil {
				n.define(nil, *d.Name, FollowerName, d, nowhere)
			}
			for _, item := range d.Items {
				n.declareItem(item)
			}
			n.level = nil
		case *Report:
			for _, item := range d.Items {
				n.define(nil, item.Name, ReportName, item, nowhere)
			}
		}
	}
}

func (n *namer) declareItem(item LevelItem) {
	switch item := item.(type) {
	case *Var:
		n.define(n.global, item.Name, VarName, item, n.file)
	case *Let:
		n.define(n.global, item.Name, LetName, item, n.file)
	case *SubjectTo:
		for _, c := range item.Constraints {
			if c.Name == nil {
				continue
			}
			in := n.constraints
			if !n.level.Lower {
				in = nil
			}
			n.define(in, *c.Name, ConstraintName, c, n.file)
		}
	}
}

func (n *namer) node(s *Scope, node Node) {
	switch d := node.(type) {
	case Expr:
		n.expr(s, d)
	case *TypeExpr:
		if d != nil {
			n.exprs(s, d.Dims)
		}
	case *IndexSet:
		if v := d.Value; v != nil {
			n.exprs(s, []Expr{v.Lo, v.Hi})
			for _, e := range v.Elems {
				n.exprs(s, e.Parts)
			}
			n.expr(n.binders(s, v.Binders, v.Place), v.Cond)
		}
	case *Param:
		n.node(s, &d.Type)
		n.expr(s, d.Default)
	case *Data:
		n.node(s, &d.Type)
		n.expr(s, d.Value)
		if d.Gen != nil {
			n.exprs(s, d.Gen.Args)
		}
	case *Let:
		n.expr(s, d.Value)
	case *Fn:
		n.fn(d)
	case *Level:
		n.level = d
		n.block(n.binders(s, d.Binders, d.Place), d)
		n.level = nil
	case *Var:
		n.node(s, &d.Type)
		if d.Set != nil {
			n.exprs(s, d.Set.Args)
		}
	case *Objective:
		n.expr(s, d.Value)
	case *SubjectTo:
		for _, c := range d.Constraints {
			n.node(s, c)
		}
	case *Constraint:
		in := n.binders(s, d.Binders, d.Place)
		n.expr(in, d.Cond)
		n.exprs(in, d.Terms)
	case *Solve:
		for _, item := range d.Items {
			if _, word := item.Value.(*Name); item.Start || !word {
				n.expr(s, item.Value)
			}
		}
	case *Report:
		for _, item := range d.Items {
			n.expr(s, item.Value)
		}
	}
}

// fn gives a function's parameters and own sizes their scope, which is the
// function: parameters that are sizes themselves come first.
func (n *namer) fn(d *Fn) {
	var none *Scope
	s := none.inner()
	types := make([]*TypeExpr, 0, len(d.Params)+1)
	for i := range d.Params {
		p := &d.Params[i]
		n.define(s, p.Name, ParameterName, p, d.Place)
		types = append(types, p.Type)
	}
	for _, t := range append(types, d.Result) {
		if t == nil {
			continue
		}
		for _, e := range t.Dims {
			if size, ok := e.(*Name); ok && n.global != nil && s.Find(size.Name) == nil && n.global.Find(size.Name) == nil {
				n.define(s, Ident{At: size.At, Name: size.Name}, SizeName, d, d.Place)
				continue
			}
			n.expr(s, e)
		}
	}
	n.expr(s, d.Body)
}

// block walks a level. The lets of one that stands for many hide those of others.
func (n *namer) block(s *Scope, d *Level) {
	if d.Binders != nil {
		s = s.inner()
		for _, item := range d.Items {
			let, _ := item.(*Let)
			if def := n.lets[let]; def != nil && s.names[def.Name.Name] == nil {
				s.names[def.Name.Name] = def
			}
		}
	}
	for _, item := range d.Items {
		n.node(s, item)
	}
}

// binders opens the scope of indices; a later range may use the earlier ones.
func (n *namer) binders(s *Scope, list []Binder, scope diag.Span) *Scope {
	for i := range list {
		n.exprs(s, []Expr{list[i].Lo, list[i].Hi})
		s = n.indices(s, &list[i], scope)
	}
	return s
}

// indices is the scope of a binder's own names inside another.
func (n *namer) indices(s *Scope, b *Binder, scope diag.Span) *Scope {
	s = s.inner()
	for _, name := range b.Names() {
		n.define(s, name, IndexName, b, scope)
	}
	return s
}

func (n *namer) exprs(s *Scope, list []Expr) {
	for _, e := range list {
		n.expr(s, e)
	}
}

func (n *namer) expr(s *Scope, e Expr) {
	Walk(e, func(e Expr) bool {
		if !n.visit(e, s) {
			return false
		}
		c, ok := e.(*Comprehension)
		if ok {
			n.exprs(n.binders(s, c.Binders, c.Place), []Expr{c.Cond, c.Body})
		}
		return !ok
	})
}

// read notes what the name of an expression means.
func (n *namer) read(e Expr, s *Scope) bool {
	switch e := e.(type) {
	case *Name:
		n.use(s, Ident{At: e.At, Name: e.Name}, e)
	case *Call:
		return n.call(e)
	case *Comprehension:
		n.free(e.Fn)
	}
	return true
}

// call resolves the name of a function, and that of a constraint inside `dual`. It
// reports whether the arguments are still to be walked.
func (n *namer) call(e *Call) bool {
	d := n.global.Find(e.Fn.Name)
	if d != nil && (d.Kind == FnName || !n.library(e.Fn.Name)) {
		d.Uses = append(d.Uses, Use{e.Fn.Place, e})
		return true
	}
	n.free(e.Fn)
	if e.Fn.Name == "dual" && len(e.Args) == 1 {
		if row, ok := e.Args[0].(*Name); ok {
			n.useOf(n.constraints.Find(row.Name), Ident{At: row.At, Name: row.Name}, row)
			return false
		}
	}
	return true
}

func (n *namer) use(s *Scope, name Ident, e Expr) {
	d := s.Find(name.Name)
	if d == nil {
		d = n.global.Find(name.Name)
	}
	n.useOf(d, name, e)
}

func (n *namer) useOf(d *Definition, name Ident, e Expr) {
	if d == nil {
		n.free(name)
		return
	}
	d.Uses = append(d.Uses, Use{name.Place, e})
}

func (n *namer) free(name Ident) {
	if name.Name != "" {
		n.names.Free = append(n.names.Free, name)
	}
}
