package sparse

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestClasses compares with a list that says of each number what stands for it.
func TestClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for range 200 {
		n := 1 + rng.IntN(20)
		c, of := NewClasses(n), make([]int, n)
		for i := range of {
			of[i] = i
		}
		for range rng.IntN(20) {
			i, j := rng.IntN(n), rng.IntN(n)
			c.Join(i, j)
			gone := of[j]
			for k := range of {
				if of[k] == gone {
					of[k] = of[i]
				}
			}
			for k := range of {
				if c.Of(k) != of[k] {
					t.Fatalf("%d stands for %d, not %d", c.Of(k), k, of[k])
				}
			}
		}
		seen := map[int]int{} // by what stands for a class, its number
		members, first := c.Members(n), -1
		for k := range of {
			if _, known := seen[of[k]]; !known {
				seen[of[k]] = len(seen)
			}
			if m := members[seen[of[k]]]; !slices.Contains(m, k) || !slices.IsSorted(m) {
				t.Fatalf("%d is not in %v of %v", k, m, members)
			}
		}
		total := 0
		for _, m := range members {
			if total += len(m); m[0] <= first {
				t.Fatalf("%v: not in the order of their first members", members)
			}
			first = m[0]
		}
		if len(members) != len(seen) || total != n {
			t.Fatalf("%v: %d classes of %d numbers", members, len(seen), n)
		}
	}
}
