package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"bilevelc/bench/csvfile"
	"bilevelc/internal/must"
)

// results are what a study writes: tables, figures, and lines for the reader.
type results struct {
	tables  []table
	figures []figure
	lines   []string
}

func (r *results) say(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// table is a CSV file, the header first.
type table struct {
	name string
	rows [][]string
}

func newTable(name string, header ...string) table { return table{name, [][]string{header}} }

// add appends a row; numbers are written with the digits that a reader can use.
func (t *table) add(cells ...any) { t.rows = append(t.rows, csvfile.Row(6, cells...)) }

// write puts tables and figures into dir and the lines on out.
func (r *results) write(dir string, out io.Writer) {
	must.Do(os.MkdirAll(dir, 0o755))
	for _, t := range r.tables {
		csvfile.Write(filepath.Join(dir, t.name+".csv"), t.rows)
	}
	for _, f := range r.figures {
		f.write(filepath.Join(dir, f.name))
	}
	for _, l := range r.lines {
		fmt.Fprintln(out, l)
	}
}
