package tree_test

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tree"
)

// A gap is relative to f while its terms tell f from 0, in whatever units; beyond, DefaultGap of its scale is the accuracy of the terms.
func TestGapsInUnits(t *testing.T) {
	rng := members.Rand(t, 12)
	for range members.Of(200, 2000) {
		terms, share := math.Pow(10, 24*rng.Float64()-12), math.Pow(10, -6*rng.Float64())
		sign := float64(1 - 2*rng.IntN(2))
		if f := sign * terms * (2 * kkt.Tolerance) / share; tree.GapScale(f, terms) != math.Abs(f) {
			t.Errorf("the gap of %g, of terms of %g, is relative to %g", f, terms, tree.GapScale(f, terms))
		}
		f := sign * terms * (0.5 * kkt.Tolerance) * share
		if got, want := tree.GapScale(f, terms)*tree.DefaultGap, kkt.Tolerance*terms; math.Abs(got-want) > 1e-12*want {
			t.Errorf("a gap of %g counts for an f of %g, of terms of %g: they are accurate to %g", got, f, terms, want)
		}
	}
}
