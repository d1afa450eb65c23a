package sparse

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestParallel: two rows are in one group if and only if they are multiples of each other, in whole numbers.
func TestParallel(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	several := 0
	for range 300 {
		const n = 4
		dense, left := make([][]int, 1+rng.IntN(30)), make([]bool, 30)
		sides := []*CSR{Empty(n / 2), Empty(n / 2)}
		for i := range dense {
			dense[i] = make([]int, n)
			left[i] = rng.IntN(8) == 0
			for j := range dense[i] {
				dense[i][j] = rng.IntN(3) - 1
				if v := dense[i][j]; v != 0 {
					sides[j/(n/2)].Append(j%(n/2), float64(v)*0.1)
				}
			}
			sides[0].EndRow()
			sides[1].EndRow()
		}
		in := func(i int) bool {
			return !left[i] && slices.ContainsFunc(dense[i][:n/2], func(v int) bool { return v != 0 })
		}
		want := map[int][]int{} // by their first rows
		for i, u := range dense {
			if !in(i) {
				continue
			}
			first := slices.IndexFunc(dense[:i+1], func(v []int) bool {
				for k := range u {
					for l := range u {
						if u[k]*v[l] != u[l]*v[k] {
							return false
						}
					}
				}
				return slices.ContainsFunc(v, func(e int) bool { return e != 0 }) && in(slices.IndexFunc(dense, func(w []int) bool { return &w[0] == &v[0] }))
			})
			want[first] = append(want[first], i)
		}
		for group := range Parallel(func(i int) bool { return !left[i] }, sides...) {
			if !slices.Equal(group, want[group[0]]) {
				t.Fatalf("%v, want %v\n%v", group, want[group[0]], dense)
			}
			if len(group) > 1 {
				several++
			}
			delete(want, group[0])
		}
		if len(want) > 0 {
			t.Fatalf("no group %v\n%v", want, dense)
		}
	}
	if several < 300 {
		t.Errorf("only %d groups of several", several)
	}
}
