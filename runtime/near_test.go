package runtime_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

func total(c runtime.Calls) int { return int(c.F + c.GradF + c.G + c.GradG) }

// A solution is followed as its numbers change: the result is as good as one that
// was looked for anew, and costs, over some changes, a tenth of the first run. That of
// the shop, three prices at a kink, is found so quickly that a certificate of two pieces
// and the points before it are an eighth.
func TestNear(t *testing.T) {
	t.Parallel()
	vary := func(rng *rand.Rand, v []float64) []float64 {
		out := append([]float64(nil), v...)
		out[rng.IntN(len(out))] *= 1 + 0.04*(rng.Float64()-0.5)
		return out
	}
	type followed struct {
		path, name string
		base       []float64
		times      int
	}
	for _, test := range members.Some(t, []followed{
		{"../examples/toll/toll.blv", "slope", []float64{0.8, 0.6, 0.6, 0.8, 0.2, 1.2}, 10},
		{"../examples/shop/shop.blv", "cost", []float64{1, 1, 0.5}, 8},
		{"../examples/quota/quota.blv", "goal", []float64{4, 1, 3, 5}, 10},
		{"../examples/market/market.blv", "demand", []float64{3, 4, 7}, 10},
	}, 2) {
		text, err := os.ReadFile(test.path)
		if err != nil {
			t.Fatal(err)
		}
		solve := func(data []float64, near *runtime.Result) *runtime.Result {
			t.Helper()
			model, err := runtime.Compile(test.path, string(text))
			if err != nil {
				t.Fatal(err)
			}
			p, err := model.Bind(runtime.Data{test.name: data}, runtime.BindOptions{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Solve(context.Background(), runtime.OffSystem(runtime.Options{Seed: 1, Near: near}))
			if err != nil || r.Status != runtime.Solved {
				t.Fatalf("%s: %v %v", test.path, r, err)
			}
			return r
		}
		rng := rand.New(rand.NewPCG(7, 8)) // the same changes of a model, whichever others are asked about
		first := solve(test.base, nil)
		last := first
		const changes = 4
		spent := 0
		for k := range changes {
			data := vary(rng, test.base)
			warm := solve(data, last)
			t.Logf("%s, change %d: %d calls at first, %d followed", test.path, k, total(first.Calls), total(warm.Calls))
			spent += total(warm.Calls)
			last = warm
			if !members.Full() && k < changes-1 {
				continue // what is followed wrongly once is followed on from there
			}
			cold := solve(data, nil)
			if gap := math.Abs(float64(warm.Upper.Objective - cold.Upper.Objective)); gap > 1e-6*(1+math.Abs(float64(cold.Upper.Objective))) {
				t.Errorf("%s: followed to %v, found anew %v", test.path, warm.Upper.Objective, cold.Upper.Objective)
			}
		}
		if spent*test.times > changes*total(first.Calls) {
			t.Errorf("%s: following takes %d calls for %d changes, the first run %d", test.path, spent, changes, total(first.Calls))
		}
	}
}

// A result that does not fit is no guide: other variables, ties. Where the old
// solution leads to no answer the run is as without it.
func TestNearThatDoesNotFit(t *testing.T) {
	solve := func(text string, near *runtime.Result) *runtime.Result {
		t.Helper()
		p := bindText(t, text)
		r, err := p.Solve(context.Background(), runtime.OffSystem(runtime.Options{Seed: 1, Near: near}))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const square = "model m\nupper { var x: real in box(LO, 9); minimize (y - 3)^2 }\nlower { var y: real in box(0, 6); minimize (y - x)^2 }\n"
	old := solve(strings.ReplaceAll(square, "LO", "0"), nil)
	for _, text := range []string{
		"model m\nupper { var z: vector[2] in box(0, 1); minimize sumsq(z) + y }\nlower { var y: real; minimize (y - sum(z))^2 }\n",
		"model m\nupper { var x: real in box(0, 10); maximize x * y[1] }\nlower { var y: vector[2] in nonneg; minimize (2 + x) * y[1] + 5 * y[2]; subject to sum(y) == 1 }\nsolve { ties = optimistic }\n",
		strings.ReplaceAll(square, "LO", "4"),
	} {
		with, without := solve(text, old), solve(text, nil)
		if with.Status != without.Status || math.Abs(float64(with.Upper.Objective-without.Upper.Objective)) > 1e-6 {
			t.Errorf("%s: %v at %v, without the guide %v at %v", text, with.Status, with.Upper.Objective, without.Status, without.Upper.Objective)
		}
	}
}
