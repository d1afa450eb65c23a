package oracle_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
)

// F = |x - 1| + x^2/10: the row y >= 0 is active left of 1, where the slope of F is that of the
// other piece less 2.
func TestActiveSetChange(t *testing.T) {
	h := hyper(t, oracletest.Kink().Problem, oracle.Default, nil)
	for _, x := range []float64{-2, 0.5, 1, 1.5, 4} {
		pt, err := h.Gradient(context.Background(), []float64{x})
		if err != nil {
			t.Fatal(err)
		}
		f, err := h.ActiveSetChange(context.Background(), pt, 0)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(math.Abs(f[0])-2) > 1e-9 {
			t.Errorf("at %g: %v, want a jump by 2", x, f)
		}
	}
	p := oracletest.Quota().Problem
	h = hyper(t, p, oracle.Default, nil)
	pt, err := h.Gradient(context.Background(), []float64{1, 2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.ActiveSetChange(context.Background(), pt, 0); !errors.Is(err, oracle.ErrNoChange) {
		t.Errorf("an equality row flips: %v", err)
	}
}
