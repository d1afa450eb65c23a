package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// TestEvalAtKinks evaluates F where several kinks meet: y = max(0, C x) and F = w'y + a'x at x = 0,
// where every row of y >= 0 is weakly active. The faces that have an inside are found by
// directions d at which C d has the face's signs; only their gradients, a + sum of w_i C_i over
// the positive ones, are right, of the 2^n that faces may give. The document passes its verification.
func TestEvalAtKinks(t *testing.T) {
	t.Parallel()
	several := 0
	for trial := range 60 {
		r := rand.New(rand.NewPCG(uint64(trial), 77))
		dx, dy := 1+r.IntN(2), 2+r.IntN(3)
		c, w, a := make([][]float64, dy), make([]float64, dy), make([]float64, dx)
		for j := range a {
			a[j] = float64(r.IntN(5) - 2)
		}
		var g, f []string
		for i := range c {
			w[i] = float64(1 + r.IntN(3))
			c[i] = make([]float64, dx)
			g = append(g, fmt.Sprintf("0.5 * y[%d]^2", i+1))
			f = append(f, fmt.Sprintf("%g * y[%d]", w[i], i+1))
			for j := range dx {
				if c[i][j] = float64(r.IntN(5) - 2); i > 0 && r.IntN(2) == 0 {
					c[i][j] = -c[i-1][j] // opposed rows: faces without an inside
				}
				g = append(g, fmt.Sprintf("(%g) * x[%d] * y[%d]", -c[i][j], j+1, i+1))
			}
		}
		for j := range a {
			f = append(f, fmt.Sprintf("(%g) * x[%d]", a[j], j+1))
		}
		text := fmt.Sprintf("model m\nupper {\n  var x: vector[%d] in box(-1, 1)\n  minimize %s\n}\nlower {\n  var y: vector[%d] in nonneg\n  minimize %s\n}\n",
			dx, strings.Join(f, " + "), dy, strings.Join(g, " + "))
		right := map[string][]float64{}
		for range 500 {
			d := make([]float64, dx)
			for j := range d {
				d[j] = r.NormFloat64()
			}
			grad := append([]float64(nil), a...)
			for i := range c {
				if innerOf(c[i], d) > 0 {
					for j := range grad {
						grad[j] += w[i] * c[i][j]
					}
				}
			}
			right[fmt.Sprint(grad)] = grad
		}
		if len(right) > 1 {
			several++
		}
		p := bindText(t, text)
		res, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{dx}, Data: make([]float64, dx)}}, runtime.Options{Seed: uint64(trial)})
		if err != nil || res.Status != runtime.Solved {
			t.Fatalf("%v %+v\n%s", err, res, text)
		}
		if len(res.Upper.Hypergradient) == 0 {
			t.Errorf("trial %d: no hypergradient\n%s", trial, text)
			continue
		}
		got, nearest := res.Upper.Hypergradient[0].Data, math.Inf(1)
		for _, grad := range right {
			off := 0.0
			for j := range grad {
				off = math.Max(off, math.Abs(grad[j]-got[j]))
			}
			nearest = math.Min(nearest, off)
		}
		if nearest > 1e-9 {
			t.Errorf("trial %d: %v is the gradient of no piece with an inside, which are %v\n%s", trial, got, right, text)
		}
		report, err := p.Verify(res)
		if err != nil || !report.OK() {
			t.Errorf("trial %d: its document does not pass: %v\n%v\n%s", trial, err, report.Failures(), text)
		}
	}
	if several < 40 {
		t.Errorf("%d of 60 have a kink", several)
	}
}

// Where the oracle finds no gradient, as beside a pole whose curvature is far beyond all else,
// the rest of what is known at the point is given, and why there is no gradient.
func TestEvalWithoutGradient(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"1e12", "1e13", "1e15"} {
		text := strings.ReplaceAll(`model m
upper {
  var x: vector[2] in box(-1, 1)
  minimize y[1] + 2 * y[2] + 0.1 * sumsq(x)
}
lower {
  var y: vector[3] in nonneg
  minimize C * sum(y) + 0.5 * sumsq(y) + y[2]^(-1) + y[3]^(-1) - x[2] * y[2] - x[1] * y[1]
  subject to
    tie: y[3] == y[2]
}
`, "C", c)
		model, err := runtime.Compile("m.blv", text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x := runtime.Values{{Name: "x", Shape: []int{2}, Data: []float64{0.3, 0.5}}}
		r, err := p.Eval(context.Background(), x, runtime.Options{CheckGradient: true})
		if err != nil {
			t.Fatal(err)
		}
		y := r.Lower.Variables[0].Data
		if f := float64(r.Upper.Objective); math.Abs(f-(y[0]+2*y[1]+0.034)) > 1e-12 {
			t.Errorf("c = %s: F = %g at y = %v", c, f, y)
		}
		if r.Upper.Hypergradient != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "no hypergradient is given") {
			t.Errorf("c = %s: gradient %v, notes %q", c, r.Upper.Hypergradient, r.Notes)
		}
	}
}
