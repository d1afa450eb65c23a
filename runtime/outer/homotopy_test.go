package outer

import (
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/central"
	"bilevelc/runtime/tolerance"
)

// Whatever stages take, mu falls by a tenth to a half.
func TestStages(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for k := range 100 {
		scale := 0.1 + rng.Float64()
		a := &path{mu: scale, ratio: tolerance.MuShrink, scale: central.Barrier{Mu: scale}}
		for a.mu > 1e-6*scale {
			steps := rng.IntN(3 * manySteps)
			ratio := a.ratio
			a.fall(steps)
			if by := a.mu / a.last; !(by >= tolerance.MuShrink*(1-1e-12) && by <= mostRatio) {
				t.Fatalf("run %d: mu falls by %g", k, by)
			}
			if steps > manySteps && a.ratio < ratio || steps <= fewSteps && a.ratio > ratio || steps > fewSteps && steps <= manySteps && a.ratio != ratio {
				t.Fatalf("run %d: after %d steps the ratio is %g, before %g", k, steps, a.ratio, ratio)
			}
		}
	}
}

// A descent that has come to need a matrix has those after it begin with one; whether they still
// need it is asked after 1, 2, 4, ... of them.
func TestStagesThatBeginWithAMatrix(t *testing.T) {
	a, whole := &path{}, ""
	for range 12 {
		if a.whole > 0 {
			whole += "w"
		} else {
			whole += "."
		}
		a.learn(&smoothDescent{metric: &metric{}})
	}
	if whole != ".w.ww.wwww.w" {
		t.Error(whole)
	}
	a = &path{wholes: 4}
	if a.learn(&smoothDescent{}); a.whole != 0 || a.wholes != 0 {
		t.Errorf("%d of %d stages to come begin with a matrix that the last did not need", a.whole, a.wholes)
	}
}
