package lower

import (
	"context"
	"slices"
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

// A solver keeps the curvature from solve to solve at one x; once released it is as a new one, to the last bit and call.
func TestReleasedSolversAreNew(t *testing.T) {
	saved := int64(0)
	for _, name := range []string{"toy_paper_s1", "toy_mid", "toy_uniform"} {
		p, ref := toy(t, name)
		p = p.Counted()
		solve := func(f *FaceSolver) (*Solution, int64) {
			before := p.Calls().GradG
			s := f.OnFace(context.Background(), p, G(p, ref.X), ref.X, ref.active(), nil)
			return s, p.Calls().GradG - before
		}
		f := NewFaceSolver()
		first, calls := solve(f)
		_, kept := solve(f)
		f.Release()
		again, anew := solve(f)
		if saved += calls - kept; anew != calls || !slices.Equal(again.Y, first.Y) || !slices.Equal(again.Lambda, first.Lambda) {
			t.Errorf("%s: a new solver takes %d gradients, a released one %d, to a y at a distance of %g", name, calls, anew, distance(again.Y, first.Y))
		}
	}
	if saved <= 0 {
		t.Errorf("%d gradients are saved by solves before", saved)
	}
}
