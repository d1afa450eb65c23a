package datafile

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// readXLSX reads the sheets of a workbook as tables, or the sheet called name.
// The first row of a sheet that is not empty holds the names of its columns.
func readXLSX(r *reader, name string) {
	sheets, err := xlsxSheets(r.text)
	if err != nil {
		r.errorIn(diag.DataSheet, "%s", err)
		return
	}
	var names []string
	filled := 0
	for _, s := range sheets {
		names = append(names, s.name)
		if len(s.rows) > 0 {
			filled++
		}
	}
	found := false
	for _, s := range sheets {
		if len(s.rows) == 0 || name != "" && s.name != name && filled > 1 {
			continue
		}
		found = true
		t := s.table(r)
		if t == nil {
			continue
		}
		e := data.Entry{Name: s.name, Origin: r.file, Table: t}
		switch {
		case name != "":
			e.Name = name
		case filled > 1:
			e.Origin = r.file + ", sheet " + s.name
		default:
			e.Name = stem(r.file)
		}
		r.set.Entries = append(r.set.Entries, e)
	}
	if !found {
		d := r.errorIn(diag.DataNoName, "the workbook has no sheet %s", name)
		if name == "" {
			d.Summary = r.file + ": the workbook is empty"
		}
		d.Detail = has(names)
	}
}

// sheet is a sheet's cells as texts; rows that are empty at its start are left
// out.
type sheet struct {
	name  string
	rows  [][]string
	first int // the number of the first row that is not empty, from 1
	// unknown are the cells with formulas whose values the workbook does not hold, of the first few without a value.
	unknown map[string]bool
}

// mostFormulas bounds the cells without a value that are asked for a formula: each takes a look through the sheet.
const mostFormulas = 20

// asShown puts what a sheet shows in the place of the numbers that it keeps for dates and for TRUE and FALSE: a
// label is what one reads there, and none of them is a number. Dates are written 2024-01-31.
func (s *sheet) asShown(f *excelize.File) (err error) {
	defer must.Catch(&err)
	shown := must.Get(f.GetRows(s.name, excelize.Options{RawCellValue: false}))
	props := must.Get(f.GetWorkbookProps())
	since1904 := props.Date1904 != nil && *props.Date1904
	dates := map[int]bool{} // by style
	empty := 0
	for i, row := range s.rows {
		for j, word := range row {
			cell := must.Get(excelize.CoordinatesToCellName(j+1, s.first+i))
			if word == "" && empty < mostFormulas {
				empty++
				if formula, err := f.GetCellFormula(s.name, cell); err == nil && formula != "" {
					if s.unknown == nil {
						s.unknown = map[string]bool{}
					}
					s.unknown[cell] = true
				}
			}
			text := word
			if at := s.first - 1 + i; at < len(shown) && j < len(shown[at]) {
				text = shown[at][j]
			}
			v, kind := parseNumber(word)
			switch {
			case kind != finite || text == word:
			case text == "TRUE" && v == 1, text == "FALSE" && v == 0:
				row[j] = text
			default:
				style := must.Get(f.GetCellStyle(s.name, cell))
				date, known := dates[style]
				if !known {
					date = isDateStyle(f, style)
					dates[style] = date
				}
				if date {
					row[j] = dateText(v, since1904)
				}
			}
		}
	}
	return nil
}

// isDateStyle reports whether a style shows a number as a date or a time of day (ECMA-376, 18.8.30).
func isDateStyle(f *excelize.File, id int) bool {
	style, err := f.GetStyle(id)
	switch {
	case err != nil:
		return false
	case style.CustomNumFmt != nil:
		code := regexp.MustCompile(`"[^"]*"|\\.|\[[^\]]*\]`).ReplaceAllString(*style.CustomNumFmt, "")
		return strings.ContainsAny(strings.ToLower(code), "ymdhs") && !strings.EqualFold(code, "General")
	}
	return style.NumFmt >= 14 && style.NumFmt <= 22 || style.NumFmt >= 27 && style.NumFmt <= 36 || style.NumFmt >= 45 && style.NumFmt <= 47 || style.NumFmt >= 50 && style.NumFmt <= 58
}

// dateText writes the number of a date, of a time of day, or of both.
func dateText(v float64, since1904 bool) string {
	at, err := excelize.ExcelDateToTime(v, since1904)
	switch {
	case err != nil:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case v == math.Trunc(v):
		return at.Format(time.DateOnly)
	case v < 1:
		return at.Format(time.TimeOnly)
	}
	return at.Format(time.DateTime)
}

// xlsxSheets reads all sheets. A damaged workbook makes the library panic at
// times, which is the file's fault.
func xlsxSheets(text string) (sheets []sheet, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			sheets, err = nil, fmt.Errorf("not a valid workbook: %v", fault)
		}
	}()
	f, err := excelize.OpenReader(strings.NewReader(text),
		excelize.Options{RawCellValue: true, UnzipSizeLimit: maxExpanded, UnzipXMLSizeLimit: maxExpanded})
	if err != nil {
		return nil, fmt.Errorf("not a valid workbook: %w", err)
	}
	defer f.Close()
	for _, name := range f.GetSheetList() {
		rows, err := f.GetRows(name)
		if err != nil {
			return nil, fmt.Errorf("sheet %s: %w", name, err)
		}
		s := sheet{name: name, first: 1}
		for len(rows) > 0 && blankRow(rows[0]) {
			rows, s.first = rows[1:], s.first+1
		}
		s.rows = rows
		if err := s.asShown(f); err != nil {
			return nil, fmt.Errorf("sheet %s: %w", name, err)
		}
		sheets = append(sheets, s)
	}
	return sheets, nil
}

func blankRow(row []string) bool { return strings.TrimSpace(strings.Join(row, "")) == "" }

// table makes a table of a sheet; nil after a reported error.
func (s sheet) table(r *reader) *data.Table {
	t := &data.Table{Name: s.name}
	var rowAt []int // of each row of the table, its number in the sheet
	t.Columns = each.Of(s.rows[0], func(head string) data.Column { return data.Column{Name: strings.TrimSpace(head)} })
	t.At = func(row, col int) diag.Place {
		line := s.first
		if row >= 0 {
			line = rowAt[row]
		}
		cell, err := excelize.CoordinatesToCellName(col+1, line)
		if err != nil {
			cell = fmt.Sprintf("in row %d", line)
		}
		if s.unknown[cell] {
			cell += " (a formula without its value: a spreadsheet program saves that)"
		}
		return diag.Place{Words: fmt.Sprintf("%s, sheet %s, cell %s", r.file, s.name, cell)}
	}
	for j, c := range t.Columns {
		if _, kind := parseNumber(c.Name); c.Name == "" || kind == finite {
			r.report(diag.DataSheet, diag.Span{}, "%s is no name of a column; the first row of a sheet has one for each", t.At(-1, j).Words)
			return nil
		}
	}
	for i, row := range s.rows[1:] {
		if blankRow(row) {
			continue
		}
		t.Rows++
		rowAt = append(rowAt, s.first+1+i)
		if len(row) > len(t.Columns) && !blankRow(row[len(t.Columns):]) {
			r.report(diag.DataRagged, diag.Span{}, "%s has a value where no column has a name", t.At(t.Rows-1, len(t.Columns)).Words)
			return nil
		}
		for j := range t.Columns {
			word := ""
			if j < len(row) {
				word = strings.TrimSpace(row[j])
			}
			t.Columns[j].Cells = append(t.Columns[j].Cells, cellOf(word))
		}
	}
	return t
}
