package outer

import (
	"context"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/oracle/oracletest"
)

// A path leads to a lower F than that of its start, or says that it leads nowhere.
func TestPathIsLower(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	led := 0
	for _, c := range []oracletest.Case{oracletest.Toll(), oracletest.Kink(), oracletest.Quota()} {
		for range 10 {
			start := make([]float64, c.Problem.Dx)
			for j := range start {
				start[j] = 4 * rng.NormFloat64()
			}
			h := hyper(t, c.Problem.Clone())
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
			if !(there.F < here.F) || there.F < c.Optimum-1e-8 {
				t.Errorf("%s: from F = %v to %v, and the optimum is %v", c.Name, here.F, there.F, c.Optimum)
			}
		}
	}
	if led < 10 {
		t.Errorf("only %d of 30 paths led anywhere", led)
	}
}
