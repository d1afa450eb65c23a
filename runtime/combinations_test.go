package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestCombinations runs the methods that end by themselves with each oracle, on the BOLIB
// problems and on random followers with inequality rows, whose F has kinks: each run is solved,
// and so has passed its verification, with the F that the follower's answer gives at its x by
// the default oracle; what cannot work is refused before the run.
func TestCombinations(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../testdata/models/bolib/*.blv")
	if err != nil || len(paths) < 10 {
		t.Fatal(err, paths)
	}
	models := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		models[filepath.Base(path)] = string(text)
	}
	rng := rand.New(rand.NewPCG(14, 8))
	for k := range 8 {
		models[fmt.Sprintf("random %d", k)] = randomKinked(rng)
	}
	refused := 0
	for name, text := range models {
		for _, method := range []string{"pgd", "goldstein"} {
			for _, oracle := range []string{"face", "difference", "penalty", "value"} {
				if testing.Short() && method != "pgd" && oracle != "value" {
					continue
				}
				problem := bindText(t, text)
				res, err := problem.Solve(context.Background(), runtime.Options{Seed: 1, Starts: 1, Method: method, Oracle: oracle})
				if err != nil {
					if refused++; !strings.Contains(err.Error(), "oracle penalty cannot") {
						t.Errorf("%s, %s, %s: %v", name, method, oracle, err)
					}
					continue
				}
				// The methods of the paper say where they end without having solved anything.
				if res.Status != runtime.Solved && (method == "goldstein" && (oracle == "face" || oracle == "difference") || res.Status != runtime.NumericalFailure && res.Status != runtime.BudgetSpent || !res.HasPoint()) {
					t.Errorf("%s, %s, %s: %s: %s", name, method, oracle, res.Status, res.Reason)
					continue
				}
				again, err := problem.Eval(context.Background(), res.Upper.Variables, runtime.Options{})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if f, want := float64(res.Upper.Objective), float64(again.Upper.Objective); math.Abs(f-want) > 1e-6*(1+math.Abs(want)) {
					t.Errorf("%s, %s, %s: F is %v, not %v", name, method, oracle, f, want)
				}
			}
		}
	}
	if refused > 2*len(models)/8 {
		t.Errorf("%d runs were refused", refused)
	}
}

// TestSamplingFromAnywhere: runs of goldstein from anywhere in X end with a certificate that passes its verification, at kinks and next to them.
func TestSamplingFromAnywhere(t *testing.T) {
	t.Parallel()
	for seed := range members.Seeds(t, 700) {
		rng := rand.New(rand.NewPCG(seed, 8))
		text := randomKinked(rng)
		problem := bindText(t, text)
		for k := range uint64(4) {
			x := make([]float64, problem.IR.Upper.Dim)
			for j := range x {
				x[j] = 4*rng.Float64() - 2
			}
			res, err := problem.Solve(t.Context(), runtime.Options{Seed: k, Starts: 1, Method: "goldstein", Start: runtime.Values{{Name: "x", Shape: []int{len(x)}, Data: x}}})
			if err != nil {
				t.Fatal(err)
			}
			if res.Status != runtime.Solved {
				t.Errorf("seed %d from %v: %s: %s\n%s", seed, x, res.Status, res.Reason, text)
			}
		}
	}
}

// randomKinked is a model in which bounds and a budget of the follower begin to hold as x moves.
func randomKinked(rng *rand.Rand) string {
	dx, dy := 1+rng.IntN(2), 2+rng.IntN(2)
	d := draws{rng, 0.25}
	var g []string
	for i := range dy {
		g = append(g, fmt.Sprintf("%g * y[%d]^2 - (%s' * x + %g) * y[%d]", 0.5+rng.Float64(), i+1, list(d.vector(dx)), 1+rng.Float64(), i+1))
	}
	return fmt.Sprintf("model kinked\nupper {\n  var x: vector[%d] in box(-2, 2)\n  minimize sumsq(y - %s) + 0.1 * sumsq(x - %s)\n}\n"+
		"lower {\n  var y: vector[%d] in nonneg\n  minimize %s\n  subject to sum(y) <= %.3g\n}\n",
		dx, list(d.vector(dy)), list(d.vector(dx)), dy, strings.Join(g, " + "), 0.5+rng.Float64())
}
