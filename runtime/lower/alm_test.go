package lower

import (
	"context"
	"slices"
	"testing"
)

func TestALMReachesReferences(t *testing.T) {
	for _, name := range []string{"toy_paper_s1", "toy_mid", "toy_uniform"} {
		p, ref := toy(t, name)
		p = p.Counted()
		solver := newALM(defaultALM())
		s := solver.Solve(context.Background(), p, G(p, ref.X), ref.X, nil)
		t.Logf("%s: n %d: %d gradients, %d changes, |y - y*| %.2g, |lambda - lambda*| %.2g, bound %.2g, %+v, margins %.2g %.2g",
			name, p.Dy, p.Calls().GradG, solver.active.changes, distance(s.Y, ref.Y), distance(s.Lambda, ref.Multipliers),
			s.ErrorBound, s.Residuals, s.MinMultiplier, s.MinSlack)
		if s.Status != Solved {
			t.Errorf("%s: %v: %s", name, s.Status, s.Reason)
		}
		if d := distance(s.Y, ref.Y); d > 1e-8 || s.ErrorBound > 1e-8 {
			t.Errorf("%s: y is off by %g, certified %g", name, d, s.ErrorBound)
		}
		if d := distance(s.Lambda, ref.Multipliers); d > 1e-6 {
			t.Errorf("%s: multipliers are off by %g", name, d)
		}
		if !slices.Equal(s.Active, ref.active()) {
			t.Errorf("%s: active %v, want %v", name, s.Active, ref.active())
		}
	}
}
