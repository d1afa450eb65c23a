package runtime_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestForgedMultipliersMakeNoGap: rows that say one thing twice leave their multipliers open, which may be as long as a document likes. Next to terms of that length F is not 0: a point that is
// no optimum, and its gap to the bound, are not proved to be one by multipliers of any length, nor does an honest document fail by them.
func TestForgedMultipliersMakeNoGap(t *testing.T) {
	for seed := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(seed, 91))
		part := func(n int) float64 { return float64(1+rng.IntN(n)) / 4 }
		cost, again, curve := 4*part(8), math.Pow(2, float64(1+rng.IntN(3)))*float64(1-2*rng.IntN(2)), part(8)
		p := bindText(t, fmt.Sprintf(`model twice
upper {
  var x: real in box(0, 20)
  maximize x * y[1]
}
lower {
  var y: vector[2] in nonneg
  minimize %g * sumsq(y) + x * y[1] + %g * y[2]
  subject to
    one: y[1] + y[2] == 1
    again: (%[3]g) * y[1] + (%[3]g) * y[2] == %[3]g
}
`, curve, cost, again))
		best, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil || best.Global == nil || !best.Global.Proved {
			t.Fatalf("seed %d: %v, %+v", seed, err, best)
		}
		var proof bytes.Buffer
		if err := best.WriteProof(t.Context(), &proof); err != nil {
			t.Fatal(err)
		}
		failures := func(r *runtime.Result) int {
			report, err := p.VerifyProof(r, "proof", bytes.NewReader(proof.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			return len(report.Failures())
		}
		if n := failures(best); n > 0 {
			t.Errorf("seed %d: an honest document: %d failures", seed, n)
		}
		point, err := p.Eval(t.Context(), runtime.Values{{Name: "x", Data: []float64{0.5 * best.Upper.Variables[0].Data[0]}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, long := range []float64{0, 1e9, 1e10, 1e11} {
			forged, global := *point, *best.Global
			global.Trace, global.Within = nil, 1e-6
			f, bound := float64(point.Upper.Objective), float64(global.Bound)
			global.Gap = runtime.Number(math.Min(1e-6, (bound-f)/f))
			forged.Global, forged.Lower.Multipliers = &global, slices.Clone(point.Lower.Multipliers)
			for i, v := range forged.Lower.Multipliers {
				forged.Lower.Multipliers[i].Data = slices.Clone(v.Data)
				switch v.Name {
				case "one":
					forged.Lower.Multipliers[i].Data[0] += again * long
				case "again":
					forged.Lower.Multipliers[i].Data[0] -= long
				}
			}
			if failures(&forged) == 0 {
				t.Errorf("seed %d: F = %g passes for proved within %v, next to a bound of %g, with multipliers of %g", seed, f, global.Gap, bound, long)
			}
		}
	}
}
