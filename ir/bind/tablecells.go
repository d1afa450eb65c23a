package bind

import (
	"fmt"
	"math"
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

// This file reads the cells of a table, and says what is wrong with them and with
// the names of columns.

// numbers are the numbers of a column; ok is false where one is none.
func (t *tableReader) numbers(col int, keys []int, src *tableSource) (values []float64, ok bool) {
	values, ok = make([]float64, t.table.Rows), t.noneMissing(col, keys, false)
	for k, cell := range t.table.Columns[col].Cells {
		values[k] = cell.Number
		switch {
		case missing(cell):
			continue
		case cell.IsNumber && cell.Number-cell.Number != 0:
			t.fault(diag.DataNotFinite, k, col, "`%s` is %s, which is not a finite number", t.table.Columns[col].Name, notFinite(cell))
		case cell.IsNumber:
			continue
		default:
			d := t.fault(diag.DataNotNumber, k, col, "`%s` is `%s`, which is not a number", t.table.Columns[col].Name, elab.OneLine(cell.Text))
			switch {
			case strings.Trim(cell.Text, "0123456789.,'+- $€£¥%") == "" && strings.ContainsAny(cell.Text, "0123456789"):
				d.Fix = "write numbers with a decimal point, and without separators of thousands or signs of units, as in 1200.5"
			case k == 0 && !src.wide:
				d.Fix = "if the column holds texts, " + elab.AsTexts(src.decl)
			}
			return values, false // of a column of texts the first says it
		}
		ok = false
	}
	return values, ok
}

// missing reports a cell without a value: an empty one, or one of the words that
// programs write for that.
func missing(c data.Cell) bool {
	if c.IsNumber {
		return math.IsNaN(c.Number) && (c.Text == "" || strings.EqualFold(c.Text, "nan"))
	}
	return data.IsMissing(c.Text)
}

// noneMissing reports the cells of a column that have no value, of texts the empty
// ones: the first at its place, and which rows they are in.
func (t *tableReader) noneMissing(col int, keys []int, isText bool) bool {
	cells := t.table.Columns[col].Cells
	rows := each.WhereBelow(len(cells), func(k int) bool { return missing(cells[k]) && (!isText || cells[k].Text == "") })
	if len(rows) == 0 {
		return true
	}
	column := t.table.Columns[col].Name
	d := t.fault(diag.DataNotNumber, rows[0], col, "`%s` has no value here", column)
	if text := cells[rows[0]].Text; text != "" {
		d.Summary += fmt.Sprintf(" (`%s`)", elab.OneLine(text))
	}
	if len(rows) > 1 || len(keys) > 0 {
		var labels []string
		for _, k := range rows[:min(len(rows), maxListed)] {
			label := "row " + strconv.Itoa(k+1)
			if len(keys) > 0 {
				label = lang.TupleText(t.key(keys, k))
			}
			labels = append(labels, label)
		}
		d.Detail = fmt.Sprintf("%d of %d rows have no value for `%s`: %s", len(rows), t.table.Rows, column, strings.Join(labels, ", "))
		if len(rows) > maxListed {
			d.Detail += fmt.Sprintf(" and %d more", len(rows)-maxListed)
		}
	}
	d.Fix = "fill the values in, or leave the rows out of the file"
	return false
}

// maxListed is how many rows a message names: a line of them.
const maxListed = 8

// notFinite spells a cell as its file does, where that has a text for it.
func notFinite(cell data.Cell) string {
	if cell.Text != "" {
		return elab.OneLine(cell.Text)
	}
	return fmt.Sprint(cell.Number)
}

// identifies reports that a column is called `id` and tells all rows apart.
func (t *tableReader) identifies(i int) bool {
	return strings.EqualFold(t.table.Columns[i].Name, "id") && t.distinct(i)
}

// distinct reports that a column of texts or integers tells all rows apart.
func (t *tableReader) distinct(i int) bool {
	seen := map[string]bool{}
	for _, cell := range t.table.Columns[i].Cells {
		if cell.Text == "" || seen[cell.Text] || cell.IsNumber && cell.Number != math.Trunc(cell.Number) {
			return false
		}
		seen[cell.Text] = true
	}
	return true
}

// misspelt reports columns that the model does not read and whose names are nearly
// those of params or data that nothing supplies, unless they are to be left out.
func (t *tableReader) misspelt() bool {
	if t.b.opts.IgnoreUndeclared {
		return true
	}
	var names []string
	for _, s := range t.b.declared() {
		d, ok := s.Decl.(*lang.Data)
		if ok && len(d.Type.Dims) == 1 && len(d.Columns) == 0 && d.Column == nil && t.table.Column(s.Name) < 0 && t.b.set.Get(s.Name) == nil && !t.b.inTable(s.Name) {
			names = append(names, s.Name)
		}
	}
	ok := true
	for i, c := range t.table.Columns {
		if t.used[i] || t.identifies(i) || t.b.readBy(c.Name) != "" {
			continue
		}
		near := diag.Suggest(c.Name, names)
		if near == "" || numberedAlike(near, c.Name) {
			continue
		}
		ok = false
		d := t.fault(diag.BindExtra, -1, i, "column `%s` of %s is not declared in the model", c.Name, t.entry.Origin)
		d.Fix = fmt.Sprintf("did you mean `%s`? To read `%s` from this column, write `column %s` behind its type", near, near, columnText(c.Name))
	}
	return ok
}

// twice reports a column that is read and has another of its name beside it: which of them is meant nobody can tell.
func (t *tableReader) twice() bool {
	for i, c := range t.table.Columns {
		if first := t.table.Column(c.Name); first < i && t.used[first] {
			d := t.fault(diag.DataDuplicate, -1, i, "%s has two columns `%s`", t.entry.Origin, c.Name)
			d.Fix = "leave one of them out, or give it another name"
			return true
		}
	}
	return false
}

// numberedAlike reports names that differ in the number behind a word only: of a
// numbered column the one is no misspelling of the other.
func numberedAlike(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789"))
}

// wideText are the columns of numbers that the model does not read, as `columns` takes
// them; "" for fewer than two.
func (t *tableReader) wideText() string {
	var free []string
	for i, c := range t.table.Columns {
		if !t.used[i] && !t.identifies(i) && len(c.Cells) > 0 && c.Cells[0].IsNumber && t.b.readBy(c.Name) == "" {
			free = append(free, c.Name)
		}
	}
	if len(free) < 2 {
		return ""
	}
	first, last := lang.ColumnName{Name: free[0]}, lang.ColumnName{Name: free[len(free)-1]}
	if names, ok := (&lang.ColumnRange{First: first, Last: &last}).Numbered(); ok && slices.Equal(names, free) {
		return columnText(first.Name) + ".." + columnText(last.Name)
	}
	more := ""
	if len(free) > maxListed {
		free, more = free[:maxListed], ", ..."
	}
	return diag.Join(free, ", ", columnText) + more
}

// inTable reports whether a supplied table has a column of a name.
func (b *binder) inTable(name string) bool {
	return slices.ContainsFunc(b.set.Entries, func(e data.Entry) bool { return e.Table != nil && e.Table.Column(name) >= 0 })
}

// meant is the name of the model that a column is nearly called, as a question; "" for none.
func (t *tableReader) meant() string {
	names := each.Of(t.b.declared(), func(s *ir.Symbol) string { return s.Name })
	for _, c := range t.table.Columns {
		if near := diag.Suggest(c.Name, names); near != "" {
			return fmt.Sprintf("did you mean `%s`? The column is spelled `%s`", near, c.Name)
		}
	}
	return ""
}

// declareOne is a declaration that reads a column of the table.
func (t *tableReader) declareOne() string {
	for _, c := range t.table.Columns {
		if len(c.Cells) > 0 && c.Cells[0].IsNumber && c.Cells[0].Number != math.Trunc(c.Cells[0].Number) && lang.IsName(c.Name) {
			return fmt.Sprintf("declare what it gives, as in `set row` and `data %s: [row]`", c.Name)
		}
	}
	return "declare what it gives, as in `set row` and `data y: [row] column \"NAME\"`"
}

func (t *tableReader) names() []string {
	return each.Of(t.table.Columns, func(c data.Column) string { return c.Name })
}

func (t *tableReader) columnNames() string {
	return diag.Join(t.table.Columns, ", ", func(c data.Column) string { return "`" + c.Name + "`" })
}

// at reports what is wrong with a table at a cell.
func (t *tableReader) at(row, col int, format string, args ...any) *diag.Diagnostic {
	return t.fault(diag.BindTable, row, col, format, args...)
}

func (t *tableReader) fault(code diag.Code, row, col int, format string, args ...any) *diag.Diagnostic {
	return t.b.errorAt(code, t.table.At(row, col), format, args...)
}
