package runtime_test

import (
	"context"
	"testing"

	"bilevelc/runtime"
)

// F is a product of a price without end and an answer that is not negative, and not negative: where the follower takes none of what is priced, the rounding of that 0 is no rate at which F falls without bound.
func TestZeroIsNoRate(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`model zero
upper {
  var x1: real in nonneg
  minimize x1 * y1
}
lower {
  var y1: real in nonneg
  var y2: real in nonneg
  var y3: real in nonneg
  minimize -x1 * y2 + y3
  subject to
    r4: y1 + y2 + y3 <= 1
    r5: -x1 <= -1
}
solve { ties = optimistic }
`, `model zero
upper {
  var x1: real in nonneg
  minimize -2 * y1 + x1 * y1
}
lower {
  var y1: real in box(0, 1)
  var y2: real in box(2.2, inf)
  var y3: real in box(1, inf)
  minimize 3 * x1 * y1 - 3 * x1 * y2 + 1.2 * y3
  subject to
    r5: y1 + y2 + y3 <= 4.2
    r6: -2 * x1 + y1 - 3 * y2 - 2 * y3 <= -18.2
}
solve { ties = optimistic }
`} {
		m, err := runtime.Compile("zero.blv", text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := p.Solve(context.Background(), runtime.Options{}); err != nil || r.Status != runtime.Solved || r.Upper.Objective != 0 {
			t.Errorf("%+v %v\n%s", r, err, text)
		}
	}
}
