package bind

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"bilevelc/ir/expr"
)

// TestSharedParts: chains of definitions that use the one before twice or more
// stand for 2^40 operations and stay 40 nodes or few more; their values are
// those of the same recursion in Go.
func TestSharedParts(t *testing.T) {
	const steps = 40
	x, y := []float64{0.25, 0.5, -1}, []float64{0.5, -0.25, 0.125}
	for _, c := range []struct {
		first, step, last string
		start             func(k int) float64
		next              func(float64) float64
	}{
		{"y - x", "0.5 * (P + P)", "sum(P)", func(k int) float64 { return y[k] - x[k] }, func(v float64) float64 { return v }},
		{"y - x", "P + P", "sum(P)", func(k int) float64 { return y[k] - x[k] }, func(v float64) float64 { return 2 * v }},
		{"y - x", "-P - P", "sum(i in 1..3: P[i])", func(k int) float64 { return y[k] - x[k] }, func(v float64) float64 { return -2 * v }},
		{"y", "P .* P", "sum(P)", func(k int) float64 { return y[k] }, func(v float64) float64 { return v * v }},
		{"y + x", "tanh(P + P) - 0.5 * P", "sum(P)", func(k int) float64 { return y[k] + x[k] },
			func(v float64) float64 { return math.Tanh(2*v) - 0.5*v }},
		{"y[1] - x[2]", "P + P", "P", func(k int) float64 { return (y[0] - x[1]) / 3 }, func(v float64) float64 { return 2 * v }},
		{"y[1] - x[2]", "P - 0.5 * P + 0.5 * P", "P", func(k int) float64 { return (y[0] - x[1]) / 3 }, func(v float64) float64 { return v }},
	} {
		text := "model shared\nupper {\n  var x: vector[3] in box(-1, 1)\n  minimize sumsq(x)\n}\nlower {\n  var y: vector[3]\n  let a0 = " + c.first + "\n"
		for k := 1; k <= steps; k++ {
			text += fmt.Sprintf("  let a%d = %s\n", k, strings.ReplaceAll(c.step, "P", fmt.Sprintf("a%d", k-1)))
		}
		text += "  minimize " + strings.ReplaceAll(c.last, "P", fmt.Sprintf("a%d", steps)) + "\n}\n"
		prob := mustBind(t, compile(t, "shared.blv", text), nil)
		g := prob.Lower.Objective
		if nodes := len(expr.Reachable(g)); nodes > 10*steps {
			t.Errorf("%s: %d nodes for %d steps", c.step, nodes, steps)
		}
		got, err := expr.Scalar(g, x, y)
		if err != nil {
			t.Fatal(err)
		}
		want, size := 0.0, 0.0
		for k := range 3 {
			v := c.start(k)
			for range steps {
				v = c.next(v)
			}
			want += v
			size += math.Abs(v)
		}
		// Each step rounds a few times.
		if math.Abs(got-want) > 1e-13*size {
			t.Errorf("%s: %v, want %v", c.step, got, want)
		}
	}
}
