package main

import (
	"context"
	"math"
	"math/big"
	"testing"

	"bilevelc/bench/campaign/truth"
	"bilevelc/runtime"
)

// kinked has y = max(x, 1/2) and F = 2 y - x: its minimum is the kink at 1/2,
// where the row has no multiplier; F falls on the left and rises on the right.
func kinked() *truth.Model {
	v := func(p, q int64) []*big.Rat { return []*big.Rat{truth.Rat(p, q)} }
	return &truth.Model{Dx: 1, Dy: 1, XLo: v(0, 1), XHi: v(1, 1), YLo: []*big.Rat{nil}, YHi: []*big.Rat{nil},
		F:    truth.Function{Lx: v(-1, 1), Ly: v(2, 1)},
		G:    truth.Function{Lx: v(0, 1), Ly: v(0, 1), Xy: [][]*big.Rat{v(-1, 1)}, Yy: [][]*big.Rat{v(1, 1)}},
		Rows: []truth.Row{{A: v(0, 1), C: v(-1, 1), Rhs: truth.Rat(-1, 2)}},
	}
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
	m := kinked()
	model, err := runtime.Compile("kinked.blv", write(m, style{}))
	if err != nil {
		t.Fatal(err)
	}
	problem, err := model.Bind(nil, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(x float64) *runtime.Result {
		r, err := problem.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{1}, Data: []float64{x}}}, runtime.Options{})
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
		e := newExamination(m, style{}, 1)
		e.size = 1
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
		e := newExamination(m, style{}, 1)
		e.size = 1
		r := at(c.x)
		r.Status, r.Stationarity.Value, r.Stationarity.Delta, r.Stationarity.GradientError = runtime.Solved, 0, runtime.Number(c.delta), 0
		e.stationary(r, []float64{c.x}, "claim")
		if got := kinds(e); len(got) > 0 != (c.kind != "") || c.kind != "" && !got[c.kind] {
			t.Errorf("stationary at %v within %v: %v, want %q", c.x, c.delta, e.Findings, c.kind)
		}
	}
}

// TestUnits writes the same program in other units and reads the same truth.
func TestUnits(t *testing.T) {
	for seed := range uint64(200) {
		m, _, qs := questions(seed)
		s := qs[len(qs)-1].style
		e := newExamination(m, s, seed)
		for _, text := range texts(seed) {
			if _, err := runtime.Compile("m.blv", text); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
		}
		if f := e.unitOf(s.scale.X, 1) * e.unitOf(s.scale.X, -1); math.Abs(f-1) > 1e-12 {
			t.Fatalf("units: %v", f)
		}
	}
}
