package oracle_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// Rows W y <= W v + S x hold y with positive multipliers where x = 0, and some are given
// again: in other units, or as sums of two. F = c'y is smooth there, with the slope
// c'W^-1 S. Where a copy moves otherwise with x, F has a kink at 0.
func TestRowsGivenAgain(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 71))
		n, dx, bend := 2+rng.IntN(3), 3, float64(seed%2)/100 // quadratic or not
		type row struct{ y, x []float64 }
		random := func(n int) []float64 {
			v := make([]float64, n)
			for j := range v {
				v[j] = float64(rng.IntN(5) - 2)
			}
			return v
		}
		v, c := random(n), random(n)
		target := make([]float64, n)
		for j := range v {
			target[j] = v[j] + bend*math.Exp(v[j])
		}
		rows := make([]row, n)
		slope := make([]float64, dx) // of c'W^-1 S, W being triangular
		react := make([][]float64, n)
		for k := range rows {
			rows[k] = row{random(n), random(dx)}
			clear(rows[k].y[k+1:])
			rows[k].y[k] = 3 + float64(rng.IntN(3))
			lambda := 0.5 + rng.Float64()
			react[k] = append([]float64(nil), rows[k].x...)
			for j, w := range rows[k].y {
				target[j] += lambda * w
				for i := range dx {
					if j < k {
						react[k][i] -= w * react[j][i]
					}
				}
			}
			for i := range dx {
				react[k][i] /= rows[k].y[k]
				slope[i] += c[k] * react[k][i]
			}
		}
		sum := func(name string, scale float64, v []float64) (text string) {
			for j, w := range v {
				if w != 0 {
					text += fmt.Sprintf(" + (%.17g)*%s[%d]", scale*w, name, j+1)
				}
			}
			return text
		}
		var text []string
		say := func(r row, scale float64) {
			at := 0.0
			for j, w := range r.y {
				at += scale * w * v[j]
			}
			text = append(text, fmt.Sprintf("    r%d: 0%s <= (%.17g)%s", len(text)+1, sum("y", scale, r.y), at, sum("x", scale, r.x)))
		}
		for _, r := range rows {
			say(r, 1)
		}
		for range 1 + rng.IntN(3) {
			from := rows[rng.IntN(n)]
			again := row{append([]float64(nil), from.y...), append([]float64(nil), from.x...)}
			if rng.IntN(2) == 0 {
				other := rows[rng.IntN(n)]
				for j, w := range other.y {
					again.y[j] += w
				}
				for j, w := range other.x {
					again.x[j] += w
				}
			}
			say(again, []float64{1, 100, 0.3}[rng.IntN(3)])
		}
		kink := seed%5 > 2
		if kink {
			from := row{rows[0].y, append([]float64(nil), rows[0].x...)}
			from.x[rng.IntN(dx)] += 0.5
			say(from, 1)
		}
		g := ""
		for j := range c {
			g += fmt.Sprintf(" + 0.5*(y[%d] - (%.17g))^2 + %g*exp(y[%d])", j+1, target[j], bend, j+1)
		}
		source := fmt.Sprintf("model again\nupper {\n  var x: vector[%d] in box(-1, 1)\n  minimize 0%s + 0*sum(x)\n}\nlower {\n  var y: vector[%d]\n  minimize %s\n  subject to\n%s\n}\n",
			dx, sum("y", 1, c), n, strings.TrimPrefix(g, " + "), strings.Join(text, "\n"))
		model, err := runtime.Compile("again.blv", source)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		p, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{dx}, Data: make([]float64, dx)}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Stationarity.Strict == kink {
			t.Errorf("seed %d: strict is %v, kink %v, weak %v\n%s", seed, r.Stationarity.Strict, kink, r.Lower.Weak, source)
		}
		if found, _ := r.Upper.Hypergradient.Get("x"); !kink {
			for i := range slope {
				if math.Abs(found.Data[i]-slope[i]) > 1e-5 {
					t.Errorf("seed %d: hypergradient %v, by hand %v", seed, found.Data, slope)
					break
				}
			}
		}
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Errorf("seed %d: %v %v\n%s", seed, err, report.Failures(), source)
		}
	}
}
