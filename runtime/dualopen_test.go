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
	for k := range members.Seeds(t, 20) {
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
