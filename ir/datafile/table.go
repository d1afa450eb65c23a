package datafile

import (
	"fmt"
	"math"
	"strconv"

	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// tableBuilder collects the rows of a table whose cells stand in the text of
// the file.
type tableBuilder struct {
	r     *reader
	table *data.Table
	heads [][2]int   // places of the columns' names
	rows  [][2]int   // places of the rows
	cells [][][2]int // by column and row; of no length for a cell that the file leaves out
}

func newTable(r *reader, name string) *tableBuilder {
	return &tableBuilder{r: r, table: &data.Table{Name: name}}
}

// column adds a column, with empty cells for the rows so far.
func (t *tableBuilder) column(name string, start, end int) {
	rows := t.table.Rows
	t.table.Columns = append(t.table.Columns, data.Column{Name: name, Cells: make([]data.Cell, rows)})
	t.heads = append(t.heads, [2]int{start, end})
	t.cells = append(t.cells, make([][2]int, rows))
}

// row adds a row of empty cells.
func (t *tableBuilder) row(start, end int) {
	t.table.Rows++
	t.rows = append(t.rows, [2]int{start, end})
	for i := range t.table.Columns {
		t.table.Columns[i].Cells = append(t.table.Columns[i].Cells, data.Cell{})
		t.cells[i] = append(t.cells[i], [2]int{})
	}
}

// set fills a cell of the last row.
func (t *tableBuilder) set(col int, c data.Cell, start, end int) {
	row := t.table.Rows - 1
	t.table.Columns[col].Cells[row], t.cells[col][row] = c, [2]int{start, end}
}

func (t *tableBuilder) finish() *data.Table {
	t.table.At = func(row, col int) diag.Place {
		place := [2]int{}
		switch {
		case row < 0 && col < len(t.heads):
			place = t.heads[col]
		case row >= 0:
			place = t.rows[row]
			if own := t.cells[col][row]; own[1] > 0 {
				place = own
			}
		}
		return diag.Place{Span: t.r.span(place[0], place[1])}
	}
	return t.table
}

// cellOf reads a word as a cell, whose label is just what stands there. A word for NaN or an infinity is a number that
// is not finite, which is refused where a number is needed.
func cellOf(word string) data.Cell {
	c := data.Cell{Text: word}
	switch v, kind := parseNumber(word); kind {
	case finite:
		c.Number, c.IsNumber = v, true
	case notFinite:
		c.Number, c.IsNumber = math.NaN(), true
	}
	return c
}

// records reads a list of objects.
func (p *jsonReader) records(name string) *data.Table {
	t := newTable(p.reader, name)
	p.elements(func(int) {
		start := p.pos
		if p.peek() != '{' {
			p.errorAt(diag.DataNotNumber, start, start+1, "record %d of %s is no object", t.table.Rows+1, name)
			p.skip()
			return
		}
		t.row(start, start+1)
		p.objectOf(func(at, end int, key string) { p.field(t, at, end, key) })
		if len(t.heads) == 0 {
			p.errorAt(diag.DataJSON, start, p.pos, "the first record of %s has no members", name)
		}
	})
	return t.finish()
}

// field reads the value of one member of a record.
func (p *jsonReader) field(t *tableBuilder, at, end int, key string) {
	col := t.table.Column(key)
	if col < 0 {
		t.column(key, at, end)
		col = len(t.table.Columns) - 1
	} else if t.cells[col][t.table.Rows-1][1] > 0 {
		p.errorAt(diag.DataDuplicate, at, end, "record %d has %s twice", t.table.Rows, strconv.Quote(key))
	}
	start := p.pos
	switch c := p.peek(); c {
	case '"':
		s := p.quoted()
		t.set(col, data.Cell{Text: s}, start, p.pos)
		return
	case '{', '[':
		p.errorAt(diag.DataNotNumber, start, start+1, "%s of record %d is a list or an object, not a number or a text", key, t.table.Rows)
		p.skip()
		return
	case 'n':
		if p.word() != "null" {
			p.pos = start
			break
		}
		t.set(col, data.Cell{}, start, p.pos)
		return
	}
	if v, fine := p.number(entry{fmt.Sprintf("%s of record %d", key, t.table.Rows), -1, -1}); fine {
		cell := cellOf(p.text[start:p.pos])
		cell.Number, cell.IsNumber = v, true
		t.set(col, cell, start, p.pos)
	}
}
