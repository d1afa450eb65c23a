package oracle

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/lower"
)

// Where a perturbed follower's answer is a polynomial of degree three in the perturbation, the guess of it from the ends of a difference is off by the third term alone, on either side; there is none from ends that
// were given up as too far.
func TestGuessBetweenTheEnds(t *testing.T) {
	rng := members.Rand(t, 62)
	for k := range members.Of(100, 1000) {
		n, delta := 1+rng.IntN(4), math.Pow(10, 4*rng.Float64()-4)
		c := make([][4]float64, n)
		for j := range c {
			for i := range c[j] {
				c[j][i] = rng.NormFloat64()
			}
		}
		at := func(t float64) []float64 {
			y := make([]float64, n)
			for j, c := range c {
				y[j] = c[0] + t*(c[1]+t*(c[2]+t*c[3]))
			}
			return y
		}
		d := &differences{at: &At{Lower: &lower.Solution{Y: at(0)}}}
		if d.between(delta) != nil {
			t.Errorf("case %d: a guess from nothing", k)
		}
		d.pair = &ends{delta, at(delta), at(-delta)}
		for _, part := range []float64{0.5, -0.5, 0.8, -1} {
			to := part * delta
			want := at(to)
			for j, got := range d.between(to) {
				// The parabola through -delta, 0 and delta has c_3 delta^2 t in the place of c_3 t^3.
				if want := want[j] + c[j][3]*to*(delta*delta-to*to); math.Abs(got-want) > 1e-14*(1+math.Abs(want)) {
					t.Errorf("case %d: at %g of %g entry %d is guessed as %v, not %v", k, part, delta, j, got, want)
				}
			}
		}
		if d.between(delta/64) != nil {
			t.Errorf("case %d: a guess from ends that are too far", k)
		}
	}
}
