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
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// This file reads supplied tables as sets and arrays: a column fills the array
// of its name, or that the declaration gives, row by row where the array is a plain
// vector, and by the labels in the key columns of its row where it is over sets;
// several columns fill an array that names them, along its last dimension, whose
// labels are their names. A set that nothing else supplies takes its elements from
// the tables that have its key columns, in order of appearance. What else a table
// holds is left alone.
//
// The key columns of a set are those that it names (`set arc(from, to)`), or
// the column of its own name, or, where neither is there, the columns that the
// model does not read, if there are as many as keys are missing; of one label a
// column `id`; and where the table has no other column, the rows are numbered.

// tables replaces the tables of the supplied set by what they hold.
func (b *binder) tables() {
	if !slices.ContainsFunc(b.set.Entries, func(e data.Entry) bool { return e.Table != nil }) {
		return
	}
	out := &data.Set{}
	listed := map[string]*listedSet{} // sets whose elements tables give
	alone := map[string]bool{}        // by a table of that set alone: its rows are the elements
	var order []string
	for _, entry := range b.set.Entries {
		if entry.Table == nil || b.isArray(entry) {
			out.Entries = append(out.Entries, entry)
			continue
		}
		t := &tableReader{b: b, entry: entry, table: entry.Table, used: make([]bool, len(entry.Table.Columns))}
		b.readers = append(b.readers, t)
		t.read(out, func(set string, elements [][]string, at func(k, i int) diag.Place, own bool) {
			e := listed[set]
			switch {
			case e == nil:
				e = &listedSet{seen: map[string]bool{}, origin: entry.Origin}
				listed[set], order = e, append(order, set)
			case own && !alone[set]:
				*e = listedSet{seen: map[string]bool{}, origin: entry.Origin}
			case !own && alone[set]:
				return
			}
			alone[set] = alone[set] || own
			e.add(elements, at)
		})
	}
	for _, name := range order {
		d, ok := b.symbol(name).Decl.(*lang.IndexSet)
		if ok && d.Value == nil && out.Get(name) == nil {
			out.Entries = append(out.Entries, listed[name].entry(name))
		}
	}
	b.set = out
}

// listedSet holds the elements that tables list, each where it stands first.
type listedSet struct {
	origin string
	labels [][]string
	seen   map[string]bool
	from   []func(i int) diag.Place // places of the labels of each
}

func (s *listedSet) add(elements [][]string, at func(k, i int) diag.Place) {
	for k, e := range elements {
		if key := strings.Join(e, "\x00"); !s.seen[key] {
			s.seen[key] = true
			s.labels, s.from = append(s.labels, e), append(s.from, func(i int) diag.Place { return at(k, i) })
		}
	}
}

func (s *listedSet) entry(name string) data.Entry {
	e := data.Entry{Name: name, Labels: s.labels, Origin: s.origin}
	if e.Labels == nil {
		e.Labels = [][]string{}
	}
	e.LabelAt = func(k, i int) diag.Place { return s.from[k](i) }
	return e
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
		if d.Type.Kind == lang.KindText || d.Column != nil || len(d.Columns) > 0 {
			return false
		}
		return entry.Table.Column(entry.Name) < 0 || len(entry.Table.Columns) == 1 && len(b.setsOf(d.Type.Dims)) == 0
	}
	return false
}

// setsOf are the sets that dimensions are over; none where not all of them are
// sets.
func (b *binder) setsOf(dims []lang.Expr) []*ir.Symbol {
	var out []*ir.Symbol
	for _, x := range dims {
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

// offered takes elements of a set: label i of element k stands at(k, i). They are the table's own where
// it has a row for each.
type offered func(set string, elements [][]string, at func(k, i int) diag.Place, own bool)

// tableSource is data that a table gives.
type tableSource struct {
	name string
	decl *lang.Data
	cols []int        // its column, or those along the last dimension
	wide bool         // of the latter kind
	sets []*ir.Symbol // that the rows are by; none where they are in order
	last *ir.Symbol   // of wide data: the set of the last dimension; nil for a size
}

// read adds the arrays of the table to out, and offers the elements of the
// sets that it has the keys of.
func (t *tableReader) read(out *data.Set, offer offered) {
	var sources []tableSource
	var over []*ir.Symbol // the sets of the first array over sets
	for _, s := range t.b.declared() {
		d, ok := s.Decl.(*lang.Data)
		if !ok {
			continue
		}
		src, found, fine := t.source(s.Name, d)
		if !fine {
			return
		}
		if !found {
			continue
		}
		sources = append(sources, src)
		if over == nil && len(src.sets) > 0 {
			over = src.sets
		}
	}
	if len(sources) == 0 {
		if over = t.setAlone(); over == nil {
			d := t.at(-1, 0, "%s has no column that the model declares", t.entry.Origin)
			d.Detail = "its columns are " + t.columnNames()
			if d.Fix = t.declareOne(); t.meant() != "" {
				d.Fix = t.meant()
			}
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
	if !t.misspelt() || t.twice() {
		return
	}
	for _, src := range sources {
		own := keys
		if len(src.sets) > 0 && !slices.Equal(src.sets, over) {
			var ok bool
			if own, ok = t.keys(src.sets); !ok {
				return
			}
		}
		if entry, ok := t.fill(&src, own, offer); ok {
			out.Entries = append(out.Entries, entry)
		}
	}
}

// source finds the columns of data in the table; fine is false after an error.
func (t *tableReader) source(name string, d *lang.Data) (src tableSource, found, fine bool) {
	src = tableSource{name: name, decl: d}
	leading := len(d.Type.Dims)
	switch {
	case len(d.Columns) > 0:
		if src.cols, found, fine = t.wideColumns(name, d); !found || !fine {
			return src, found, fine
		}
		src.wide = true
		leading--
		if last := t.b.setsOf(d.Type.Dims[leading:]); last != nil {
			src.last = last[0]
		}
	default:
		column := name
		if d.Column != nil {
			column = d.Column.Name
		}
		k := t.table.Column(column)
		if k < 0 {
			return src, false, true
		}
		src.cols = []int{k}
	}
	if !t.use(src.cols...) {
		return src, true, false
	}
	if src.sets = t.b.setsOf(d.Type.Dims[:leading]); len(src.sets) == 0 && leading > 1 || len(d.Type.Dims) == 0 {
		e := t.at(-1, src.cols[0], "column `%s` cannot fill `%s`, which is declared %s: a column fills an array over sets or a vector",
			t.table.Columns[src.cols[0]].Name, name, d.Type.Span().Text())
		e.Fix = "declare it over sets, as in `[row, feature]`"
		return src, true, false
	}
	if src.wide && leading == 0 && t.table.Rows != 1 {
		t.at(-1, src.cols[0], "`%s` takes one row of columns, but %s has %d rows", name, t.entry.Origin, t.table.Rows).Fix =
			fmt.Sprintf("declare it with a set for the rows: `data %s: [row, %s]`", name, elab.Quote(d.Type.Dims[0]))
		return src, true, false
	}
	return src, true, true
}

// wideColumns are the columns that data name; found is false where the table has none
// of them.
func (t *tableReader) wideColumns(name string, d *lang.Data) (cols []int, found, fine bool) {
	missing := ""
	add := func(column string) {
		if k := t.table.Column(column); k >= 0 {
			cols, found = append(cols, k), true
		} else if missing == "" {
			missing = column
		}
	}
	for i := range d.Columns {
		r := &d.Columns[i]
		if names, ok := r.Numbered(); ok {
			for _, n := range names {
				add(n)
			}
			continue
		}
		from, to := t.table.Column(r.First.Name), t.table.Column(r.Last.Name)
		if from < 0 || to < 0 {
			add(r.First.Name)
			add(r.Last.Name)
			continue
		}
		found = true
		for k := from; k <= to; k++ {
			if s := t.b.readBy(t.table.Columns[k].Name); s != "" && k != from && k != to {
				t.at(-1, k, "column `%s` stands between `%s` and `%s`, which `%s` is read from, and is `%s` as well", t.table.Columns[k].Name,
					r.First.Name, r.Last.Name, name, s).Fix = "list the columns on either side of it"
				return nil, true, false
			}
			cols = append(cols, k)
		}
		if from > to {
			t.at(-1, to, "column `%s` stands before `%s` in %s", r.Last.Name, r.First.Name, t.entry.Origin)
			return nil, true, false
		}
	}
	if found && missing != "" {
		e := t.at(-1, cols[0], "%s has no column `%s`, which `%s` is read from", t.entry.Origin, missing, name)
		e.Detail = "its columns are " + t.columnNames()
		others := t.names() // those not read already
		for _, k := range cols {
			others = slices.DeleteFunc(others, func(name string) bool { return name == t.table.Columns[k].Name })
		}
		e.Fix = diag.Meant(missing, others)
		return nil, true, false
	}
	return cols, found, true
}

// readBy is what the model reads from a column of a name besides columns along a
// dimension: data, or a key of a set; "" for none.
func (b *binder) readBy(column string) string {
	for _, s := range b.declared() {
		switch d := s.Decl.(type) {
		case *lang.Data:
			if d.Column != nil && d.Column.Name == column || d.Column == nil && len(d.Columns) == 0 && s.Name == column {
				return s.Name
			}
		case *lang.IndexSet:
			if s.Name == column || slices.ContainsFunc(d.Keys, func(k lang.Ident) bool { return k.Name == column }) {
				return s.Name
			}
		}
	}
	return ""
}

// fill reads the columns of data as an entry of its name.
func (t *tableReader) fill(src *tableSource, keys []int, offer offered) (data.Entry, bool) {
	entry := data.Entry{Name: src.name, Origin: fmt.Sprintf("column %s of %s", t.table.Columns[src.cols[0]].Name, t.entry.Origin)}
	if n := len(src.cols); n > 1 {
		entry.Origin = fmt.Sprintf("columns %s to %s of %s", t.table.Columns[src.cols[0]].Name, t.table.Columns[src.cols[n-1]].Name, t.entry.Origin)
	}
	isText := src.decl.Type.Kind == lang.KindText
	rows, width := t.table.Rows, len(src.cols)
	values, texts := make([]float64, rows*width), []string(nil)
	if isText {
		texts = make([]string, rows*width)
	}
	ok := true
	for j, c := range src.cols {
		if isText {
			for k, cell := range t.table.Columns[c].Cells {
				texts[k*width+j] = cell.Text
			}
			ok = t.noneMissing(c, keys, isText) && ok
			continue
		}
		column, fine := t.numbers(c, keys, src)
		ok = ok && fine
		for k, v := range column {
			values[k*width+j] = v
		}
	}
	if !ok {
		return entry, false
	}
	byName := src.last != nil && t.b.labelled(src.last)
	if byName {
		labels := each.Of(src.cols, func(c int) []string { return []string{t.table.Columns[c].Name} })
		offer(src.last.Name, labels, func(k, _ int) diag.Place { return t.table.At(-1, src.cols[k]) }, true)
	}
	if len(src.sets) == 0 && !(src.wide && byName) {
		switch {
		case isText:
			entry.Labels = each.Of(texts, func(text string) []string { return []string{text} })
		case src.wide && len(src.decl.Type.Dims) > 1:
			entry.Array = data.Matrix(rows, width, values)
		default:
			entry.Array = data.Vector(values)
		}
		return entry, true
	}
	if len(src.sets) == 0 && len(src.decl.Type.Dims) > 1 { // a plain size, and a set of columns
		t.at(-1, src.cols[0], "`%s` has a plain size for the rows of %s and a set for its columns", src.name, t.entry.Origin).Fix =
			"declare it over a set of rows as well: `set row`, and `[row, " + src.last.Name + "]`"
		return entry, false
	}
	keyed := &data.Keyed{Values: values, Texts: texts}
	if src.wide && !byName {
		keyed.ByPlace = width
	}
	labels := t.labels(keys)
	for k := range rows {
		for j, c := range src.cols {
			key := labels[k]
			switch {
			case src.wide && byName:
				key = append(key[:len(key):len(key)], t.table.Columns[c].Name)
			case src.wide:
				key = append(key[:len(key):len(key)], strconv.Itoa(j))
			}
			keyed.Keys = append(keyed.Keys, key)
		}
	}
	cols := src.cols
	keyed.Origin = func(k int) diag.Place { return t.table.At(k/width, cols[k%width]) }
	entry.Keyed = keyed
	return entry, true
}

// labelled reports whether the elements of a set are labels, rather than numbers from
// the one to the other, along which columns stand in their order.
func (b *binder) labelled(s *ir.Symbol) bool {
	d := s.Decl.(*lang.IndexSet)
	return d.Value == nil || d.Value.Lo == nil
}
