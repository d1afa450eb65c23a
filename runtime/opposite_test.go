package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// pinned is a model whose y[3] can only be v, said in one of several ways;
// with says how, where the set of y and the rows go.
func pinned(set, rows string) string {
	return `model pinned
upper {
  var x: vector[2] in box(-1, 1)
  minimize sumsq(y - [1, 0.5, 0]) + x[1] * y[3] + 0.1 * sumsq(x)
}
lower {
  var y: vector[3]` + set + `
  minimize 0.5 * sumsq(y) + 0.3 * y[1] * y[3] - x[1] * y[1] - x[2] * y[2] + 2 * x[2] * y[3]
  subject to
    full: y[1] + y[2] + y[3] <= 1.25
` + rows + `}
`
}

// TestRowsWithoutRoom: an entry of y that two inequalities leave no room is not
// free on any piece of F. Every way to say so gives the hypergradient of the
// model that says it with an equality, and multipliers that are >= 0 and add up
// to the equality's.
func TestRowsWithoutRoom(t *testing.T) {
	const v = 0.5
	same := pinned("", fmt.Sprintf("    pin: y[3] == %v\n", v))
	ways := map[string]string{
		"box":      pinned(fmt.Sprintf(" in box([-9, -9, %v], [9, 9, %v])", v, v), ""),
		"rows":     pinned("", fmt.Sprintf("    a: y[3] <= %v\n    b: y[3] >= %v\n", v, v)),
		"multiple": pinned("", fmt.Sprintf("    a: -3 * y[3] <= %v\n    b: 0.7 * y[3] <= %v\n", -3*v, 0.7*v)),
		"chain":    pinned("", fmt.Sprintf("    a: %v <= y[3] <= %v\n", v, v)),
	}
	// The coefficients of y[3] in each way's inequalities, as h <= 0.
	coefficients := map[string]map[string]float64{
		"box": {"y.lower": -1, "y.upper": 1}, "rows": {"a": 1, "b": -1}, "multiple": {"a": -3, "b": 0.7}, "chain": {"a.lower": -1, "a.upper": 1},
	}
	eval := func(text string, x []float64) *runtime.Result {
		problem := bindText(t, text)
		r, err := problem.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{2}, Data: x}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := problem.Verify(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range report.Checks {
			if !c.OK {
				t.Errorf("%s: %s", c.Claim, c.Detail)
			}
		}
		return r
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		x := []float64{2*rng.Float64() - 1, 2*rng.Float64() - 1}
		want := eval(same, x)
		pin, _ := want.Lower.Multipliers.Get("pin")
		for name, text := range ways {
			got := eval(text, x)
			if !got.Stationarity.Strict && want.Stationarity.Strict {
				t.Errorf("%s at %v: strict complementarity not seen", name, x)
			}
			for row := range coefficients[name] {
				if set, of, is := strings.Cut(row, "."); is && set == "y" {
					row = set + "." + of + "[3]"
				}
				if !slices.Contains(got.Lower.Active, row) || slices.Contains(got.Lower.Weak, row) {
					t.Errorf("%s at %v: of the equation that is %s, active are %v, weak %v", name, x, row, got.Lower.Active, got.Lower.Weak)
				}
			}
			if g, w := float64(got.Lower.MinMultiplier), float64(want.Lower.MinMultiplier); len(got.Lower.Active) != len(want.Lower.Active)+1 || g != w && !(math.Abs(g-w) < 1e-6) {
				t.Errorf("%s at %v: active %v, and with an equality %v; the least multiplier %v, %v", name, x, got.Lower.Active, want.Lower.Active, g, w)
			}
			for j, w := range want.Upper.Hypergradient[0].Data {
				if g := got.Upper.Hypergradient[0].Data[j]; math.Abs(g-w) > 1e-6 {
					t.Errorf("%s at %v: hypergradient[%d] = %v, with an equality %v", name, x, j+1, g, w)
				}
			}
			sum := 0.0
			for _, m := range got.Lower.Multipliers {
				coefficient, counts := coefficients[name][m.Name]
				if !counts && m.Name != "full" {
					t.Fatalf("%s has a constraint %s", name, m.Name)
				}
				for _, l := range m.Data {
					if l < 0 {
						t.Errorf("%s at %v: the multiplier of %s is %v", name, x, m.Name, l)
					}
					sum += coefficient * l
				}
			}
			if w := pin.Data[0]; math.Abs(sum-w) > 1e-6 {
				t.Errorf("%s at %v: multipliers add up to %v, the equality's is %v", name, x, sum, w)
			}
		}
	}
}
