package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestEvalAtKinks evaluates F where several kinks meet: y = max(0, C x) and F = w'y + a'x at x = 0,
// where every row of y >= 0 is weakly active. The faces that have an inside are found by
// directions d at which C d has the face's signs; only their gradients, a + sum of w_i C_i over
// the positive ones, are right, of the 2^n that faces may give. The document passes its verification.
func TestEvalAtKinks(t *testing.T) {
	t.Parallel()
	several := 0
	for trial := range members.Seeds(t, 60) {
		r := rand.New(rand.NewPCG(trial, 77))
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
		res, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{dx}, Data: make([]float64, dx)}}, runtime.Options{Seed: trial})
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
	if count := members.Count(60); several < members.Least(count, 40./60) {
		t.Errorf("%d of %d have a kink", several, count)
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

// At an x where the follower has an answer, F has a value, also where no x of the upper level
// leaves the follower one: the question is about this x. At kinks there is nowhere to move to.
func TestEvalOutsideOfAnEmptySet(t *testing.T) {
	t.Parallel()
	for k := range members.Seeds(t, 30) {
		rng := rand.New(rand.NewPCG(k, 1))
		least := 1 + rng.Float64()
		at, c, pull := least+rng.Float64(), 0.5+rng.Float64(), 2*rng.Float64()-1
		if k%2 == 0 {
			pull = 0 // a kink: neither slack nor multiplier
		}
		model, err := runtime.Compile("m.blv", fmt.Sprintf(`model m
upper {
  var x: real in box(0, 3)
  minimize x + 2 * y
  subject to x <= %v
}
lower {
  var y: real in nonneg
  minimize %v * y^2 - %v * y
  subject to x >= %v
}
`, least-0.5, c, pull, least))
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{at}}}, runtime.Options{})
		if err != nil {
			t.Fatalf("member %d: %v", k, err)
		}
		if want := at + 2*math.Max(0, pull/c/2); math.Abs(float64(r.Upper.Objective)-want) > 1e-12 {
			t.Errorf("member %d: F = %v, truly %v", k, r.Upper.Objective, want)
		}
		if kink := pull == 0; kink != (r.Upper.Hypergradient == nil) {
			t.Errorf("member %d: kink %v, hypergradient %v", k, kink, r.Upper.Hypergradient)
		}
		report, err := p.Verify(r)
		if err != nil || len(report.Failures()) != 1 || !strings.Contains(fmt.Sprint(report.Failures()[0]), "x is in X") {
			t.Errorf("member %d: x is outside of X, which is all there is to object to: %v %v", k, err, report.Failures())
		}
		if solved, err := p.Solve(context.Background(), runtime.Options{}); solved == nil || solved.Status != runtime.Infeasible {
			t.Errorf("member %d: the problem has no feasible x: %v", k, err)
		}
	}
}

// Beside a pole one entry of y curves up to 1e16 times as much as the others, and is held at 0
// or nearly: what is said to be solved is the answer, which water-filling finds, and what is not
// solved says so.
func TestEvalBesideAPole(t *testing.T) {
	t.Parallel()
	solved, refused := 0, 0
	for k := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(k, 1))
		const n = 4
		x, b := make([]float64, n), make([]float64, n)
		for j := range n {
			x[j], b[j] = 20*rng.Float64(), 50*rng.Float64()
		}
		x[n-1] = -1 + math.Pow(10, -2-14*rng.Float64())
		text := fmt.Sprintf(`model m
upper {
  var x: vector[4] in box(-1, inf)
  minimize sum(x) + y[1]^2 + 2 * y[2] + 3 * y[3] + y[4]
}
lower {
  var y: vector[4]
  minimize y[1]*(y[1]/(2*(x[1] + 1)) + %v) + y[2]*(y[2]/(2*(x[2] + 1)) + %v) + y[3]*(y[3]/(2*(x[3] + 1)) + %v) + y[4]*(y[4]/(2*(x[4] + 1)) + %v)
  subject to
    6 - y[1] - y[2] - y[3] - y[4] >= 0
    y[1] + y[2] + y[3] + y[4] - 6 >= 0
    forall i in 1..4: y[i] >= 0
}
`, b[0], b[1], b[2], b[3])
		// y = max(0, (x + 1)(price - b)), with the price at which all is sold.
		answer := func(price float64) (y [n]float64, sum float64) {
			for j := range n {
				y[j] = math.Max(0, (x[j]+1)*(price-b[j]))
				sum += y[j]
			}
			return y, sum
		}
		lo, hi := 0.0, 1e3
		for range 100 {
			if _, sum := answer((lo + hi) / 2); sum < 6 {
				lo = (lo + hi) / 2
			} else {
				hi = (lo + hi) / 2
			}
		}
		want, _ := answer(lo)
		model, err := runtime.Compile("m.blv", text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, solver := range []string{"alm", "agd"} {
			r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{n}, Data: x}}, runtime.Options{Solver: solver})
			if err != nil || r.Status != runtime.Solved {
				refused++
				continue
			}
			solved++
			for j, v := range r.Lower.Variables[0].Data {
				if math.Abs(v-want[j]) > 1e-4 {
					t.Errorf("member %d, %s: y = %v, truly %v", k, solver, r.Lower.Variables[0].Data, want)
					break
				}
			}
		}
	}
	t.Logf("%d solved, %d refused", solved, refused)
	if solved < members.Part(20, 40) {
		t.Errorf("only %d solved", solved)
	}
}

// A point that misses where the lower level has one by the rounding of its own numbers is taken for the
// nearest one there; one that misses it by more is not.
func TestEvalAtATieOfX(t *testing.T) {
	problem := bindText(t, "model m\nupper {\n  var x: vector[2] in box(-1, 1)\n  minimize x[1] + y\n}\nlower {\n  var y: real in nonneg\n  minimize (y - x[2])^2\n  subject to\n    tie: 3*x[1] == x[2]\n}\n")
	for _, c := range []struct {
		x        [2]float64
		feasible bool
	}{{[2]float64{0, 0}, true}, {[2]float64{1e-16, 0}, true}, {[2]float64{0.1, 0.3}, true}, {[2]float64{0.1, 0.3 + 1e-16}, true},
		{[2]float64{1e-12, 0}, false}, {[2]float64{0.1, 0.3 + 1e-7}, false}} {
		r, err := problem.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{2}, Data: c.x[:]}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if (r.Status == runtime.Solved) != c.feasible || !c.feasible && r.Status != runtime.Infeasible {
			t.Errorf("%v: %v (%s)", c.x, r.Status, r.Reason)
		}
	}
}

// How wide X is says nothing of what rounding makes of a point: y is between c and x[2], and x[2] is below c by a share of c.
func TestEvalBesideAnEdgeOfAWideX(t *testing.T) {
	for k := range members.Known(t, 60) {
		rng := rand.New(rand.NewPCG(k, 44))
		c := 0.5 + math.Round(100*rng.Float64())/100
		width := math.Pow(10, float64(rng.IntN(14)))
		problem := bindText(t, fmt.Sprintf("model m\nupper {\n  var x: vector[2] in box([%v, -3], [%v, 3])\n  minimize x[1] + y\n}\nlower {\n  var y: real\n  minimize (y - x[1])^2\n  subject to\n    least: y >= %v\n    most: y <= x[2]\n}\n", -width, width, c))
		for _, missed := range []float64{0, 0x1p-52, math.Pow(10, -1-6*rng.Float64())} {
			x := []float64{width * (2*rng.Float64() - 1), c * (1 - missed)}
			x[0] = math.Max(-3, math.Min(3, x[0]))
			r, err := problem.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{2}, Data: x}}, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]runtime.Status{true: runtime.Solved, false: runtime.Infeasible}[missed < 1e-9]; r.Status != want {
				t.Errorf("%d: %v (%s), not %v, at %v, %v of %v below %v", k, r.Status, r.Reason, want, x, missed, c, c)
			}
		}
	}
}
