package runtime

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
)

// Where the gradient of f is exactly 0, at x = 0 for cosines of an answer that is b x between its bounds, all multipliers are 0, and the point is kept: what a linear program without an objective has
// for some is rounding, beside which f has no terms. F is that of the closed form.
func TestGradientThatIsZero(t *testing.T) {
	for seed := range members.SeedsOf(t, 4, 40) {
		rng := rand.New(rand.NewPCG(seed, 33))
		n := 20 + rng.IntN(81)
		a, b := make([]float64, n), make([]float64, n)
		for j := range a {
			a[j], b[j] = rng.NormFloat64(), rng.NormFloat64()
		}
		model, err := Compile("m.blv", "model m\nparam n: int\ndata a: vector[n]\ndata b: vector[n]\nupper {\n  var x: real in box(-6, 6)\n  minimize sum(a .* cos(3 * y)) / n + 0.02 * x^2\n}\n"+
			"lower {\n  var y: vector[n] in box(-1, 2)\n  minimize sumsq(y - b * x)\n}\n")
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(Data{"n": n, "a": a, "b": b}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), Options{Start: Values{{Name: "x", Data: []float64{0}}}, Starts: 1})
		if err != nil {
			t.Fatal(err)
		}
		x, _ := r.Upper.Variables.Get("x")
		f := 0.02 * x.Data[0] * x.Data[0]
		for j := range a {
			f += a[j] * math.Cos(3*min(max(b[j]*x.Data[0], -1), 2)) / float64(n)
		}
		if r.Status != Solved || !r.onSystem() || math.Abs(float64(r.Upper.Objective)-f) > 1e-12*(1+math.Abs(f)) {
			t.Errorf("seed %d: %s, %s, F %v at %v, where it is %v", seed, r.Status, fmt.Sprint(r.Reason, "; ", r.Global.Why), r.Upper.Objective, x.Data[0], f)
		}
	}
}
