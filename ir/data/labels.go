package data

import "bilevelc/lang/diag"

// Keyed holds numbers that are given by label rather than by place.
type Keyed struct {
	Keys   [][]string // the labels of each number, one dimension after the other
	Values []float64
	Origin func(k int) diag.Place // where number k stands; nil where only the entry's origin is known
}

// Table is a list of records: the rows of a CSV file, of a sheet, of a Parquet
// file, or of a JSON list of objects. Its columns are taken by name.
type Table struct {
	Name    string // the file's or the sheet's
	Columns []Column
	Rows    int
	// At is the place of a cell, counting from 0, or of the column's name
	// where row is -1.
	At func(row, col int) diag.Place
}

// Column is one column of a table.
type Column struct {
	Name  string
	Cells []Cell
}

// Cell is one entry of a table. Text is "" where it is empty; Number counts
// where IsNumber is set.
type Cell struct {
	Text     string
	Number   float64
	IsNumber bool
}

// Column finds a column by name, or -1.
func (t *Table) Column(name string) int {
	for i, c := range t.Columns {
		if c.Name == name {
			return i
		}
	}
	return -1
}
