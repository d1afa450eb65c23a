package outer

import (
	"context"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/planted"
)

// A path leads to a lower F than that of its start, not below the planted optimum, or says that it leads nowhere.
func TestPathIsLower(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	led := 0
	for k := range 30 {
		in, err := planted.New(planted.Options{Family: planted.Convex, Dx: 1 + k%6, Dy: 10 + k, Links: k % 3, Floors: 8 + k/2, Active: k % 4, Kinks: 1 + k%4, Condition: 10, Seed: uint64(k)})
		if err != nil {
			t.Fatal(err)
		}
		start := make([]float64, in.Problem.Dx)
		for j := range start {
			start[j] = 4 * rng.NormFloat64()
		}
		h := hyper(t, in.Problem)
		if err := h.Project(start, start); err != nil {
			t.Fatal(err)
		}
		x, err := Path(context.Background(), h, start, 1)
		if err != nil {
			t.Fatal(err)
		}
		if x == nil {
			continue
		}
		led++
		there, err := h.Value(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		here, err := h.Value(context.Background(), start)
		if err != nil {
			t.Fatal(err)
		}
		if !(there.F < here.F) || there.F < in.Optimum.F-1e-8 {
			t.Errorf("problem %d: from F = %v to %v, and the optimum is %v", k, here.F, there.F, in.Optimum.F)
		}
	}
	if led < 20 {
		t.Errorf("only %d of 30 paths led anywhere", led)
	}
}
