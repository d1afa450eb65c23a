package bind

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// bindTexts binds `data split: text[row]`. An entry of them is an element of the set of
// their different values, so that it has a place where elements of sets have one.
func (b *binder) bindTexts(s *ir.Symbol, d *lang.Data, dims []dim) {
	values := &boundSet{name: s.Name, texts: true}
	b.fits(d.Name.Span(), s.Name, sizesOf(dims)...)
	n := expr.ShapeOf(sizesOf(dims)).Len()
	entry := b.set.Get(s.Name)
	var list []string
	origin := "the model"
	switch {
	case entry != nil:
		origin = entry.Origin
		if list = b.givenTexts(s, d, entry, dims); list == nil {
			return
		}
	case d.Value != nil:
		list = each.Of(d.Value.(*lang.ListLit).Elems, lang.LabelOf)
	case b.opts.Abstract:
		values.fake, list = true, slices.Repeat([]string{s.Name + " 1"}, n)
	default:
		b.noData(s, d)
		return
	}
	if len(list) != n {
		b.errorf(diag.BindShape, d.Name.Span(), "`%s` has %d texts in %s, but %d are needed", s.Name, len(list), origin, n).Detail =
			fmt.Sprintf("it is declared %s", d.Type.Span().Text())
		return
	}
	v := value{typ: arrayOver(dims), set: values}
	v.typ.Kind = ir.TextType
	place := map[string]int{}
	for _, text := range list {
		if place[text] == 0 {
			values.labels = append(values.labels, text)
			place[text] = len(values.labels)
		}
		v.ints = append(v.ints, place[text])
	}
	values.n = len(place)
	b.known[s.Name] = v
	if !values.fake {
		b.bound[s.Name] = &ir.BoundData{Name: s.Name, Texts: list, Origin: origin, Axes: exported(dims)}
	}
}

// givenTexts are supplied texts in the order of the declared dimensions; nil after
// an error. Integers are texts where texts are needed.
func (b *binder) givenTexts(s *ir.Symbol, d *lang.Data, entry *data.Entry, dims []dim) []string {
	text := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	switch k := entry.Keyed; {
	case k != nil:
		from := b.placesByLabel(s, d, entry, dims)
		if from == nil {
			return nil
		}
		if k.Texts != nil {
			return pick(k.Texts, from)
		}
		return each.Of(pick(k.Values, from), text)
	case entry.Labels != nil:
		return append([]string{}, slices.Concat(entry.Labels...)...)
	case entry.Array != nil && entry.Array.Texts != nil:
		return entry.Array.Texts
	case entry.Array != nil:
		return each.Of(entry.Array.Values(), text)
	}
	b.errorf(diag.BindShape, d.Name.Span(), "`%s` is declared %s, but %s is a table without a column `%s`", s.Name, d.Type.Span().Text(), entry.Origin, s.Name)
	return nil
}

// some lists the first of many labels.
func some(labels []string) string {
	const shown = 8 // a line of words
	out := each.Of(labels[:min(len(labels), shown)], lang.LabelText)
	if more := len(labels) - shown; more > 0 {
		return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(out, ", ")
}

// filteredSet binds `set S = {i in row if ...}` if all it needs is known, and reports
// whether it was dealt with.
func (b *binder) filteredSet(set *boundSet, v *lang.SetLiteral) bool {
	sets, ok := b.madeOf(set, each.Of(v.Binders, func(bd lang.Binder) string { return bd.Lo.(*lang.Name).Name }))
	if !ok || v.Cond != nil && !b.ready(v.Cond) {
		return false
	}
	// The positions of the elements of each set, which the indices may only give
	// label by label.
	inner, ok := b.top().iterate(v.Binders, v.Cond)
	if !ok {
		return true
	}
	s := inner.space
	labels := indexAxis(s).Labels
	origin := "the model"
	if s.mask != nil { // which elements there are depends on data that were not supplied
		set.fake, origin = true, "placeholder"
		labels = labels[:max((len(labels)+1)/2, min(len(labels), 1))]
	}
	set.fake = set.fake || slices.ContainsFunc(sets, func(of *boundSet) bool { return of.fake })
	b.fillSet(set, labels, origin, func(int, int) diag.Place { return diag.Place{Span: v.Span()} })
	if set.n == 0 {
		b.errorf(diag.BindLabels, v.Span(), "no element of %s is in `%s`", setNames(sets), set.name).Severity = diag.Warning
	}
	return true
}

// textsOf is an expression that is texts or labels, as an item of the report; nil of others. The elements
// of a set are such.
func (b *binder) textsOf(x lang.Expr) *ir.NamedNode {
	e := b.top()
	set, out := e.setOf(elab.Bare(x)), &ir.NamedNode{Span: x.Span()}
	var places []int
	if set != nil {
		places, out.Axes = expr.Sequence(1, set.n), []ir.Axis{{Size: set.n}}
	} else {
		v := e.expr(x)
		if set = v.set; set == nil {
			return nil
		}
		places, out.Axes = v.ints, exportedAll(v.dims())
	}
	out.Texts = make([]string, len(places))
	for k, i := range places {
		if out.Texts[k] = tupleText(set.element(i - 1)); set.texts {
			out.Texts[k] = diag.Shown(lang.Quote(set.word(i - 1)))
		}
	}
	return out
}

func setNames(sets []*boundSet) string {
	return diag.Join(sets, " and ", func(s *boundSet) string { return "`" + s.name + "`" })
}
