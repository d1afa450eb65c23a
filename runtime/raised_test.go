package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestFreePlanted: x and y are free, f is convex in x and falls with y, which no relaxation without the products of multipliers and slacks bounds: the least F, known from each pair alone before variables are reflected, is proved.
func TestFreePlanted(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 4, 20) {
		rng := rand.New(rand.NewPCG(seed, 75))
		n := 25
		a, c, x, u, v := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		want, uu, vv := 0.0, 0.0, 0.0
		for i := range n {
			a[i], c[i], x[i], u[i], v[i] = rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			uu, vv = uu+u[i]*u[i], vv+v[i]*v[i]
			// min over w of (w - x)^2/2 + c max(0, w - a): at the least of either side, or the kink.
			least := math.Inf(1)
			for _, w := range []float64{math.Min(x[i], a[i]), math.Max(x[i]-c[i], a[i])} {
				least = math.Min(least, (w-x[i])*(w-x[i])/2+c[i]*math.Max(0, w-a[i]))
			}
			want += least
		}
		text := fmt.Sprintf(`model planted
data a: vector[%[1]d]
data c: vector[%[1]d]
data t: vector[%[1]d]
data u: vector[%[1]d]
data v: vector[%[1]d]
upper {
  var x: vector[%[1]d]
  minimize 0.5 * sumsq(x - %.17[2]g * (u' * x) * u - t) + c' * (y - %.17[3]g * (v' * y) * v)
}
lower {
  var y: vector[%[1]d]
  minimize 0.5 * sumsq(y) - (x - %.17[2]g * (u' * x) * u - a)' * (y - %.17[3]g * (v' * y) * v)
  subject to y - %.17[3]g * (v' * y) * v >= 0
}
`, n, 2/uu, 2/vv)
		p := bindData(t, text, runtime.Data{"a": a, "c": c, "t": x, "u": u, "v": v})
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Global == nil || !r.Global.Proved || math.Abs(float64(r.Upper.Objective)-want) > 1e-6*math.Abs(want) || !verified(p, r) {
			t.Errorf("seed %d: %s, %s, F %v, not %v", seed, r.Status, r.Reason, float64(r.Upper.Objective), want)
		}
	}
}
