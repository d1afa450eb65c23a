package datafile

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/xuri/excelize/v2"

	"bilevelc/internal/each"
	"bilevelc/ir/data"
)

// records is a table as a test makes it: labels, an integer key and numbers.
type record struct {
	From  string  `parquet:"from"`
	To    string  `parquet:"to"`
	Depot int64   `parquet:"depot"`
	Cost  float64 `parquet:"cost"`
}

// randomRecords draws labels that need care in every format.
func randomRecords(rng *rand.Rand) []record {
	words := []string{"Rome", "São Paulo", "a, b", "007", "1e3", "x;y", "NaN", "-", "Neu-Ulm", "12"}
	out := make([]record, 1+rng.IntN(20))
	for i := range out {
		out[i] = record{words[rng.IntN(len(words))], words[rng.IntN(len(words))], rng.Int64N(1000) - 500, math.Ldexp(rng.NormFloat64(), rng.IntN(80)-40)}
	}
	return out
}

// written are the records in every format of tables.
func written(t *testing.T, records []record) map[string]string {
	t.Helper()
	var csv, json strings.Builder
	csv.WriteString("from,to,depot,cost\n")
	json.WriteString("[")
	book := excelize.NewFile()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(book.SetSheetRow("Sheet1", "A1", &[]any{"from", "to", "depot", "cost"}))
	for i, r := range records {
		number := strconv.FormatFloat(r.Cost, 'g', -1, 64)
		fmt.Fprintf(&csv, "\"%s\",\"%s\",%d,%s\n", r.From, r.To, r.Depot, number)
		if i > 0 {
			json.WriteString(", ")
		}
		fmt.Fprintf(&json, `{"from": %q, "to": %q, "depot": %d, "cost": %s}`, r.From, r.To, r.Depot, number)
		must(book.SetSheetRow("Sheet1", "A"+strconv.Itoa(i+2), &[]any{r.From, r.To, r.Depot, r.Cost}))
	}
	json.WriteString("]")
	var sheet, pq bytes.Buffer
	must(book.Write(&sheet))
	w := parquet.NewGenericWriter[record](&pq)
	_, err := w.Write(records)
	must(err)
	must(w.Close())
	return map[string]string{"roads.csv": csv.String(), "roads.json": json.String(), "roads.xlsx": sheet.String(), "roads.parquet": pq.String()}
}

// A table reads the same from every format, each number as it was written.
func TestTablesOfAllFormats(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for range 40 {
		records := randomRecords(rng)
		for file, text := range written(t, records) {
			set := good(t, Auto, file, text, "")
			if len(set.Entries) != 1 || set.Entries[0].Name != "roads" || set.Entries[0].Table == nil {
				t.Fatalf("%s: %+v", file, set.Entries)
			}
			table := set.Entries[0].Table
			if table.Rows != len(records) || len(table.Columns) != 4 {
				t.Fatalf("%s: %d rows of %d columns", file, table.Rows, len(table.Columns))
			}
			for i, r := range records {
				cells := each.Below(4, func(j int) data.Cell { return table.Columns[j].Cells[i] })
				if cells[0].Text != r.From || cells[1].Text != r.To || cells[2].Text != strconv.FormatInt(r.Depot, 10) {
					t.Fatalf("%s: row %d has the labels %q %q %q, want %+v", file, i, cells[0].Text, cells[1].Text, cells[2].Text, r)
				}
				// A workbook holds 15 digits or more: this library writes all of them.
				if !cells[3].IsNumber || cells[3].Number != r.Cost || !cells[2].IsNumber || cells[2].Number != float64(r.Depot) {
					t.Fatalf("%s: row %d has %+v, want %v", file, i, cells[3], r.Cost)
				}
			}
		}
	}
}

// A workbook of several sheets is several tables, one of which a name picks;
// rows that are empty before the names of the columns are left out.
func TestSheets(t *testing.T) {
	book := excelize.NewFile()
	for _, s := range []string{"nodes", "roads"} {
		if _, err := book.NewSheet(s); err != nil {
			t.Fatal(err)
		}
	}
	for cell, v := range map[string]any{"A3": "node", "B3": "supply", "A4": "Rome", "B4": 2.5, "A6": "Oslo", "B6": -1} {
		if err := book.SetCellValue("nodes", cell, v); err != nil {
			t.Fatal(err)
		}
	}
	for cell, v := range map[string]any{"A1": "from", "B1": "to", "A2": "Rome", "B2": "Oslo"} {
		if err := book.SetCellValue("roads", cell, v); err != nil {
			t.Fatal(err)
		}
	}
	var text bytes.Buffer
	if err := book.Write(&text); err != nil {
		t.Fatal(err)
	}
	set := good(t, Auto, "net.xlsx", text.String(), "")
	if len(set.Entries) != 2 || set.Entries[0].Name != "nodes" || set.Entries[1].Name != "roads" {
		t.Fatalf("%+v", set.Entries)
	}
	nodes := set.Entries[0].Table
	if nodes.Rows != 2 || nodes.Columns[0].Cells[1].Text != "Oslo" || nodes.At(1, 1).Words != "net.xlsx, sheet nodes, cell B6" {
		t.Errorf("%+v %s", nodes, nodes.At(1, 1).Words)
	}
	set = good(t, Auto, "net.xlsx", text.String(), "roads")
	if len(set.Entries) != 1 || set.Entries[0].Name != "roads" {
		t.Errorf("%+v", set.Entries)
	}
	if _, list := Read(Auto, "net.xlsx", text.String(), "cars"); !list.HasErrors() || !strings.Contains(list[0].Summary, "no sheet cars") {
		t.Errorf("%v", list)
	}
}

// Damaged files are errors, never panics.
func TestDamagedTables(t *testing.T) {
	files := written(t, randomRecords(rand.New(rand.NewPCG(1, 1))))
	rng := rand.New(rand.NewPCG(2, 2))
	for _, file := range []string{"roads.xlsx", "roads.parquet"} {
		text := []byte(files[file])
		for range 150 {
			broken := bytes.Clone(text)
			for range 1 + rng.IntN(4) {
				broken[rng.IntN(len(broken))] = byte(rng.IntN(256))
			}
			Read(Auto, file, string(broken[:len(broken)-rng.IntN(2)*rng.IntN(len(broken))]), "")
		}
	}
}

func TestParquetKinds(t *testing.T) {
	type row struct {
		Price int64    `parquet:"price,decimal(2:12)"`
		Cents [9]byte  `parquet:"cents,decimal(2:20)"`
		Tags  []string `parquet:"tags,list"`
		Day   int32    `parquet:"day,date"`
		Count uint32   `parquet:"count"`
		Large int64    `parquet:"large"`
		Share *float64 `parquet:"share,optional"`
		Open  bool     `parquet:"open"`
	}
	share := 0.5
	var text bytes.Buffer
	w := parquet.NewGenericWriter[row](&text)
	if _, err := w.Write([]row{
		{1234, [9]byte{7: 3, 8: 0xe9}, []string{"a", "b"}, 20000, 4_000_000_000, 1 << 60, &share, true}, // 3e9 is 1001
		{-5, [9]byte{255, 255, 255, 255, 255, 255, 255, 255, 0x9c}, nil, 20001, 1, 7, nil, false},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	table := good(t, Auto, "t.parquet", text.String(), "").Entries[0].Table
	got := map[string][]data.Cell{}
	for _, c := range table.Columns {
		got[c.Name] = c.Cells
		if (c.Fault != "") != (c.Name == "tags" || c.Name == "day") || len(c.Cells) != 2 {
			t.Errorf("column %s of %d rows: %s", c.Name, len(c.Cells), c.Fault)
		}
	}
	if got["cents"][0].Number != 10.01 || got["cents"][1].Number != -1 {
		t.Errorf("%+v", got["cents"])
	}
	if got["price"][0].Number != 12.34 || got["price"][1].Number != -0.05 || got["count"][0].Number != 4e9 ||
		got["large"][0].IsNumber || got["large"][0].Text != "1152921504606846976" || !got["large"][1].IsNumber ||
		got["share"][0].Number != 0.5 || got["share"][1].Text != "" || got["open"][0].Number != 1 {
		t.Errorf("%+v", got)
	}
}

// A Parquet file without rows has its columns.
func TestParquetWithoutRows(t *testing.T) {
	var text bytes.Buffer
	w := parquet.NewGenericWriter[record](&text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if table := good(t, Auto, "t.parquet", text.String(), "").Entries[0].Table; table.Rows != 0 || len(table.Columns) != 4 {
		t.Errorf("%+v", table)
	}
}

// What a sheet shows as a date or as TRUE is that text, and no number; a formula without a value is said to be one.
func TestCellsOfASheetAreWhatItShows(t *testing.T) {
	book := excelize.NewFile()
	day, err := book.NewStyle(&excelize.Style{CustomNumFmt: func(s string) *string { return &s }("dd.mm.yyyy")})
	if err != nil {
		t.Fatal(err)
	}
	builtIn, err := book.NewStyle(&excelize.Style{NumFmt: 22})
	if err != nil {
		t.Fatal(err)
	}
	money, err := book.NewStyle(&excelize.Style{CustomNumFmt: func(s string) *string { return &s }(`0.00 "yen"`)})
	if err != nil {
		t.Fatal(err)
	}
	for cell, v := range map[string]any{"A1": "a", "A2": true, "A3": false, "A4": "TRUE", "A5": 45293, "A6": 45293.5, "A7": 12.5, "A8": 45293, "A9": 1, "B1": "b"} {
		if err := book.SetCellValue("Sheet1", cell, v); err != nil {
			t.Fatal(err)
		}
	}
	for cell, style := range map[string]int{"A5": day, "A6": builtIn, "A7": money} {
		if err := book.SetCellStyle("Sheet1", cell, cell, style); err != nil {
			t.Fatal(err)
		}
	}
	if err := book.SetCellFormula("Sheet1", "B2", "1+2"); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := book.Write(&text); err != nil {
		t.Fatal(err)
	}
	table := good(t, Auto, "shown.xlsx", text.String(), "").Entries[0].Table
	for i, want := range []data.Cell{{Text: "TRUE"}, {Text: "FALSE"}, {Text: "TRUE"}, {Text: "2024-01-02"}, {Text: "2024-01-02 12:00:00"}, {Text: "12.5", Number: 12.5, IsNumber: true},
		{Text: "45293", Number: 45293, IsNumber: true}, {Text: "1", Number: 1, IsNumber: true}} {
		if got := table.Columns[0].Cells[i]; got != want {
			t.Errorf("cell %d is %+v, not %+v", i+2, got, want)
		}
	}
	if got := table.At(0, 1).Words; !strings.Contains(got, "cell B2 (a formula without its value") {
		t.Errorf("a formula is at %s", got)
	}
	if err := book.SetCellValue("Sheet1", "C2", 3); err != nil {
		t.Fatal(err)
	}
	text.Reset()
	if err := book.Write(&text); err != nil {
		t.Fatal(err)
	}
	if _, list := Read(Auto, "shown.xlsx", text.String(), ""); !list.HasErrors() || strings.Count(list[0].Summary, "shown.xlsx") != 1 {
		t.Errorf("a value without a name is %v", list)
	}
}
