package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
)

// TestCombinations: every combination of method, oracle and solver, on one of a few
// models each, on all of them in full: it solves, ends within its limit or is
// refused before the run, and nothing that it says is false. A run may fail where the
// method meets a kink or where the oracle's errors are above what is asked for, and says
// so.
func TestCombinations(t *testing.T) {
	models := []string{"shop/shop.blv", "bard1988/bard1988.blv", "bolib/DeSilva1978.blv", "bolib/FalkLiu1995.blv"}
	ends := []string{"no descent found", "only known to", "no point near x"} // of methods for smooth F, at a kink
	ended := map[string]int{}
	for k := range combinations() {
		for m, name := range models {
			if !members.Full() && m != k%len(models) {
				continue
			}
			r := tryCombination(filepath.Join("..", "..", "examples", name), k)
			if len(r.Outcomes) == 0 {
				t.Errorf("%s, %s: no outcome", name, combinations()[k])
			}
			for _, o := range r.Outcomes {
				_, status, _ := strings.Cut(o, " ")
				ended[status]++
			}
			for _, f := range r.Findings {
				if !f.Soft {
					t.Errorf("%s: %s", f.Kind, f.Detail)
				} else if !slices.ContainsFunc(ends, func(s string) bool { return strings.Contains(f.Reason, s) }) {
					t.Errorf("%s: %s", f.Kind, f.Detail)
				}
			}
		}
	}
	if ended["solved"] == 0 || ended["limit reached"] == 0 || 5*ended["numerical failure"] > ended["solved"]+ended["limit reached"] {
		t.Errorf("ends: %v", ended)
	}
}
