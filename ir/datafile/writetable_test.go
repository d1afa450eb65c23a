package datafile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"bilevelc/ir/data"
)

// awkward is a text that begins and ends with a letter, with all in between that CSV
// puts into quotes.
func awkward(rng *rand.Rand) string {
	text := string('a' + rune(rng.IntN(26)))
	for range rng.IntN(6) {
		text += []string{`"`, ",", "\n", ";", "#", " ", "ü", `""`, "1", "\t"}[rng.IntN(10)]
	}
	return text + "z"
}

// Quotes in quotes, and lines that end inside them; a quote inside a word is none.
func TestQuotedFields(t *testing.T) {
	set, diags := Read(CSV, "t.csv", "who,what,much\n\"a \"\"b\"\"\",\"two\r\nlines, and \"\"\"\"\",1\n 5\" pipe ,\"x\" , 2\r\n", "")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	got := set.Get("t").Table
	for i, want := range [][2]string{{`a "b"`, "two\nlines, and \"\""}, {`5" pipe`, "x"}} {
		if a, b := got.Columns[0].Cells[i].Text, got.Columns[1].Cells[i].Text; a != want[0] || b != want[1] || got.Columns[2].Cells[i].Number != float64(i+1) {
			t.Errorf("row %d is %q and %q, not %q", i+1, a, b, want)
		}
	}
}

// Tables that are written are read again as they were.
func TestWriteTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for round := range 30 {
		table := &data.Table{Name: "t", Rows: 1 + rng.IntN(20)}
		for j := range 1 + rng.IntN(6) {
			c := data.Column{Name: fmt.Sprintf("%c%d", 'z'-rune(rng.IntN(26)), j)}
			words := rng.IntN(2) == 0
			for range table.Rows {
				switch {
				case words:
					c.Cells = append(c.Cells, data.Cell{Text: awkward(rng)})
				default:
					c.Cells = append(c.Cells, data.Cell{Number: rng.NormFloat64(), IsNumber: true})
				}
			}
			table.Columns = append(table.Columns, c)
		}
		for _, format := range []Format{CSV, Parquet} {
			var b bytes.Buffer
			if err := WriteTable(&b, format, table); err != nil {
				t.Fatal(err)
			}
			set, diags := Read(format, "t", b.String(), "")
			if diags.HasErrors() {
				t.Fatalf("round %d, format %d: %v", round, format, diags)
			}
			got := set.Get("t").Table
			if got == nil || got.Rows != table.Rows || len(got.Columns) != len(table.Columns) {
				t.Fatalf("round %d, format %d: %+v", round, format, got)
			}
			for _, want := range table.Columns {
				j := got.Column(want.Name)
				if j < 0 {
					t.Fatalf("round %d, format %d: no column %s", round, format, want.Name)
				}
				for i, cell := range want.Cells {
					if read := got.Columns[j].Cells[i]; cell.IsNumber && (!read.IsNumber || read.Number != cell.Number) || !cell.IsNumber && read.Text != cell.Text {
						t.Errorf("round %d, format %d: %s[%d] is %+v, not %+v", round, format, want.Name, i, read, cell)
					}
				}
			}
		}
	}
}
