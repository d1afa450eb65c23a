package oracle_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/planted"
)

// Lower levels that are not quadratic, with the project's own solver, against
// hypergradients in closed form.
func TestCurvedLowerLevels(t *testing.T) {
	low, err := lower.Lookup(lower.Default)
	if err != nil {
		t.Fatal(err)
	}
	in, err := planted.New(planted.Options{Family: planted.Convex, Dx: 8, Dy: 30, Links: 3, Floors: 20, Active: 6, Curved: true, Condition: 100, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	tolerance := map[string]float64{"face": 1e-7, "difference": 1e-6, "penalty": 3e-2, "value": 1e-6}
	for _, spec := range oracle.All() {
		o, err := spec.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := low.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		h := oracle.New(in.Problem, s, o)
		rng := rand.New(rand.NewPCG(1, 2))
		for range 5 {
			x := make([]float64, in.Problem.Dx)
			for j := range x {
				x[j] = in.Optimum.X[j] + rng.NormFloat64()
			}
			exact, ok := in.Exact(x)
			pt, err := h.Gradient(context.Background(), x)
			if !ok || err != nil {
				t.Fatalf("%s: %v", spec.Name, err)
			}
			if !pt.Strict {
				continue
			}
			rel, abs := relative(pt.Grad, exact.Gradient)
			if rel > tolerance[spec.Name] {
				t.Errorf("%s: relative error %.1e, own estimate %.1e, absolute %.1e", spec.Name, rel, pt.GradError, abs)
			}
		}
	}
}
