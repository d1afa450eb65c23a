package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
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

// table is a CSV file.
type table struct {
	name   string
	header []string
	rows   [][]string
}

// add appends a row; numbers are written with the digits that a reader can
// use (6), integers in full.
func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		switch v := c.(type) {
		case float64:
			row[i] = strconv.FormatFloat(v, 'g', 6, 64)
		default:
			row[i] = fmt.Sprint(v)
		}
	}
	t.rows = append(t.rows, row)
}

// write puts tables and figures into dir and the lines on out.
func (r *results) write(dir string, out io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, t := range r.tables {
		if err := t.write(filepath.Join(dir, t.name+".csv")); err != nil {
			return err
		}
	}
	for _, f := range r.figures {
		if err := f.write(filepath.Join(dir, f.name)); err != nil {
			return err
		}
	}
	for _, l := range r.lines {
		fmt.Fprintln(out, l)
	}
	return nil
}

func (t *table) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := csv.NewWriter(file)
	if err := w.Write(t.header); err != nil {
		file.Close()
		return err
	}
	if err := w.WriteAll(t.rows); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
