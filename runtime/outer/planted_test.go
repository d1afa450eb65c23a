package outer

import (
	"context"
	"fmt"
	"math"
	"testing"

	"bilevelc/internal/planted"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/status"
)

// Planted optima where several kinks of F meet, with the project's own lower
// solver and default settings: the optimum is found to rounding and certified.
func TestBundleOnPlantedKinks(t *testing.T) {
	for _, o := range []planted.Options{
		{Family: planted.Convex, Dx: 2, Dy: 6, Floors: 4, Active: 1, Kinks: 2, Condition: 10, Seed: 1},
		{Family: planted.Convex, Dx: 10, Dy: 20, Links: 2, Floors: 10, Active: 4, Kinks: 2, Weak: 1, Condition: 100, Seed: 1},
		{Family: planted.Convex, Dx: 10, Dy: 30, Links: 2, Floors: 20, Active: 4, Kinks: 10, Weak: 1, Condition: 100, Seed: 2},
		{Family: planted.Convex, Dx: 10, Dy: 30, Links: 2, Floors: 20, Active: 4, Kinks: 10, Weak: 1, Curved: true, Condition: 10, Seed: 2},
		{Family: planted.Convex, Dx: 10, Dy: 30, Links: 2, Floors: 20, Active: 4, Kinks: 6, Bounds: true, Condition: 100, Seed: 5},
		{Family: planted.Slack, Dx: 10, Dy: 30, Links: 2, Floors: 20, Active: 4, Kinks: 5, Weak: 1, Condition: 100, Seed: 3},
		{Family: planted.Slack, Dx: 10, Dy: 30, Links: 2, Floors: 20, Active: 4, Kinks: 5, Weak: 1, Condition: 100, UpperActive: 4, Seed: 3},
		{Family: planted.Convex, Dx: 30, Dy: 40, Links: 2, Floors: 25, Active: 5, Kinks: 12, Weak: 1, Condition: 100, Seed: 4},
		// More kinks meet than x has entries, and as many as it has.
		{Family: planted.Slack, Dx: 3, Dy: 21, Floors: 20, Active: 10, Kinks: 10, UpperActive: 3, Condition: 10, Seed: 733538617},
		{Family: planted.Slack, Dx: 20, Dy: 61, Floors: 40, Kinks: 30, Implied: 3, Condition: 1, Seed: 1971499990},
		{Family: planted.Slack, Dx: 12, Dy: 80, Floors: 40, Kinks: 25, Implied: 3, Condition: 1, Seed: 1971499991},
		{Family: planted.Convex, Dx: 20, Dy: 61, Floors: 40, Kinks: 30, Implied: 3, Condition: 1, Seed: 1971500000},
	} {
		name := fmt.Sprintf("%v dx %d kinks %d", o.Family, o.Dx, o.Kinks)
		in, h, r := solvePlanted(t, o)
		gap := (r.Best.F - in.Optimum.F) / (1 + math.Abs(in.Optimum.F))
		t.Logf("%s: %v, gap %.1e, distance %.1e, %d iterations, %d evaluations, %+v; %s", name, r.Status, gap,
			linalg.Distance(r.Best.X, in.Optimum.X), r.Iterations, r.Evaluations, h.Calls(), r.Reason)
		// F is known to about 1e-13 of its terms; along the kinks, where it is smooth
		// with a curvature of order 1, a gradient within its target of 1e-5 leaves the
		// square of that.
		most := 5e-11
		if o.Family == planted.Convex && o.Kinks > o.Dx {
			most = 1e-2 * r.Measure.Delta // more pieces meet than gradients tell apart: the certificate holds within its radius, short of the point itself
		}
		if r.Status != status.Solved || math.Abs(gap) > most {
			t.Errorf("%s: %v (%s), gap %.2e", name, r.Status, r.Reason, gap)
		}
		checkCertificate(t, name, r.Certificate)
	}
}

// solvePlanted solves a planted problem by the project's own lower solver and default settings.
func solvePlanted(t *testing.T, o planted.Options) (*planted.Instance, *oracle.Hyper, *Result) {
	t.Helper()
	in, err := planted.New(o)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := lower.Lookup(lower.Default)
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	h := oracle.New(in.Problem, s, &oracle.Face{Settings: *oracle.DefaultFace()})
	r, err := Solve(context.Background(), h, "bundle", &bundle{Settings: *defaultBundle()},
		Options{Start: in.Problem.Start, Seed: 1, Limits: Limits{Iterations: 1000}})
	if r.Best == nil { // other ends without a certificate are told by the status
		t.Fatalf("%+v: %s: %v", o, r.Reason, err)
	}
	return in, h, r
}
