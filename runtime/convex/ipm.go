package convex

import (
	"context"
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// iterate is a point of the interior-point method: slacks and multipliers of
// inequality rows, of lower and of upper bounds, all positive.
type iterate struct {
	s, z   []float64 // len m; of inequalities
	tl, zl []float64 // len n; where there is a lower bound
	tu, zu []float64
	// steps of the same
	ds, dz, dtl, dzl, dtu, dzu []float64
	hasLo, hasHi               []bool
	pairs                      int
}

func (s *Solver) newIterate(size, force float64) *iterate {
	v := func(n int) []float64 { return make([]float64, n) }
	it := &iterate{s: v(s.m), z: v(s.m), tl: v(s.n), zl: v(s.n), tu: v(s.n), zu: v(s.n), ds: v(s.m), dz: v(s.m),
		dtl: v(s.n), dzl: v(s.n), dtu: v(s.n), dzu: v(s.n), hasLo: make([]bool, s.n), hasHi: make([]bool, s.n)}
	for j := range s.y {
		if s.state[j] == Pinned {
			s.y[j] = s.lo[j]
			continue
		}
		s.put(j, Free)
		it.hasLo[j], it.hasHi[j] = !math.IsInf(s.lo[j], -1), !math.IsInf(s.hi[j], 1)
		width := size
		if it.hasLo[j] && it.hasHi[j] {
			width = math.Min(size, (s.hi[j]-s.lo[j])/2)
		}
		if it.hasLo[j] {
			s.y[j] = math.Max(s.y[j], s.lo[j]+width)
		}
		if it.hasHi[j] {
			s.y[j] = math.Min(s.y[j], s.hi[j]-width)
		}
		if it.hasLo[j] {
			it.tl[j], it.zl[j] = math.Max(s.y[j]-s.lo[j], width/2), force
			it.pairs++
		}
		if it.hasHi[j] {
			it.tu[j], it.zu[j] = math.Max(s.hi[j]-s.y[j], width/2), force
			it.pairs++
		}
	}
	for i := range s.active {
		s.lambda[i] = 0
		if !s.equal[i] {
			it.s[i], it.z[i] = math.Max(s.rowDot(i, s.y)-s.r[i], size), force
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
		mu := it.complementarity()
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
		if s.state[j] == Pinned {
			continue
		}
		switch {
		case it.hasLo[j] && it.zl[j] > it.tl[j]:
			s.put(j, Lower)
		case it.hasHi[j] && it.zu[j] > it.tu[j]:
			s.put(j, Upper)
		default:
			s.put(j, Free)
		}
	}
	for i := range s.active {
		s.hold(i, !s.skip[i] && (s.equal[i] || it.z[i] > it.s[i]))
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

func (it *iterate) complementarity() float64 {
	sum := each.SumBelow(len(it.z), func(i int) float64 { return it.z[i] * it.s[i] })
	for j, z := range it.zl {
		sum += z*it.tl[j] + it.zu[j]*it.tu[j]
	}
	return sum / float64(max(1, it.pairs))
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
		rd[j] = -(rd[j] - it.zl[j] + it.zu[j])
		dual = math.Max(dual, math.Abs(rd[j]))
	}
	for i := range s.active {
		v := 0.0
		if s.active[i] {
			v = gap(s.rowDot(i, s.y)+soft*s.lambda[i], s.r[i], it.s[i]) // s is 0 for equalities
		}
		s.rest[s.n+i] = -v
		primal = math.Max(primal, math.Abs(v))
	}
	for j := range s.y {
		if it.hasLo[j] {
			primal = math.Max(primal, math.Abs(gap(s.y[j], s.lo[j], it.tl[j])))
		}
		if it.hasHi[j] {
			primal = math.Max(primal, math.Abs(gap(s.hi[j], s.y[j], it.tu[j])))
		}
	}
	return dual, primal
}

// gap is a - b - t, the error of the slack t of a - b, or 0 where rounding may
// have made it: near a bound it is multiplied by 1/t.
func gap(a, b, t float64) float64 {
	v := a - b - t
	if math.Abs(v) <= 4*0x1p-53*(math.Abs(a)+math.Abs(b)) {
		return 0
	}
	return v
}

// factorInterior factorizes the KKT matrix at an interior point.
func (s *Solver) factorInterior(it *iterate, soft float64) bool {
	s.faceKnown = false
	for t, at := range s.half {
		s.kkt[t] = s.h[at]
	}
	for j, t := range s.diagonal {
		if it.hasLo[j] {
			s.kkt[t] += it.zl[j] / it.tl[j]
		}
		if it.hasHi[j] {
			s.kkt[t] += it.zu[j] / it.tu[j]
		}
	}
	return s.factor(false, func(i int) float64 {
		d := -(soft + regular)
		if !s.equal[i] {
			d -= it.s[i] / it.z[i]
		}
		return d
	})
}

// advance makes one predictor-corrector step.
func (s *Solver) advance(it *iterate, mu, soft float64) bool {
	if !s.factorInterior(it, soft) {
		return false
	}
	s.direction(it, soft, 0, false)
	affine := it.longest(1)
	after := it.ahead(affine)
	sigma := 0.0
	if it.pairs > 0 && mu > 0 {
		sigma = math.Pow(after/mu, 3)
	}
	s.direction(it, soft, sigma*mu, true)
	length := it.longest(0.995)
	// 0.3 is the length of a step, 1 being the whole, from which it counts as short.
	if length < 0.3 || it.ahead(length) > 0.9*mu {
		// The second-order term misleads off the central path, where iterates may
		// then go in circles: go back towards the path, without it.
		s.direction(it, soft, math.Max(sigma, 0.3)*mu, false)
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
	for j := range s.y {
		s.y[j] += length * s.step[j]
		it.tl[j] += length * it.dtl[j]
		it.zl[j] += length * it.dzl[j]
		it.tu[j] += length * it.dtu[j]
		it.zu[j] += length * it.dzu[j]
	}
	for i := range s.lambda {
		if !s.active[i] {
			continue
		}
		if s.equal[i] {
			s.lambda[i] -= length * s.step[s.n+i]
			continue
		}
		it.s[i] += length * it.ds[i]
		it.z[i] += length * it.dz[i]
		s.lambda[i] = it.z[i]
	}
	return true
}

// direction solves for the Newton step towards complementarity target, with
// the second-order term of the step before in it where corrected is set.
func (s *Solver) direction(it *iterate, soft, target float64, corrected bool) {
	second := func(a, b float64) float64 {
		if corrected {
			return a * b
		}
		return 0
	}
	for j := range s.y {
		v := s.rest[j]
		if it.hasLo[j] {
			rl := gap(s.y[j], s.lo[j], it.tl[j])
			rc := it.tl[j]*it.zl[j] - target + second(it.dtl[j], it.dzl[j])
			v += (-rc - it.zl[j]*rl) / it.tl[j]
		}
		if it.hasHi[j] {
			ru := gap(s.hi[j], s.y[j], it.tu[j])
			rc := it.tu[j]*it.zu[j] - target + second(it.dtu[j], it.dzu[j])
			v -= (-rc - it.zu[j]*ru) / it.tu[j]
		}
		if s.state[j] == Pinned {
			v = 0
		}
		s.rhs[j] = v
	}
	for i := range s.active {
		v := s.rest[s.n+i]
		if s.active[i] && !s.equal[i] {
			v -= (it.s[i]*it.z[i] - target + second(it.ds[i], it.dz[i])) / it.z[i]
		}
		s.rhs[s.n+i] = v
	}
	s.ldl.Solve(s.step, s.rhs)
	s.ldl.Refine(s.step, func(r, step []float64) { s.interiorLeft(it, soft, r, step) }, 2, 1e-10*linalg.NormInf(s.rhs))
	for j := range s.y {
		d := s.step[j]
		if it.hasLo[j] {
			rc := it.tl[j]*it.zl[j] - target + second(it.dtl[j], it.dzl[j])
			it.dtl[j] = d + gap(s.y[j], s.lo[j], it.tl[j])
			it.dzl[j] = (-rc - it.zl[j]*it.dtl[j]) / it.tl[j]
		}
		if it.hasHi[j] {
			rc := it.tu[j]*it.zu[j] - target + second(it.dtu[j], it.dzu[j])
			it.dtu[j] = -d + gap(s.hi[j], s.y[j], it.tu[j])
			it.dzu[j] = (-rc - it.zu[j]*it.dtu[j]) / it.tu[j]
		}
	}
	for i := range s.active {
		if !s.equal[i] {
			rc := it.s[i]*it.z[i] - target + second(it.ds[i], it.dz[i])
			it.dz[i] = -s.step[s.n+i]
			it.ds[i] = (-rc - it.s[i]*it.dz[i]) / it.z[i]
		}
	}
}

// interiorLeft sets r to what the step leaves of rhs. The regularization stays:
// it makes the steps those of a proximal method of multipliers, which does not
// mind rows that depend on each other (Rockafellar 1976).
func (s *Solver) interiorLeft(it *iterate, soft float64, r, step []float64) {
	s.multiply(r, step[:s.n])
	for j := range s.y {
		if it.hasLo[j] {
			r[j] += it.zl[j] / it.tl[j] * step[j]
		}
		if it.hasHi[j] {
			r[j] += it.zu[j] / it.tu[j] * step[j]
		}
	}
	for i := range s.active {
		if !s.active[i] {
			r[s.n+i] = 0
			continue
		}
		sum, v := 0.0, step[s.n+i]
		for t := s.b.Ptr[i]; t < s.b.Ptr[i+1]; t++ {
			j := s.b.Col[t]
			sum += s.bv[t] * step[j] // 0 where pinned
			r[j] += s.bv[t] * v
		}
		d := soft + regular
		if !s.equal[i] {
			d += it.s[i] / it.z[i]
		}
		r[s.n+i] = s.rhs[s.n+i] - sum + d*v
	}
	for j := range s.y {
		r[j] = s.rhs[j] - r[j]
		if s.state[j] == Pinned {
			r[j] = 0
		}
	}
}

// longest is the share of the step, at most 1, that keeps `of` the way to the
// boundary.
func (it *iterate) longest(of float64) float64 {
	length := 1.0
	for _, pair := range [...][2][]float64{{it.s, it.ds}, {it.z, it.dz}, {it.tl, it.dtl}, {it.zl, it.dzl}, {it.tu, it.dtu}, {it.zu, it.dzu}} {
		length = linalg.ToBoundary(pair[0], pair[1], of, length)
	}
	return length
}

// ahead is the complementarity after a share of the step.
func (it *iterate) ahead(length float64) float64 {
	sum := each.SumBelow(len(it.z), func(i int) float64 { return (it.z[i] + length*it.dz[i]) * (it.s[i] + length*it.ds[i]) })
	for j := range it.zl {
		sum += (it.zl[j]+length*it.dzl[j])*(it.tl[j]+length*it.dtl[j]) + (it.zu[j]+length*it.dzu[j])*(it.tu[j]+length*it.dtu[j])
	}
	return sum / float64(max(1, it.pairs))
}
