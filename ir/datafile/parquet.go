package datafile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
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
	var leaves []parquetColumn
	for _, field := range f.Schema().Fields() {
		c := newParquetColumn(field)
		if c.to = -1; c.fault == "" {
			c.to = len(t.Columns)
		}
		leaves = append(leaves, slices.Repeat([]parquetColumn{c}, leavesOf(field))...)
		t.Columns = append(t.Columns, data.Column{Name: field.Name(), Fault: c.fault})
	}
	t.At = func(row, col int) diag.Place {
		if row < 0 {
			return diag.Place{Words: fmt.Sprintf("%s, column %s", file, t.Columns[col].Name)}
		}
		return diag.Place{Words: fmt.Sprintf("%s, row %d, column %s", file, row+1, t.Columns[col].Name)}
	}
	if len(t.Columns) == 0 {
		return nil, errors.New("the file has no columns")
	}
	batch := make([]parquet.Row, 256)
	for _, group := range f.RowGroups() {
		if group.NumRows() == 0 {
			continue // the library cannot read none
		}
		if err := parquetRows(group, t, leaves, batch); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// leavesOf is how many columns of a file hold the values of a field.
func leavesOf(n parquet.Node) int {
	if n.Leaf() {
		return 1
	}
	count := 0
	for _, f := range n.Fields() {
		count += leavesOf(f)
	}
	return count
}

// parquetRows appends the rows of a group: of each row the values of all leaves stand one
// behind the other, which for lists are any number.
func parquetRows(group parquet.RowGroup, t *data.Table, leaves []parquetColumn, batch []parquet.Row) error {
	rows := group.Rows()
	defer rows.Close()
	for {
		n, err := rows.ReadRows(batch)
		for _, row := range batch[:n] {
			t.Rows++
			if t.Rows*len(t.Columns) > maxExpanded/64 { // a cell takes 40 bytes, and its text
				return fmt.Errorf("the file expands to more than %d cells", maxExpanded/64)
			}
			for j := range t.Columns {
				t.Columns[j].Cells = append(t.Columns[j].Cells, data.Cell{})
			}
			for _, v := range row {
				if c := leaves[v.Column()]; c.to >= 0 {
					t.Columns[c.to].Cells[t.Rows-1] = c.cell(v)
				}
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
	to       int    // its place in the table; -1 where it is not read
	fault    string // why it cannot be
	unsigned bool
	decimal  bool
	scale    int32 // of decimals: the number is the integer over 10^scale
}

func newParquetColumn(field parquet.Field) parquetColumn {
	if !field.Leaf() || field.Repeated() {
		return parquetColumn{fault: "it holds lists or records; a table has one number or text in each cell"}
	}
	const dates = "it holds dates or times; write them as texts or numbers"
	if field.Type().Kind() == parquet.Int96 {
		return parquetColumn{fault: dates}
	}
	logical := field.Type().LogicalType()
	if logical == nil {
		return parquetColumn{}
	}
	switch l := logical.Value.(type) {
	case *format.DateType, *format.TimeType, *format.TimestampType:
		return parquetColumn{fault: dates}
	case *format.Float16Type:
		return parquetColumn{fault: "it holds floats of 2 bytes; write them as doubles"}
	case *format.IntType:
		return parquetColumn{unsigned: !l.IsSigned}
	case *format.DecimalType:
		return parquetColumn{decimal: true, scale: l.Scale}
	}
	return parquetColumn{}
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
		switch {
		case c.decimal:
			return c.decimalCell(big.NewInt(int64(v.Int32())))
		case c.unsigned:
			return wholeCell(int64(v.Uint32()))
		}
		return wholeCell(int64(v.Int32()))
	case parquet.Int64:
		switch u := v.Uint64(); {
		case c.decimal:
			return c.decimalCell(big.NewInt(v.Int64()))
		case c.unsigned && u > math.MaxInt64:
			return data.Cell{Text: strconv.FormatUint(u, 10)}
		}
		return wholeCell(v.Int64())
	case parquet.Float:
		return realCell(float64(v.Float()))
	case parquet.Double:
		return realCell(v.Double())
	}
	if c.decimal {
		return c.decimalCell(signed(v.ByteArray()))
	}
	return cellOf(string(v.ByteArray()))
}

// signed is an integer in two's complement, the highest byte first.
func signed(bytes []byte) *big.Int {
	i := new(big.Int).SetBytes(bytes)
	if len(bytes) > 0 && bytes[0] >= 0x80 {
		i.Sub(i, new(big.Int).Lsh(big.NewInt(1), uint(8*len(bytes))))
	}
	return i
}

// decimalCell is the double nearest to i over 10^scale.
func (c parquetColumn) decimalCell(i *big.Int) data.Cell {
	if c.scale == 0 && i.IsInt64() {
		return wholeCell(i.Int64())
	}
	v, _ := strconv.ParseFloat(fmt.Sprintf("%de-%d", i, c.scale), 64) // beyond the range, an infinity
	return realCell(v)
}

// wholeCell is an integer; one that no double holds is a label only.
func wholeCell(i int64) data.Cell {
	return data.Cell{Text: strconv.FormatInt(i, 10), Number: float64(i), IsNumber: i > -1<<53 && i < 1<<53}
}

func realCell(f float64) data.Cell {
	return data.Cell{Text: strconv.FormatFloat(f, 'g', -1, 64), Number: f, IsNumber: true}
}
