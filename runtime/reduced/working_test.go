package reduced

import (
	"math"
	"testing"
)

// Rows that depend on each other almost are both kept, and the way on which one grows alone is as long as they are near to that: 1 over the sine of the angle between two of length 1, all of which its multiplier is
// divided by.
func TestReachOfNearlyDependentRows(t *testing.T) {
	for _, sine := range []float64{1, 1e-2, 1e-5, 1e-8} {
		q := &working{p: &piece{solver: &solver{f: &follower{nw: 2}}}, rows: 3, length: []float64{1, 1, 1}}
		q.c = []float64{1, 0, math.Sqrt(1 - sine*sine), sine, 1, 0} // the third is the first once more
		q.factorize()
		if len(q.use) != 2 || q.use[0] != 0 || q.use[1] != 1 {
			t.Fatalf("sine %g: the basis is of rows %v", sine, q.use)
		}
		for i, want := range []float64{1 / sine, 1 / sine, 1} {
			if got := q.reach(i); math.Abs(got-want) > 1e-6*want {
				t.Errorf("sine %g: row %d reaches %g, not %g", sine, i, got, want)
			}
		}
	}
}
