package oracle_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/runtime"
	"bilevelc/runtime/certify"
)

// TestFreeEntryThatIsRounding has an x without bounds of which one entry is a few units in the last
// place of the others: where y = max(0, a x[1]) hangs on it, strict complementarity is not
// claimed, in any units, and a document that claims it is refused; where the entry is a millionth
// of the others it is claimed, and true.
func TestFreeEntryThatIsRounding(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 17))
		n, unit := 2+rng.IntN(3), math.Pow(10, float64(rng.IntN(17)-8))
		rounded := seed%2 == 0
		x := make([]float64, n)
		for j := range x {
			x[j] = unit * (1 + rng.Float64())
		}
		x[0] = unit * 1e-6
		if rounded {
			x[0] = unit * 0x1p-52 * (rng.Float64() - 0.5)
		}
		if rng.IntN(2) == 0 {
			x[0] = -x[0]
		}
		source := fmt.Sprintf("model m\nupper {\n  var x: vector[%d]\n  minimize sumsq(x) + y\n}\nlower {\n  var y: real in nonneg\n  minimize 0.5 * y^2 + %.17g * x[1] * y\n}\n", n, 3*rng.NormFloat64())
		model, err := runtime.Compile("m.blv", source)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		p, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{n}, Data: x}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Stationarity.Strict == rounded {
			t.Errorf("seed %d: strict %v at x = %v\n%s", seed, r.Stationarity.Strict, x, source)
		}
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Errorf("seed %d: %v %v\n%s", seed, err, report.Failures(), source)
		}
		r.Stationarity.Strict = true
		report, err := p.Verify(r)
		if err != nil {
			t.Fatal(err)
		}
		if refused := slices.ContainsFunc(report.Failures(), func(c certify.Check) bool { return c.Claim == certify.StrictClaim }); refused != rounded {
			t.Errorf("seed %d: strictness refused: %v, at x = %v\n%s", seed, refused, x, source)
		}
	}
}
