package datafile

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"sort"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"bilevelc/internal/each"
	"bilevelc/ir/data"
)

// WriteTable writes a table as CSV or Parquet. A column of which every cell that is not
// empty is a number is one of doubles in Parquet, any other one of texts; an empty cell
// is a null there.
func WriteTable(w io.Writer, format Format, t *data.Table) error {
	switch format {
	case CSV:
		return writeCSV(w, t)
	case Parquet:
		return writeParquet(w, t)
	}
	return fmt.Errorf("a table is written as CSV or Parquet, not in format %d", format)
}

func cellText(c data.Cell) string {
	if c.IsNumber {
		return strconv.FormatFloat(c.Number, 'g', -1, 64)
	}
	return c.Text
}

func writeCSV(w io.Writer, t *data.Table) error {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	row := each.Of(t.Columns, func(c data.Column) string { return c.Name })
	_ = out.Write(row) // a buffer takes everything
	for i := range t.Rows {
		for j, c := range t.Columns {
			row[j] = cellText(c.Cells[i])
		}
		_ = out.Write(row)
	}
	out.Flush()
	_, err := w.Write(b.Bytes())
	return err
}

func writeParquet(w io.Writer, t *data.Table) error {
	group := parquet.Group{}
	order := make([]int, len(t.Columns)) // groups are sorted by name
	numbers := make([]bool, len(t.Columns))
	for j, c := range t.Columns {
		if _, twice := group[c.Name]; twice {
			return fmt.Errorf("two columns are called %s", c.Name)
		}
		order[j], numbers[j] = j, true
		for _, cell := range c.Cells {
			if !cell.IsNumber && cell.Text != "" {
				numbers[j] = false
			}
		}
		node := parquet.String()
		if numbers[j] {
			node = parquet.Leaf(parquet.DoubleType)
		}
		group[c.Name] = parquet.Optional(node)
	}
	sort.Slice(order, func(a, b int) bool { return t.Columns[order[a]].Name < t.Columns[order[b]].Name })
	out := parquet.NewWriter(w, parquet.NewSchema("table", group))
	for i := range t.Rows {
		row := make(parquet.Row, len(order))
		for place, j := range order {
			cell := t.Columns[j].Cells[i]
			switch {
			case !cell.IsNumber && cell.Text == "":
				row[place] = parquet.NullValue().Level(0, 0, place)
			case numbers[j]:
				row[place] = parquet.DoubleValue(cell.Number).Level(0, 1, place)
			default:
				row[place] = parquet.ByteArrayValue([]byte(cellText(cell))).Level(0, 1, place)
			}
		}
		if _, err := out.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}
	}
	return out.Close()
}
