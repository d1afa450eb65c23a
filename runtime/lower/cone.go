package lower

import (
	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// project replaces the face by the one that the projection of the model's
// gradient onto the cone of the binding rows' normals lies on: nonnegative
// least squares of gz = B' lambda (Lawson and Hanson 1974, chapter 23), from
// the present face.
func (w *activeSet) project() {
	for { // what pushes the wrong way leaves
		w.face.multipliers(w.lambda, w.gz)
		row, force := w.worst(w.lambda)
		if row < 0 || force >= 0 {
			break
		}
		w.face.drop(row)
	}
	copy(w.current, w.lambda)
	w.boundary.set(w.poly, &w.face, w.z)
	w.press()
}

// press adds the binding rows to the face that the cone asks for, one at a time.
func (w *activeSet) press() {
	// Each addition lowers the distance to the cone, so no face repeats.
	for additions := 0; additions < 3*(w.poly.m+1); additions++ {
		copy(w.s, w.gz)
		w.face.project(w.s)
		floats.Scale(-1, w.s)
		row := w.steepest(w.s)
		if row < 0 || !w.face.add(row) {
			return
		}
		w.current[row] = 0
		w.descend()
	}
}

// steepest is the binding row outside the face that the direction d violates
// most, or -1.
func (w *activeSet) steepest(d []float64) int {
	row, worst := -1, -tolerance.Dependence*linalg.Norm(d)
	for i, s := range w.boundary.slack {
		if w.face.in[i] || w.poly.equal(i) || w.poly.norm[i] == 0 || s > 0 {
			continue
		}
		if v := w.poly.speed(i, d); v < worst {
			row, worst = i, v
		}
	}
	return row
}

// descend moves the multipliers `current` to the least-squares solution on the
// face, dropping rows whose multiplier reaches zero on the way.
func (w *activeSet) descend() {
	for {
		w.face.multipliers(w.lambda, w.gz)
		fraction, leaving := 1.0, -1
		for i, in := range w.face.in {
			if !in || w.poly.equal(i) || w.lambda[i] > 0 {
				continue
			}
			t := 0.0
			if w.current[i] > w.lambda[i] {
				t = w.current[i] / (w.current[i] - w.lambda[i])
			}
			if t < fraction || leaving < 0 {
				fraction, leaving = t, i
			}
		}
		if leaving < 0 {
			copy(w.current, w.lambda)
			return
		}
		for i, in := range w.face.in {
			if in {
				w.current[i] += fraction * (w.lambda[i] - w.current[i])
			}
		}
		w.current[leaving] = 0
		w.face.drop(leaving)
		w.boundary.slack[leaving] = 0
	}
}
