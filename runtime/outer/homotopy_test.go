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
		a := &pathState{Mu: scale, Ratio: tolerance.MuShrink, Scale: central.Barrier{Mu: scale}}
		for a.Mu > 1e-6*scale {
			steps := rng.IntN(3 * manySteps)
			ratio := a.Ratio
			a.fall(steps)
			if by := a.Mu / a.Last; !(by >= tolerance.MuShrink*(1-1e-12) && by <= mostRatio) {
				t.Fatalf("run %d: mu falls by %g", k, by)
			}
			if steps > manySteps && a.Ratio < ratio || steps <= fewSteps && a.Ratio > ratio || steps > fewSteps && steps <= manySteps && a.Ratio != ratio {
				t.Fatalf("run %d: after %d steps the ratio is %g, before %g", k, steps, a.Ratio, ratio)
			}
		}
	}
}

// A descent that has come to need a matrix has those after it begin with one; whether they still
// need it is asked after 1, 2, 4, ... of them.
func TestStagesThatBeginWithAMatrix(t *testing.T) {
	a, whole := &pathState{}, ""
	for range 12 {
		if a.Whole > 0 {
			whole += "w"
		} else {
			whole += "."
		}
		a.learn(&smoothDescent{metric: &metric{}})
	}
	if whole != ".w.ww.wwww.w" {
		t.Error(whole)
	}
	a = &pathState{Wholes: 4}
	if a.learn(&smoothDescent{}); a.Whole != 0 || a.Wholes != 0 {
		t.Errorf("%d of %d stages to come begin with a matrix that the last did not need", a.Whole, a.Wholes)
	}
}
