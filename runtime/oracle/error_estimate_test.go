package oracle_test

import (
	"context"
	"math"
	"testing"

	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
)

// The errors that oracles state are errors: of a difference with a long step, where the
// truncation shows, and of every oracle at its defaults, against the exact gradient.
func TestStatedErrors(t *testing.T) {
	spec, err := lower.Lookup(lower.Default)
	if err != nil {
		t.Fatal(err)
	}
	gradient := func(c oracletest.Case, o oracle.Oracle) *oracle.Point {
		s, err := spec.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		h := oracle.New(c.Problem, s, o)
		x := append([]float64(nil), c.Start...)
		for j := range x {
			x[j] += 0.37 + 0.11*float64(j)
		}
		if err := h.Project(x, x); err != nil {
			t.Fatal(err)
		}
		pt, err := h.Gradient(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		return pt
	}
	coarse := *oracle.DefaultDifference()
	coarse.Central, coarse.Reach = false, 1e-2
	seen := 0
	for _, c := range append(oracletest.Bolib(), oracletest.Quota(), oracletest.Toll()) {
		exact := gradient(c, &oracle.Face{Settings: *oracle.DefaultFace()})
		if !exact.Strict {
			continue
		}
		for name, o := range map[string]oracle.Oracle{"coarse difference": &oracle.Difference{Settings: coarse},
			"difference": &oracle.Difference{Settings: *oracle.DefaultDifference()}, "penalty": &oracle.Penalty{Settings: *oracle.DefaultPenalty()},
			"value": &oracle.Value{Settings: *oracle.DefaultValue()}} {
			pt := gradient(c, o)
			off, size := 0.0, 0.0
			for j, g := range exact.Grad {
				off, size = math.Hypot(off, g-pt.Grad[j]), math.Hypot(size, g)
			}
			if off > 10*pt.GradError+exact.GradError {
				t.Errorf("%s on %s: off by %.2e, stated %.2e, gradient %.2e", name, c.Name, off, pt.GradError, size)
			}
			if off > 1e-6*size {
				seen++
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d errors were there to be stated", seen)
	}
}
