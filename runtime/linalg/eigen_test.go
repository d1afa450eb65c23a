package linalg

import (
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestEigenvaluesOfTinyParts: a block of entries near 0 beside one that is not
// has its eigenvalues.
func TestEigenvaluesOfTinyParts(t *testing.T) {
	for _, tiny := range []float64{1e-100, 1e-130, 1e-150, 1e-300} {
		a := mat.NewSymDense(5, nil)
		a.SetSym(0, 0, 3)
		a.SetSym(1, 1, 5)
		a.SetSym(0, 1, 1)
		for i := 2; i < 5; i++ {
			a.SetSym(i, i, 2*tiny)
		}
		a.SetSym(2, 3, tiny)
		a.SetSym(3, 4, tiny)
		values, ok := Eigenvalues(a)
		if !ok || len(values) != 5 || values[4] < 5.4 || values[4] > 5.42 || values[0] < -1e-15 || values[0] > 1e-15 {
			t.Errorf("blocks of 1 and of %g: eigenvalues %v, %v", tiny, values, ok)
		}
	}
}
