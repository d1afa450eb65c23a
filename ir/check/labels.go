package check

import (
	"fmt"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// This file checks where labels stand: as indices that range over a set, as
// subscripts, in comparisons, and as arguments of card, ord, next and prev.

var labelType = ir.Type{Kind: ir.LabelType}

// notNumber reports a label or a set where a number is needed.
func (c *checker) notNumber(s *scope, e lang.Expr, v value) {
	switch {
	case v.typ.Kind == ir.SetType:
		c.errorf(s, diag.LabelAsNumber, e.Span(), "`%s` is an index set, not a number", elab.Quote(e)).Fix =
			fmt.Sprintf("`card(%s)` is the number of its elements; `sum(i in %s: ...)` ranges over them", elab.Quote(e), elab.Quote(e))
	case v.typ.Kind == ir.TextType || v.text:
		c.errorf(s, diag.LabelAsNumber, e.Span(), "`%s` %s, not numbers", elab.Quote(e), map[bool]string{true: "is an entry of texts", false: "holds texts"}[v.text]).Fix =
			textFix(e)
	case v.set == nil:
		c.errorf(s, diag.LabelAsNumber, e.Span(), "`%s` is a label, not a number", elab.Quote(e)).Detail =
			"labels stand in sets, in subscripts such as `cost[\"Rome\"]`, and in comparisons such as `c == \"Rome\"`"
	case v.set.root().lo != nil:
		d := c.errorf(s, diag.LabelAsNumber, e.Span(), "`%s` is a label of `%s`, not a number", elab.Quote(e), v.set.name)
		d.Detail = fmt.Sprintf("the elements of a part of a set of numbers are labels; those of `%s` itself are numbers", v.set.root().name)
		d.Fix = fmt.Sprintf("range over `%s` with the condition that makes the part", v.set.root().name)
	default:
		c.errorf(s, diag.LabelAsNumber, e.Span(), "`%s` is a label of `%s`, not a number", elab.Quote(e), v.set.name).Fix =
			fmt.Sprintf("`ord(%s)` is its position in the set", elab.Quote(e))
	}
}

// rangedSet is the index set that a binder ranges over, or nil and the value
// that stands in its place.
func (c *checker) rangedSet(s *scope, b *lang.Binder) (*indexSet, value) {
	if set := c.namedSet(s, b.Lo); set != nil {
		c.record(s, b.Lo, ir.Type{Kind: ir.SetType, Dims: []ir.Dim{set.size}})
		return set, value{}
	}
	if b.Tuple == nil {
		return nil, value{}
	}
	return nil, c.expr(s, b.Lo)
}

// tupleOf reports `(i, j) in S` where S is no set of tuples.
func (c *checker) tupleOf(s *scope, b *lang.Binder, v value) {
	if !isUnknown(v.typ) {
		c.errorf(s, diag.WrongSet, b.Lo.Span(), "a tuple of indices ranges over a set of tuples, but `%s` is %s", elab.Quote(b.Lo), elab.KindOf(v.typ))
	}
	for _, n := range b.Tuple {
		c.hides(s, n)
		s.names[n.Name] = unknownValue
	}
}

// elements declares the indices of a binder over a set.
func (c *checker) elements(s *scope, b *lang.Binder, set *indexSet, filtered bool) {
	sets := []*indexSet{set}
	if b.Tuple != nil {
		if sets = set.tuple(); len(sets) != len(b.Tuple) {
			c.errorf(s, diag.WrongSet, b.Span(), "an element of `%s` has %s, but there are %d indices", set.name, partsText(len(sets)), len(b.Tuple))
			sets = make([]*indexSet, len(b.Tuple))
		}
	}
	for i, n := range b.Names() {
		c.hides(s, n)
		switch set := sets[i]; {
		case set == nil:
			s.names[n.Name] = unknownValue
		case set.lo != nil:
			a := c.newAtom(n.Name, indexAtom)
			a.ranges(set.lo, set.hi)
			a.filtered = filtered || b.Tuple != nil
			s.names[n.Name] = value{typ: elab.Int, size: atomPoly(a)}
		default:
			s.names[n.Name] = value{typ: labelType, set: set}
		}
	}
}

// alongSet checks the subscripts of a dimension over a set of labels and returns the
// size that they select, nil for a single element.
func (c *checker) alongSet(s *scope, e *lang.Index, subs []lang.Subscript, set *indexSet) *poly {
	if len(subs) == 1 && subs[0].All {
		return set.size
	}
	for i := range subs {
		of := set
		if len(subs) > 1 {
			of = set.tuple()[i]
		}
		if subs[i].Hi != nil || subs[i].All {
			c.errorf(s, diag.WrongSet, subs[i].Span(), "a dimension over `%s` takes one label, or `:` for all", set.name).Fix =
				"declare a part of it, as in `set some within " + set.name + " = {...}`, and range over that"
			continue
		}
		c.element(s, e, subs[i].Lo, of)
	}
	return nil
}

// element checks a subscript that must be an element of a set.
func (c *checker) element(s *scope, e *lang.Index, x lang.Expr, set *indexSet) {
	switch x := x.(type) {
	case *lang.Text:
		c.isLabel(s, x, set)
		return
	case *lang.Number:
		if x.Int && set.lo == nil && (set.labels == nil || set.labels[x.Text]) {
			return
		}
	}
	c.elementOf(s, e, x, c.expr(s, x), set)
}

// elementOf is element of an expression with a value.
func (c *checker) elementOf(s *scope, e *lang.Index, x lang.Expr, v value, set *indexSet) {
	switch {
	case isUnknown(v.typ) || v.text:
	case v.typ.Kind == ir.LabelType && v.set != nil && related(v.set, set):
	case v.typ.Kind == ir.LabelType && v.set != nil:
		c.errorf(s, diag.WrongSet, x.Span(), "`%s` is a label of `%s`, but `%s` has a dimension over `%s` here", elab.Quote(x), v.set.name, elab.Quote(e.X), set.name)
	case set.lo != nil && v.typ.Kind == ir.IntType:
	default:
		d := c.errorf(s, diag.WrongSet, x.Span(), "`%s` has a dimension over `%s` here, but `%s` is %s", elab.Quote(e.X), set.name, elab.Quote(x), elab.KindOf(v.typ))
		d.Detail = "it is indexed by the set's labels"
		d.Fix = fmt.Sprintf("range over the set, as in `sum(i in %s: ...)`, or write a label in double quotes", set.name)
	}
}

// labelOfPlain reports a label as the index of a dimension that is a plain
// size or a set of numbers.
func (c *checker) labelOfPlain(s *scope, e lang.Expr, v value, n *poly) {
	if n == nil {
		return // the array is not known, which has been reported
	}
	d := c.errorf(s, diag.WrongSet, e.Span(), "`%s` is a label, but this dimension is indexed by numbers", elab.Quote(e))
	if d.Detail = fmt.Sprintf("its size is %s, which is no set", n); setOf(n) != nil {
		d.Detail = fmt.Sprintf("`%s` is a set of numbers", n)
	}
	if v.set != nil {
		d.Fix = fmt.Sprintf("declare it over `%s`, or write `ord(%s)`", v.set.name, elab.Quote(e))
	}
}

// compareLabels checks a comparison of labels.
func (c *checker) compareLabels(s *scope, e *lang.Binary, x, y value) value {
	if isUnknown(x.typ) || isUnknown(y.typ) {
		return unknownOf(x, y)
	}
	if e.Op != lang.Eq && e.Op != lang.Ne {
		c.errorf(s, diag.LabelAsNumber, e.Span(), "labels have no order").Fix = "compare their positions, with `ord(...)`"
		return unknownValue
	}
	a, b, of, other := elab.Bare(e.X), elab.Bare(e.Y), x, y
	if of.set == nil {
		a, b, of, other = b, a, y, x
	}
	_, number := b.(*lang.Number)
	switch {
	case x.text || y.text:
		return c.compareTexts(s, e, x, y)
	case of.set == nil && (elab.IsScalar(x.typ) || elab.IsScalar(y.typ)):
		side := e.X
		if elab.IsScalar(y.typ) {
			side = e.Y
		}
		c.errorf(s, diag.LabelAsNumber, e.Span(), "`%s` is a number and is compared with a label", elab.Quote(side)).Fix = c.declareTexts(side)
		return unknownValue
	case of.set == nil:
		c.errorf(s, diag.LabelAsNumber, e.Span(), "two labels are compared, neither of which is an index").Fix =
			"compare an index with a label, as in `c == \"Rome\"`"
		return unknownValue
	case other.typ.Kind == ir.LabelType && other.set == nil || number:
		if len(of.set.tuple()) > 1 {
			c.errorf(s, diag.WrongSet, e.Span(), "`%s` is an element of `%s`, which are tuples", elab.Quote(a), of.set.name)
			return unknownValue
		}
		c.isLabel(s, b, of.set.root())
	case other.typ.Kind != ir.LabelType:
		c.errorf(s, diag.WrongSet, e.Span(), "`%s` is a label of `%s`, but `%s` is %s", elab.Quote(a), of.set.name, elab.Quote(b), elab.KindOf(other.typ))
		return unknownValue
	case !related(of.set, other.set):
		c.errorf(s, diag.WrongSet, e.Span(), "`%s` is a label of `%s`, `%s` of `%s`", elab.Quote(a), of.set.name, elab.Quote(b), other.set.name).Detail =
			"labels are compared within one set"
		return unknownValue
	}
	return value{typ: elab.Bool}
}

func (c *checker) card(s *scope, e *lang.Call, _ []value) value {
	v := c.expr(s, e.Args[0])
	switch {
	case v.unknown():
		return v
	case v.typ.Kind != ir.SetType:
		return c.fault(s, elab.Argument(e, 0, v.typ, "an index set"))
	}
	return sizeValue(v.set.size)
}

func (c *checker) ord(s *scope, e *lang.Call, args []value) value {
	if v := c.neighbour(s, e, args); v.unknown() {
		return v
	}
	return c.sized(s, e, value{typ: elab.Int})
}

// neighbour types next and prev, whose argument must be an element of a set.
func (c *checker) neighbour(s *scope, e *lang.Call, _ []value) value {
	v := c.expr(s, e.Args[0])
	if !v.unknown() && (v.typ.Kind != ir.LabelType || v.set == nil) {
		return c.fault(s, elab.Argument(e, 0, v.typ, "an index that ranges over a set of labels"))
	}
	return v
}
