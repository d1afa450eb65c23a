package outer

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/problem"
)

// Scouts begin no farther from the start of the first run than its way led, on the line to the
// point that was drawn, and where that is nearer there.
func TestScoutsBeginNearby(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for k := range 40 {
		n := 1 + rng.IntN(6)
		r := &Result{Start: make([]float64, n)}
		x := make([]float64, n)
		for j := range x {
			r.Start[j], x[j] = rng.NormFloat64(), 3*rng.NormFloat64()
		}
		far := distance(x, r.Start)
		r.way.Reach = far * math.Exp(rng.NormFloat64())
		z := r.near(x)
		if off, most := distance(z, r.Start), math.Min(far, r.way.Reach); math.Abs(off-most) > 1e-12*far {
			t.Errorf("problem %d: %g off, not %g", k, off, most)
		}
		if off := distance(z, r.Start) + distance(z, x) - far; off > 1e-12*far {
			t.Errorf("problem %d: off the line by %g", k, off)
		}
	}
}

// Where systems are factorized all scouts together may make a tenth of the calls of the first
// run, and one begins where as many are left as that needed to come as far.
func TestScoutsAllowance(t *testing.T) {
	r := &Result{Calls: problem.Calls{F: 1000, GradF: 2000, G: 3000, GradG: 4000}}
	r.way.Calls = 700
	m := &MultiStart{Options: Options{Cost: Cost{G: 1e4}}}
	if budget, room := m.allowance(r); budget != 1000 || room != 700 {
		t.Errorf("%d calls, %d for one", budget, room)
	}
	r.way.Work = 1
	if budget, room := m.allowance(r); budget <= 10000 || room != budget/2 {
		t.Errorf("%d calls, half of that %d", budget, room)
	}
}
