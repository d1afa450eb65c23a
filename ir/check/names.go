package check

import (
	"maps"
	"math"
	"slices"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// An entry is a declared name on its way through the checker.
type entry struct {
	symbol *ir.Symbol
	name   lang.Ident
	state  resolution
	value  value // once done
	used   bool
}

type resolution uint8

const (
	untouched resolution = iota
	underway
	done
)

// A scope holds the names that an expression sees besides the model's: the
// indices around it, or the parameters of the function whose body it is.
type scope struct {
	parent *scope
	names  map[string]value
	spans  []span // of the indices that the scope declares, binder by binder
	frame  *frame // nil outside function bodies
	id     int
	// guarded says that a condition decides whether this is evaluated, so
	// that an index need not reach the ends of its range.
	guarded bool
}

// A frame is a function's body being checked for one call.
type frame struct {
	fn      *lang.Fn
	library bool
	call    diag.Span // zero where the function is checked on its own
	caller  *frame
	failed  bool
}

// find is the value of a local name; ok is false where there is none.
func (s *scope) find(name string) (v value, ok bool) {
	for t := s; t != nil && !ok; t = t.parent {
		v, ok = t.names[name]
	}
	return v, ok
}

// local reports that a name is one of the scope.
func (s *scope) local(name string) bool {
	_, ok := s.find(name)
	return ok
}

// library reports the body of a function of the library, which sees no name of the model.
func (s *scope) library() bool { return s.frame != nil && s.frame.library }

// child opens a scope inside s.
func (c *checker) child(s *scope) *scope {
	c.scopes++
	return &scope{parent: s, names: map[string]value{}, frame: s.frame, id: c.scopes, guarded: s.guarded}
}

// declare enters every name of the file, at the top and inside levels, and
// reports those that are taken.
func (c *checker) declare() {
	if c.file.Model != nil {
		c.program.Name = c.file.Model.Name
	}
	for _, d := range c.file.Decls {
		c.enter(d, false)
		if l, ok := d.(*lang.Level); ok {
			for _, item := range c.itemsOf(l) {
				c.enter(item, l.Lower)
			}
		}
	}
}

// enter enters the name that a declaration gives, if any.
func (c *checker) enter(decl lang.Node, lower bool) {
	name, kind, ok := elab.Declared(decl)
	if !ok {
		return
	}
	c.meter.Step()
	if first := c.symbols[name.Name]; first != nil {
		d := c.errorf(c.global, diag.DeclaredTwice, name.Span(), "`%s` is declared twice", name.Name)
		d.Detail = "the names of a model, those inside its levels included, must differ"
		d.Related = []diag.Related{{Span: first.name.Span(), Message: "first declared here"}}
		return
	}
	if in := intrinsics[name.Name]; in != nil && !in.yields {
		d := c.errorf(c.global, diag.PrimitiveName, name.Span(), "`%s` is a primitive of the language", name.Name)
		d.Detail = "names of library functions may be reused, those of primitives may not"
		d.Fix = "choose another name, such as `" + name.Name + "_`"
		return
	}
	e := &entry{symbol: &ir.Symbol{Name: name.Name, Kind: kind, Decl: decl, Lower: lower}, name: name}
	c.symbols[name.Name] = e
	c.ordered = append(c.ordered, e)
	c.program.Symbols[name.Name] = e.symbol
}

// resolve computes the value of a declared name, and first those it needs.
func (c *checker) resolve(e *entry) value {
	c.meter.Step()
	switch e.state {
	case done:
		return e.value
	case underway:
		c.cycle(e)
		return unknownValue
	}
	e.state = underway
	c.resolved = append(c.resolved, e)
	var v value
	switch d := e.symbol.Decl.(type) {
	case *lang.Param:
		v = c.param(e, d)
	case *lang.Data:
		v = c.data(e, d)
	case *lang.IndexSet:
		v = c.declaredSet(d)
	case *lang.Let:
		v = c.expr(c.global, d.Value)
		if v.typ.Kind == ir.BoolType {
			c.errorf(c.global, diag.Condition, d.Value.Span(), "a condition cannot be named by a let").Detail =
				"conditions stand after `if` only"
			v = unknownValue
		}
		v = c.numeric(c.global, d.Value, v)
	case *lang.Var:
		v = c.variable(e, d)
	case *lang.Fn:
		v = unknownValue // functions are called, not read
	}
	c.resolved = c.resolved[:len(c.resolved)-1]
	e.value, e.state = v, done
	e.symbol.Type, e.symbol.Deps, e.symbol.Labels = v.typ, v.deps, len(v.set.tuple())
	return v
}

// cycle reports a definition that needs itself, once for each cycle.
func (c *checker) cycle(e *entry) {
	start := len(c.resolved) - 1
	for start > 0 && c.resolved[start] != e {
		start--
	}
	if start < c.reading {
		return // through a multiplier, which is an error of its own
	}
	loop := c.resolved[start:]
	names := each.Of(loop, func(m *entry) string { return "`" + m.symbol.Name + "`" })
	names = append(names, "`"+e.symbol.Name+"`")
	d := c.errorf(c.global, diag.Cycle, e.name.Span(), "`%s` is defined by means of itself", e.symbol.Name)
	d.Detail = strings.Join(names, " needs ")
	for _, m := range loop[1:] {
		d.Related = append(d.Related, diag.Related{Span: m.name.Span(), Message: "`" + m.symbol.Name + "` is declared here"})
	}
}

// infinityName is the bound of a side without one, unless the model declares
// the name.
const infinityName = "inf"

// circleName is pi, unless the model declares the name.
const circleName = "pi"

// name checks a name that is read as a value.
func (c *checker) name(s *scope, e *lang.Name) value {
	if v, ok := s.find(e.Name); ok {
		return v
	}
	if !s.library() {
		if entry := c.symbols[e.Name]; entry != nil {
			entry.used = true
			if entry.symbol.Kind == ir.FnSymbol {
				return c.functionAsValue(s, e)
			}
			return c.resolve(entry)
		}
	}
	if e.Name == infinityName && c.symbols[e.Name] == nil {
		if !c.bounds {
			c.errorf(s, diag.NotReal, e.Span(), "`inf` is no number to compute with").Detail =
				"it stands in the bounds of a box, for a side without one: `box(0, inf)`"
			return unknownValue
		}
		n := math.Inf(1)
		return value{typ: elab.Real, num: &n}
	}
	if e.Name == circleName {
		n := math.Pi
		return value{typ: elab.Real, num: &n}
	}
	if intrinsics[e.Name] != nil || c.program.Library[e.Name] != nil {
		return c.functionAsValue(s, e)
	}
	d := c.errorf(s, diag.UnknownName, e.Span(), "`%s` is not declared", e.Name)
	near := c.nearest(e.Name, func() []string { return c.visible(s) })
	if near == "" && slices.Contains([]string{"infinity", "infty", "oo"}, strings.ToLower(e.Name)) {
		near = infinityName
	}
	if near == "" {
		d.Detail = "a name stands for a param, data, let, variable, function or index"
		return unknownValue
	}
	d.Fix = "did you mean `" + near + "`?"
	if meant := c.symbols[near]; meant != nil {
		meant.used = true
	}
	return unknownValue
}

func (c *checker) functionAsValue(s *scope, e *lang.Name) value {
	c.errorf(s, diag.FunctionValue, e.Span(), "`%s` is a function and needs arguments", e.Name).Fix = "write `" + e.Name + "(...)`"
	return unknownValue
}

// visible lists the values that a name at s could mean, for suggestions.
func (c *checker) visible(s *scope) []string {
	out := c.declared(func(k ir.SymbolKind) bool { return k != ir.FnSymbol })
	for t := s; t != nil; t = t.parent {
		out = slices.AppendSeq(out, maps.Keys(t.names))
	}
	slices.Sort(out)
	return out
}

// declared lists the names of the model that are of such a kind, in order.
func (c *checker) declared(one func(ir.SymbolKind) bool) []string {
	of := each.Where(c.ordered, func(e *entry) bool { return one(e.symbol.Kind) })
	return each.Of(of, func(e *entry) string { return e.symbol.Name })
}

// unused warns of what was declared and never read. What has an error of its
// own has been spoken of.
func (c *checker) unused() {
	faults := c.faults()
	for _, e := range c.ordered {
		decl := e.symbol.Decl.Span()
		i, _ := slices.BinarySearch(faults, decl.Start)
		if e.used || slices.Contains(c.spoken, e.symbol.Name) || i < len(faults) && faults[i] < decl.End {
			continue
		}
		switch e.symbol.Kind {
		case ir.ParamSymbol, ir.DataSymbol, ir.LetSymbol, ir.VarSymbol, ir.SetSymbol:
			c.warnf(diag.Unused, e.name.Span(), "`%s` is never used", e.symbol.Name)
		}
	}
}

// faults lists the places of the errors in the model, in order.
func (c *checker) faults() []int {
	own := each.Where(c.diags, func(d *diag.Diagnostic) bool { return d.Severity == diag.Error && d.Subject.Source == c.file.Source })
	out := each.Of(own, func(d *diag.Diagnostic) int { return d.Subject.Start })
	slices.Sort(out)
	return out
}
