package main

import (
	"flag"
	"testing"

	"bilevelc/internal/members"
)

var mutants = flag.Int("mutants", 150, "how many mutants TestMutants runs in full")

// TestMutants: models of the repository with a few changes that keep to the grammar are refused
// with a place, or run to an end; what is solved passes verification, and is found again where F is
// evaluated there. bench/README.md has the command for thousands, over all models.
func TestMutants(t *testing.T) {
	t.Parallel()
	count := members.Count(*mutants)
	files, err := modelTexts("../../examples")
	if err != nil || len(files) < 10 {
		t.Fatal(len(files), err)
	}
	ends := map[string]int{}
	for seed := range members.Seeds(t, *mutants) {
		r := tryMutant(files, seed)
		for _, f := range r.Findings {
			if !f.Soft {
				t.Errorf("seed %d: %s: %s\n%s", seed, f.Kind, f.Detail, r.Text)
			}
		}
		for _, o := range r.Outcomes {
			ends[o]++
		}
	}
	t.Log(ends)
	least := 1 // of 20, of which two fifths are solved
	if members.Full() {
		least = count / 4
	}
	if ends["solved"] < least || ends["refused"] == 0 || members.Full() && len(ends) < 3 {
		t.Errorf("of %d mutants: %v", count, ends)
	}
}
