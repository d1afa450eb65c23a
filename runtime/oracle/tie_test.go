package oracle_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/runtime"
	"bilevelc/runtime/certify"
)

// Inequalities W y <= W v + S x hold y with positive multipliers where x = 0, W being triangular, and
// an equality is a sum of some of them in y. Where it is the same sum in x, F = c'y is smooth at
// 0, with the slope c'W^-1 S; where it moves otherwise one of the inequalities gives way beside 0,
// and F has a kink, or ends: whichever rows a solver holds. A document that says otherwise is refused.
func TestEqualityAmongInequalities(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 73))
		n, dx, kink := 2+rng.IntN(3), 2, seed%2 == 1
		random := func(n int) []float64 {
			v := make([]float64, n)
			for j := range v {
				v[j] = float64(rng.IntN(5) - 2)
			}
			return v
		}
		v, c := random(n), random(n)
		target := append([]float64(nil), v...)
		ofY, ofX := make([][]float64, n), make([][]float64, n)
		slope, react := make([]float64, dx), make([][]float64, n)
		sumY, sumX := make([]float64, n), make([]float64, dx)
		parts := 1 + rng.IntN(n)
		for k := range ofY {
			ofY[k], ofX[k] = random(n), random(dx)
			clear(ofY[k][k+1:])
			if k > 0 && rng.IntN(2) == 0 { // a bound
				clear(ofY[k])
			}
			ofY[k][k] = 3 + float64(rng.IntN(3))
			react[k] = append([]float64(nil), ofX[k]...)
			lambda := 0.5 + rng.Float64()
			for j, w := range ofY[k] {
				target[j] += lambda * w
				for i := range dx {
					if j < k {
						react[k][i] -= w * react[j][i]
					}
				}
			}
			by := float64(1 + rng.IntN(2))
			if rng.IntN(3) == 0 {
				by = -by
			}
			for i := range dx {
				react[k][i] /= ofY[k][k]
				slope[i] += c[k] * react[k][i]
				if k < parts {
					sumX[i] += by * ofX[k][i]
				}
			}
			for j, w := range ofY[k] {
				if k < parts {
					sumY[j] += by * w
				}
			}
		}
		if kink {
			sumX[rng.IntN(dx)] += 0.5
		}
		terms := func(name string, v []float64) (text string) {
			for j, w := range v {
				if w != 0 {
					text += fmt.Sprintf(" + (%.17g)*%s[%d]", w, name, j+1)
				}
			}
			return text
		}
		row := func(name, relation string, y, x []float64) string {
			at := 0.0
			for j, w := range y {
				at += w * v[j]
			}
			return fmt.Sprintf("    %s: 0%s %s (%.17g)%s\n", name, terms("y", y), relation, at, terms("x", x))
		}
		text := ""
		for k := range ofY {
			text += row(fmt.Sprintf("r%d", k+1), "<=", ofY[k], ofX[k])
		}
		if equality := row("e", "==", sumY, sumX); rng.IntN(2) == 0 {
			text = equality + text
		} else {
			text += equality
		}
		g := ""
		for j := range c {
			g += fmt.Sprintf(" + 0.5*(y[%d] - (%.17g))^2", j+1, target[j])
		}
		source := fmt.Sprintf("model again\nupper {\n  var x: vector[%d] in box(-1, 1)\n  minimize 0%s + 0*sum(x)\n}\nlower {\n  var y: vector[%d]\n  minimize %s\n  subject to\n%s}\n",
			dx, terms("y", c), n, strings.TrimPrefix(g, " + "), text)
		model, err := runtime.Compile("again.blv", source)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		p, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, solver := range []string{"alm", "quadratic", "sparse"} {
			r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{dx}, Data: make([]float64, dx)}}, runtime.Options{Solver: solver})
			if err != nil {
				t.Fatal(err)
			}
			if r.Stationarity.Strict == kink {
				t.Errorf("seed %d, %s: strict is %v, kink %v, weak %v, dependent %v\n%s", seed, solver, r.Stationarity.Strict, kink, r.Lower.Weak, r.Lower.Dependent, source)
			}
			if found, _ := r.Upper.Hypergradient.Get("x"); !kink {
				for i := range slope {
					if math.Abs(found.Data[i]-slope[i]) > 1e-5 {
						t.Errorf("seed %d, %s: hypergradient %v, by hand %v", seed, solver, found.Data, slope)
						break
					}
				}
			}
			if report, err := p.Verify(r); err != nil || !report.OK() {
				t.Errorf("seed %d, %s: %v %v\n%s", seed, solver, err, report.Failures(), source)
			}
			if !kink {
				continue
			}
			r.Stationarity.Strict = true
			report, err := p.Verify(r)
			if err != nil {
				t.Fatal(err)
			}
			refused := false
			for _, f := range report.Failures() {
				refused = refused || f.Claim == certify.StrictClaim
			}
			if !refused {
				t.Errorf("seed %d, %s: a forged claim of strictness passes\n%s", seed, solver, source)
			}
		}
	}
}
