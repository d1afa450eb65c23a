// Package examples_test solves every example and compares it with its known
// optimum.
package examples_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/runtime"
)

// known are the examples: the optimum, how near the answer must be relative to
// 1 + |F*|, and where the optimum comes from. The tolerance is the for
// the binding models, that of the published digits for the others.
var known = []struct {
	model, data string
	starts      int
	optimum     float64
	tolerance   float64
	source      string
}{
	{"shop/shop.blv", "", 1, 7.625, 1e-7, "by hand: amount = taste - price while the shelf is not full; 7.625 = (3.25-1) 1.75 + (2.75-1) 1.25 + (2-0.5) 1"},
	{"quota/quota.blv", "", 1, 4.416452007145, 1e-6, "exact reference"},
	{"bard1988/bard1988.blv", "", 1, 17, 1e-6, "Bard (1988)"},
	{"toll/toll.blv", "", 1, 8.952715040395, 1e-6, "exact reference"},
	{"toy/toy.blv", "toy/toy_paper_s1.json", 1, -19.0957170, 1e-7, "exact reference; the paper's run stops at -19.092577"},
	{"ridge/ridge.blv", "ridge/ridge.json", 1, reference("ridge/ridge.ref.json"), 1e-7, "bench/peers/reference.py"},
	{"elastic/elastic.blv", "elastic/reg.csv", 1, 83.11145435766944, 1e-7, "examples/reference.py"},
	{"classifier/classifier.blv", "classifier/classifier.json", 1, reference("classifier/classifier.ref.json"), 1e-7, "bench/peers/reference.py"},
	{"followers/followers.blv", "followers/followers.json", 1, reference("followers/followers.ref.json"), 1e-7, "bench/peers/followers.py"},
	{"market/market.blv", "", 1, 29.5974824575, 1e-7, "examples/reference.py"},
	{"lineartoll/lineartoll.blv", "", 1, 2, 1e-4, "examples/reference.py; off by tau = 1e-5 of what is at stake"},
	{"revenue/revenue.blv", "", 1, 18.9563248494, 1e-7, "examples/reference.py"},
	{"bolib/Bard1988Ex2.blv", "", 20, -6600, 1e-4, "BOLIB"},
	{"bolib/CalamaiVicente1994b.blv", "", 20, 0.3125, 1e-4, "BOLIB"},
	{"bolib/DeSilva1978.blv", "", 20, -1, 1e-4, "BOLIB"},
	{"bolib/FalkLiu1995.blv", "", 20, -2.25, 1e-4, "BOLIB"},
	{"bolib/GumusFloudas2001Ex4.blv", "", 20, 9, 1e-4, "BOLIB"},
	{"bolib/HatzEtal2013.blv", "", 20, 0, 1e-4, "BOLIB"},
	{"bolib/HendersonQuandt1958.blv", "", 20, -3266.67, 1e-4, "BOLIB"},
	{"bolib/MuuQuy2003Ex1.blv", "", 20, -2.07692, 1e-4, "BOLIB"},
	{"bolib/Outrata1990Ex1a.blv", "", 20, -8.9172, 1e-4, "BOLIB"},
	{"bolib/SinhaMaloDeb2014TP6.blv", "", 20, -1.20988, 1e-4, "BOLIB"},
	{"bolib/Yezza1996Ex41.blv", "", 20, 0.5, 1e-4, "BOLIB"},
}

// reference reads the value of a reference file.
func reference(path string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return math.NaN() // the example then fails
	}
	var ref struct{ Value float64 }
	if err := json.Unmarshal(text, &ref); err != nil {
		return math.NaN()
	}
	return ref.Value
}

func TestExamples(t *testing.T) {
	for _, example := range known {
		t.Run(example.model, func(t *testing.T) {
			t.Parallel()
			problem := bound(t, example.model, example.data)
			result, err := problem.Solve(context.Background(), runtime.Options{Starts: example.starts, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			f := float64(result.Upper.Objective)
			if !(math.Abs(f-example.optimum) <= example.tolerance*(1+math.Abs(example.optimum))) {
				t.Errorf("F = %.10g (%s: %s), known optimum %.10g (%s)", f, result.Status, result.Reason, example.optimum, example.source)
			}
			if result.Status != runtime.Solved {
				t.Errorf("status %s: %s", result.Status, result.Reason)
			}
			report, err := problem.Verify(result)
			if err != nil {
				t.Fatal(err)
			}
			for _, failure := range report.Failures() {
				t.Errorf("verification: %s", failure)
			}
		})
	}
}

func bound(t *testing.T, path, file string) *runtime.Problem {
	t.Helper()
	model, err := runtime.CompileFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set := &data.Set{}
	if file != "" {
		loaded, diags := datafile.Load(file, nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		set = loaded
	}
	problem, err := model.BindSet(set, runtime.BindOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return problem
}
