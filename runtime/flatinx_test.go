package runtime_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Where the follower's answer does not react to x nor f reads it, what multipliers leave in x is the rounding of the adjoint: a strongly stationary point of a support vector machine whose margin is hard from
// some weight on is not refused for it, whatever start ended there.
func TestAnswersThatDoNotReact(t *testing.T) {
	rng, solved := members.Rand(t, 8), 0
	for k := range members.Of(3, 30) {
		n := 60
		points := func(gap float64) (x [][]float64, label []float64) {
			for range n {
				s := float64(2*rng.IntN(2) - 1)
				x, label = append(x, []float64{s*gap + 0.5*rng.NormFloat64(), 0.4*s + 0.5*rng.NormFloat64()}), append(label, s)
			}
			return x, label
		}
		x, label := points(2)
		other, told := points(0.7)
		p := bindData(t, `model svm
param n: int
data X: matrix[n, 2]
data Xv: matrix[n, 2]
data t: vector[n]
data tv: vector[n]
upper {
  var C: real in box(0.01, 10)
  minimize mean(max(0, 1 - tv .* (Xv * w + b)))
}
lower {
  var w: vector[2]
  var b: real
  minimize 0.5 * sumsq(w) + 0.005 * b^2 + C * sum(max(0, 1 - t .* (X * w + b)))
}
`, runtime.Data{"n": n, "X": x, "t": label, "Xv": other, "tv": told})
		starts := []float64{0.01 + 0.5*rng.Float64(), 3 + 7*rng.Float64()}
		for _, c := range starts {
			r, err := p.Solve(t.Context(), runtime.Options{Start: runtime.Values{{Name: "C", Data: []float64{c}}}, Search: runtime.SearchNone, Method: "pieces"})
			if err != nil {
				t.Fatal(err)
			}
			e, err := p.Evaluate(t.Context(), r.Upper.Variables[0].Data)
			if err != nil {
				t.Fatal(err)
			}
			said := fmt.Sprintf("member %d, from %v: %v (%s), F %v, and %v of the answer", k, c, r.Status, r.Reason, r.Upper.Objective, e.F)
			switch {
			case r.Status != runtime.Solved && !strings.Contains(r.Reason, "residual") && !strings.Contains(r.Reason, "of a bound at which it is not"):
				t.Log(said) // rows taken for biactive: not what this is about
			case r.Status != runtime.Solved || !verified(p, r) || math.Abs(e.F-float64(r.Upper.Objective)) > 1e-8*(1+e.F):
				t.Error(said)
			default:
				solved++
			}
		}
	}
	if solved == 0 {
		t.Error("nothing was solved")
	}
}
