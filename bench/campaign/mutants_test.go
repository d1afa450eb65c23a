package main

import (
	"flag"
	"testing"
)

var mutants = flag.Int("mutants", 150, "how many mutants TestMutants runs")

// TestMutants: models of the repository with a few changes that keep to the grammar are refused
// with a place, or run to an end; what is solved passes verification, and is found again where F is
// evaluated there. bench/README.md has the command for thousands, over all models.
func TestMutants(t *testing.T) {
	count := *mutants
	if testing.Short() {
		count /= 5
	}
	files, err := modelTexts("../../examples")
	if err != nil || len(files) < 10 {
		t.Fatal(len(files), err)
	}
	ends := map[string]int{}
	for seed := range uint64(count) {
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
	if 4*ends["solved"] < count || ends["refused"] == 0 || len(ends) < 3 {
		t.Errorf("of %d mutants: %v", count, ends)
	}
}
