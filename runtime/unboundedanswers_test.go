package runtime_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestAnswersWithoutEnd: where the follower's answers have no end, and f curves on along them, there is no answer that is worst for the leader: F is infinite there. Variables without ends of their own are not
// ones that take one value. A document with such a number is refused.
func TestAnswersWithoutEnd(t *testing.T) {
	for n := range members.Of(3, 12) {
		p := bindText(t, fmt.Sprintf(`model open
upper {
  var x: vector[%[1]d]
  minimize sumsq(x - y) + sumsq(w - 1)
}
lower {
  var w: vector[%[1]d]
  var y: vector[%[1]d]
  minimize 0.5 * sumsq(w) - x' * w + sum(y)
  subject to
    balance: sum(x) + sum(w) + sum(y) == 0
}
solve { ties = optimistic }
`, n+2))
		r, err := p.Solve(context.Background(), runtime.Options{})
		if err != nil || r.Status != runtime.Solved || r.Lower.Ties == nil || r.Lower.Ties.Unique {
			t.Fatalf("%v, %+v", err, r)
		}
		if worst := float64(r.Lower.Ties.Pessimistic); !math.IsInf(worst, 1) {
			t.Fatalf("%d: F is %v with the answer worst for the leader, and has no end", n, worst)
		}
		for _, end := range []float64{float64(r.Upper.Objective) + 0.1, float64(2 * n)} {
			forged := *r
			ties := *r.Lower.Ties
			ties.Pessimistic = runtime.Number(end)
			forged.Lower.Ties = &ties
			if v, err := p.Verify(&forged); err != nil || v.OK() {
				t.Fatalf("%d: a document with %v as the worst passes", n, end)
			}
		}
	}
}
