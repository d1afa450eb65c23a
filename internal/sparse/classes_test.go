package sparse

import (
	"math/rand/v2"
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
	}
}
