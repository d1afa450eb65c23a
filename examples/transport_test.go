package examples_test

import (
	"context"
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/runtime"
)

// The best tolls of the transport example, town by town: a town has one road of
// the leader's (costs c, s) and one of the others' (k, r), and the demand d. While
// both carry something, the shipper sends f = (k - c + r d - t)/(s + r) over the
// leader's; t f is greatest at t = (k - c + r d)/2, or, where f would be above d,
// at the largest toll that keeps all of d: t = k - c - s d. No plant runs short.
func TestTransport(t *testing.T) {
	table := func(file string) []map[string]string {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var out []map[string]string
		for _, l := range lines[1:] {
			row := map[string]string{}
			for j, name := range lines[0] {
				row[name] = l[j]
			}
			out = append(out, row)
		}
		return out
	}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	best, tolls := 0.0, map[string]float64{}
	for _, town := range table("transport/nodes.csv") {
		d := -number(town["supply"])
		if d < 0 {
			continue
		}
		var c, s, k, r float64
		for _, road := range table("transport/roads.csv") {
			switch {
			case road["to"] != town["node"]:
			case road["owned"] == "1":
				c, s = number(road["cost"]), number(road["slope"])
			default:
				k, r = number(road["cost"]), number(road["slope"])
			}
		}
		toll := (k - c + r*d) / 2
		flow := toll / (s + r)
		if flow > d {
			toll, flow = k-c-s*d, d
		}
		best += toll * flow
		tolls[town["node"]] = toll
	}
	model, err := runtime.CompileFile("transport/transport.blv")
	if err != nil {
		t.Fatal(err)
	}
	set := &data.Set{}
	for _, file := range []string{"transport/roads.csv", "transport/nodes.csv"} {
		loaded, diags := datafile.Load(file, nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		set.Entries = append(set.Entries, loaded.Entries...)
	}
	problem, err := model.BindSet(set, runtime.BindOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	result, err := problem.Solve(context.Background(), runtime.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	// What the default tolerance of goldstein leaves, which is relative to F.
	if f := float64(result.Upper.Objective); math.Abs(f-best) > 1e-6*best || result.Status != runtime.Solved {
		t.Errorf("F = %.10g (%s), the optimum is %.10g", f, result.Status, best)
	}
	found, _ := result.Upper.Variables.Get("toll")
	for town, want := range tolls {
		if got, ok := found.At("Gdansk", town); !ok || math.Abs(got-want) > 1e-4*(1+want) {
			t.Errorf("the toll to %s is %v, want %v", town, got, want)
		}
	}
	report, err := problem.Verify(result)
	if err != nil {
		t.Fatal(err)
	}
	for _, failure := range report.Failures() {
		t.Errorf("verification: %s", failure)
	}
}
