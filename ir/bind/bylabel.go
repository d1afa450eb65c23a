package bind

import (
	"fmt"
	"slices"
	"strconv"

	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// byLabel is an array of numbers over sets that is given by label, in the order of
// its sets.
func (b *binder) byLabel(s *ir.Symbol, d *lang.Data, entry *data.Entry, dims []dim) *data.Array {
	k := entry.Keyed
	for i, t := range k.Texts {
		if _, err := strconv.ParseFloat(t, 64); err != nil {
			e := b.atKey(d, entry, i, diag.DataNotNumber, "%s of `%s` is the text `%s`, not a number", tupleText(k.Keys[i]), s.Name, elab.OneLine(t))
			e.Fix = elab.AsTexts(d)
			return nil
		}
	}
	from := b.placesByLabel(s, d, entry, dims)
	if from == nil {
		return nil
	}
	return expr.NewArray(expr.ShapeOf(sizesOf(dims)), pick(k.Values, from))
}

// atKey reports what is wrong with an entry that is given by label, at its place in
// the file where that is known.
func (b *binder) atKey(d *lang.Data, entry *data.Entry, i int, code diag.Code, format string, args ...any) *diag.Diagnostic {
	place := diag.Place{Words: entry.Origin}
	if entry.Keyed.Origin != nil {
		place = entry.Keyed.Origin(i)
	}
	text := fmt.Sprintf(format, args...)
	if place.Span.IsZero() {
		return b.errorf(code, d.Name.Span(), "%s (%s)", text, place.Words)
	}
	return b.errorf(code, place.Span, "%s", text)
}

// placesByLabel finds the given entry of each place of an array over sets,
// row-major; nil after an error. Every place has to be given, once.
func (b *binder) placesByLabel(s *ir.Symbol, d *lang.Data, entry *data.Entry, dims []dim) []int {
	k := entry.Keyed
	byLabel := dims[:max(len(dims)-min(k.ByPlace, 1), 0)]
	if len(dims) == 0 || slices.ContainsFunc(byLabel, func(a dim) bool { return a.set == nil }) {
		b.errorf(diag.BindShape, d.Name.Span(), "`%s` is declared %s, but %s gives its entries by label", s.Name, d.Type.Span().Text(), entry.Origin).Fix =
			"declare it over sets, as in `[city]`"
		return nil
	}
	b.fits(d.Name.Span(), s.Name, sizesOf(dims)...)
	if last := dims[len(dims)-1]; k.ByPlace > 0 && k.ByPlace != last.n {
		e := b.errorf(diag.BindShape, d.Name.Span(), "`%s` is read from %d columns, but its last dimension has %d entries", s.Name, k.ByPlace, last.n)
		e.Detail = fmt.Sprintf("it is declared %s (%s)", d.Type.Span().Text(), entry.Origin)
		return nil
	}
	fail := func(i int, format string, args ...any) *diag.Diagnostic {
		return b.atKey(d, entry, i, diag.BindLabels, "%s of `%s` %s", tupleText(k.Keys[i]), s.Name, fmt.Sprintf(format, args...))
	}
	total := expr.ShapeOf(sizesOf(dims)).Len()
	from := slices.Repeat([]int{-1}, total)
	for i, labels := range k.Keys {
		at := 0
		for j, a := range dims {
			if j == len(dims)-1 && k.ByPlace > 0 && len(labels) == 1 {
				p, err := strconv.Atoi(labels[0])
				if err != nil {
					panic("bind: a position that is no number")
				}
				at, labels = at*a.n+p, nil
				break
			}
			n := min(len(a.set.partSets()), len(labels))
			p := -1
			if n == len(a.set.partSets()) {
				p = a.set.find(labels[:n]...)
			}
			if p < 0 {
				b.nearLabel(fail(i, "has %s, which is not in `%s` (%s)", tupleText(labels[:n]), a.set.name, a.set.origin), a.set, labels[:n])
				return nil
			}
			at, labels = at*a.n+p, labels[n:]
		}
		if len(labels) > 0 {
			fail(i, "has more labels than the declaration `%s` has dimensions", d.Type.Span().Text())
			return nil
		}
		if from[at] >= 0 {
			fail(i, "is given twice")
			return nil
		}
		from[at] = i
	}
	if at := slices.Index(from, -1); at >= 0 {
		d := b.errorf(diag.BindLabels, d.Name.Span(), "`%s[%s]` has no value in %s", s.Name, ir.Place(exportedAll(dims), at), entry.Origin)
		if missing := total - len(k.Keys); missing > 1 {
			d.Detail = fmt.Sprintf("%d of its %d entries are missing.", missing, total)
		}
		return nil
	}
	return from
}
