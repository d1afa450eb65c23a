package datafile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

// readParquet reads a Parquet file of flat columns as a table.
func readParquet(r *reader, name string) {
	if name == "" {
		name = stem(r.file)
	}
	t, err := parquetTable(r.file, r.text, name)
	if err != nil {
		r.errorIn(diag.DataSheet, "%s", err)
		return
	}
	r.set.Entries = append(r.set.Entries, data.Entry{Name: name, Origin: r.file, Table: t})
}

// parquetTable reads the rows. The library checks little of what a file claims
// and panics on some of it, which is the file's fault.
func parquetTable(file, text, name string) (t *data.Table, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			t, err = nil, fmt.Errorf("not a valid Parquet file: %v", fault)
		}
	}()
	f, err := parquet.OpenFile(strings.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, fmt.Errorf("not a valid Parquet file: %w", err)
	}
	t = &data.Table{Name: name}
	var columns []parquetColumn
	for _, field := range f.Schema().Fields() {
		if !field.Leaf() || field.Repeated() {
			return nil, fmt.Errorf("column %s holds lists or records; a table has one number or text in each cell", field.Name())
		}
		c, err := newParquetColumn(field)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
		t.Columns = append(t.Columns, data.Column{Name: field.Name()})
	}
	t.At = func(row, col int) diag.Place {
		if row < 0 {
			return diag.Place{Words: fmt.Sprintf("%s, column %s", file, t.Columns[col].Name)}
		}
		return diag.Place{Words: fmt.Sprintf("%s, row %d, column %s", file, row+1, t.Columns[col].Name)}
	}
	if len(columns) == 0 {
		return nil, errors.New("the file has no columns")
	}
	batch := make([]parquet.Row, 256)
	for _, group := range f.RowGroups() {
		if err := parquetRows(group, t, columns, batch); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func parquetRows(group parquet.RowGroup, t *data.Table, columns []parquetColumn, batch []parquet.Row) error {
	rows := group.Rows()
	defer rows.Close()
	for {
		n, err := rows.ReadRows(batch)
		for _, row := range batch[:n] {
			t.Rows++
			if t.Rows*len(columns) > maxExpanded/64 { // a cell takes 40 bytes, and its text
				return fmt.Errorf("the file expands to more than %d cells", maxExpanded/64)
			}
			if len(row) != len(columns) {
				return fmt.Errorf("row %d has %d values for %d columns", t.Rows, len(row), len(columns))
			}
			for j, v := range row {
				t.Columns[j].Cells = append(t.Columns[j].Cells, columns[j].cell(v))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not a valid Parquet file: %w", err)
		}
	}
}

// parquetColumn tells how the values of a column are to be read.
type parquetColumn struct {
	unsigned bool
	scale    int // of decimals: the number is the integer over 10^scale
}

func newParquetColumn(field parquet.Field) (parquetColumn, error) {
	var c parquetColumn
	if field.Type().Kind() == parquet.Int96 {
		return c, fmt.Errorf("column %s holds times; write them as texts or numbers", field.Name())
	}
	logical := field.Type().LogicalType()
	if logical == nil {
		return c, nil
	}
	switch l := logical.Value.(type) {
	case *format.DateType, *format.TimeType, *format.TimestampType:
		return c, fmt.Errorf("column %s holds dates or times; write them as texts or numbers", field.Name())
	case *format.IntType:
		c.unsigned = !l.IsSigned
	case *format.DecimalType:
		if k := field.Type().Kind(); k != parquet.Int32 && k != parquet.Int64 {
			return c, fmt.Errorf("column %s holds decimals of more than 18 digits; write them as doubles", field.Name())
		}
		c.scale = int(l.Scale)
	}
	return c, nil
}

func (c parquetColumn) cell(v parquet.Value) data.Cell {
	if v.IsNull() {
		return data.Cell{}
	}
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return wholeCell(1)
		}
		return wholeCell(0)
	case parquet.Int32:
		if c.unsigned {
			return c.scaled(int64(v.Uint32()))
		}
		return c.scaled(int64(v.Int32()))
	case parquet.Int64:
		if u := v.Uint64(); c.unsigned && u > math.MaxInt64 {
			return data.Cell{Text: strconv.FormatUint(u, 10)}
		}
		return c.scaled(v.Int64())
	case parquet.Float:
		return realCell(float64(v.Float()))
	case parquet.Double:
		return realCell(v.Double())
	}
	return cellOf(string(v.ByteArray()))
}

func (c parquetColumn) scaled(i int64) data.Cell {
	if c.scale == 0 {
		return wholeCell(i)
	}
	return realCell(float64(i) / math.Pow10(c.scale))
}

// wholeCell is an integer; one that no double holds is a label only.
func wholeCell(i int64) data.Cell {
	return data.Cell{Text: strconv.FormatInt(i, 10), Number: float64(i), IsNumber: i > -1<<53 && i < 1<<53}
}

func realCell(f float64) data.Cell {
	return data.Cell{Text: strconv.FormatFloat(f, 'g', -1, 64), Number: f, IsNumber: true}
}
