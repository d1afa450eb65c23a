package lower

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/linalg"
)

// TestSecants asks of random pairs what makes a secant method: the corrected inverse
// takes the last change of the gradient back to the last step, whatever Hessian it
// corrects, and stays positive definite; and pairs within rounding do not count.
func TestSecants(t *testing.T) {
	for seed := range uint64(20) {
		draw := rand.New(rand.NewPCG(seed, 3))
		n := 2 + draw.IntN(8)
		vector := func() []float64 {
			v := make([]float64, n)
			for j := range v {
				v[j] = draw.NormFloat64()
			}
			return v
		}
		scale := vector()
		solve := func(v []float64) bool {
			for j := range v {
				v[j] *= math.Exp(scale[j])
			}
			return true
		}
		var q secants
		q.on([]int{1, 2})
		var s, g []float64
		for range 1 + draw.IntN(2*secantsKept) {
			s, g = vector(), vector()
			if linalg.Dot(s, g) < 0 {
				for j := range s {
					s[j] = -s[j]
				}
			}
			q.add(s, g, 0)
		}
		kept := len(q.s)
		q.add(s, g, linalg.Norm(g)/500)
		q.add(s, []float64{0, 0, 0, 0, 0, 0, 0, 0, 0}[:n], 0)
		if len(q.s) != kept || kept == 0 || kept > secantsKept {
			t.Fatalf("seed %d: %d pairs, then %d", seed, kept, len(q.s))
		}
		back := append([]float64(nil), g...)
		if !q.step(back, solve) || linalg.Distance(back, s) > 1e-9*linalg.Norm(s)*math.Exp(linalg.Norm(scale)) {
			t.Errorf("seed %d: the last change gives %v, and the step was %v", seed, back, s)
		}
		r := vector()
		d := append([]float64(nil), r...)
		if q.step(d, solve); !(linalg.Dot(d, r) > 0) {
			t.Errorf("seed %d: a direction of ascent", seed)
		}
		if q.on([]int{1, 3}); len(q.s) != 0 {
			t.Errorf("seed %d: pairs of another face are kept", seed)
		}
	}
}
