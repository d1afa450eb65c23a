package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/ir/data"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// A linear follower over a box and a budget is a knapsack: the entries with the
// least costs are filled first, and every tie can be listed. The answers, the loss
// and the values that are best and worst for the leader are compared with that.
func TestTiesOfAKnapsack(t *testing.T) {
	tied := 0
	for trial := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(trial, 4))
		n := 2 + rng.IntN(4)
		cost, gain, cap := make([]float64, n), make([]float64, n), make([]float64, n)
		for j := range n {
			cost[j], gain[j], cap[j] = float64(1+rng.IntN(3)), float64(rng.IntN(7)-3)+0.5, float64(1+rng.IntN(3))
		}
		total := 0.0
		for _, c := range cap {
			total += c
		}
		amount := math.Floor(total*rng.Float64()) + 0.5
		scale := math.Pow(10, float64(rng.IntN(7)-3))
		source := fmt.Sprintf(`model knapsack
data cost: vector[%d] = %s
data gain: vector[%d] = %s
data cap: vector[%d] = %s
upper {
  var x: real in box(0, 1)
  maximize gain' * y - x^2
}
lower {
  var y: vector[%d] in box(0, cap)
  minimize %v * cost' * y
  subject to all: sum(y) == %v
}
solve { ties = %s }
`, n, text(cost), n, text(gain), n, text(cap), n, scale, amount, []string{"optimistic", "least_norm"}[trial%2])
		best, worst, least := knapsack(cost, gain, cap, amount)
		problem := bindText(t, source)
		r, err := problem.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{0}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ties := r.Lower.Ties
		if ties == nil || r.Status != runtime.Solved {
			t.Fatalf("case %d: %s (%s)\n%s", trial, r.Status, r.Reason, source)
		}
		near := func(what string, got, want float64) {
			if !(math.Abs(got-want) <= 1e-4*(1+math.Abs(want))) {
				t.Errorf("case %d: %s is %v, want %v\n%s", trial, what, got, want, source)
			}
		}
		near("the follower's objective", float64(r.Lower.Objective)/scale, least)
		near("the best F", float64(ties.Optimistic), best)
		near("the worst F", float64(ties.Pessimistic), worst)
		near("the loss", float64(ties.Loss)/scale, float64(r.Lower.Objective)/scale-least)
		if trial%2 == 0 {
			near("F", float64(r.Upper.Objective), best)
		}
		if !ties.Exact {
			t.Errorf("case %d: the follower's optimum was not found\n%s", trial, source)
		}
		if best-worst > 0.1 {
			if tied++; ties.Unique {
				t.Errorf("case %d: called unique, and F ranges from %v to %v\n%s", trial, worst, best, source)
			}
		}
		report, err := problem.Verify(r)
		if err != nil || !report.OK() {
			t.Errorf("case %d: %v %v", trial, err, report.Failures())
		}
	}
	if tied < members.Part(5, 40) {
		t.Errorf("%d cases with ties say too little", tied)
	}
}

// knapsack fills the entries in order of cost, those of one cost in the order of
// gain: the gains that are most and least, and the cost.
func knapsack(cost, gain, cap []float64, amount float64) (best, worst, least float64) {
	for k, out := range []*float64{&best, &worst} {
		left := amount
		for price := 1.0; price <= 3; price++ {
			done := make([]bool, len(cost))
			for range cost {
				pick := -1
				for j := range cost {
					if cost[j] == price && !done[j] && (pick < 0 || (gain[j] > gain[pick]) == (k == 0) && gain[j] != gain[pick]) {
						pick = j
					}
				}
				if pick < 0 {
					break
				}
				done[pick] = true
				take := math.Min(left, cap[pick])
				left -= take
				*out += take * gain[pick]
				if k == 0 {
					least += take * price
				}
			}
		}
	}
	return best, worst, least
}

func TestTiesAreRefused(t *testing.T) {
	for want, change := range map[string][2]string{
		"strongly convex": {"ties = optimistic", "starts = 2"},
		"ties takes":      {"ties = optimistic", "ties = kind"},
		"tau is a number": {"ties = optimistic", "ties = optimistic; tau = 2"},
		"tau belongs to":  {"ties = optimistic", "tau = 0.001"},
		"KKT system":      {"maximize x * y[1]\n}\nlower {\n  var y: vector[2] in nonneg\n  minimize y[1]", "maximize x * y[1] + dual(all)\n}\nlower {\n  var y: vector[2] in nonneg\n  minimize y[1]^4"},
		"not strongly":    {"minimize y[1] + x * y[2]", "minimize y[1] + x * y[2] - sumsq(y)"},
	} {
		source := strings.Replace(`model tied
upper {
  var x: real in box(0, 2)
  maximize x * y[1]
}
lower {
  var y: vector[2] in nonneg
  minimize y[1] + x * y[2]
  subject to all: sum(y) == 1
}
solve { ties = optimistic }
`, change[0], change[1], 1)
		model, err := runtime.Compile("tied.blv", source)
		if err == nil {
			_, err = model.Bind(nil, runtime.BindOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// What a result says was added to the follower's objective is checked, each number
// of it.
func TestForgedTies(t *testing.T) {
	problem := bindText(t, `model choice
upper {
  var toll: real in box(0, 3)
  maximize toll * y[1]
}
lower {
  var y: vector[2] in nonneg
  minimize toll * y[1] + 2 * y[2]
  subject to
    all: sum(y) == 1
}
solve { ties = optimistic }
`)
	r, err := problem.Solve(context.Background(), runtime.OffSystem(runtime.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != runtime.Solved || !verified(problem, r) {
		t.Fatalf("%s: %s", r.Status, r.Reason)
	}
	said := *r.Lower.Ties
	for name, forge := range map[string]func(*runtime.Ties){
		"rule":           func(x *runtime.Ties) { x.Rule = "least_norm" },
		"tau":            func(x *runtime.Ties) { x.Tau /= 2 },
		"weight of f":    func(x *runtime.Ties) { x.WeightF *= 2 },
		"weight of norm": func(x *runtime.Ties) { x.WeightNorm *= 2 },
		"negative loss":  func(x *runtime.Ties) { x.Loss = -1e-3 },
		"loss":           func(x *runtime.Ties) { x.Loss = runtime.Number(math.NaN()) },
	} {
		forged := said
		forge(&forged)
		if r.Lower.Ties = &forged; verified(problem, r) {
			t.Errorf("%s: a forged one passed", name)
		}
	}
	if r.Lower.Ties = nil; verified(problem, r) {
		t.Error("a result that says nothing of the ties passed")
	}
}

// TestTiesChecked: a check goes the way of a run: it proves the regularized follower
// strongly convex, with data and without, and refuses the plain one.
func TestTiesChecked(t *testing.T) {
	const text = `model checked
param n: int
data c: vector[n]
upper {
  var x: real in box(0, 1)
  minimize (x - 0.5)^2 + y[1]
}
lower {
  var y: vector[n] in box(0, 1)
  minimize x * (c' * y)
}
`
	given := &data.Set{}
	given.Add("c", data.Vector([]float64{3, -4}), "test")
	for _, rule := range []string{"", "optimistic", "least_norm"} {
		solve := ""
		if rule != "" {
			solve = "solve { ties = " + rule + " }\n"
		}
		model, err := runtime.Compile("checked.blv", text+solve)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range []*data.Set{given, {}} {
			checked, err := model.Check(set, runtime.BindOptions{Seed: 1})
			if rule == "" {
				if err == nil || !strings.Contains(err.Error(), string(diag.NotStronglyConvex)) {
					t.Errorf("a linear follower: %v", err)
				}
				continue
			}
			if err != nil || checked.Abstract != (set != given) || !strings.Contains(checked.Text(false), "ties: "+rule) {
				t.Errorf("%s, data %v: %v", rule, set == given, err)
				continue
			}
			if set != given {
				continue
			}
			// What it is said to be solved with is what a run solves it with.
			problem, err := model.BindSet(set, runtime.BindOptions{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			r, err := problem.Solve(context.Background(), runtime.Options{Starts: 1})
			if err != nil || (r.Method == runtime.SystemMethod) != strings.Contains(checked.Text(false), "on the follower's KKT system") {
				t.Errorf("%s is solved by %v (%v):\n%s", rule, r, err, checked.Text(false))
			}
		}
	}
}

// A follower that is taken on its KKT system alone is solved by no other method, named by the caller or by the model: these would follow whichever answer
// and multipliers their lower solver ends at.
func TestOtherMethodsOfTiesWithMultipliers(t *testing.T) {
	const text = `model both
upper {
  var x: vector[2] in box(0, 10)
  minimize sumsq(x - 1) + y[1] - dual(a)
}
lower {
  var y: vector[2] in box(0, 20)
  minimize sum(y)
  subject to a: sum(x) + sum(y) >= 3
}
solve { ties = optimistic }
`
	problem := bindText(t, text)
	for _, m := range runtime.Methods() {
		opts := runtime.Options{}
		*map[string]*string{"method": &opts.Method, "oracle": &opts.Oracle, "solver": &opts.Solver}[m.Kind] = m.Name
		r, err := problem.Solve(context.Background(), opts)
		if m.Name == runtime.SystemMethod {
			// At x = (1, 1) the follower has 1 to give, to y[2], at the price 1; elsewhere the first term is positive, and the price is 1 at the most.
			if err != nil || math.Abs(float64(r.Upper.Objective)+1) > 1e-9 {
				t.Errorf("%s: %v, %v", m.Name, r, err)
			}
			continue
		}
		var usage *runtime.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), "by method pieces alone") {
			t.Errorf("%s %s: %v", m.Kind, m.Name, err)
		}
	}
	named := strings.Replace(text, "optimistic", "optimistic; method = goldstein", 1)
	if _, err := bindText(t, named).Solve(context.Background(), runtime.Options{}); err == nil || !strings.Contains(err.Error(), string(diag.RunSetting)) {
		t.Errorf("a method that the model names: %v", err)
	}
	for source, refused := range map[string]bool{text: false, named: true} {
		model, err := runtime.Compile("both.blv", source)
		if err != nil {
			t.Fatal(err)
		}
		checked, err := model.Check(nil, runtime.BindOptions{})
		if refused {
			if err == nil || !strings.Contains(err.Error(), string(diag.RunSetting)) {
				t.Errorf("check of a method that the model names: %v", err)
			}
		} else if err != nil || !strings.Contains(checked.Text(false), "g strongly convex      no: g is linear in y") || !strings.Contains(checked.Text(false), "do not apply") {
			t.Errorf("check: %v", err)
		}
	}
}
