package bind

import (
	"fmt"
	"slices"
	"strings"

	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// This file reads supplied tables as sets and arrays: a column fills the array
// of its name, row by row where the array is a plain vector, and by the labels
// in the key columns of its row where it is over sets. A set that nothing else
// supplies takes its elements from the tables that have its key columns, in
// order of appearance.
//
// The key columns of a set are those that it names (`set arc(from, to)`), or
// the column of its own name, or, where neither is there, the columns that the
// model does not declare, if there are as many as keys are missing.

// tables replaces the tables of the supplied set by what they hold.
func (b *binder) tables() {
	if !slices.ContainsFunc(b.set.Entries, func(e data.Entry) bool { return e.Table != nil }) {
		return
	}
	out := &data.Set{}
	listed := map[string]*data.Entry{} // sets whose elements tables give
	alone := map[string]bool{}         // by a table of that set alone: its rows are the elements
	var order []string
	for _, entry := range b.set.Entries {
		if entry.Table == nil || b.isArray(entry) {
			out.Entries = append(out.Entries, entry)
			continue
		}
		t := &tableReader{b: b, entry: entry, table: entry.Table, used: make([]bool, len(entry.Table.Columns))}
		t.read(out, func(set string, elements [][]string, own bool) {
			e := listed[set]
			switch {
			case e == nil:
				e = &data.Entry{Name: set, Labels: [][]string{}, Origin: entry.Origin}
				listed[set], order = e, append(order, set)
			case own && !alone[set]:
				e.Labels, e.Origin = [][]string{}, entry.Origin
			case !own && alone[set]:
				return
			}
			alone[set] = alone[set] || own
			e.Labels = append(e.Labels, elements...)
		})
	}
	for _, name := range order {
		d, ok := b.symbol(name).Decl.(*lang.IndexSet)
		if ok && d.Value == nil && out.Get(name) == nil {
			e := *listed[name]
			e.Labels = distinct(e.Labels)
			out.Entries = append(out.Entries, e)
		}
	}
	b.set = out
}

func distinct(elements [][]string) [][]string {
	seen := map[string]bool{}
	out := elements[:0:0]
	for _, e := range elements {
		if key := strings.Join(e, "\x00"); !seen[key] {
			seen[key] = true
			out = append(out, e)
		}
	}
	return out
}

// isArray reports whether a file that may be read as a table or as an array is
// meant as the array of its name.
func (b *binder) isArray(entry data.Entry) bool {
	s := b.symbol(entry.Name)
	if s == nil {
		return false
	}
	switch d := s.Decl.(type) {
	case *lang.Param:
		return true
	case *lang.Data:
		return entry.Table.Column(entry.Name) < 0 || len(entry.Table.Columns) == 1 && len(b.setsOf(d)) == 0
	}
	return false
}

// setsOf are the sets that the dimensions of data are over; none where not all
// of them are sets.
func (b *binder) setsOf(d *lang.Data) []*ir.Symbol {
	var out []*ir.Symbol
	for _, x := range d.Type.Dims {
		n, ok := x.(*lang.Name)
		if !ok {
			return nil
		}
		s := b.symbol(n.Name)
		if s == nil || s.Kind != ir.SetSymbol {
			return nil
		}
		out = append(out, s)
	}
	return out
}

// tableReader is one table being read.
type tableReader struct {
	b     *binder
	entry data.Entry
	table *data.Table
	used  []bool // columns that mean something
}

// read adds the arrays of the table to out, and offers the elements of the
// sets that it has the keys of.
func (t *tableReader) read(out *data.Set, offer func(set string, elements [][]string, own bool)) {
	type column struct {
		at   int
		name string
		decl *lang.Data
		sets []*ir.Symbol
	}
	var columns []column
	var over []*ir.Symbol // the sets of the first array over sets
	for i, c := range t.table.Columns {
		s := t.b.symbol(c.Name)
		if s == nil {
			continue
		}
		d, ok := s.Decl.(*lang.Data)
		if !ok || slices.ContainsFunc(columns, func(k column) bool { return k.name == c.Name }) {
			continue
		}
		sets := t.b.setsOf(d)
		if len(sets) == 0 && len(d.Type.Dims) != 1 {
			t.at(-1, i, "column `%s` cannot fill `%s`, which is declared %s: a column fills an array over sets or a vector",
				c.Name, c.Name, d.Type.Span().Text())
			continue
		}
		t.used[i] = true
		columns = append(columns, column{i, c.Name, d, sets})
		if over == nil && len(sets) > 0 {
			over = sets
		}
	}
	if over == nil && len(columns) == 0 {
		if over = t.setAlone(); over == nil {
			d := t.at(-1, 0, "%s has no column that the model declares", t.entry.Origin)
			d.Detail = "its columns are " + t.columnNames()
			return
		}
	}
	var keys []int
	if over != nil {
		var ok bool
		if keys, ok = t.keys(over); !ok {
			return
		}
		t.offer(over, keys, offer)
	}
	if !t.leftOver() {
		return
	}
	for _, c := range columns {
		entry := data.Entry{Name: c.name, Origin: fmt.Sprintf("column %s of %s", c.name, t.entry.Origin)}
		own := keys
		if len(c.sets) > 0 && !slices.Equal(c.sets, over) {
			var ok bool
			if own, ok = t.keys(c.sets); !ok {
				return
			}
		}
		values, ok := t.numbers(c.at)
		if !ok {
			return
		}
		if len(c.sets) == 0 {
			entry.Array = data.Vector(values)
		} else {
			at := c.at
			entry.Keyed = &data.Keyed{Keys: t.labels(own), Values: values,
				Origin: func(k int) diag.Place { return t.table.At(k, at) }}
		}
		out.Entries = append(out.Entries, entry)
	}
}

// setAlone is the set that a table without data columns lists: the one that
// it is called after, or has a column of.
func (t *tableReader) setAlone() []*ir.Symbol {
	if s := t.b.symbol(t.entry.Name); s != nil && s.Kind == ir.SetSymbol {
		return []*ir.Symbol{s}
	}
	for _, s := range t.b.declared() {
		d, ok := s.Decl.(*lang.IndexSet)
		if !ok {
			continue
		}
		found := len(d.Keys) > 0
		for _, k := range d.Keys {
			found = found && t.table.Column(k.Name) >= 0
		}
		if found || len(d.Keys) == 0 && t.table.Column(s.Name) >= 0 {
			return []*ir.Symbol{s}
		}
	}
	return nil
}

// arity is the number of labels of an element of a set.
func (b *binder) arity(s *ir.Symbol) int {
	for range b.prog.Symbols { // a chain of parts is no longer than that
		d := s.Decl.(*lang.IndexSet)
		if len(d.Within) != 1 {
			return max(len(d.Within), 1)
		}
		next := b.symbol(d.Within[0].Name)
		if next == nil || next.Kind != ir.SetSymbol {
			return 1
		}
		s = next
	}
	return 1
}

// keys finds the columns that hold the labels of the given sets.
func (t *tableReader) keys(sets []*ir.Symbol) ([]int, bool) {
	var out []int
	missing := 0
	find := func(name string) {
		k := t.table.Column(name)
		if k >= 0 && slices.Contains(out, k) {
			k = -1 // a set twice: one column cannot be both
		}
		if k < 0 {
			missing++
		}
		out = append(out, k)
	}
	for _, s := range sets {
		d := s.Decl.(*lang.IndexSet)
		switch n := t.b.arity(s); {
		case len(d.Keys) == n:
			for _, k := range d.Keys {
				if find(k.Name); t.table.Column(k.Name) < 0 {
					e := t.at(-1, 0, "%s has no column `%s`, which the set `%s` names for its labels", t.entry.Origin, k.Name, s.Name)
					e.Detail = "its columns are " + t.columnNames()
					return nil, false
				}
			}
		case n == 1:
			find(s.Name)
		default:
			for range n {
				find("")
			}
		}
	}
	var free []int
	for i, c := range t.table.Columns {
		if s := t.b.symbol(c.Name); !slices.Contains(out, i) && (s == nil || s.Kind != ir.DataSymbol && s.Kind != ir.ParamSymbol) {
			free = append(free, i)
		}
	}
	if missing > 0 && missing != len(free) {
		var names []string
		for _, s := range sets {
			names = append(names, "`"+s.Name+"`")
		}
		d := t.at(-1, 0, "the columns with the labels of %s are not clear in %s", strings.Join(names, " and "), t.entry.Origin)
		d.Detail = "its columns are " + t.columnNames()
		d.Fix = "name them in the model, as in `set arc(from, to) within node * node`, or call the column like its set"
		return nil, false
	}
	for i := range out {
		if out[i] < 0 {
			out[i], free = free[0], free[1:]
		}
		t.used[out[i]] = true
	}
	return out, true
}

// offer passes on the elements that the key columns list, of the sets
// themselves and of the sets of their labels.
func (t *tableReader) offer(sets []*ir.Symbol, keys []int, offer func(set string, elements [][]string, own bool)) {
	at := 0
	for _, s := range sets {
		n := t.b.arity(s)
		cols := keys[at : at+n]
		at += n
		offer(s.Name, t.labels(cols), len(sets) == 1)
		d := s.Decl.(*lang.IndexSet)
		if len(d.Within) != n || n == 1 {
			continue
		}
		for i, w := range d.Within {
			if of := t.b.symbol(w.Name); of != nil && of.Kind == ir.SetSymbol {
				offer(w.Name, t.labels(cols[i:i+1]), false)
			}
		}
	}
}

// labels are the labels of each row in the given columns.
func (t *tableReader) labels(cols []int) [][]string {
	out := make([][]string, t.table.Rows)
	for k := range out {
		for _, c := range cols {
			cell := t.table.Columns[c].Cells[k]
			if cell.Text == "" {
				t.at(k, c, "there is no label here")
			}
			out[k] = append(out[k], cell.Text)
		}
	}
	return out
}

// numbers are the numbers of a column; ok is false where one is none.
func (t *tableReader) numbers(col int) (values []float64, ok bool) {
	values, ok = make([]float64, t.table.Rows), true
	for k, cell := range t.table.Columns[col].Cells {
		values[k] = cell.Number
		switch {
		case cell.IsNumber && cell.Number-cell.Number != 0:
			t.fault(diag.DataNotFinite, k, col, "`%s` is %s, which is not a finite number", t.table.Columns[col].Name, notFinite(cell))
		case cell.IsNumber:
			continue
		case cell.Text == "":
			t.fault(diag.DataNotNumber, k, col, "`%s` has no value here", t.table.Columns[col].Name)
		default:
			t.fault(diag.DataNotNumber, k, col, "`%s` is `%s`, which is not a number", t.table.Columns[col].Name, oneLine(cell.Text))
		}
		ok = false
	}
	return values, ok
}

// notFinite spells a cell as its file does, where that has a text for it.
func notFinite(cell data.Cell) string {
	if cell.Text != "" {
		return oneLine(cell.Text)
	}
	return fmt.Sprint(cell.Number)
}

// identifies reports that a column is called `id` and tells all rows apart.
func (t *tableReader) identifies(i int) bool {
	c := &t.table.Columns[i]
	if !strings.EqualFold(c.Name, "id") {
		return false
	}
	seen := map[string]bool{}
	for _, cell := range c.Cells {
		if cell.Text == "" || seen[cell.Text] {
			return false
		}
		seen[cell.Text] = true
	}
	return true
}

// leftOver reports the columns that mean nothing to the model, unless they are
// to be ignored. A column `id` that numbers or names the rows is none of them.
func (t *tableReader) leftOver() bool {
	ok := true
	for i, c := range t.table.Columns {
		if t.used[i] || t.b.opts.IgnoreUndeclared || t.identifies(i) {
			continue
		}
		ok = false
		d := t.fault(diag.BindExtra, -1, i, "column `%s` of %s is not declared in the model", c.Name, t.entry.Origin)
		var names []string
		for _, s := range t.b.declared() {
			names = append(names, s.Name)
		}
		if near := diag.Suggest(c.Name, names); near != "" {
			d.Fix = fmt.Sprintf("did you mean `%s`?", near)
		} else {
			d.Fix = "declare it, or give `--ignore-undeclared`"
		}
	}
	return ok
}

func (t *tableReader) columnNames() string {
	names := make([]string, len(t.table.Columns))
	for i, c := range t.table.Columns {
		names[i] = "`" + c.Name + "`"
	}
	return strings.Join(names, ", ")
}

// at reports what is wrong with a table at a cell.
func (t *tableReader) at(row, col int, format string, args ...any) *diag.Diagnostic {
	return t.fault(diag.BindTable, row, col, format, args...)
}

func (t *tableReader) fault(code diag.Code, row, col int, format string, args ...any) *diag.Diagnostic {
	place := t.table.At(row, col)
	if place.Span.IsZero() && place.Words != "" {
		format, args = "%s: "+format, append([]any{place.Words}, args...)
	}
	return t.b.errorf(code, place.Span, format, args...)
}

// byLabel is an array over sets that is given by label, in the order of its
// sets. Every entry has to be there.
func (b *binder) byLabel(s *ir.Symbol, d *lang.Data, entry *data.Entry, dims []dim) *data.Array {
	total := 1
	for _, a := range dims {
		if a.set == nil {
			b.errorf(diag.BindShape, d.Name.Span(), "`%s` is declared %s, but %s gives its entries by label", s.Name, d.Type.Span().Text(), entry.Origin).Fix =
				"declare it over sets, as in `[city]`"
			return nil
		}
		total *= a.n
	}
	if !b.fits(d.Name.Span(), s.Name, sizesOf(dims)...) {
		return nil
	}
	k := entry.Keyed
	fail := func(i int, format string, args ...any) *diag.Diagnostic {
		text := fmt.Sprintf("%s of `%s` ", tupleText(k.Keys[i]), s.Name) + fmt.Sprintf(format, args...)
		place := diag.Place{Words: entry.Origin}
		if k.Origin != nil {
			place = k.Origin(i)
		}
		if place.Span.IsZero() {
			return b.errorf(diag.BindLabels, d.Name.Span(), "%s (%s)", text, place.Words)
		}
		return b.errorf(diag.BindLabels, place.Span, "%s", text)
	}
	vals, given := make([]float64, total), make([]bool, total)
	for i, labels := range k.Keys {
		at := 0
		for _, a := range dims {
			n := min(len(a.set.partSets()), len(labels))
			p := -1
			if n == len(a.set.partSets()) {
				p = a.set.find(labels[:n]...)
			}
			if p < 0 {
				b.nearLabel(fail(i, "has %s, which is not in `%s` (%s)", tupleText(labels[:n]), a.set.name, b.setOrigins[a.set.name]), a.set, labels[:n])
				return nil
			}
			at, labels = at*a.n+p, labels[n:]
		}
		if len(labels) > 0 {
			fail(i, "has more labels than the declaration `%s` has dimensions", d.Type.Span().Text())
			return nil
		}
		if given[at] {
			fail(i, "is given twice")
			return nil
		}
		vals[at], given[at] = k.Values[i], true
	}
	if at := slices.Index(given, false); at >= 0 {
		missing := 0
		for _, g := range given {
			if !g {
				missing++
			}
		}
		d := b.errorf(diag.BindLabels, d.Name.Span(), "`%s[%s]` has no value in %s", s.Name, ir.Place(exportedAll(dims), at), entry.Origin)
		if missing > 1 {
			d.Detail = fmt.Sprintf("%d of its %d entries are missing.", missing, total)
		}
		return nil
	}
	if len(dims) == 2 {
		return data.Matrix(dims[0].n, dims[1].n, vals)
	}
	return data.Vector(vals)
}
