package runtime_test

import (
	"context"
	"math"
	"testing"

	"bilevelc/runtime"
)

// A safe point is found where several rows have to change sides at once, and where the follower's other multipliers, which nobody reads, are not unique there either. What the plant earns,
// and what customers pay, is counted by hand.
func TestSafePointsOfDegenerateFollowers(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		f      func(x []float64) float64 // with the follower's only answer, next to the optimum
		want   float64
	}{
		// At 50 built the first hour needs no other plant and the third all of the first one's 60: both prices are open. Beside it they are 25 and 60.
		"two hours just full": {`model invest
upper {
  var built: real in box(0, 50)
  maximize sum(b in 1..3: (dual(balance)[b] - 8) * mine[b]) - built
}
lower {
  var mine: vector[3] in nonneg
  var cheap: vector[3] in box(0, 60)
  var dear: vector[3] in box(0, 60)
  minimize 8 * sum(mine) + 25 * sum(cheap) + 60 * sum(dear)
  subject to
    balance: [50, 80, 110] == mine + cheap + dear
    limit: mine <= built
}
solve { ties = optimistic }
`, func(x []float64) float64 { return (17+17+52)*x[0] - x[0] }, 85 * 50},
		// Where 6 are moved from the third hour to the first the one may give no more and the other take no more.
		"two limits at once": {`model retailer
data wholesale: vector[4] = [20, 30, 70, 40]
data need: vector[4] = [10, 10, 15, 12]
upper {
  var tariff: vector[4] in box(10, 100)
  maximize (tariff - wholesale)' * use
  subject to fair: sum(tariff) <= 220
}
lower {
  var use: vector[4] in nonneg
  var up: vector[4] in nonneg
  var down: vector[4] in nonneg
  minimize tariff' * use + 8 * sum(down) + 8 * sum(up)
  subject to
    shift: use == need + up - down
    total: sum(up) == sum(down)
    most: down <= 0.4 * need
    cap: use <= 16
}
solve { ties = optimistic }
`, func(x []float64) float64 { return 16*(x[0]-20) + 10*(x[1]-30) + 9*(x[2]-70) + 12*(x[3]-40) }, 815},
	} {
		t.Run(name, func(t *testing.T) {
			p := bindText(t, c.source)
			r, err := p.Solve(context.Background(), runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			safe := r.Lower.Ties.Safe
			if !same(r.Upper.Objective, c.want) || safe == nil || !verified(p, r) {
				t.Fatalf("F %v, safe point %v", r.Upper.Objective, safe)
			}
			if f := c.f(safe.Variables[0].Data); !same(safe.Objective, f) || math.Abs(f-c.want) > 1e-4*c.want {
				t.Errorf("F at the safe point is %v, by hand %v", safe.Objective, f)
			}
			at, err := p.Eval(context.Background(), safe.Variables, runtime.Options{})
			if err != nil || !at.Lower.Ties.Unique {
				t.Errorf("%v: the follower has a choice at the safe point", err)
			}
		})
	}
}
