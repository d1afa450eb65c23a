package oracle_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/planted"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
)

// Lower levels with hypergradients in closed form, quadratic and not, with the
// project's own solvers, dense and sparse.
func TestPlantedLowerLevels(t *testing.T) {
	tolerance := map[string]float64{"face": 1e-7, "difference": 1e-6, "penalty": 3e-2, "value": 1e-6}
	for _, curved := range []bool{false, true} {
		in, err := planted.New(planted.Options{Family: planted.Convex, Dx: 8, Dy: 30, Links: 3, Floors: 20, Active: 6, Curved: curved, Condition: 100, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		for _, solver := range []string{lower.Default, "sparse"} {
			for _, spec := range oracle.All() {
				o, err := spec.New(nil)
				if err != nil {
					t.Fatal(err)
				}
				p := *in.Problem
				p.Facts.HessianPattern = full(p.Dy)
				s, err := lower.New(solver, nil, &p, 1)
				if err != nil {
					t.Fatal(err)
				}
				h := oracle.New(&p, s, o)
				rng := rand.New(rand.NewPCG(1, 2))
				strict := 0
				for range 5 {
					x := make([]float64, p.Dx)
					for j := range x {
						x[j] = in.Optimum.X[j] + rng.NormFloat64()
					}
					exact, ok := in.Exact(x)
					pt, err := h.Gradient(context.Background(), x)
					if !ok || err != nil {
						t.Fatalf("%s, %s: %v", solver, spec.Name, err)
					}
					if pt.Lower.Sparse != (solver == "sparse") {
						t.Errorf("%s: left to another solver", solver)
					}
					if !pt.Strict {
						continue
					}
					strict++
					rel, abs := relative(pt.Grad, exact.Gradient)
					if rel > tolerance[spec.Name] {
						t.Errorf("%s, %s, curved %v: relative error %.1e, own estimate %.1e, absolute %.1e", solver, spec.Name, curved, rel, pt.GradError, abs)
					}
				}
				if strict == 0 {
					t.Errorf("%s, %s, curved %v: no point with strict complementarity", solver, spec.Name, curved)
				}
			}
		}
	}
}

// full is the pattern of a dense Hessian.
func full(n int) *sparse.CSR {
	ones := make([]float64, n*n)
	for k := range ones {
		ones[k] = 1
	}
	return sparse.FromDense(n, n, ones)
}
