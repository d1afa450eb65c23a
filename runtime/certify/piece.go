package certify

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"bilevelc/runtime/problem"
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

// margins of a certain row over the errors of y and of the multipliers.
const margin = 10

// weak are the rows of which the errors of y and lambda leave open whether they
// hold y: those outside of the independent rows of the face that are tight, but for
// conditions on x alone, and those inside whose multiplier is zero.
func (d *deriver) weak(at *derived) []int { return d.within(at, 1) }

// within is weak with the errors times a factor.
func (d *deriver) within(at *derived, factor float64) []int {
	inside := at.positions()
	var rows []int
	for i, kind := range d.p.Rows.Kind {
		if cols, _ := d.p.Rows.B.Row(i); len(cols) == 0 {
			continue // a condition on x alone
		}
		k, in := inside[i]
		if kind == problem.Equal {
			continue // its multiplier is free, or it depends on the others
		}
		size := -d.residual(i, at.x, at.y)
		if in {
			size = at.lambda[i] * at.system.give(k)
		}
		if size <= factor*d.coarse(at, i, in) && size <= factor*d.uncertainty(at, i, k, in) && !d.conditionOnX(at, i) {
			rows = append(rows, i)
		}
	}
	return rows
}

// positions of the rows of at.active.
func (at *derived) positions() map[int]int {
	inside := make(map[int]int, len(at.active))
	for k, i := range at.active {
		inside[i] = k
	}
	return inside
}

// coarse bounds uncertainty without a solve, by the error of y as a whole.
func (d *deriver) coarse(at *derived, i int, inside bool) float64 {
	spread := 1.0
	if inside {
		spread = at.system.spread()
	}
	return margin * (d.s.normB[i]*at.errorY*spread + roundings*0x1p-52*d.s.rows[i])
}

// uncertainty is margin times what the slack of row i, or the way that it gives
// as the k-th row of the face, may be off by: rounding in the forces and rows,
// taken through the adjoint of that number, and what Newton's method has left. The terms of
// rows are those at the point: far away in X they may be of any size.
func (d *deriver) uncertainty(at *derived, i, k int, inside bool) float64 {
	of, ok := d.sense(at, i, k, inside)
	if !ok {
		return math.Inf(1)
	}
	sum := d.noise()*of.inY + d.s.normB[i]*at.left + roundings*0x1p-52*d.terms(at, i)
	return margin * math.Hypot(sum, roundings*0x1p-52*of.inRows)
}

// terms is the size of the terms of row i at a point, as far as y is known there.
func (d *deriver) terms(at *derived, i int) float64 {
	size := math.Abs(d.p.Rows.Rhs[i])
	cols, vals := d.p.Rows.A.Row(i)
	for k, j := range cols {
		size += math.Abs(vals[k]) * math.Max(math.Abs(at.x[j]), d.s.width[j])
	}
	cols, vals = d.p.Rows.B.Row(i)
	for k, j := range cols {
		size += math.Abs(vals[k] * at.y[j])
	}
	return size
}

// sense takes the errors of y and the rows through the adjoint of what decides row i.
// Only the component of the row takes part, which keeps it.
func (d *deriver) sense(at *derived, i, k int, inside bool) (sense, bool) {
	var known map[int]sense
	if s, ok := at.system.(*jointSystem); ok {
		cols, _ := d.p.Rows.B.Row(i)
		known = s.parts[s.h.owner[cols[0]]].known()
		if of, ok := known[i]; ok {
			return of, true
		}
	}
	cy, cv := d.decides(at, i, k, inside)
	p, q, err := at.system.solve(cy, cv)
	if err != nil {
		return sense{}, false
	}
	of := sense{inY: norm(p)}
	for l, row := range at.active {
		of.inRows = math.Hypot(of.inRows, d.terms(at, row)*q[l])
	}
	if known != nil {
		known[i] = of
	}
	return of, true
}

// decides is the functional of (y, -lambda) on the face of at that decides
// whether a row holds y: the slack of a row outside, but for its part in x, and
// the way that the k-th row inside gives.
func (d *deriver) decides(at *derived, i, k int, inside bool) (cy, cv []float64) {
	cy, cv = make([]float64, d.p.Dy), make([]float64, len(at.active))
	if inside {
		cv[k] = -at.system.give(k)
	} else {
		d.p.Rows.B.AddRow(cy, i, 1)
	}
	return cy, cv
}

// attained checks that F is the piece of at on an open set that has at.x in its
// closure, within radius: strict complementarity at at.x, or a direction along
// which all weak rows become strict, confirmed at a point along it.
func (d *deriver) attained(at *derived, radius float64) error {
	mostWeak := max(200, d.p.Dy) // each costs an adjoint solve and two gradients of g
	weak := d.weak(at)
	if len(weak) == 0 {
		return nil
	}
	if len(weak) > mostWeak {
		return errMany
	}
	// A row that is decided here, but by less than the way to such a point, may be lost
	// on it: the way is then to lead clear of that row as well.
	x := make([]float64, d.p.Dx)
	for {
		slopes, open, err := d.slopes(at, weak)
		if err != nil {
			return err
		}
		if len(slopes) == 0 {
			return nil
		}
		direction := d.inward(at.x, slopes)
		if direction == nil {
			// Nothing that x can do decides a row across X: the pieces on both of its sides are
			// one function on X, and their gradients differ by a normal to it.
			if slopes, open = d.felt(at.x, slopes, open); len(slopes) == 0 {
				return nil
			}
			direction = d.inward(at.x, slopes)
		}
		if direction == nil {
			return errNowhere
		}
		// A point along it at which the conditions hold strictly. Far enough that the
		// errors of y do not matter, near enough that the rest stays as it is.
		lost := -1
		for step := radius; step >= 1e-4*radius; step /= 10 {
			for j := range x {
				x[j] = at.x[j] + step*direction[j]
			}
			there, err := d.onFace(x, at.y, at.face)
			if err != nil {
				continue
			}
			if lost = d.open(there, open); lost < 0 {
				return nil
			}
		}
		if lost < 0 || slices.Contains(weak, lost) || len(weak) >= mostWeak {
			return errNowhere
		}
		weak = append(weak, lost)
	}
}

// slopes are the directions, of unit length, in which x decides each weak row
// the way the face has it: slack for a row outside, a pull for one inside. open
// are the rows that they belong to. A row that nothing decides to first order
// follows from the others, as the duplicate of an active one does, and is left
// out.
func (d *deriver) slopes(at *derived, weak []int) (slopes [][]float64, open []int, err error) {
	inside := at.positions()
	for _, i := range weak {
		size := d.s.rows[i] / d.s.x
		k, in := inside[i]
		cy, cv := d.decides(at, i, k, in)
		slope, err := d.sensitivity(at, cy, cv)
		if err != nil {
			return nil, nil, err
		}
		if !in {
			d.p.Rows.A.AddRow(slope, i, -1)
		}
		const nothing = 1e-7 // of the terms; differences of gradients leave 1e-10
		if norm(slope) <= nothing*size {
			continue
		}
		slopes, open = append(slopes, scaled(slope, 1/norm(slope))), append(open, i)
	}
	return slopes, open, nil
}

// felt leaves out slopes that are normal to all of X near x, and their rows.
func (d *deriver) felt(x []float64, slopes [][]float64, open []int) (left [][]float64, rows []int) {
	for k, slope := range slopes {
		if !d.across(x, slope) {
			left, rows = append(left, slope), append(rows, open[k])
		}
	}
	return left, rows
}

// conditionOnX reports that the equality rows of the face make row i, outside it, a condition on
// x alone: its normal is a combination of theirs. Where it is tight the lower level ends, and F
// has no other piece there.
func (d *deriver) conditionOnX(at *derived, i int) bool {
	const rounding = 1e-9 // of a solve with the face's system, for rows of any length
	if _, in := at.positions()[i]; in {
		return false
	}
	cy, cv := d.decides(at, i, 0, false)
	_, q, err := at.system.solve(cy, cv)
	if err != nil {
		return false
	}
	for _, sign := range []float64{1, -1} {
		rest := slices.Clone(cy)
		for k, row := range at.active {
			if d.p.Rows.Kind[row] == problem.Equal {
				d.p.Rows.B.AddRow(rest, row, sign*q[k])
			}
		}
		if norm(rest) <= rounding*d.s.normB[i] {
			return true
		}
	}
	return false
}

// undecided reports that some weak row is decided by no other: F may have a kink.
func (d *deriver) undecided(at *derived, weak []int) bool {
	_, open, err := d.slopes(at, weak)
	return err != nil || len(open) > 0
}

// open is a row whose KKT condition fails at a point of a face or, of the given
// rows, is not decided beyond the errors; -1 where there is none.
func (d *deriver) open(at *derived, open []int) int {
	decide := make(map[int]bool, len(open))
	for _, i := range open {
		decide[i] = true
	}
	inside := at.positions()
	for i, kind := range d.p.Rows.Kind {
		if cols, _ := d.p.Rows.B.Row(i); len(cols) == 0 {
			continue
		}
		k, in := inside[i]
		size := -d.residual(i, at.x, at.y)
		switch {
		case kind == problem.Equal:
			size = -math.Abs(size)
			if in {
				continue
			}
		case in:
			size = at.lambda[i] * at.system.give(k)
		}
		if size < -d.coarse(at, i, in) || decide[i] && size <= d.uncertainty(at, i, k, in) {
			return i
		}
	}
	return -1
}

// inward is a unit direction d into X with slope'd > 0 for every slope, or nil
// where there is none. Off X there may be pieces that F has nowhere on it, with a slope
// along X that is none of F's. The nearest point to (0, 1) of the cone of the columns
// (slope, 1) and (c, 0), c being an inner normal of X at x, leaves a residual
// (-d, r) that makes no acute angle with any column: slope'd >= r > 0 and
// c'd >= 0, unless the residual is zero.
func (d *deriver) inward(x []float64, slopes [][]float64) []float64 {
	g := generators{size: d.p.Dx + 1}
	for _, slope := range slopes {
		g.add(append(append([]float64(nil), slope...), 1))
	}
	d.flats(&g, x)
	touch := touches * d.s.x
	for _, b := range d.p.X.Balls {
		in := make([]float64, d.p.Dx+1)
		for j := b.Start; j < b.End; j++ {
			in[j] = -x[j]
			if b.Center != nil {
				in[j] += b.Center[j-b.Start]
			}
		}
		if r := norm(in); r > 0 && b.Radius-r <= touch {
			in = scaled(in, 1/r)
			in[d.p.Dx] = 1 // strictly into the ball
			g.add(in)
		}
	}
	target := make([]float64, d.p.Dx+1)
	target[d.p.Dx] = 1
	rest := g.residual(target)
	direction := scaled(rest[:d.p.Dx], -1)
	// The residual's square is its own last entry; below this it is rounding.
	const zero = 1e-9
	size := norm(direction)
	if rest[d.p.Dx] <= zero || size == 0 {
		return nil
	}
	return scaled(direction, 1/size)
}

// touches is the distance, relative to the size of x, at which x is on the edge of X.
const touches = 1e-9

// flats adds the inner normals of X at x that belong to its flat parts; those of equations,
// of balls that are points, and of entries that bounds hold at one value, both ways.
func (d *deriver) flats(g *generators, x []float64) {
	touch := touches * d.s.x
	point := make([]bool, len(x))
	for _, b := range d.p.X.Balls {
		for j := b.Start; j < b.End; j++ {
			point[j] = b.Radius <= touch
		}
	}
	for j := range x {
		low, high := x[j]-d.p.X.Lo[j] <= touch, d.p.X.Hi[j]-x[j] <= touch
		g.unit(j, low || point[j], high || point[j])
	}
	for i, kind := range d.p.X.Kind {
		row := make([]float64, g.size)
		d.p.X.E.AddRow(row[:d.p.Dx], i, -1)
		slack := d.p.X.Rhs[i] - d.p.X.E.RowDot(i, x)
		if kind == problem.Equal {
			g.add(row)
			g.add(scaled(row, -1))
		} else if slack <= touch*norm(row) {
			g.add(row)
		}
	}
	for _, n := range d.tied { // off these F is not defined
		for _, sign := range []float64{1, -1} {
			row := make([]float64, g.size)
			copy(row, scaled(n, sign))
			g.add(row)
		}
	}
}

// across reports that a direction of unit length is normal to all of X near x: it and its
// opposite are inner normals, as where equations, or inequalities that only hold with
// equality, leave X no inside. Differences of gradients know it to 1e-7.
func (d *deriver) across(x, direction []float64) bool {
	g := generators{size: d.p.Dx}
	d.flats(&g, x)
	const small = 1e-7
	return norm(g.residual(direction)) <= small && norm(g.residual(scaled(direction, -1))) <= small
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
	for _, hint := range hints {
		if other, ok := d.withSides(at, weak, hint); ok && try(other) {
			return where, best, nil
		}
		// Where more rows are tight than y has entries, pieces differ in rows with
		// multipliers as well.
		if other, ok := d.asNamed(at, hint); ok && try(other) {
			return where, best, nil
		}
	}
	const mostFlipped = 6 // 64 faces
	if len(weak) > mostFlipped {
		failure = errMany
	} else {
		for flips := range 1 << len(weak) {
			var side []int
			for k, i := range weak {
				if flips>>k&1 == 1 {
					side = append(side, i)
				}
			}
			if other, ok := d.withSides(at, weak, side); ok && try(other) {
				return where, best, nil
			}
		}
	}
	if best != nil {
		return where, best, nil
	}
	if failure == nil {
		failure = errNowhere
	}
	return at, nil, failure
}

// withSides is the face of at with those of the weak rows held that are in side
// and no others; false where it does not solve the lower level at at.x.
func (d *deriver) withSides(at *derived, weak, side []int) (*derived, bool) {
	face := map[int]bool{}
	for _, i := range at.face {
		face[i] = true
	}
	changed := false
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
	return d.held(at, face)
}

// held is the lower level at at.x with the rows of a face held; false where that does not
// solve it.
func (d *deriver) held(at *derived, face map[int]bool) (*derived, bool) {
	other, err := d.onFace(at.x, at.y, slices.Sorted(maps.Keys(face)))
	if err != nil || d.correct(face, other, d.tol.KKT, false) {
		return nil, false
	}
	return other, true
}

// asNamed is the face that a document names, at at.x; false where it does not solve
// the lower level there.
func (d *deriver) asNamed(at *derived, rows []int) (*derived, bool) {
	face := map[int]bool{}
	for i, kind := range d.p.Rows.Kind {
		if kind == problem.Equal {
			face[i] = true
		}
	}
	for _, i := range rows {
		face[i] = true
	}
	return d.held(at, face)
}

func scaled(v []float64, a float64) []float64 {
	out := make([]float64, len(v))
	for j, t := range v {
		out[j] = a * t
	}
	return out
}

func distance(a, b []float64) float64 {
	away := append([]float64(nil), a...)
	for j, t := range b {
		away[j] -= t
	}
	return norm(away)
}
