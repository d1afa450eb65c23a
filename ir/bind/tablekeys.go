package bind

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// This file finds the columns of a table that hold labels.

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
		missing := func(k lang.Ident) bool { return t.table.Column(k.Name) < 0 }
		if keys := d.Keys; len(keys) > 0 && !slices.ContainsFunc(keys, missing) || len(keys) == 0 && t.table.Column(s.Name) >= 0 {
			return []*ir.Symbol{s}
		}
	}
	return nil
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
		switch n := s.Labels; {
		case len(d.Keys) == n:
			for _, k := range d.Keys {
				if find(k.Name); t.table.Column(k.Name) < 0 {
					e := t.at(-1, 0, "%s has no column `%s`, which the set `%s` names for its labels", t.entry.Origin, k.Name, s.Name)
					e.Detail = "its columns are " + t.columnNames()
					e.Fix = diag.Meant(k.Name, t.names())
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
	free := each.WhereBelow(len(t.used), func(i int) bool {
		return !slices.Contains(out, i) && !t.used[i] && t.b.readBy(t.table.Columns[i].Name) == ""
	})
	if missing == 1 && len(free) != 1 && len(sets) == 1 {
		if id := slices.IndexFunc(free, t.identifies); id >= 0 {
			free = free[id : id+1]
		} else if len(free) == 0 && t.b.numbersRows(sets[0]) {
			return []int{numbered}, true
		}
	}
	if missing > 0 && missing != len(free) {
		return nil, t.unclear(sets, free)
	}
	for i := range out {
		if out[i] < 0 {
			out[i], free = free[0], free[1:]
		}
	}
	return out, t.use(out...)
}

// use marks columns that are read, and reports one that cannot be.
func (t *tableReader) use(cols ...int) bool {
	for _, k := range cols {
		t.used[k] = true
		if c := t.table.Columns[k]; c.Fault != "" {
			t.fault(diag.DataSheet, -1, k, "column `%s` cannot be read: %s", c.Name, c.Fault)
			return false
		}
	}
	return true
}

// numbered stands for a key column where the rows of a table are numbered from 1.
const numbered = -2

// numbersRows reports whether the elements of a set may be the numbers of rows: they
// are not given otherwise, or are numbers themselves.
func (b *binder) numbersRows(s *ir.Symbol) bool {
	d := s.Decl.(*lang.IndexSet)
	return len(d.Within) == 0 && len(d.Keys) == 0 && (d.Value == nil || d.Value.Lo != nil)
}

// unclear reports that the columns with the labels of sets cannot be told.
func (t *tableReader) unclear(sets []*ir.Symbol, free []int) bool {
	d := t.at(-1, 0, "the columns with the labels of %s are not clear in %s", diag.Join(sets, " and ", func(s *ir.Symbol) string { return "`" + s.Name + "`" }), t.entry.Origin)
	d.Detail = "its columns are " + t.columnNames()
	d.Fix = "name them in the model, as in `set arc(from, to) within node * node`, or call the column like its set"
	if len(sets) == 1 && sets[0].Labels == 1 {
		d.Fix = "name the column in the model, as in `set " + sets[0].Name + "(id)`"
		for _, k := range free {
			if t.distinct(k) {
				d.Fix = "name the column in the model: `set " + sets[0].Name + "(" + columnText(t.table.Columns[k].Name) + ")`"
				break
			}
		}
	}
	return false
}

// columnText is the name of a column as a model writes it.
func columnText(name string) string {
	if lang.IsName(name) {
		return name
	}
	return lang.Quote(name)
}

// offer passes on the elements that the key columns list, of the sets
// themselves and of the sets of their labels.
func (t *tableReader) offer(sets []*ir.Symbol, keys []int, offer offered) {
	at := 0
	for _, s := range sets {
		n := s.Labels
		cols := keys[at : at+n]
		at += n
		offer(s.Name, t.labels(cols), t.labelAt(cols), len(sets) == 1)
		d := s.Decl.(*lang.IndexSet)
		if len(d.Within) != n || n == 1 {
			continue
		}
		for i, w := range d.Within {
			if of := t.b.symbol(w.Name); of != nil && of.Kind == ir.SetSymbol {
				offer(w.Name, t.labels(cols[i:i+1]), t.labelAt(cols[i:i+1]), false)
			}
		}
	}
}

// labels are the labels of each row in the given columns.
func (t *tableReader) labels(cols []int) [][]string {
	out := each.Below(t.table.Rows, func(k int) []string { return t.key(cols, k) })
	for k, labels := range out {
		for i, label := range labels {
			switch {
			case label == "":
				t.at(k, cols[i], "there is no label here")
			case !utf8.ValidString(label):
				t.at(k, cols[i], "the label here is not UTF-8: %q", label)
			}
		}
	}
	return out
}

// labelAt gives the places of labels.
func (t *tableReader) labelAt(cols []int) func(k, i int) diag.Place {
	return func(k, i int) diag.Place { return t.table.At(k, max(cols[i], 0)) } // numbered rows have no column
}

// key are the labels of row k in the given columns.
func (t *tableReader) key(cols []int, k int) []string {
	return each.Of(cols, func(c int) string {
		if c == numbered {
			return strconv.Itoa(k + 1)
		}
		return t.table.Columns[c].Cells[k].Text
	})
}
