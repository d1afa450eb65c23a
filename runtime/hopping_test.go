package runtime

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
)

// Systems so large that no search for the global optimum comes: four rotated answers max(0, x), each with a minimum of F on either side of its kink, of which a slope makes one the lower. Jumps away from the lowest point so far
// lead to the lower one of all four, where one start is at some of the higher ones.
func TestHopping(t *testing.T) {
	t.Parallel()
	const text = `model wells
param n: int
param m: int
data R: matrix[n, n]
data slope: vector[n]
data C: matrix[m, n]
upper {
  var x: vector[n] in box(-4, 4)
  minimize sumsq(2 * R * y - x - 1) + slope' * x
}
lower {
  var y: vector[n]
  minimize 0.5 * sumsq(R * y - x)
  subject to
    kinks: R * y >= 0
    far: C * y <= 100
}
`
	model, err := Compile("wells.blv", text)
	if err != nil {
		t.Fatal(err)
	}
	asked, missed, gained := 0, 0, 0
	for seed := range members.SeedsOf(t, 6, 100) {
		rng := rand.New(rand.NewPCG(seed, 41))
		const n, m = 4, 640
		rotation, slope, far := make([][]float64, n), make([]float64, n), make([][]float64, m)
		for i := range rotation { // Gram and Schmidt
			row := make([]float64, n)
			for j := range row {
				row[j] = rng.NormFloat64()
			}
			for _, r := range rotation[:i] {
				dot := 0.0
				for j := range r {
					dot += r[j] * row[j]
				}
				for j := range r {
					row[j] -= dot * r[j]
				}
			}
			norm := 0.0
			for _, v := range row {
				norm += v * v
			}
			for j := range row {
				row[j] /= math.Sqrt(norm)
			}
			rotation[i] = row
		}
		truth := 0.0
		for i := range slope {
			slope[i] = (0.1 + 0.4*rng.Float64()) * float64(1-2*rng.IntN(2))
			truth -= math.Abs(slope[i]) + slope[i]*slope[i]/4 // (|x| - 1)^2 + slope x, at x = -sign(slope) - slope/2
		}
		for i := range far {
			far[i] = make([]float64, n)
			for j := range far[i] {
				far[i][j] = rng.NormFloat64()
			}
		}
		p, err := model.Bind(Data{"n": n, "m": m, "R": rotation, "slope": slope, "C": far}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), Options{})
		if err != nil || r.Status != Solved {
			t.Fatalf("seed %d: %+v %v", seed, r, err)
		}
		found := float64(r.Upper.Objective)
		if len(r.Starts) < 2 { // the search's first relaxation has proved the first start's end
			if r.Global == nil || !r.Global.Proved || math.Abs(found-truth) > 1e-6*math.Abs(truth) {
				t.Errorf("seed %d: F %v, in truth %v, and no further start", seed, found, truth)
			}
			continue
		}
		asked++
		first := float64(r.Starts[0].Objective)
		if found < truth-1e-8 || found > first {
			t.Errorf("seed %d: F %v, of the first start %v, in truth %v", seed, found, first, truth)
		}
		if found < first-1e-8 {
			gained++
		}
		if found > truth+1e-8 {
			missed++
			t.Logf("seed %d: F %v after %d starts, from %v; in truth %v", seed, found, len(r.Starts), first, truth)
		}
	}
	t.Logf("%d of %d gained by hops, %d missed", gained, asked, missed)
	if missed > members.Misses(asked, 0.1) || asked >= 6 && gained == 0 {
		t.Errorf("%d of %d are missed, %d have gained", missed, asked, gained)
	}
}
