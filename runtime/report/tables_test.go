package report_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"bilevelc/runtime"
	"bilevelc/runtime/report"
)

// TestTablesHaveFiles names tables of anything apart, without signs that a file system
// takes for something else.
func TestTablesHaveFiles(t *testing.T) {
	r := runtime.Unfinished("m.blv", runtime.Interrupted, "")
	for _, name := range []string{"x", "X", "x_2", "max(y)", "max[y]", "../up", `a\b:c`, "größe", ""} {
		r.Upper.Variables = append(r.Upper.Variables, runtime.Value{Name: name, Data: []float64{1}})
	}
	seen := map[string]bool{}
	for _, table := range report.Tables(r) {
		if seen[strings.ToLower(table.Name)] || strings.ContainsAny(table.Name, `/\:()[]<>|?*" `) {
			t.Errorf("the file %q", table.Name)
		}
		seen[strings.ToLower(table.Name)] = true
	}
	if len(seen) != 10 {
		t.Errorf("%d tables, not 10: %v", len(seen), seen)
	}
}

// TestTablesHoldTheResult reads every table back: numbers to the last bit, labels as
// they are, before and after the result has been a document.
func TestTablesHoldTheResult(t *testing.T) {
	p := boundText(t, `model labels
set town = {"a,b", "say \"no\"", "=1+1"}
upper { var x: [town, 2] in box(-1, 1)
  minimize sum(i in town, k in 1..2: (y[i] - x[i, k] - 0.3)^2) }
lower { var y: [town] in nonneg
  minimize sum(i in town: (y[i] - x[i, 1] / 3)^2)
  subject to
    all: sum(i in town: y[i]) <= 0.5 }
report { twice = 2 * y["a,b"] }
`)
	solved, err := p.Solve(context.Background(), runtime.Options{Starts: 2})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(solved)
	if err != nil {
		t.Fatal(err)
	}
	read, err := runtime.ReadResult(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*runtime.Result{solved, read} {
		tables := map[string][][]string{}
		for _, table := range report.Tables(r) {
			rows, err := csv.NewReader(bytes.NewReader(table.CSV())).ReadAll()
			if err != nil {
				t.Fatalf("%s: %v", table.Name, err)
			}
			tables[table.Name] = rows
		}
		holds := func(name string, column int, want []float64) {
			t.Helper()
			rows := tables[name]
			if len(rows) != len(want)+1 {
				t.Fatalf("%s has %d rows, not %d", name, len(rows), len(want)+1)
			}
			for k, v := range want {
				if got, err := strconv.ParseFloat(rows[k+1][column], 64); err != nil || got != v {
					t.Errorf("%s, row %d: %s, not %v", name, k+1, rows[k+1][column], v)
				}
			}
		}
		x, y := solved.Upper.Variables[0], solved.Lower.Variables[0]
		holds("upper.x", 2, x.Data)
		holds("lower.y", 1, y.Data)
		holds("report.twice", 0, solved.Report[0].Data)
		var multipliers []float64
		for _, v := range solved.Lower.Multipliers {
			multipliers = append(multipliers, v.Data...)
		}
		holds("rows", 3, multipliers)
		holds("starts", 1, []float64{float64(solved.Starts[0].Objective), float64(solved.Starts[1].Objective)})
		for k, want := range [][]string{{"a,b", "1"}, {"a,b", "2"}, {`say "no"`, "1"}, {`say "no"`, "2"}, {"=1+1", "1"}, {"=1+1", "2"}} {
			if row := tables["upper.x"][k+1]; row[0] != want[0] || row[1] != want[1] {
				t.Errorf("row %d is of %q, not %q", k+1, row[:2], want)
			}
		}
	}
}
