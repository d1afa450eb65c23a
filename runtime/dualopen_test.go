package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Where a leader who reads prices has a curved constraint, no rule of ties says which of several prices count: the result, and an
// evaluation, say that they are not unique where a plant is just full and the next one idle, by hand, and nowhere else.
func TestPricesThatAreNotUniqueAreSaidToBe(t *testing.T) {
	t.Parallel()
	for k := range members.SeedsOf(t, 12, 20) {
		rng := rand.New(rand.NewPCG(k, 71))
		room, base := 1+float64(rng.IntN(4)), 1+float64(rng.IntN(3))
		text := fmt.Sprintf(`model prices
upper {
  var x: vector[2] in box(0, 5)
  minimize (x[1] - 1)^2 + (x[2] - 1)^2 + 0.1 * dual(balance)
  subject to curved: x[1] * x[2] <= 30
}
lower {
  var cheap: real in box(0, %v)
  var dear: real in nonneg
  minimize 10 * cheap + 0.5 * cheap^2 + 20 * dear + dear^2
  subject to balance: %v + x[1] == cheap + dear
}
`, base+room, base)
		p := bindText(t, text)
		for _, x := range []float64{room, room - 0.25, room + 0.25} {
			r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{2}, Data: []float64{x, 1}}}, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if said := len(r.Lower.Dependent) > 0; said != (x == room) || !verified(p, r) {
				t.Errorf("at x = %v, where the plant is full from %v on, multipliers are said not to be unique: %v, verified %v\n%s", x, room, said, verified(p, r), text)
			}
		}
		r, err := p.Solve(context.Background(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		at, _ := r.Upper.Variables.Get("x")
		if said := len(r.Lower.Dependent) > 0; r.Status != runtime.Solved || said != (math.Abs(at.Data[0]-room) < 1e-7) || !verified(p, r) {
			t.Errorf("%s at x = %v, where the plant is full from %v on, multipliers are said not to be unique: %v\n%s", r.Status, at.Data, room, said, text)
		}
	}
}

// The multipliers of rows that meet at the follower's only answer go on along a ray, along which F falls without end where x is below 0. An entry of y beside them, at 0, counts by what it brings to F, however far its other
// bound is: in the units of that it is 1e10 times as steep.
func TestRayOfMultipliersBesideAFarBound(t *testing.T) {
	rng := members.Rand(t, 41)
	for range members.Of(10, 100) {
		far, least := math.Pow(10, 2+8*rng.Float64()), -1-3*rng.Float64()
		r := solveText(t, fmt.Sprintf(`model ray
upper {
  var x: real in box(%v, 0)
  minimize c + x * dual(r2)
}
lower {
  var a: real
  var b: real in box(-3, inf)
  var c: real in nonneg
  minimize a
  subject to
    r1: a + b <= -1
    r2: -2 * a <= -4
    r3: c <= %v
}
solve { ties = optimistic }
`, least, far), runtime.Options{})
		if r.Status != runtime.Unbounded {
			t.Errorf("x from %v, c up to %v: %v (%s), F = %v", least, far, r.Status, r.Reason, r.Upper.Objective)
		}
	}
}
