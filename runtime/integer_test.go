package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

const fleet = `model fleet
set depot = {"Rome", "Oslo"}
upper {
  var price: real in box(0, 3)
  var trucks: [depot] integer in box(0.5, 4.5)
  var open: [depot] binary
  minimize 3 * sum(trucks) + sum(open) - price * sum(y)
}
lower {
  var y: [depot] in nonneg
  minimize sumsq(y - trucks) + price * sum(y) - sum(open)
}
`

// A local solve never returns a model with integer variables as solved, and values at a point are for whole numbers.
func TestIntegerNeedsSearch(t *testing.T) {
	p := bindText(t, fleet)
	want := []bool{false, true, true, true, true}
	for j, integer := range want {
		if p.Numeric.Integer[j] != integer {
			t.Errorf("entry %d is integer: %v", j, p.Numeric.Integer[j])
		}
	}
	var list diag.List
	if r, err := p.Solve(context.Background(), runtime.Options{Method: "goldstein"}); !errors.As(err, &list) || list[0].Code != diag.RunInteger || list[0].Subject.Text() != "trucks" ||
		!strings.HasPrefix(list[0].Fix, "leave out the method") {
		t.Errorf("solved: %v, %v", r, err)
	}
	at := func(trucks float64) runtime.Values {
		return runtime.Values{{Name: "price", Data: []float64{0.5}}, {Name: "trucks", Shape: []int{2}, Data: []float64{2, trucks}},
			{Name: "open", Shape: []int{2}, Data: []float64{0, 1}}}
	}
	if _, err := p.Eval(context.Background(), at(2.5), runtime.Options{}); err == nil || !strings.Contains(err.Error(), "whole numbers only") {
		t.Errorf("2.5 trucks: %v", err)
	}
	r, err := p.Eval(context.Background(), at(3), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// y = trucks - price / 2.
	if f := 3*5 + 1 - 0.5*(1.75+2.75); math.Abs(float64(r.Upper.Objective)-f) > 1e-6 {
		t.Errorf("F = %v, want %v", r.Upper.Objective, f)
	}
	model, err := runtime.Compile("start.blv", fleet+"solve { start trucks = 1.5 }\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.Bind(nil, runtime.BindOptions{}); !errors.As(err, &list) || list[0].Code != diag.BindNotInteger {
		t.Errorf("a start between whole numbers: %v", err)
	}
}

// What the search does not take is said with a way that works: a sweep over the whole numbers, as an export would refuse the model for the same reason.
func TestIntegerNeedsSearchSaysWhatWorks(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(fleet, "+ sum(open)", "+ exp(sum(y))", 1): "make params of its entries",
		`model one
upper {
  var open: real binary
  var rest: real in box(0, 1)
  minimize exp(y) * open - 3 * open + rest
}
lower {
  var y: real
  minimize (y - open)^2
}
`: "`param open: int = 0`, and `bilevelc sweep MODEL --over open=0..1`",
	} {
		var list diag.List
		if _, err := bindText(t, text).Solve(t.Context(), runtime.Options{}); !errors.As(err, &list) || list[0].Code != diag.RunInteger || !strings.Contains(list[0].Fix, want) {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// An f that gives no bound to search by is evaluated at each whole number, where there are few and x has no other entries.
func TestFewWholeNumbersOfAnyF(t *testing.T) {
	r := solveText(t, "model one\nupper {\n  var open: real binary\n  minimize exp(y) * open - 3 * open\n}\nlower {\n  var y: real\n  minimize (y - open)^2\n}\n", runtime.Options{})
	if r.Status != runtime.Solved || r.Global == nil || !r.Global.Proved || math.Abs(float64(r.Upper.Objective)-(math.E-3)) > 1e-12 {
		t.Errorf("%s (%s), F = %v", r.Status, r.Reason, r.Upper.Objective)
	}
}

// Where the follower is strongly convex and not quadratic, F is evaluated at each of few whole numbers of X; its answer, entry by entry, is found by bisection here. Points that X's rows cut off, and those where the follower has no
// answer, are none.
func TestFewWholeNumbersOfSmoothFollowers(t *testing.T) {
	rng := members.Rand(t, 61)
	cut := 0
	for k := range members.Count(200) {
		number := func() float64 { return math.Round(100*rng.NormFloat64()) / 100 }
		weight, rate, most := [2]float64{0.5 + math.Abs(number()), 0.5 + math.Abs(number())}, [2]float64{number(), number()}, 0.5+math.Abs(number())
		c, f := [4]float64{number(), number(), number(), number()}, [4]float64{number(), number(), number(), number()}
		room := float64(rng.IntN(4) - 1)
		text := fmt.Sprintf(`model few
upper {
  var x: vector[2] integer in box(-2, 2)
  minimize %v * y[1] * x[2] + %v * y[2]^2 * x[1] + %v * exp(y[1]) + %v * x[1] * x[2]
  subject to
    sum(x) <= %v
}
lower {
  var y: vector[2] in box(-3, %v)
  minimize %v * y[1]^2 + exp(%v * y[1]) + %v * y[2]^2 + exp(%v * y[2]) + (%v * x[1] + %v * x[2]) * y[1] + (%v * x[1] + %v * x[2]) * y[2]
  subject to
    y[1] >= x[1] - %v
}
`, f[0], f[1], f[2], f[3], room, most, weight[0], rate[0], weight[1], rate[1], c[0], c[1], c[2], c[3], 2.25)
		want := math.Inf(1)
		for a := -2.0; a <= 2; a++ {
			for b := -2.0; b <= 2; b++ {
				if a+b > room {
					cut++
					continue
				}
				var y [2]float64
				for j := range y {
					lo, hi := -3.0, most
					if j == 0 {
						lo = math.Max(lo, a-2.25)
					}
					for range 200 {
						if y[j] = (lo + hi) / 2; 2*weight[j]*y[j]+rate[j]*math.Exp(rate[j]*y[j])+c[2*j]*a+c[2*j+1]*b > 0 {
							hi = y[j]
						} else {
							lo = y[j]
						}
					}
				}
				want = math.Min(want, f[0]*y[0]*b+f[1]*y[1]*y[1]*a+f[2]*math.Exp(y[0])+f[3]*a*b)
			}
		}
		p := bindText(t, text)
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatalf("case %d: %v\n%s", k, err, text)
		}
		if r.Status != runtime.Solved || r.Global == nil || !r.Global.Proved || !(math.Abs(float64(r.Upper.Objective)-want) <= 1e-7*(1+math.Abs(want))) {
			t.Errorf("case %d: %s (%s), F = %v, not %v\n%s", k, r.Status, r.Reason, r.Upper.Objective, want, text)
			continue
		}
		if !verified(p, r) {
			t.Errorf("case %d: its verification fails\n%s", k, text)
		}
	}
	if cut == 0 {
		t.Error("no points are cut off")
	}
}
