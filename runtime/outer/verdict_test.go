package outer

import (
	"math"
	"testing"

	"bilevelc/runtime/oracle"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/status"
)

// What fails at one point is no verdict on the problem, and a point of F is a witness
// against there being none.
func TestVerdictsNeedAWitness(t *testing.T) {
	for _, c := range []struct {
		err   error
		found bool
		want  status.Status
	}{
		{&qp.EmptySetError{}, false, status.Infeasible},
		{&qp.EmptySetError{}, true, status.NumericalFailure},
		{&oracle.InfeasibleError{Everywhere: true}, false, status.Infeasible},
		{&oracle.InfeasibleError{Everywhere: true}, true, status.NumericalFailure},
		{&oracle.InfeasibleError{}, false, status.NumericalFailure},
		{&qp.StalledError{}, false, status.NumericalFailure},
	} {
		if got, reason := classify(c.err, c.found); got != c.want || reason == "" {
			t.Errorf("%T %+v, a point found %v: %v (%s), want %v", c.err, c.err, c.found, got, reason, c.want)
		}
	}
}

// An approach to a limit is no fall without bound.
func TestLargeIsNotUnbounded(t *testing.T) {
	run := &Run{Start: []float64{0}, width: 1}
	for _, c := range []struct {
		x, f, g float64
		want    bool
	}{{1e11, -1e11, -1, true}, {1e11, -math.Log(1e11), -1e-11, true}, {1e11, -1 + 1e-11, -1e-22, false}, {1e9, -1e30, -1e21, false}, {1e11, -1e11, 1, false}} {
		if got := run.falls(&Sample{X: []float64{c.x}, F: c.f, G: []float64{c.g}}); got != c.want {
			t.Errorf("at %g with F = %g and slope %g: %v", c.x, c.f, c.g, got)
		}
	}
}
