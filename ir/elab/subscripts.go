package elab

import (
	"fmt"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// Bare is an expression without the brackets around it: what an element of a set, or an
// entry of texts, is told by.
func Bare(x lang.Expr) lang.Expr {
	for {
		p, ok := x.(*lang.Paren)
		if !ok {
			return x
		}
		x = p.X
	}
}

// Subscripts deals the subscripts of an array of type t out to its dimensions. One over
// a set of tuples takes a subscript for each label, unless it is given a whole element
// or `:`. The subscripts are bare. tuple reports an index over tuples.
func Subscripts(e *lang.Index, t ir.Type, tuple func(name string) bool) ([][]lang.Subscript, *Fault) {
	var groups [][]lang.Subscript
	subs := slices.Clone(e.Subs)
	for i := range subs {
		subs[i].Lo = Bare(subs[i].Lo)
	}
	for _, d := range t.Dims {
		take := 1
		if _, labels := d.(Size).Over(); labels > 1 && len(subs) > 0 && !wholeElement(subs[0], tuple) {
			take = labels
		}
		if take > len(subs) {
			return nil, unfit(e, t)
		}
		groups, subs = append(groups, subs[:take:take]), subs[take:]
	}
	if len(subs) > 0 {
		return nil, unfit(e, t)
	}
	return groups, nil
}

// wholeElement reports whether a subscript is `:` or an element of a set of tuples: an
// index, or what next and prev give.
func wholeElement(sub lang.Subscript, tuple func(name string) bool) bool {
	x := sub.Lo
	for {
		switch n := x.(type) {
		case *lang.Name:
			return sub.All || sub.Hi == nil && tuple(n.Name)
		case *lang.Call:
			if len(n.Args) == 1 {
				x = Bare(n.Args[0])
				continue
			}
		}
		return sub.All
	}
}

// unfit is an array that cannot have its subscripts.
func unfit(e *lang.Index, t ir.Type) *Fault {
	what := "a subscript"
	if n := len(e.Subs); n != 1 {
		what = fmt.Sprintf("%d subscripts", n)
	}
	f := fault(diag.Subscripts, e, "`%s` is %s and cannot have %s", Quote(e.X), KindOf(t), what)
	switch rank := len(t.Dims); {
	case rank == 2 && len(e.Subs) == 1:
		at := QuoteSpan(e.Subs[0].Span())
		f.Fix = fmt.Sprintf("write `%s[%s, :]` for a row, `%s[:, %s]` for a column", Quote(e.X), at, Quote(e.X), at)
	case rank == 1:
		f.Detail = "a vector takes one subscript"
	}
	for _, d := range t.Dims {
		if set, labels := d.(Size).Over(); labels > 1 {
			f.Detail = fmt.Sprintf("the dimension over `%s` takes an element of it, or its %d labels one by one", set, labels)
			break
		}
	}
	return f
}

// Selection is the type of what subscripts select from an array of type t: sizes are
// how many entries each dimension keeps, nil where a single index takes it away.
func Selection(t ir.Type, sizes []ir.Dim) ir.Type {
	left := each.Where(sizes, func(n ir.Dim) bool { return n != nil })
	if len(left) == 1 && (t.Kind == ir.RowVectorType || t.Kind == ir.MatrixType && sizes[0] == nil) {
		return Row(left[0])
	}
	return Array(left...)
}
