package convex

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// side is one kind of inequality at a point of the interior-point method, v - end >= 0 with the sign 1 and end - v >= 0 with -1: slacks and
// multipliers, both positive where has is set and 0 elsewhere, and steps of both.
type side struct {
	sign         float64
	has          []bool
	t, z, dt, dz []float64
}

func newSide(sign float64, n int) side {
	v := make([]float64, 4*n)
	return side{sign, make([]bool, n), v[:n:n], v[n : 2*n : 2*n], v[2*n : 3*n : 3*n], v[3*n:]}
}

// begin sets slack i to one of at least the given size, and its multiplier.
func (b *side) begin(i int, v, end, least, force float64) {
	b.has[i], b.t[i], b.z[i] = true, math.Max(b.sign*(v-end), least), force
}

// gap is the error of slack i, or 0 where rounding may have made it: near a bound it is multiplied by 1/t.
func (b *side) gap(i int, v, end float64) float64 {
	off := b.sign*(v-end) - b.t[i]
	if math.Abs(off) <= 4*0x1p-53*(math.Abs(v)+math.Abs(end)) {
		return 0
	}
	return off
}

// left is what product i of slack and multiplier has beyond the target, with the second-order term of the step before where corrected is set.
func (b *side) left(i int, target float64, corrected bool) float64 {
	off := b.t[i]*b.z[i] - target
	if corrected {
		off += b.dt[i] * b.dz[i]
	}
	return off
}

// iterate is a point of the interior-point method.
type iterate struct {
	rows, lo, hi side
	pairs        int
}

// bound is a side of the variables, with its ends.
type bound struct {
	*side
	end []float64
}

func (s *Solver) bounds(it *iterate) [2]bound { return [2]bound{{&it.lo, s.lo}, {&it.hi, s.hi}} }

func (s *Solver) newIterate(size, force float64) *iterate {
	it := &iterate{rows: newSide(1, s.m), lo: newSide(1, s.n), hi: newSide(-1, s.n)}
	for j := range s.y {
		if s.state[j] == Pinned {
			s.y[j] = s.lo[j]
			continue
		}
		s.put(j, Free)
		low, high := !math.IsInf(s.lo[j], -1), !math.IsInf(s.hi[j], 1)
		width := size
		if low && high {
			width = math.Min(size, (s.hi[j]-s.lo[j])/2)
		}
		s.y[j] = math.Max(s.y[j], s.lo[j]+width)
		s.y[j] = math.Min(s.y[j], s.hi[j]-width)
		for _, b := range s.bounds(it) {
			if !math.IsInf(b.end[j], 0) {
				b.begin(j, s.y[j], b.end[j], width/2, force)
				it.pairs++
			}
		}
	}
	for i := range s.active {
		s.lambda[i] = 0
		if !s.equal[i] {
			it.rows.begin(i, s.rowDot(i, s.y), s.r[i], size, force)
			s.lambda[i] = force
			it.pairs++
		}
		s.hold(i, !s.skip[i])
	}
	return it
}

// Outcome of an interior-point run.
type Outcome uint8

// The outcomes.
const (
	Optimal     Outcome = iota
	Interrupted         // the context ended
	Stuck               // no further progress: the rows may contradict each other
)

// Minimize finds the minimizer from scratch: interior points until ActiveSet
// confirms the active set that they point to. Slacks that are too small hold steps up, and those that
// are too large cost a step for each decade: where the first sizes lead nowhere, m times these are tried, what the sides of
// m rows add up to along a chain. Where no active set is found on which the rows hold
// to rounding, one on which they nearly do is taken.
func (s *Solver) Minimize(ctx context.Context) Outcome {
	defer func() { s.lenient = false }()
	for _, try := range []struct {
		far     float64
		lenient bool
	}{{1, false}, {float64(max(1, s.m)), false}, {1, true}} {
		if s.lenient = try.lenient; s.bound(ctx, 0, try.far) {
			return Optimal
		}
		if ctx.Err() != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return Interrupted
	}
	return Stuck
}

// handover are the complementarities, relative to the scale of the point and the
// multipliers, at which the active set is tried. The first is where most
// programs have shown it; the last are for forces of very different sizes, where
// the small ones show late.
var handover = [...]float64{1e-5, 1e-7, 1e-9, 1e-11, 1e-13, 1e-16, 1e-20, 1e-25, 1e-30}

// bound runs the interior-point method, from far times the first sizes. With soft > 0 rows may be violated, at
// the price of half the sum of squares over soft, and there is no handover:
// lambda is then the violation over soft.
func (s *Solver) bound(ctx context.Context, soft, far float64) bool {
	size, force := s.scales()
	size, force = far*size, math.Max(force, far*size)
	it := s.newIterate(size, force)
	if it.pairs == 0 && soft == 0 {
		return s.onFace() && s.met()
	}
	measure := size * force
	next := 0
	best, stalls := math.Inf(1), 0
	for range 150 {
		if ctx.Err() != nil {
			return false
		}
		s.model()
		mu := it.ahead(0)
		dual, primal := s.interiorResiduals(it, soft)
		at := mu / measure
		if left := math.Max(dual/(s.terms+force), primal/(s.size()+size)); soft > 0 || !(left <= tolerance.Feasibility) { // elsewhere it may be rounding, and a face leaves less
			at = math.Max(at, left)
		}
		if math.IsNaN(at) {
			return false
		}
		if soft > 0 && at <= 1e-12 {
			return true
		}
		if soft == 0 && next < len(handover) && at <= handover[next] {
			for next < len(handover) && at <= handover[next] {
				next++
			}
			if s.tryFace(it) {
				return true
			}
			if next == len(handover) {
				return false
			}
			s.model()
			s.interiorResiduals(it, soft)
		}
		if at < 0.9*best {
			best, stalls = at, 0
		} else if stalls++; stalls > 15 {
			return soft > 0 && best <= 1e-9
		}
		if !s.advance(it, mu, soft) {
			return soft > 0 && best <= 1e-9
		}
	}
	return false
}

// scales are the sizes that slacks and multipliers start with. With a unit
// diagonal of H the forces are of the size of c, and the point is of that size,
// too, but where bounds are nearer, or the way to bounds and rows is longer.
func (s *Solver) scales() (size, force float64) {
	size = linalg.NormInf(s.r)
	for j, c := range s.c {
		size = math.Max(size, math.Max(s.lo[j], -s.hi[j])) // finite: one is -Inf where there is no bound
		size = math.Max(size, math.Min(math.Abs(c), math.Max(math.Abs(s.lo[j]), math.Abs(s.hi[j]))))
	}
	size = math.Max(1e-3, size)
	return size, math.Max(size, linalg.NormInf(s.c))
}

// tryFace goes on from the active set that the interior point shows; where
// that does not settle the interior point is restored.
func (s *Solver) tryFace(it *iterate) bool {
	y, lambda := append([]float64(nil), s.y...), append([]float64(nil), s.lambda...)
	for j := range s.y {
		switch {
		case s.state[j] == Pinned:
		case it.lo.z[j] > it.lo.t[j]:
			s.put(j, Lower)
		case it.hi.z[j] > it.hi.t[j]:
			s.put(j, Upper)
		default:
			s.put(j, Free)
		}
	}
	for i := range s.active {
		s.hold(i, !s.skip[i] && (s.equal[i] || it.rows.z[i] > it.rows.t[i]))
	}
	if s.ActiveSet(12) {
		return true
	}
	copy(s.y, y)
	copy(s.lambda, lambda)
	for j := range s.state {
		if s.state[j] != Pinned {
			s.put(j, Free)
		}
	}
	for i := range s.active {
		s.hold(i, !s.skip[i])
	}
	return false
}

// interiorResiduals leaves in rest the residuals of stationarity and of the
// rows, negated, and returns their sizes.
func (s *Solver) interiorResiduals(it *iterate, soft float64) (dual, primal float64) {
	rd := s.rest[:s.n]
	copy(rd, s.grad)
	s.subtractRowForces(rd, s.lambda)
	for j := range rd {
		if s.state[j] == Pinned {
			rd[j] = 0
			continue
		}
		rd[j] = -(rd[j] - it.lo.z[j] + it.hi.z[j])
		dual = math.Max(dual, math.Abs(rd[j]))
	}
	for i := range s.active {
		v := 0.0
		if s.active[i] {
			v = it.rows.gap(i, s.rowDot(i, s.y)+soft*s.lambda[i], s.r[i]) // the slack of an equality is 0
		}
		s.rest[s.n+i] = -v
		primal = math.Max(primal, math.Abs(v))
	}
	for _, b := range s.bounds(it) {
		for j, v := range s.y {
			if b.has[j] {
				primal = math.Max(primal, math.Abs(b.gap(j, v, b.end[j])))
			}
		}
	}
	return dual, primal
}

// factorInterior factorizes the KKT matrix at an interior point.
func (s *Solver) factorInterior(it *iterate, soft float64) bool {
	s.faceKnown = false
	for t, at := range s.kkt.Lower {
		s.values[t] = s.quad.Val[at]
	}
	for _, b := range s.bounds(it) {
		for j, t := range s.kkt.Diagonal {
			if b.has[j] {
				s.values[t] += b.z[j] / b.t[j]
			}
		}
	}
	return s.factor(false, func(i int) float64 {
		d := -(soft + regular)
		if !s.equal[i] {
			d -= it.rows.t[i] / it.rows.z[i]
		}
		return d
	})
}

// advance makes one predictor-corrector step.
func (s *Solver) advance(it *iterate, mu, soft float64) bool {
	if !s.factorInterior(it, soft) {
		return false
	}
	s.direction(it, 0, false)
	affine := it.longest(1)
	after := it.ahead(affine)
	sigma := 0.0
	if it.pairs > 0 && mu > 0 {
		sigma = math.Pow(after/mu, 3)
	}
	s.direction(it, sigma*mu, true)
	length := it.longest(0.995)
	// 0.3 is the length of a step, 1 being the whole, from which it counts as short.
	if length < 0.3 || it.ahead(length) > 0.9*mu {
		// The second-order term misleads off the central path, where iterates may
		// then go in circles: go back towards the path, without it.
		s.direction(it, math.Max(sigma, 0.3)*mu, false)
		length = it.longest(0.995)
	}
	return s.move(it, length)
}

// move makes a share of the step; it reports false where that is next to
// nothing.
func (s *Solver) move(it *iterate, length float64) bool {
	if !(length > 1e-12) {
		return false
	}
	floats.AddScaled(s.y, length, s.step[:s.n])
	for _, b := range it.sides() {
		floats.AddScaled(b.t, length, b.dt)
		floats.AddScaled(b.z, length, b.dz)
	}
	for i := range s.lambda {
		switch {
		case !s.active[i]:
		case s.equal[i]:
			s.lambda[i] -= length * s.step[s.n+i]
		default:
			s.lambda[i] = it.rows.z[i]
		}
	}
	return true
}

// direction solves for the Newton step towards complementarity target, with
// the second-order term of the step before in it where corrected is set.
func (s *Solver) direction(it *iterate, target float64, corrected bool) {
	bounds := s.bounds(it)
	for j := range s.y {
		v := s.rest[j]
		for _, b := range bounds {
			if b.has[j] {
				v += b.sign * ((-b.left(j, target, corrected) - b.z[j]*b.gap(j, s.y[j], b.end[j])) / b.t[j])
			}
		}
		if s.state[j] == Pinned {
			v = 0
		}
		s.rhs[j] = v
	}
	rows := &it.rows
	for i := range s.active {
		v := s.rest[s.n+i]
		if rows.has[i] {
			v -= rows.left(i, target, corrected) / rows.z[i]
		}
		s.rhs[s.n+i] = v
	}
	s.solveKKT(it, 1e-10)
	for _, b := range bounds {
		for j, d := range s.step[:s.n] {
			if b.has[j] {
				left := b.left(j, target, corrected)
				b.dt[j] = b.sign*d + b.gap(j, s.y[j], b.end[j])
				b.dz[j] = (-left - b.z[j]*b.dt[j]) / b.t[j]
			}
		}
	}
	for i, has := range rows.has {
		if has {
			left := rows.left(i, target, corrected)
			rows.dz[i] = -s.step[s.n+i]
			rows.dt[i] = (-left - rows.t[i]*rows.dz[i]) / rows.z[i]
		}
	}
}

// longest is the share of the step, at most 1, that keeps `of` the way to the
// boundary.
func (it *iterate) longest(of float64) float64 {
	length := 1.0
	for _, b := range it.sides() {
		length = linalg.ToBoundary(b.z, b.dz, of, linalg.ToBoundary(b.t, b.dt, of, length))
	}
	return length
}

func (it *iterate) sides() [3]*side { return [3]*side{&it.rows, &it.lo, &it.hi} }

// ahead is the mean complementarity after a share of the step.
func (it *iterate) ahead(length float64) float64 {
	at := func(b *side, i int) float64 { return (b.z[i] + length*b.dz[i]) * (b.t[i] + length*b.dt[i]) }
	sum := each.SumBelow(len(it.rows.z), func(i int) float64 { return at(&it.rows, i) })
	for j := range it.lo.z {
		sum += at(&it.lo, j) + at(&it.hi, j)
	}
	return sum / float64(max(1, it.pairs))
}
