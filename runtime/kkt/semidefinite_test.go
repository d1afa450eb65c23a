package kkt

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
)

// Whether a matrix is semidefinite does not depend on the units of its variables: one of the diagonal 1 and one other pair of entries r is so where |r| <= 1.
func TestSemidefiniteInAllUnits(t *testing.T) {
	rng := members.Rand(t, 1)
	for range 200 {
		r := 0.9
		if rng.IntN(2) == 0 {
			r = 1.1
		}
		unit := [3]float64{}
		for j := range unit {
			unit[j] = math.Pow(2, float64(rng.IntN(41)-20))
		}
		var entries []sparse.Entry
		for i := range unit {
			entries = append(entries, sparse.Entry{Row: i, Col: i, Val: unit[i] * unit[i]})
		}
		for _, ij := range [][2]int{{0, 2}, {2, 0}} {
			entries = append(entries, sparse.Entry{Row: ij[0], Col: ij[1], Val: r * unit[0] * unit[2]})
		}
		// A product that is rounding beside the largest entry is not told.
		if got := Semidefinite(sparse.FromEntries(3, 3, entries)); got != (r < 1) && unit[0]*unit[2] > 0x1p-40*max(unit[0]*unit[0], unit[1]*unit[1], unit[2]*unit[2]) {
			t.Errorf("units %v, r = %v: semidefinite %v", unit, r, got)
		}
	}
	if Semidefinite(sparse.FromEntries(2, 2, []sparse.Entry{{Row: 0, Col: 1, Val: -0.1}, {Row: 1, Col: 0, Val: -0.1}, {Row: 1, Col: 1, Val: 2e6}})) {
		t.Error("x y and y^2 have no convex sum")
	}
}
