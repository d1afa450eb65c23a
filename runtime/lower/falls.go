package lower

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// falls reports whether the objective keeps half its slope along d, a direction without
// curvature, as far as can be told, and so falls without bound for all that can be: from 1e8
// times the size of y, of the rows' terms, and 1, on to where the rounding of the gradient's
// terms, which grow with the way, covers the slope. No distance is far where nothing says how
// long y is: from a start at 1, where y is about 1e9, all is slope. A y that rows hold at 0 is a
// rounding that says nothing of how long the way of the others is, either.
func (w *newton) falls(y []float64) bool {
	slope := linalg.Dot(w.grad, w.d)
	size := math.Max(w.face.poly.unit(y), 1)
	for i, s := range w.face.poly.size {
		if w.face.poly.norm[i] > 0 {
			size = math.Max(size, s)
		}
	}
	length := linalg.Norm(w.d)
	// By powers of 2^16, while the next one is a double.
	for far := 1e8 * size / length; far*length < math.MaxFloat64/0x1p17; far *= 0x1p16 {
		floats.AddScaledTo(w.trial, y, far, w.d)
		if math.IsInf(w.obj.ValueGrad(w.tgrad, w.trial), -1) {
			return true
		}
		if !linalg.Finite(w.tgrad) {
			return false
		}
		rounding := 64 * tolerance.Roundoff * w.termsThere() * length
		change := linalg.Dot(w.tgrad, w.d) - slope
		switch {
		case change > -0.5*slope && change <= rounding, change <= -0.5*slope && rounding > -0.5*slope:
			return true
		case change > -0.5*slope:
			return false
		}
	}
	return true
}

// termsThere is the size of the terms of the gradient tgrad at trial: |H v| by a
// difference, v being that point with other signs, without a pattern, so that terms that cancel
// do not there. It leaves trial and tgrad as they are.
func (w *newton) termsThere() float64 {
	size, change := linalg.Norm(w.tgrad), make([]float64, w.n)
	if !w.changeBySize(change, w.trial, sign) {
		return size
	}
	return size + linalg.Norm(change)
}

// changeBySize sets dst to H v by a difference, v being y with its entries times some signs. Ends keep
// the signs of the point's entries and so stay in domains. It reports false where a gradient is not finite.
func (w *newton) changeBySize(dst, y []float64, sign func(j int) float64) bool {
	h := math.Cbrt(tolerance.Roundoff)
	clear(dst)
	z, there := make([]float64, w.n), make([]float64, w.n)
	for _, s := range []float64{1, -1} {
		for j, t := range y {
			z[j] = t * (1 + s*h*sign(j))
		}
		gradOf(w.obj, there, z)
		linalg.Axpy(dst, s/(2*h), there)
	}
	return linalg.Finite(dst)
}
