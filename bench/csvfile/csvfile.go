// Package csvfile reads and writes the tables of studies: CSV files with a header.
package csvfile

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"

	"bilevelc/internal/must"
)

// Row spells the cells of a row; numbers have so many digits, integers all of theirs.
func Row(digits int, cells ...any) []string {
	row := make([]string, len(cells))
	for i, c := range cells {
		if v, ok := c.(float64); ok {
			row[i] = strconv.FormatFloat(v, 'g', digits, 64)
		} else {
			row[i] = fmt.Sprint(c)
		}
	}
	return row
}

// Read reads the rows of a file, the header first; they may have other lengths.
func Read(path string) ([][]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	return r.ReadAll()
}

// ByName reads the rows below the header, each by the names of its columns.
func ByName(path string) (out []map[string]string) {
	rows := must.Get(Read(path))
	for i, row := range rows[min(1, len(rows)):] {
		must.Be(len(row) == len(rows[0]), "%s: row %d has %d cells for %d columns", path, i+2, len(row), len(rows[0]))
		of := map[string]string{}
		for k, name := range rows[0] {
			of[name] = row[k]
		}
		out = append(out, of)
	}
	return out
}

// Write writes a file.
func Write(path string, rows [][]string) {
	f := must.Get(os.Create(path))
	defer f.Close()
	must.Do(csv.NewWriter(f).WriteAll(rows))
	must.Do(f.Close())
}
