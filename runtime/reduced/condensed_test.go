package reduced_test

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/reduced"
	"bilevelc/runtime/tolerance"
)

// F as a function of x and the multipliers is that of the exact answers; the phases go by it alone, and what they end at is finished with y.
func TestCondensed(t *testing.T) {
	rng := members.Rand(t, 41)
	values := 0
	for c := range 100 {
		p := random(rng, kind{nonconvex: c%2 == 0, equality: c%3 == 0, bind: c%4 == 0, rows: c%5 == 0, tall: true})
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		space, err := reduced.New(s)
		if err != nil || !reduced.Condensed(space) {
			t.Fatalf("case %d: condensed %v, %v", c, err == nil, err)
		}
		u, sampler := newTruth(t, s), space.Sampler(nil)
		for range 10 {
			x := make([]float64, p.Dx)
			for j := range x {
				x[j] = p.X.Lo[j] + rng.Float64()*(p.X.Hi[j]-p.X.Lo[j])
			}
			if !inX(p, x, 0) {
				continue
			}
			_, value, ok := u.at(x)
			if f, found := sampler.Value(x); !ok || !found {
				continue
			} else if values++; math.Abs(f-value) > tolerance.Sign*(1+math.Abs(value)) {
				t.Errorf("case %d: F is %v at %v, not %v", c, f, x, value)
			}
		}
	}
	if values < 300 {
		t.Errorf("only %d values", values)
	}
}
