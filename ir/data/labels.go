package data

import (
	"strings"

	"bilevelc/lang/diag"
)

// Keyed holds numbers, or texts, that are given by label rather than by place.
type Keyed struct {
	Keys   [][]string // the labels of each, one dimension after the other
	Values []float64
	Texts  []string // as many as Values; nil where none of them is a text
	// ByPlace says that the last label of each is its position along the last
	// dimension, from 0: it is one of so many columns of a table.
	ByPlace int
	Origin  func(k int) diag.Place // where entry k stands; nil where only the entry's origin is known
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
	Cells []Cell // empty ones where there is a Fault
	Fault string // why the column cannot be read, for a model that does: "it holds dates ..."
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

// IsMissing reports what programs write for a value that is missing; NaN is a number
// to them.
func IsMissing(word string) bool {
	switch strings.ToLower(word) {
	case "", "na", "n/a", "null", "none", ".", "?":
		return true
	}
	return false
}
