package certify

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/tolerance"
)

// F is a continuous selection of smooth pieces, one for each face of the lower
// level. Its gradient on a face counts as an element of the subdifferential of F
// only where F is that piece on an open set: at points with strict
// complementarity, or, at a point with weakly active rows, where a direction
// exists along which the face's own conditions become strict. A face that
// solves the KKT conditions at the point alone says nothing: with
// y = (max(x, 0), max(-x, 0)) the face on which both entries are held has a
// gradient at 0, but F is that piece nowhere else.

var (
	errNowhere = errors.New("the weakly active rows leave this face no open set: F is not this piece near by")
	errMany    = errors.New("too many weakly active rows to tell the pieces apart")
)

// attained checks that F is the piece of at on an open set that has at.x in its
// closure, within radius: strict complementarity at at.x, or a direction along
// which all weak rows become strict, confirmed at a point along it.
func (d *deriver) attained(at *derived, radius float64) error {
	weak := d.weak(at)
	if len(weak) > max(200, d.p.Dy) { // each costs an adjoint solve and two gradients of g
		return errMany
	}
	slopes, open, err := d.slopes(at, weak)
	if err != nil || len(slopes) == 0 {
		return err
	}
	direction := d.inward(at.x, slopes)
	if direction == nil {
		// Nothing that x can do decides a row across X: the pieces on both of its sides are
		// one function on X, and their gradients differ by a normal to it.
		if slopes, open = d.felt(at.x, at.y, slopes, open); len(slopes) == 0 {
			return nil
		}
		direction = d.inward(at.x, slopes)
	}
	if direction == nil {
		return errNowhere
	}
	// A point along it at which the conditions hold strictly. Far enough that the
	// errors of y do not matter, near enough that the rest stays as it is.
	for step := radius; step >= 1e-4*radius; step /= 10 {
		if there, err := d.onFace(moved(at.x, step, direction), at.y, at.face); err == nil && d.strictly(there, open) {
			return nil
		}
	}
	return errNowhere
}

// slopes are the directions, of unit length, in which x decides each weak row
// the way the face has it: slack for a row outside, a multiplier for one inside. open
// are the rows that they belong to. A row that nothing decides to first order
// follows from the others, as the duplicate of an active one does, and is left
// out.
func (d *deriver) slopes(at *derived, weak []int) (slopes [][]float64, open []int, err error) {
	inside := places(at.active)
	for _, i := range weak {
		size := d.s.rows[i] / d.s.x
		k, in := inside[i]
		slope, err := d.slope(at, i, k, in)
		if err != nil {
			return nil, nil, err
		}
		if !in {
			d.p.Rows.A.AddRow(slope, i, -1)
		}
		if norm(slope) <= tolerance.Weak*size {
			continue
		}
		slopes, open = append(slopes, scaled(slope, 1/norm(slope))), append(open, i)
	}
	return slopes, open, nil
}

// slope is the sensitivity of what decides whether row i holds y, but for the row's own part in x: of the slack of a row outside, and of
// the way that the k-th row inside gives.
func (d *deriver) slope(at *derived, i, k int, inside bool) ([]float64, error) {
	cy, cv := make([]float64, d.p.Dy), make([]float64, len(at.active))
	if inside {
		cv[k] = -at.system.give(k)
	} else {
		d.p.Rows.B.AddRow(cy, i, 1)
	}
	return d.sensitivity(at, cy, cv, func() (p, q []float64, err error) { return d.adjoint(at, i, k, inside) })
}

// strictly reports that the KKT conditions hold at a point of a face, those of the given rows beyond the errors.
func (d *deriver) strictly(at *derived, open []int) bool {
	decide, holds := set(open), true
	d.sides(at, func(i, k int, in bool, size float64) {
		holds = holds && size >= -d.coarse(at, i, in) && !(decide[i] && d.withinUncertainty(at, i, k, in, size, 1))
	})
	return holds
}

// gradientNear finds the gradient of F at x (with y near y*(x)) that is nearest
// to the claimed one, among the pieces that F has on an open set there. hints
// are faces that the document names; at a point with weak rows of which no hint
// says the side, all faces that differ in them are tried, if they are few.
func (d *deriver) gradientNear(x, y []float64, hints [][]int, claimed []float64, enough, radius float64) (*derived, []float64, error) {
	start := []int{}
	if len(hints) > 0 {
		start = hints[0]
	}
	at, err := d.lower(x, y, start)
	if err != nil {
		return nil, nil, fmt.Errorf("the lower level could not be solved again: %w", err)
	}
	var best []float64
	var where *derived
	var failure error
	try := func(there *derived) bool {
		found, err := d.gradient(there)
		if err == nil && (best == nil || d.apart(claimed, found) < d.apart(claimed, best)) {
			if err = d.attained(there, radius); err == nil {
				best, where = found, there
			}
		}
		if err != nil {
			failure = err
		}
		return best != nil && d.apart(claimed, best) <= enough
	}
	if try(at) {
		return where, best, nil
	}
	weak := d.weak(at)
	sides, many := slices.Clone(hints), math.Exp2(float64(len(weak))) > tolerance.Branches
	for subset := 0; !many && subset < 1<<len(weak); subset++ {
		sides = append(sides, picked(weak, each.WhereBelow(len(weak), func(k int) bool { return subset>>k&1 == 1 })))
	}
	for _, side := range sides {
		if other, ok := d.withSides(at, weak, side); ok && try(other) {
			break
		}
	}
	switch {
	case best != nil:
		return where, best, nil
	case many:
		failure = errMany
	case failure == nil:
		failure = errNowhere
	}
	return at, nil, failure
}

// withSides is the face of at with those of the weak rows held that are in side
// and no others; false where it does not solve the lower level at at.x. Of a weak row that is to within what it is known to.
func (d *deriver) withSides(at *derived, weak, side []int) (*derived, bool) {
	face, changed := set(at.face), false
	for _, i := range weak {
		held := slices.Contains(side, i)
		changed = changed || held != face[i]
		if held {
			face[i] = true
		} else {
			delete(face, i)
		}
	}
	if !changed {
		return nil, false
	}
	other, err := d.onFace(at.x, at.y, slices.Sorted(maps.Keys(face)))
	if err != nil {
		return nil, false
	}
	off := d.off(other, tolerance.Target)
	d.sides(other, func(i, k int, in bool, size float64) {
		if -size > off[i] && slices.Contains(weak, i) {
			off[i] = math.Max(off[i], math.Min(d.uncertainty(other, i, k, in), d.bySlopes(other, i, k, in, -size)))
		}
	})
	return other, !d.correct(face, other, off, false)
}
