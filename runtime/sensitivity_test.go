package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// reacting is a follower with random data, of either sense, quadratic or not, with
// labels: rows `cap` and `floor` are to hold without a multiplier at the point, where
// kinks is set; `tie` is an equation, `press` holds with a multiplier.
func reacting(curved, maximize bool, width int) string {
	sense, sign := "minimize", ""
	if maximize {
		sense, sign = "maximize", "-"
	}
	g := "0.5 * y' * Q * y + y' * C * x"
	if curved {
		g += " + sum(i in good: log1pexp(y[i])) + 0.1 * y[\"b\"] * exp(0.3 * x[1])"
	}
	return fmt.Sprintf(`model reacting
set good = {"a", "b", "c", "d"}
data Q: matrix[good, good]
data C: matrix[good, 2]
data G: matrix[4, good]
data E: matrix[4, 2]
data h: vector[4]
upper {
  var x: vector[2] in box(-%d, %d)
  %s sumsq(y) + sum(i in good: y[i]) * x[1] + x[2]^2
}
lower {
  var y: [good]
  %s %s(%s)
  subject to
    tie: G[1, :] * y == E[1, :] * x + h[1]
    press: G[2, :] * y <= E[2, :] * x + h[2]
    cap: G[3, :] * y <= E[3, :] * x + h[3]
    floor: G[4, :] * y >= E[4, :] * x + h[4]
}
`, width, width, sense, sense, sign, g)
}

// TestSensitivity compares derivatives of F, y* and multipliers with differences of
// evaluations: of both sides at kinks, where the sides differ.
func TestSensitivity(t *testing.T) {
	ctx := context.Background()
	kinks, apart := 0, 0
	for seed := range members.Known(t, 24) {
		rng := rand.New(rand.NewPCG(seed, 3))
		curved, maximize, kinked := seed%2 == 1, seed%4 >= 2, seed%3 != 0
		model, err := runtime.Compile("reacting.blv", reacting(curved, maximize, 5*int(1+9*(seed/4%2))))
		if err != nil {
			t.Fatal(err)
		}
		normal := func(m, n int) [][]float64 {
			out := make([][]float64, m)
			for i := range out {
				out[i] = make([]float64, n)
				for j := range out[i] {
					out[i][j] = rng.NormFloat64()
				}
			}
			return out
		}
		root, q := normal(4, 4), normal(4, 4)
		for i := range q {
			for j := range q[i] {
				q[i][j] = 0
				for k := range root {
					q[i][j] += root[k][i] * root[k][j]
				}
			}
			q[i][i]++
		}
		g, e := normal(4, 4), normal(4, 2)
		data := runtime.Data{"Q": q, "C": normal(4, 2), "G": g, "E": e}
		at := []float64{rng.NormFloat64(), rng.NormFloat64()}
		point := func(x []float64) runtime.Values { return runtime.Values{{Name: "x", Shape: []int{2}, Data: x}} }
		eval := func(h, x []float64, opts runtime.Options) (*runtime.Problem, *runtime.Result) {
			t.Helper()
			data["h"] = h
			p, err := model.Bind(data, runtime.BindOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Eval(ctx, point(x), opts)
			if err != nil || r.Status != runtime.Solved {
				t.Fatalf("seed %d: %v, %s (%s)", seed, err, r.Status, r.Reason)
			}
			return p, r
		}
		row := func(i int, r *runtime.Result) float64 {
			v := -e[i][0]*at[0] - e[i][1]*at[1]
			for j, y := range r.Lower.Variables[0].Data {
				v += g[i][j] * y
			}
			return v
		}
		// First without cap and floor, then with these where the follower is.
		h := []float64{rng.NormFloat64(), 1e3, 1e3, -1e3}
		_, r := eval(h, at, runtime.Options{})
		h[1] = row(1, r) - 0.5
		_, r = eval(h, at, runtime.Options{})
		if kinked {
			h[2], h[3] = row(2, r), row(3, r)
		}
		p, r := eval(h, at, runtime.Options{Sensitivity: true})
		if len(r.Sensitivity) != 2 || (r.Sensitivity[0].Left != nil) != kinked {
			t.Fatalf("seed %d: kinked %v, sensitivity %+v", seed, kinked, r.Sensitivity)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		read, err := runtime.ReadResult(text)
		if err != nil {
			t.Fatal(err)
		}
		if report, err := p.Verify(read); err != nil || !report.OK() {
			t.Errorf("seed %d: %v, %v", seed, err, report.Failures())
		}
		value := func(x []float64) []float64 {
			r, err := p.Eval(ctx, point(x), runtime.Options{})
			if err != nil || r.Status != runtime.Solved {
				t.Fatal(err, r.Status)
			}
			out := append([]float64{float64(r.Upper.Objective)}, r.Lower.Variables[0].Data...)
			for _, v := range r.Lower.Multipliers {
				out = append(out, v.Data...)
			}
			return out
		}
		base := value(at)
		for j, s := range r.Sensitivity {
			sides := []*runtime.Rates{s.Right, s.Left}
			if s.Left == nil {
				sides[1] = s.Right
			}
			if s.Entry != fmt.Sprintf("x[%d]", j+1) {
				t.Errorf("entry %s", s.Entry)
			}
			differ := 0.0
			for side, rates := range sides {
				// Two steps, extrapolated: the error is of the order of the step squared,
				// or that of a value, 1e-12, over the step.
				const step = 1e-4
				slope := func(h float64) []float64 {
					x := append([]float64(nil), at...)
					x[j] += []float64{h, -h}[side]
					out := value(x)
					for k := range out {
						out[k] = (out[k] - base[k]) / []float64{h, -h}[side]
					}
					return out
				}
				whole, half := slope(step), slope(step/2)
				got := append([]float64{float64(rates.Objective)}, rates.Variables[0].Data...)
				for _, v := range rates.Multipliers {
					got = append(got, v.Data...)
				}
				for k := range got {
					want := 2*half[k] - whole[k]
					if !(math.Abs(got[k]-want) <= 2e-6*(1+math.Abs(want))) {
						t.Errorf("seed %d (curved %v, maximize %v), %s, side %d, number %d: %.10g, by differences %.10g", seed, curved, maximize, s.Entry, side, k, got[k], want)
					}
				}
				differ = math.Max(differ, math.Abs(float64(s.Right.Objective-rates.Objective)))
			}
			if kinked {
				if kinks++; differ > 1e-3 {
					apart++
				}
			}
		}
	}
	if apart < kinks/2 {
		t.Errorf("the sides differ at %d of %d kinks: the test does not see kinks", apart, kinks)
	}
}

// TestSensitivityOfUnitedRows takes two inequalities that are one equality: y = x, with
// the multiplier 4x of `above` where x > 0, and -4x of `below` where x < 0, by hand.
func TestSensitivityOfUnitedRows(t *testing.T) {
	p := bindText(t, `model united
upper { var x: real in box(-1, 1)
  minimize x * y }
lower { var y: real
  minimize (y - 3 * x)^2
  subject to
    above: y <= x
    below: 2 * y >= 2 * x }
`)
	for _, c := range []struct {
		x                      float64
		aboveRight, belowRight float64
		sided                  bool
		aboveLeft, belowLeft   float64
	}{
		{x: 0.5, aboveRight: 4},
		{x: -0.5, belowRight: -2}, // of 2y >= 2x the multiplier is half
		{x: 0, aboveRight: 4, sided: true, belowLeft: -2},
	} {
		r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{c.x}}}, runtime.Options{Sensitivity: true})
		if err != nil {
			t.Fatal(err)
		}
		s := r.Sensitivity[0]
		holds := func(what string, rates *runtime.Rates, name string, want float64) {
			t.Helper()
			v, _ := rates.Multipliers.Get(name)
			if math.Abs(v.Data[0]-want) > 1e-7 {
				t.Errorf("x = %v: multiplier of %s %s: %v, not %v", c.x, name, what, v.Data[0], want)
			}
		}
		holds("from the right", s.Right, "above", c.aboveRight)
		holds("from the right", s.Right, "below", c.belowRight)
		if (s.Left != nil) != c.sided {
			t.Fatalf("x = %v: the left side is %v", c.x, s.Left)
		}
		if s.Left != nil {
			holds("from the left", s.Left, "above", c.aboveLeft)
			holds("from the left", s.Left, "below", c.belowLeft)
		}
	}
}

// Slopes of F are those of both sides, by differences of evaluations, where more rows hold than y has entries: the follower has several multipliers, and each direction of x takes others.
func TestSensitivityWithDependentRows(t *testing.T) {
	ctx := context.Background()
	for seed := range members.Known(t, 24) {
		rng := rand.New(rand.NewPCG(seed, 29))
		const nx, ny, rows = 2, 2, 4
		var text strings.Builder
		fmt.Fprintf(&text, "model dependent\nupper {\n  var x: vector[2]\n  minimize %.3f * y[1] + %.3f * y[2] + y[1] * x[2]\n}\n", rng.NormFloat64(), rng.NormFloat64())
		// At x = 0 all rows hold at y = (1, 1), and y is optimal: grad g = -sum of lambda_i B_i there.
		curve, pull := [2]float64{1 + rng.Float64(), 1 + rng.Float64()}, [2]float64{}
		var list []string
		for i := range rows {
			b, a := [ny]float64{rng.NormFloat64(), rng.NormFloat64()}, [nx]float64{rng.NormFloat64(), rng.NormFloat64()}
			lambda := max(0, rng.NormFloat64())
			for j := range b {
				b[j] = math.Round(100*b[j]) / 100
				pull[j] += lambda * b[j]
			}
			list = append(list, fmt.Sprintf("    r%d: %.2f * y[1] + %.2f * y[2] <= %.17g + %.2f * x[1] + %.2f * x[2]\n", i, b[0], b[1], b[0]+b[1], a[0], a[1]))
		}
		fmt.Fprintf(&text, "lower {\n  var y: vector[2]\n  minimize 0.5 * %.17g * (y[1] - 1)^2 + 0.5 * %.17g * (y[2] - 1)^2 - %.17g * (y[1] - 1) - %.17g * (y[2] - 1) + 0.3 * x[1] * y[2]\n  subject to\n%s}\n",
			curve[0], curve[1], pull[0], pull[1], strings.Join(list, ""))
		model, err := runtime.Compile("dependent.blv", text.String())
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		eval := func(x []float64, opts runtime.Options) *runtime.Result {
			r, err := p.Eval(ctx, runtime.Values{{Name: "x", Shape: []int{2}, Data: x}}, opts)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := eval(make([]float64, nx), runtime.Options{Sensitivity: true})
		if len(r.Sensitivity) != nx {
			t.Fatalf("seed %d: %+v", seed, r.Sensitivity)
		}
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Errorf("seed %d: %v", seed, report.Failures())
		}
		for j, e := range r.Sensitivity {
			for side, rates := range map[float64]*runtime.Rates{1: e.Right, -1: e.Left} {
				if rates == nil {
					rates = e.Right // F is differentiable
				}
				const h = 1e-5
				x := make([]float64, nx)
				x[j] = side * h
				there := eval(x, runtime.Options{})
				if there.Status != runtime.Solved { // the follower has no answer there
					if rates.Reason == "" && there.Status == runtime.Infeasible {
						t.Errorf("seed %d: a slope %v in x[%d] to the side %v, where there is no answer", seed, rates.Objective, j+1, side)
					}
					continue
				}
				want := side * float64(there.Upper.Objective-r.Upper.Objective) / h
				if got := float64(rates.Objective); !(math.Abs(got-want) <= 1e-3*(1+math.Abs(want))) {
					t.Errorf("seed %d: slope %v (%s) in x[%d] to the side %v, differences %v\n%s", seed, got, rates.Reason, j+1, side, want, text.String())
				}
			}
		}
	}
}
