package codegen

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/ir/expr"
)

// Whether a value depends on a group through another is told from levels, which spare most of the graph: the answer is that of the whole graph.
func TestBehind(t *testing.T) {
	for seed := range members.Seeds(t, 200) {
		r := rand.New(rand.NewPCG(seed, 33))
		f := &form{}
		g := grouping{f: f, group: make([]int, 60)}
		for i := range 60 {
			v := val{op: opLin, shape: expr.ScalarShape()}
			for range r.IntN(4) {
				if i > 0 {
					v.args = append(v.args, max(0, i-1-r.IntN(12)))
				}
			}
			f.vals = append(f.vals, v)
			reaches := func(p, k int) bool { // by the whole graph
				met := map[int]bool{}
				for list := []int{p}; len(list) > 0; {
					p, list = list[0], list[1:]
					if p == k {
						return true
					}
					if !met[p] {
						met[p] = true
						list = append(list, g.needs[p]...)
					}
				}
				return false
			}
			joined := -1
			for k := range g.needs {
				want := slices.ContainsFunc(v.args, func(a int) bool { return g.group[a] != k && reaches(g.group[a], k) })
				if got := g.behind(i, k); got != want {
					t.Fatalf("seed %d: value %d is behind group %d: %v, by the whole graph %v", seed, i, k, got, want)
				}
				if !want && r.IntN(3) == 0 {
					joined = k
				}
			}
			if joined < 0 {
				joined = g.open(1, true)
			}
			g.add(i, joined)
		}
	}
}
