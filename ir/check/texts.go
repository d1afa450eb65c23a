package check

import (
	"fmt"
	"slices"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// This file checks what models take from tables as people have them: data that
// are texts, the columns that data are read from, and parts of sets that a
// condition on data selects.

// texts checks `data split: text[row]`.
func (c *checker) texts(d *lang.Data) value {
	t := ir.Type{Kind: ir.TextType, Dims: c.sizes(d.Type.Dims)}
	if d.Gen != nil {
		c.errorf(c.global, diag.WrongKind, d.Type.Span(), "`%s` draws reals, not texts", d.Gen.Name.Name).Fix = "declare it as an array of numbers"
	}
	list, ok := d.Value.(*lang.ListLit)
	if d.Value != nil && !ok {
		c.errorf(c.global, diag.DeclaredType, d.Value.Span(), "the value of `%s` is not a list of texts", d.Name.Name).Fix = "write `[\"a\", \"b\"]`"
	}
	for k := 0; ok && k < len(list.Elems); k++ {
		if x := list.Elems[k]; lang.LabelOf(x) == "" {
			c.errorf(c.global, diag.DeclaredType, x.Span(), "`%s` is not a text", elab.Quote(x)).Fix = "texts stand in double quotes; those of several dimensions are one list, row by row"
			return value{typ: t}
		}
	}
	return value{typ: t}
}

// textEntry is an entry of data of texts; sizes are what its subscripts select,
// nil for one entry.
func (c *checker) textEntry(s *scope, e *lang.Index, sizes []ir.Dim) value {
	for i, n := range sizes {
		if n != nil {
			c.errorf(s, diag.LabelAsNumber, e.Subs[min(i, len(e.Subs)-1)].Span(), "`%s` holds texts, which are read one by one", elab.Quote(e.X)).Fix = textFix(e.X)
			return unknownValue
		}
	}
	return value{typ: labelType, text: true}
}

// textFix says how texts are used.
func textFix(e lang.Expr) string {
	if x, ok := e.(*lang.Index); ok {
		e = x
		return fmt.Sprintf("compare it, as in `if %s == \"a\"`, or use it as a subscript of an array over a set", elab.Quote(e))
	}
	return fmt.Sprintf("compare its entries, as in `if %s[i] == \"a\"`", elab.Quote(e))
}

// compareTexts checks a comparison with an entry of data of texts: it is with
// another one, with a label, or with an integer.
func (c *checker) compareTexts(s *scope, e *lang.Binary, x, y value) value {
	for _, side := range []side{{e.X, x}, {e.Y, y}} {
		switch {
		case side.v.set != nil && len(side.v.set.tuple()) > 1:
			c.errorf(s, diag.WrongSet, e.Span(), "`%s` is an element of `%s`, which are tuples", elab.Quote(side.e), side.v.set.name)
			return unknownValue
		case side.v.typ.Kind == ir.LabelType || side.v.typ.Kind == ir.IntType:
		default:
			d := c.errorf(s, diag.LabelAsNumber, side.e.Span(), "`%s` is compared with a text, but is %s", elab.Quote(side.e), elab.KindOf(side.v.typ))
			d.Fix = c.declareTexts(side.e)
			return unknownValue
		}
	}
	return value{typ: elab.Bool}
}

// declareTexts is the fix for numbers that are used as texts, or "".
func (c *checker) declareTexts(e lang.Expr) string {
	if x, ok := e.(*lang.Index); ok {
		e = x.X
	}
	n, ok := e.(*lang.Name)
	if !ok || c.symbols[n.Name] == nil {
		return ""
	}
	d, ok := c.symbols[n.Name].symbol.Decl.(*lang.Data)
	if !ok || len(d.Type.Dims) == 0 {
		return ""
	}
	return fmt.Sprintf("if `%s` holds texts, %s", n.Name, elab.AsTexts(d))
}

// columns checks the columns of a table that data name.
func (c *checker) columns(d *lang.Data) {
	if (d.Column != nil || len(d.Columns) > 0) && len(d.Type.Dims) == 0 && d.Type.Kind != lang.KindBad {
		c.errorf(c.global, diag.WrongKind, d.Type.Span(), "`%s` is a scalar, which no column of a table gives", d.Name.Name).Fix = "give it with `--set`"
		return
	}
	seen := map[string]diag.Span{}
	for i := range d.Columns {
		r := &d.Columns[i]
		names, numbered := r.Numbered()
		if !numbered && r.First.Name == r.Last.Name || numbered && len(names) == 0 {
			c.errorf(c.global, diag.EmptySet, r.Span(), "these columns end before they start")
			continue
		}
		for _, name := range names {
			if first, twice := seen[name]; twice {
				e := c.errorf(c.global, diag.DeclaredTwice, r.Span(), "the column `%s` is named twice", name)
				e.Related = []diag.Related{{Span: first, Message: "first here"}}
				break
			}
			seen[name] = r.Span()
		}
	}
}

// filteredSet checks `set S = {i in row if ...}`: a part of the set that its index
// ranges over, or, of several, the tuples of their elements.
func (c *checker) filteredSet(set *indexSet) bool {
	v := set.decl.Value
	var sets []*indexSet
	for i := range v.Binders {
		b := &v.Binders[i]
		of := c.namedSet(c.global, b.Lo)
		if b.Hi != nil || of == nil {
			c.errorf(c.global, diag.IndexSet, b.Span(), "a set is made from the elements of other sets, and `%s` is none", elab.QuoteSpan(rangeSpan(b))).Fix =
				"name a range as a set of its own, as in `set hour = 1..24`"
			return false
		}
		sets = append(sets, of)
	}
	switch {
	case len(sets) == 1:
		set.within = sets[0]
	default:
		for i, of := range sets {
			parts := of.tuple()
			if len(parts) > 1 && v.Binders[i].Tuple == nil {
				c.errorf(c.global, diag.IndexSet, v.Binders[i].Span(), "an element of `%s` has %s", of.name, partsText(len(parts))).Fix =
					"name them: `(i, j) in " + of.name + "`"
				return false
			}
			set.parts = append(set.parts, parts...)
		}
	}
	if len(set.decl.Within) > 0 {
		if !slices.EqualFunc(set.decl.Within, sets, func(w lang.Ident, of *indexSet) bool { return w.Name == of.name }) {
			c.errorf(c.global, diag.IndexSet, set.decl.Within[0].Span(), "`%s` is taken from other sets than `within` says", set.name).Fix =
				"leave `within` out: what stands in the braces says it"
		}
	}
	c.keys(set)
	in := c.binders(c.global, v.Binders, v.Cond != nil)
	if v.Cond != nil {
		c.condition(in, v.Cond)
	}
	return true
}

func rangeSpan(b *lang.Binder) diag.Span {
	if b.Hi != nil {
		return b.Lo.Span().To(b.Hi.Span())
	}
	return b.Lo.Span()
}
