package oracle_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime"
)

// TestPenaltyInAnyUnits writes followers with rows that hold them in units of 1e-8 to 1e8 for x, y, f, g and each
// row: the gradient of the oracle penalty is within the error that it claims of the slope by hand.
func TestPenaltyInAnyUnits(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 91))
		n := 2 + rng.IntN(3)
		unit := func() float64 { return math.Pow(10, float64(rng.IntN(17)-8)) }
		ux, uy, uf, ug := unit(), unit(), unit(), unit()
		plain := seed%4 == 0 // to the letter f and g are added, so that they need like units
		if plain {
			uy, uf, ug = 1, 1, 1
		}
		// y_j = max(b_j x, t_j - x) of g = sum c_j/2 (y_j + x - t_j)^2; F = sum d_j y_j.
		f, g, rows, slope, size := "0*x", "0", "", 0.0, 0.0
		x := 0.5
		for j := range n {
			c, d, b := 1+rng.Float64(), rng.NormFloat64(), 1+rng.Float64()
			target := b*x + x // held where the target is lower
			if held := rng.IntN(3) > 0; held {
				target -= 0.5 + rng.Float64()
				slope += d * b
				row := unit()
				rows += fmt.Sprintf("    r%d: %.17g * y[%d] >= %.17g * x\n", j+1, row/uy, j+1, row*b/ux)
			} else {
				target += 0.5 + rng.Float64()
				slope -= d
			}
			size += math.Abs(d)
			f += fmt.Sprintf(" + (%.17g) * y[%d]", d*uf/uy, j+1)
			g += fmt.Sprintf(" + 0.5 * %.17g * (y[%d] + %.17g * x - (%.17g))^2", c*ug/(uy*uy), j+1, uy/ux, target*uy)
		}
		if rows != "" {
			rows = "  subject to\n" + rows
		}
		source := fmt.Sprintf("model m\nupper {\n  var x: real in box(0, %.17g)\n  minimize %s\n}\nlower {\n  var y: vector[%d]\n  minimize %s\n%s}\n", ux, f, n, g, rows)
		model, err := runtime.Compile("m.blv", source)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		p, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var settings map[string]any
		for range 2 {
			r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{x * ux}}}, runtime.Options{Oracle: "penalty", Settings: settings})
			if err != nil {
				t.Fatalf("seed %d, %v: %v\n%s", seed, settings, err, source)
			}
			v, ok := r.Upper.Hypergradient.Get("x")
			if !ok {
				t.Errorf("seed %d: %s: no gradient\n%s", seed, r.Reason, source)
				continue
			}
			wrong, claimed := math.Abs(v.Data[0]*ux/uf-slope), float64(r.Stationarity.GradientError)*ux/uf
			if most := 1e-6 * size; settings == nil && wrong > most || wrong > 4*claimed+1e-9*size || claimed > 0.3*size {
				t.Errorf("seed %d, %v: off by %.3g, claimed %.3g of %.3g\n%s", seed, settings, wrong, claimed, size, source)
			}
			if !plain {
				break
			}
			settings = map[string]any{"metric": false, "alpha": 0.03}
		}
	}
}
