package oracle_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
)

// F = |x - 1| + x^2/10: the row y >= 0 is active left of 1, where F is the
// other piece plus 2 (1 - x).
func TestFlip(t *testing.T) {
	h := hyper(t, oracletest.Kink().Problem, oracle.Default, nil)
	for _, x := range []float64{-2, 0.5, 1, 1.5, 4} {
		pt, err := h.Gradient(context.Background(), []float64{x})
		if err != nil {
			t.Fatal(err)
		}
		f, err := h.Flip(context.Background(), pt, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(f.Value-2*(1-x)) > 1e-12 || math.Abs(f.Grad[0]+2) > 1e-9 || !f.Convex {
			t.Errorf("at %g: %+v, want value %v, gradient -2, convex", x, f, 2*(1-x))
		}
	}
	// -F has the same kink, concave.
	turned := *oracletest.Kink().Problem
	turned.F = oracletest.FromFormula(1, 1, func(x, y []float64) float64 { return x[0] - 1 - 2*y[0] })
	concave := hyper(t, &turned, oracle.Default, nil)
	for _, x := range []float64{0, 1, 2} {
		pt, err := concave.Gradient(context.Background(), []float64{x})
		if err != nil {
			t.Fatal(err)
		}
		if f, err := concave.Flip(context.Background(), pt, 0, nil); err != nil || f.Convex {
			t.Errorf("at %g: %+v (%v), want a concave kink", x, f, err)
		}
	}
	p := oracletest.Quota().Problem
	h = hyper(t, p, oracle.Default, nil)
	pt, err := h.Gradient(context.Background(), []float64{1, 2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Flip(context.Background(), pt, 0, nil); !errors.Is(err, oracle.ErrNoFlip) {
		t.Errorf("an equality row flips: %v", err)
	}
}
