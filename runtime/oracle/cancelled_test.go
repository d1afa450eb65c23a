package oracle_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestGradientsWhereForcesCancel: where the forces on y add up to 0, what is left of them says nothing of their rounding, which a difference on a
// short step consists of. The follower's answer to x = c is y = 0, with the derivative -1/(h + k) in x: F = p x y has the slope -p c/(h + k) there, or is said not to have one.
func TestGradientsWhereForcesCancel(t *testing.T) {
	given := 0
	for seed := range members.SeedsOf(t, 100, 400) {
		rng := rand.New(rand.NewPCG(seed, 69))
		draw := func() float64 { return math.Ldexp(float64(1+rng.IntN(3)), rng.IntN(5)-2) } // sums of which are exact: nothing is left of the forces
		c, h, k, p := draw(), draw(), draw(), draw()
		curve := []string{"sqrt(1 + ((-1) * y)^2)", "sqrt(1 + y^2)", "sqrt(4 + y^2) * 2"}[rng.IntN(3)] // of slope 0 and curvature 1 at 0
		model, err := runtime.Compile("m.blv", fmt.Sprintf("model m\nupper {\n  var x: real in box(%v, %v)\n  minimize %v * x * y\n}\nlower {\n  var y: real in box(-1, 1)\n  minimize (-%v) * y + 1 * x * y + %v * y^2 + %v * %s\n}\n",
			c/2, 2*c, p, c, h/2, k, curve))
		if err != nil {
			t.Fatal(err)
		}
		problem, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := problem.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{c}}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved || len(r.Upper.Hypergradient) == 0 {
			continue
		}
		given++
		want := -p * c / (h + k)
		if got, e := r.Upper.Hypergradient[0].Data[0], float64(r.Stationarity.GradientError); math.Abs(got-want) > math.Max(e, 1e-6*math.Abs(want)) {
			t.Errorf("seed %d: %v, known to %v, truly %v\nc %v, h %v, k %v, p %v, %s", seed, got, e, want, c, h, k, p, curve)
		}
	}
	if given < members.Part(80, 320) {
		t.Errorf("only %d have a gradient", given)
	}
}
