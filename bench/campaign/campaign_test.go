package main

import (
	"strings"
	"testing"

	"bilevelc/bench/campaign/truth"
	"bilevelc/runtime"
)

// kinked has y = max(x, 1/2) and F = 2 y - x: its minimum is the kink at 1/2,
// where the row has no multiplier; F falls on the left and rises on the right.
func kinked() *system {
	g := newGenerator(0, 0, 1)
	g.System = &truth.System{Dx: 1, Dy: 1, Lo: []float64{0}, Hi: []float64{1},
		F: truth.Quadratic{C: []float64{-1, 2}, H: square(2)}, Q: [][]float64{{1}}, P: [][]float64{{-1}}, Linear: []float64{0}}
	g.yLo, g.yHi = free(1)
	g.row([]float64{0}, []float64{-1}, -0.5, 0)
	return g.finish()
}

func kinds(e *examination) map[string]bool {
	out := map[string]bool{}
	for _, f := range e.Findings {
		if !f.Soft {
			out[f.Kind] = true
		}
	}
	return out
}

// TestLiesAreCaught changes one number of an honest result at a time.
func TestLiesAreCaught(t *testing.T) {
	s := kinked()
	ask := func() *examination {
		e := newExamination(&report{Seed: 1, Text: s.text()}, s)
		e.size = 1
		return e
	}
	asked := ask()
	if !asked.bind(func(string) string { return "" }) {
		t.Fatal(asked.Findings)
	}
	at := func(x float64) *runtime.Result {
		r, err := asked.evaluate([]float64{x})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		kind string
		x    float64
		lie  func(r *runtime.Result)
	}{
		{"", 0.75, func(*runtime.Result) {}},
		{"", 0.25, func(*runtime.Result) {}},
		{"", 0.5, func(*runtime.Result) {}},
		{"of y", 0.75, func(r *runtime.Result) { r.Lower.Variables[0].Data[0] += 1e-3 }},
		{"of F", 0.75, func(r *runtime.Result) { r.Upper.Objective += 1e-3 }},
		{"of g", 0.75, func(r *runtime.Result) { r.Lower.Objective += 1e-3 }},
		{"of error bound", 0.75, func(r *runtime.Result) { r.Lower.Variables[0].Data[0] += 1e-7; r.Lower.ErrorBound = 1e-9 }},
		{"of multiplier", 0.25, func(r *runtime.Result) { r.Lower.Multipliers[0].Data[0] = -0.25 }},
		{"of multipliers", 0.25, func(r *runtime.Result) { r.Lower.Multipliers[0].Data[0] = 0.3 }},
		{"of multiplier", 0.75, func(r *runtime.Result) { r.Lower.Multipliers[0].Data[0] = 0.25 }},
		{"of hypergradient", 0.75, func(r *runtime.Result) { r.Upper.Hypergradient[0].Data[0] = -1 }},
		{"of strict at a kink", 0.5, func(r *runtime.Result) { r.Stationarity.Strict = true }},
	} {
		e := ask()
		r := at(c.x)
		c.lie(r)
		e.statements(r, "of")
		if got := kinds(e); len(got) > 0 != (c.kind != "") || c.kind != "" && !got[c.kind] {
			t.Errorf("at x = %v: %v, want %q", c.x, e.Findings, c.kind)
		}
	}
	for _, c := range []struct {
		kind     string
		x, delta float64
	}{
		{"", 0.5, 1e-6},
		{"", 0.5 + 1e-7, 1e-6},
		{"not stationary", 0.5 + 1e-5, 1e-6},
		{"not stationary", 0.25, 1e-6},
		{"not stationary", 0, 1e-6}, // -1 points into X
		{"not stationary", 1, 1e-6},
		{"delta", 0.25, 0.5},
	} {
		e := ask()
		r := at(c.x)
		r.Status, r.Stationarity.Value, r.Stationarity.Delta, r.Stationarity.GradientError = runtime.Solved, 0, runtime.Number(c.delta), 0
		e.stationary(r, []float64{c.x}, "claim")
		if got := kinds(e); len(got) > 0 != (c.kind != "") || c.kind != "" && !got[c.kind] {
			t.Errorf("stationary at %v within %v: %v, want %q", c.x, c.delta, e.Findings, c.kind)
		}
	}
}

// TestUnits writes the same program in other units, and each is a model.
func TestUnits(t *testing.T) {
	for seed := range uint64(200) {
		for _, q := range questions(seed) {
			if _, err := runtime.Compile("m.blv", q.text()); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, q.text())
			}
		}
	}
}

// What a finding does not need is taken away: of programs whose text has an exponential one of an entry of each level without rows is left, and of systems
// that read a row with two entries of y those.
func TestReduce(t *testing.T) {
	reduced := 0
	for seed := range uint64(100) {
		for _, c := range []struct {
			s    *system
			word string
			most int // lines
		}{{questions(seed)[0].system, "exp(", 9}, {drawSystem(seed), "y1 + y2 <=", 13}} {
			if !strings.Contains(c.s.text(), c.word) {
				continue
			}
			small, found := reduce(c.s, func(s *system) []finding {
				if _, err := runtime.Compile("m.blv", s.text()); err == nil && strings.Contains(s.text(), c.word) {
					return []finding{{Kind: c.word}}
				}
				return nil
			})
			if reduced++; found == nil || strings.Count(small.text(), "\n") > c.most {
				t.Errorf("seed %d: %v\n%s", seed, found, small.text())
			}
		}
	}
	if reduced < 5 {
		t.Errorf("only %d programs are reduced", reduced)
	}
}
