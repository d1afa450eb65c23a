package runtime

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/outer"
)

// goldsteinAt is the document of an evaluation at x, rewritten as the solution of a run of goldstein with that certificate.
func goldsteinAt(t *testing.T, p *Problem, x []float64, samples []certify.Sample, normal []float64, delta float64) *Result {
	t.Helper()
	r, err := p.Eval(t.Context(), Values{{Name: "x", Shape: []int{len(x)}, Data: x}}, Options{offSystem: true})
	if err != nil || r.Status != Solved {
		t.Fatalf("%v, %+v", err, r)
	}
	c := &certify.Goldstein{Delta: delta, Samples: samples, Normal: normal}
	sum := make([]float64, len(x))
	for _, s := range samples {
		sum = linalg.Plus(sum, s.Weight, s.Gradient)
	}
	if normal != nil {
		sum = linalg.Plus(sum, 1, normal)
	}
	c.Norm = linalg.Norm(sum)
	c.GradientError = 1e-10 * (1 + c.Norm)
	c.Epsilon = c.Norm + c.GradientError
	r.Method, r.Iterations, r.Certificate.Goldstein = "goldstein", 1, c
	r.Stationarity.Measure, r.Stationarity.Value, r.Stationarity.Delta = outer.GoldsteinMeasure, Number(c.Norm), Number(delta)
	return r
}

// TestGradientsOfAWideBox: samples' gradients are judged by the terms at the point, however wide X is. y = x + c, F =
// |y - a|^2 + 0.1 |x|^2 has its minimum at (a - c)/1.1; elsewhere a certificate whose sample has the gradient 0, or whose
// normal vector takes the gradient away inside X, is refused, and so is another value of g.
func TestGradientsOfAWideBox(t *testing.T) {
	for k := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(k, 511))
		n, width := 1+rng.IntN(3), math.Pow(10, 1+6*rng.Float64())
		a, x := make([]float64, n), make([]float64, n)
		for j := range a {
			a[j], x[j] = rng.NormFloat64(), rng.NormFloat64()
		}
		p := mustBind(t, fmt.Sprintf("model wide\ndata a: vector[%d] = %s\nupper {\n  var x: vector[%d] in box(-%g, %g)\n  minimize sumsq(y - a) + 0.1 * sumsq(x)\n}\nlower {\n  var y: vector[%d]\n  minimize sumsq(y - x - 0.5)\n}\n",
			n, list(a), n, width, width, n))
		gradient := func(x []float64) []float64 {
			g := make([]float64, n)
			for j := range g {
				g[j] = 2*(x[j]+0.5-a[j]) + 0.2*x[j]
			}
			return g
		}
		for what, c := range map[string]struct {
			x, gradient, normal []float64
			ok                  bool
		}{
			"elsewhere, with 0":                  {x: x, gradient: make([]float64, n)},
			"elsewhere, with a normal":           {x: x, gradient: gradient(x), normal: linalg.Plus(make([]float64, n), -1, gradient(x))},
			"elsewhere, with twice its gradient": {x: x, gradient: linalg.Plus(gradient(x), 1, gradient(x))},
			"the minimum":                        {ok: true},
		} {
			if c.ok {
				c.x = make([]float64, n)
				for j := range c.x {
					c.x[j] = (a[j] - 0.5) / 1.1
				}
				c.gradient = gradient(c.x)
			}
			r := goldsteinAt(t, p, c.x, []certify.Sample{{Point: c.x, Gradient: c.gradient, Weight: 1, Active: []int{}}}, c.normal, 1e-6*width)
			if report, err := p.Verify(r); (err == nil && report.OK()) != c.ok {
				t.Errorf("member %d, %s: passes is %v, X is %g wide: %v %v", k, what, !c.ok, width, err, report.Failures())
			}
			r.Lower.Objective += 1e-4
			if report, err := p.Verify(r); err != nil || !refuses(report, "lower objective") {
				t.Errorf("member %d, %s: a lower objective off by 1e-4 passes, X is %g wide: %v", k, what, width, err)
			}
		}
	}
}

// TestRadiusOfAWideBox: F = 1 + up max(x - a, 0) + down max(a - x, 0), by a follower's bounds, is least at a, where it is 1. Samples on both sides of
// a make a certificate of any point, within a radius that is a share of X: it is refused where F is larger there by a part
// of itself. Runs of goldstein that say solved are as low as they say, however wide X is.
func TestRadiusOfAWideBox(t *testing.T) {
	solved, runs := 0, 0
	for k := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(k, 513))
		width := math.Pow(10, 3+6*rng.Float64())
		a, up, down := rng.NormFloat64(), math.Exp(rng.NormFloat64()), math.Exp(rng.NormFloat64())
		p := mustBind(t, fmt.Sprintf("model wide\nupper {\n  var x: vector[1] in box(-%[1]g, %[1]g)\n  minimize 1 + %[3]g * y[1] + %[4]g * y[2]\n}\nlower {\n  var y: vector[2] in nonneg\n  minimize (y[1] - (x[1] - (%[2]g)))^2 + (y[2] - (%[2]g - x[1]))^2\n}\n",
			width, a, up, down))
		passes := func(off float64) bool {
			left, right := a-off, a+off
			r := goldsteinAt(t, p, []float64{a + off}, []certify.Sample{
				{Point: []float64{right}, Gradient: []float64{up}, Weight: down / (up + down), Active: []int{1}},
				{Point: []float64{left}, Gradient: []float64{-down}, Weight: up / (up + down), Active: []int{0}}}, nil, 1e-6*width+2*off)
			report, err := p.Verify(r)
			return err == nil && !refuses(report, "solved: what F may fall by")
		}
		if !passes(1e-5) || passes(0.1*(1+rng.Float64())) {
			t.Errorf("member %d, W = %g: 1e-5 off the minimum %v, .1 and more off it passes", k, width, passes(1e-5))
		}
		for _, method := range []string{"goldstein"} {
			r, err := p.Solve(t.Context(), Options{Method: method})
			if err != nil {
				t.Fatal(err)
			}
			from := 1 + up*math.Max(-a, 0) + down*math.Max(a, 0)
			f := float64(r.Upper.Objective)
			if r.Status == Solved && !(f-1 <= 2e-3*math.Max(f, from-1)) {
				t.Errorf("member %d, W = %g, %s: solved at %v (%s)", k, width, method, f, r.Reason)
			}
			if runs++; r.Status == Solved {
				solved++
				if report, err := p.Verify(r); err != nil || !report.OK() {
					t.Errorf("member %d, W = %g, %s: %v, %v", k, width, method, err, report.Failures())
				}
			}
		}
	}
	if solved < runs/2 {
		t.Errorf("%d of %d runs are solved", solved, runs)
	}
}

// TestRampOfATie: y jumps from 1 to 0 where c'x rises through 0, and what breaks the tie makes a ramp of the jump, on
// which F is as steep as the ramp is narrow. F = a'x - k y falls along the edge of the jump wherever a has a part along
// it. A certificate of a sample beside the ramp and one in it, with the weight that takes the rest of a away, is no small measure.
func TestRampOfATie(t *testing.T) {
	for k := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(k, 512))
		angle, gain := 2*math.Pi*rng.Float64(), math.Pow(10, 2*rng.Float64()-1)
		c := []float64{math.Cos(angle), math.Sin(angle)}
		edge := []float64{-c[1], c[0]}
		into, along := 0.2+rng.Float64(), 0.1+rng.Float64()
		a := linalg.Plus(linalg.Plus(make([]float64, 2), -into, c), along, edge)
		p := mustBind(t, fmt.Sprintf("model ramp\ndata a: vector[2] = %s\ndata c: vector[2] = %s\nupper {\n  var x: vector[2] in box(-1, 1)\n  minimize a' * x - %g * y\n}\nlower {\n  var y: real in box(0, 1)\n  minimize (c' * x) * y\n}\nsolve { ties = optimistic }\n",
			list(a), list(c), gain))
		at := 0.4 * (2*rng.Float64() - 1)
		on := func(cx float64) []float64 { return linalg.Plus(linalg.Plus(make([]float64, 2), at, edge), cx, c) }
		first, err := p.Eval(t.Context(), Values{{Name: "x", Shape: []int{2}, Data: on(-0.1)}}, Options{offSystem: true})
		if err != nil || first.Lower.Ties == nil {
			t.Fatalf("member %d: %v", k, err)
		}
		force, ridge := float64(first.Lower.Ties.WeightF)*gain, float64(first.Lower.Ties.WeightNorm)
		x, ramp := on(force-1.5*ridge), on(force-0.5*ridge) // y = (force - c'x)/ridge within [0, 1]
		steep := linalg.Plus(a, gain/ridge, c)
		apart := linalg.Minus(a, steep)
		weight := linalg.Dot(a, apart) / linalg.Dot(apart, apart)
		if !(weight > 0 && weight < 1) {
			t.Fatalf("member %d: a weight of %v", k, weight)
		}
		r := goldsteinAt(t, p, x, []certify.Sample{{Point: x, Gradient: a, Weight: 1 - weight, Active: []int{1}}, {Point: ramp, Gradient: steep, Weight: weight, Active: []int{}}},
			nil, 1.01*linalg.Distance(x, ramp))
		if report, err := p.Verify(r); err != nil || !refuses(report, "solved: Goldstein measure") {
			t.Errorf("member %d: F falls by %v along the edge of the tie, and a measure of %v passes: %v %v", k, along, r.Stationarity.Value, err, report.Failures())
		}
	}
}

// TestPointsThatAreNoNumbers: a document whose point or multipliers are no numbers is refused, whatever would be derived from them.
func TestPointsThatAreNoNumbers(t *testing.T) {
	p := mustBind(t, "model bid\nupper {\n  var bid: vector[2] in box(1, 6)\n  maximize dual(bal) * p[1] - 2 * p[1] + sum(bid)\n}\nlower {\n  var p: vector[3] in box(0, 3)\n  minimize bid[1] * p[1] + bid[2] * p[2] + 4 * p[3] + 0.05 * sumsq(p)\n  subject to bal: sum(p) == 4.5\n}\n")
	r, err := p.Solve(t.Context(), Options{})
	if err != nil || r.Status != Solved {
		t.Fatal(err, r)
	}
	for _, vs := range []Values{r.Upper.Variables, r.Lower.Variables, r.Lower.Multipliers} {
		for _, v := range vs {
			for i, was := range v.Data {
				for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e308} {
					v.Data[i] = bad
					if report, err := p.Verify(r); err == nil && report.OK() {
						t.Errorf("%s[%d] = %v passes", v.Name, i, bad)
					}
				}
				v.Data[i] = was
			}
		}
	}
	if report, err := p.Verify(r); err != nil || !report.OK() {
		t.Errorf("untouched: %v %v", err, report.Failures())
	}
}

// listed is a vector in the language.
func list(v []float64) string { return strings.Join(strings.Fields(fmt.Sprint(v)), ", ") }
