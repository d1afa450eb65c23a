package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// The hypergradient of a follower with rows that depend on each other has an error that is known, where it is evaluated and where it is solved for: y is what the rows leave, and x moves freely.
func TestSlopesOnDependentRows(t *testing.T) {
	for seed := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(seed, 92))
		a, b, c, twice := 1+rng.Float64(), rng.NormFloat64(), rng.NormFloat64(), 1+3*rng.Float64()
		text := fmt.Sprintf(`model dependent
upper {
  var x: real in box(-3, 3)
  minimize (y[1] - (%[1]g))^2 + 0.1 * x^2
}
lower {
  var y: vector[3]
  minimize sumsq(y) + 0.1 * y[3]^4 - (%[2]g) * x * y[1]
  subject to
    one: y[1] + %[3]g * y[2] - x == 0
    again: %[4]g * y[1] + %[5]g * y[2] - %[4]g * x == 0
}
`, c, b, a, twice, twice*a)
		p := bindText(t, text)
		at := 6*rng.Float64() - 3
		r, err := p.Eval(t.Context(), runtime.Values{{Name: "x", Data: []float64{at}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		// y_1 = s x, of 2 y_1 - b x = lambda, 2 y_2 = a lambda, y_1 + a y_2 = x.
		s := (1 + a*a*b/2) / (1 + a*a)
		want := 2*(s*at-c)*s + 0.2*at
		if len(r.Upper.Hypergradient) == 0 {
			t.Errorf("seed %d: no hypergradient: %v\n%s", seed, r.Notes, text)
			continue
		}
		if got, claimed := r.Upper.Hypergradient[0].Data[0], float64(r.Stationarity.GradientError); !(math.Abs(got-want) <= 4*claimed+1e-12*(1+math.Abs(c))) || claimed > 1e-6 {
			t.Errorf("seed %d: F' = %v, claimed to %g, truly %v\n%s", seed, got, claimed, want, text)
		}
		solved, err := p.Solve(t.Context(), runtime.Options{Method: "goldstein", Starts: 1})
		if err != nil {
			t.Fatal(err)
		}
		if solved.Status != runtime.Solved {
			t.Errorf("seed %d: %s, %s\n%s", seed, solved.Status, solved.Reason, text)
		}
	}
}
