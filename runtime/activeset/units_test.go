package activeset_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
)

// A cost that is small beside others, in the units of the program, bounds the objective as others do: the least value of c_1 z_1 + c_2 z_2 over z_1 - z_2 = b, z >= 0, z_1 <= u is at an
// end of the segment, in whatever units the variables, the row and the objective are, and with a cutoff above it no solve is cut off.
func TestUnitsOfCosts(t *testing.T) {
	for k := range members.Known(t, 4000) {
		rng := rand.New(rand.NewPCG(k, 35))
		unit := func() float64 { return math.Ldexp(1, rng.IntN(81)-40) }
		whole := func() float64 { return float64(rng.IntN(9) - 4) }
		b, u := float64(rng.IntN(5)), float64(5+rng.IntN(5))
		c := []float64{whole(), whole()}
		least := math.Min(c[0]*b, c[0]*u+c[1]*(u-b)) // z = (b, 0), (u, u-b)
		d, r, f := []float64{unit(), unit()}, unit(), unit()
		p := &activeset.Program{N: 2, C: []float64{f * c[0] / d[0], f * c[1] / d[1]}, A: sparse.FromDense(1, 2, []float64{r / d[0], -r / d[1]}),
			Bounds: activeset.Bounds{RowLo: []float64{r * b}, RowHi: []float64{r * b}, Lo: []float64{0, 0}, Hi: []float64{u * d[0], math.Inf(1)}}}
		s, err := activeset.New(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, above := range []float64{math.Inf(1), 1e-6} {
			sol := s.Solve(context.Background(), nil, nil, activeset.Options{Cutoff: new(f * (least + above))})
			if sol.Status != activeset.Optimal || math.Abs(sol.Value/f-least) > 1e-9 {
				t.Errorf("%d: %v, %v, the least is %v", k, sol.Status, sol.Value/f, least)
			}
		}
	}
}
