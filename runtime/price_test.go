package runtime

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// Where what the leader wants is out of the follower's reach the relaxation's y is no
// answer. A price on the follower's loss leads to an x where it is, and the path from the
// start goes its own way: what is returned is no higher than what a run without either
// finds, and no lower than the relaxation.
func TestPriceOnTheFollowersLoss(t *testing.T) {
	model, err := Compile("edge.blv", edgeModel)
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range []uint64{4, 5} {
		rng := rand.New(rand.NewPCG(seed, 6))
		const n = 62
		m, v := make([][]float64, n), make([]float64, 4)
		for i := range m {
			m[i] = []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		}
		for j := range v {
			v[j] = 8 * rng.NormFloat64()
		}
		problem, err := model.Bind(Data{"n": n, "M": m, "v": v}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := problem.Solve(context.Background(), Options{MaxIter: 20})
		if err != nil {
			t.Fatal(err)
		}
		plain, err := problem.Solve(context.Background(), Options{Settings: map[string]any{"continuation": false}, MaxIter: 20})
		if err != nil {
			t.Fatal(err)
		}
		f, other, least := float64(r.Upper.Objective), float64(plain.Upper.Objective), leastOver(m, v)
		t.Logf("seed %d: F %.10g, %.10g without, bound %.10g: %s", seed, f, other, least, r.Reason)
		if f > other+1e-6*math.Abs(other) || f < least*(1-1e-9) {
			t.Errorf("seed %d: F %.12g, %.12g without the relaxation, and no less than %.12g", seed, f, other, least)
		}
	}
}
