package datafile

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/each"
)

// What stands between fields is found whatever the fields hold in quotes.
func TestSeparatorsWithinQuotes(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 11))
	for range 500 {
		var names []string
		for k := range 2 + rng.IntN(3) {
			name := fmt.Sprintf("a%d", k)
			for range rng.IntN(4) {
				name += []string{";", ",", "\t", "\n", `"`, "b", " ", "é"}[rng.IntN(8)]
			}
			names = append(names, name+"z")
		}
		var text strings.Builder
		sep := []string{",", ";", "\t"}[rng.IntN(3)]
		row := each.Below(len(names), func(j int) string { return fmt.Sprintf("t%d", j) })
		for j, name := range names {
			names[j] = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
		fmt.Fprintf(&text, "%s\n%s\n", strings.Join(names, sep), strings.Join(row, sep))
		set, list := Read(CSV, "t.csv", text.String(), "")
		if list.HasErrors() || len(set.Entries) != 1 || set.Entries[0].Table == nil {
			t.Fatalf("%v\n%s", list, text.String())
		}
		table := set.Entries[0].Table
		for j, c := range table.Columns {
			if len(table.Columns) != len(names) || `"`+strings.ReplaceAll(c.Name, `"`, `""`)+`"` != names[j] || c.Cells[0].Text != row[j] {
				t.Fatalf("%q for %q\n%s", c.Name, names, text.String())
			}
		}
	}
}
