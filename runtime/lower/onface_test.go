package lower

import (
	"context"
	"testing"
)

func TestOnFaceReachesReferences(t *testing.T) {
	for _, name := range []string{"toy_paper_s1", "toy_mid", "toy_uniform"} {
		p, ref := toy(t, name)
		p = p.Counted()
		s := OnFace(context.Background(), p, G(p, ref.X), ref.X, ref.active(), nil)
		t.Logf("%s: n %d, active %d: %d gradients, |y - y*| %.2g, |lambda - lambda*| %.2g, stationarity %.2g, bound %.2g",
			name, p.Dy, len(ref.active()), p.Calls().GradG, distance(s.Y, ref.Y), distance(s.Lambda, ref.Multipliers),
			s.Residuals.Stationarity, s.ErrorBound)
		if s.Status != Solved {
			t.Errorf("%s: %v: %s", name, s.Status, s.Reason)
		}
		if d := distance(s.Y, ref.Y); d > 1e-9 {
			t.Errorf("%s: y is off by %g", name, d)
		}
		if d := distance(s.Lambda, ref.Multipliers); d > 1e-8 {
			t.Errorf("%s: multipliers are off by %g", name, d)
		}
		if calls := p.Calls().GradG; calls > int64(p.Dy)+10 {
			t.Errorf("%s: %d gradients for dimension %d", name, calls, p.Dy)
		}
	}
}

// Faces are solved as well as the level they belong to: to the default tolerance of alm.
func TestFacesAreSolvedToTheDefault(t *testing.T) {
	if got, want := NewFaceSolver().Tolerance, defaultALM().Tolerance; got != want {
		t.Errorf("tolerance %g, that of alm is %g", got, want)
	}
}
