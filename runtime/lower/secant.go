package lower

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
)

// secants correct the steps of the chord method on a face: what the gradient did along
// earlier steps says how H at hand differs from the one at the solution. They are the
// pairs of L-BFGS (Nocedal 1980) on top of H^-1 along the face in the place of a
// multiple of the identity. Steps that shrank by a fixed ratio then shrink
// superlinearly, and solves next to each other go on from each other's pairs.
type secants struct {
	s, g [][]float64 // steps along the face, and the changes of the gradient along it
	rho  []float64   // 1 / s'g
	face []int       // rows of the face
	coef []float64
}

// secantsKept is how many pairs are kept: the chord method takes a dozen steps from its
// Hessian to rounding where a step leaves a tenth.
const secantsKept = 12

func (q *secants) clear() { q.s, q.g, q.rho = q.s[:0], q.g[:0], q.rho[:0] }

// on forgets the pairs unless they are of this face.
func (q *secants) on(rows []int) {
	if !slices.Equal(q.face, rows) {
		q.clear()
		q.face = append(q.face[:0], rows...)
	}
}

// add takes a step and the change of the gradient along the face, unless the change is
// within some times its rounding, or shows no curvature.
func (q *secants) add(s, g []float64, rounding float64) {
	// From a change of a thousand roundings a pair has three digits, which is what a
	// step is to gain.
	size, bend := linalg.Norm(g), linalg.Dot(s, g)
	if !(size > 1e3*rounding) || !(bend > math.Sqrt(roundingUnit)*size*linalg.Norm(s)) {
		return
	}
	if len(q.s) == secantsKept {
		first, change := q.s[0], q.g[0]
		q.s, q.g, q.rho = append(q.s[:0], q.s[1:]...), append(q.g[:0], q.g[1:]...), append(q.rho[:0], q.rho[1:]...)
		s, g = append(first[:0], s...), append(change[:0], g...)
	} else {
		s, g = append([]float64(nil), s...), append([]float64(nil), g...)
	}
	q.s, q.g, q.rho = append(q.s, s), append(q.g, g), append(q.rho, 1/bend)
}

// step overwrites r, minus the gradient along the face, with the step of the corrected
// Hessian: solve overwrites a vector along the face with H^-1 of it there, or reports that
// it could not.
func (q *secants) step(r []float64, solve func(v []float64) bool) bool {
	k := len(q.s)
	q.coef = resize(q.coef, k)
	for i := k - 1; i >= 0; i-- {
		q.coef[i] = q.rho[i] * linalg.Dot(q.s[i], r)
		linalg.Axpy(r, -q.coef[i], q.g[i])
	}
	if !solve(r) {
		return false
	}
	for i := range k {
		linalg.Axpy(r, q.coef[i]-q.rho[i]*linalg.Dot(q.g[i], r), q.s[i])
	}
	return true
}
