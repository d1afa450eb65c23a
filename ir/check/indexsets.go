package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// An indexSet is a declared set of labels, of numbers lo..hi, or of tuples of
// elements of other sets. Its size is an atom of its own: two sets are two
// sizes, and an array's dimension tells which set it is over.
type indexSet struct {
	name   string
	decl   *lang.IndexSet
	size   *poly
	parts  []*indexSet     // of a set of tuples
	within *indexSet       // the set that this one is a part of, or nil
	lo, hi *poly           // of a set of numbers; nil for labels
	labels map[string]bool // where the model lists them and they are no tuples
}

// root is the set that a chain of parts is taken from.
func (s *indexSet) root() *indexSet {
	for s.within != nil {
		s = s.within
	}
	return s
}

// tuple lists the sets of an element's labels: the set itself unless its
// elements are tuples, and none of no set.
func (s *indexSet) tuple() []*indexSet {
	if s == nil {
		return nil
	}
	if r := s.root(); r.parts != nil {
		return r.parts
	}
	return []*indexSet{s}
}

// related reports whether an element of one set may be an element of the
// other.
func related(a, b *indexSet) bool { return a.root() == b.root() }

// setOf is the set whose size a dimension is, or nil.
func setOf(p *poly) *indexSet {
	if p == nil {
		return nil
	}
	if a := p.bare(); a != nil {
		return a.set
	}
	return nil
}

// namedSet is the index set that an expression names, or nil.
func (c *checker) namedSet(s *scope, e lang.Expr) *indexSet {
	symbol := elab.Global(c.program, e, s.local, s.library())
	if symbol == nil || symbol.Kind != ir.SetSymbol {
		return nil
	}
	entry := c.symbols[symbol.Name]
	entry.used = true
	return c.resolve(entry).set
}

// declaredSet checks a declaration `set S ...`.
func (c *checker) declaredSet(d *lang.IndexSet) value {
	a := c.newAtom(d.Name.Name, setAtom)
	set := &indexSet{name: d.Name.Name, decl: d, size: atomPoly(a)}
	a.set = set
	if v := d.Value; v != nil && v.Binders != nil {
		if !c.filteredSet(set) {
			return unknownValue
		}
		return value{typ: ir.Type{Kind: ir.SetType, Dims: []ir.Dim{set.size}}, set: set}
	}
	for i, w := range d.Within {
		of := c.setNamed(w)
		switch {
		case of == nil:
			return unknownValue
		case len(d.Within) == 1:
			set.within = of
		case len(of.tuple()) > 1:
			c.errorf(c.global, diag.IndexSet, d.Within[i].Span(), "`%s` is a set of tuples and cannot be a part of one", of.name).Fix =
				"name the sets of its labels one by one"
			return unknownValue
		default:
			set.parts = append(set.parts, of)
		}
	}
	c.keys(set)
	if d.Value != nil {
		if d.Value.Lo != nil {
			c.numberSet(set, a)
		} else {
			c.listedSet(set)
		}
	}
	return value{typ: ir.Type{Kind: ir.SetType, Dims: []ir.Dim{set.size}}, set: set}
}

// keys checks the names that a declaration gives to the labels of its elements.
func (c *checker) keys(set *indexSet) {
	if keys, n := set.decl.Keys, len(set.tuple()); len(keys) > 0 && len(keys) != n {
		c.errorf(c.global, diag.IndexSet, keys[0].Span(), "`%s` has %d names for its parts, but its elements have %s", set.name, len(keys), partsText(n))
	}
}

func partsText(n int) string {
	if n == 1 {
		return "one label"
	}
	return fmt.Sprintf("%d labels", n)
}

// setNamed resolves a name behind `within`.
func (c *checker) setNamed(n lang.Ident) *indexSet {
	entry := c.symbols[n.Name]
	if entry == nil || entry.symbol.Kind != ir.SetSymbol {
		d := c.errorf(c.global, diag.IndexSet, n.Span(), "there is no index set `%s`", n.Name)
		if entry != nil {
			d.Summary = fmt.Sprintf("`%s` is not an index set", n.Name)
		}
		d.Fix = diag.Meant(n.Name, c.declared(func(k ir.SymbolKind) bool { return k == ir.SetSymbol }))
		return nil
	}
	entry.used = true
	return c.resolve(entry).set
}

// numberSet checks `set S = lo..hi`.
func (c *checker) numberSet(set *indexSet, a *atom) {
	d := set.decl
	if len(d.Within) > 0 {
		c.errorf(c.global, diag.IndexSet, d.Value.Span(), "a part of a set lists its elements, as in `{1, 2}`")
		return
	}
	set.lo = c.integer(c.global, d.Value.Lo, "the start of a range")
	set.hi = c.integer(c.global, d.Value.Hi, "the end of a range")
	if set.lo == nil || set.hi == nil {
		set.lo, set.hi = constPoly(1), c.unknownSize()
		return
	}
	a.def = set.hi.sub(set.lo).plus(1)
	if k, ok := withDefaults(a.def).constant(); ok && k.Sign() < 0 {
		c.errorf(c.global, diag.EmptySet, d.Value.Span(), "this set is empty: it ends before it starts")
	}
}

// listedSet checks `set S = {a, b}`.
func (c *checker) listedSet(set *indexSet) {
	arity := len(set.tuple())
	seen := map[string]diag.Span{} // where it is first, no place once it is reported
	if arity == 1 {
		set.labels = map[string]bool{}
	}
	for _, e := range set.decl.Value.Elems {
		if len(e.Parts) != arity {
			d := c.errorf(c.global, diag.IndexSet, e.Span(), "`%s` has %s, but an element of `%s` has %s", elab.Quote(e),
				partsText(len(e.Parts)), set.name, partsText(arity))
			if arity == 1 && set.within == nil {
				d.Fix = fmt.Sprintf("say what the labels are taken from, as in `set %s within node * node = ...`", set.name)
			}
			return
		}
		key := make([]string, arity)
		for i, p := range e.Parts {
			key[i] = lang.LabelOf(p)
			of := set.within
			if arity > 1 {
				of = set.tuple()[i]
			}
			if of != nil {
				c.isLabel(c.global, p, of)
			}
		}
		name := strings.Join(key, "\x00")
		switch first, twice := seen[name]; {
		case !twice:
			seen[name] = e.Span()
		case !first.IsZero():
			d := c.errorf(c.global, diag.DeclaredTwice, e.Span(), "`%s` is in the set `%s` twice", elab.Quote(e), set.name)
			d.Related = []diag.Related{{Span: first, Message: "first here"}}
			seen[name] = diag.Span{}
		}
		if arity == 1 {
			set.labels[key[0]] = true
		}
	}
}

// isLabel reports a label that a set, whose elements the model lists, does not
// have.
func (c *checker) isLabel(s *scope, e lang.Expr, set *indexSet) {
	label := lang.LabelOf(e)
	if set.labels == nil || set.labels[label] {
		return
	}
	d := c.errorf(s, diag.UnknownLabel, e.Span(), "`%s` is not a label of `%s`", elab.Quote(e), set.name)
	d.Related = []diag.Related{{Span: set.decl.Name.Span(), Message: "the set is declared here"}}
	if near := c.nearest(label, func() []string { return slices.Sorted(maps.Keys(set.labels)) }); near != "" {
		d.Fix = "did you mean `" + lang.LabelText(near) + "`?"
	}
}
