package lower

import (
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
)

// rays are straight lines from a point, one for each part of its entries, along
// which gradients are compared. Parts do not mix in the gradient, so that one gradient
// serves all of them.
type rays struct {
	grad         func(dst, y []float64)
	y, base      []float64
	parts        [][]int // nil: one part, all entries
	probe, there []float64
	first        []float64 // len parts: changes of the gradient along each ray
}

func newRays(grad func(dst, y []float64), y, base []float64, parts [][]int) *rays {
	if parts == nil {
		all := each.Number(len(y))
		parts = [][]int{all}
	}
	n, k := len(y), len(parts)
	return &rays{grad: grad, y: y, base: base, parts: parts, probe: make([]float64, n), there: make([]float64, n),
		first: make([]float64, k)}
}

// along is the direction of part k's ray in entry j, of length 1.
func (r *rays) along(k, j int) float64 { return sign(j) / math.Sqrt(float64(len(r.parts[k]))) }

// sign is 1 or -1, without a pattern (SplitMix64; Steele, Lea, Flood 2014).
func sign(j int) float64 {
	z := uint64(j+1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return 1 - 2*float64((z^z>>31)>>63)
}

// changes sets dst to the parts, along each ray, of the gradient's change over scale
// times the lengths: for convex functions they grow with the lengths. NaN or infinite
// outside the domain.
func (r *rays) changes(dst, lengths []float64, scale float64) {
	for k, part := range r.parts {
		for _, j := range part {
			r.probe[j] = r.y[j] + scale*lengths[k]*r.along(k, j)
		}
	}
	r.grad(r.there, r.probe)
	for k, part := range r.parts {
		dst[k] = 0
		for _, j := range part {
			dst[k] += (r.there[j] - r.base[j]) * r.along(k, j)
		}
	}
}

// reach sets lengths, guesses on entry, to the distances at which the gradient has
// changed by the forces: how far forces of that size would move y, whatever its units
// are. For convex functions there is one such place. 0 where none is found: where
// the function is flat, or ends before, or there is no force.
func (r *rays) reach(lengths, forces []float64) {
	n := len(lengths)
	short, long, done := make([]float64, n), make([]float64, n), make([]bool, n)
	for k := range long {
		long[k] = math.Inf(1)
		if done[k] = !(forces[k] > 0) || math.IsInf(forces[k], 0); done[k] {
			lengths[k] = 0
		}
	}
	// A secant finds the place of a quadratic at once; other trials halve the logarithm
	// of an interval that is 2^2000 at most.
	for range 64 {
		r.changes(r.first, lengths, 1)
		left := false
		for k, change := range r.first {
			force := forces[k]
			if done[k] {
				continue
			}
			if done[k] = change > force/2 && change < 2*force; done[k] {
				continue
			}
			next := lengths[k] * force / change
			if change >= 0 && change < force {
				short[k] = lengths[k]
			} else { // or NaN or negative: beyond the end of the domain, or of where g is convex
				long[k] = lengths[k]
			}
			if !(next > short[k]*1.001 && next < long[k]/1.001) {
				switch {
				case short[k] == 0:
					next = long[k] * 0x1p-20
				case math.IsInf(long[k], 1):
					next = short[k] * 0x1p20
				default:
					next = math.Sqrt(short[k]) * math.Sqrt(long[k])
				}
			}
			if long[k] < 2*short[k] { // a step of the gradient, or the edge of the domain
				lengths[k], done[k] = short[k], true
			} else if lengths[k] = next; next == 0 || math.IsInf(next, 0) {
				lengths[k], done[k] = 0, true
			}
			left = left || !done[k]
		}
		if !left {
			return
		}
	}
	for k := range lengths {
		if !done[k] {
			lengths[k] = 0
		}
	}
}

// The ladder of lengths at which curvatureLengths compares mean curvatures, by powers of 2^8 from
// 2^64 down to 2^-64 times a guess: a guess of 1 where lengths are 1e-12 or 1e12 leaves
// some rungs on which the gradient is straight and differs by more than its rounding,
// and some on which it is curved. Rungs agree where mean curvatures differ by a twentieth.
const ladder = 8 // the exponent of a rung to the next, and how many are on both sides of the guess

// curvatureLengths sets lengths, guesses on entry, to those over which the mean curvature stays
// what it is next to y, to a power of 2^8: of the ladder's rungs the highest one up to
// which, from the lowest two that agree, neighbours agree. Rungs below are in the
// rounding of the gradient, where mean curvatures go with the reciprocal of the length.
// A function may be straight again far away; that is another stretch of rungs. At y = 0
// rungs in the rounding agree, too, on what the gradient has that is linear, beside terms which
// cancel and hide what they change by: the next stretch, of a larger curvature along the ray, to which what was
// hidden adds as it is convex, then goes on as far as numbers have digits, up to the length on which those terms vary:
// rungs of it agree where what they add does. 0 where no two agree, or all above do.
func (r *rays) curvatureLengths(lengths []float64) {
	const (
		below = iota // in the rounding
		within
		above
	)
	type stretch struct {
		state     int
		top, mean float64 // its length, and the mean curvature along the ray
	}
	now, before, linear := make([]float64, len(r.y)), make([]float64, len(r.y)), make([]float64, len(r.y)) // mean curvatures of a rung, of the last one, and of the first stretch
	state, next := make([]stretch, len(lengths)), make([]stretch, len(lengths))
	for rung := range 2*ladder + 1 {
		scale := math.Ldexp(1, ladder*(rung-ladder))
		r.changes(r.first, lengths, scale)
		for k, part := range r.parts {
			at := &state[k]
			if at.state == above {
				at = &next[k]
			}
			off, size := 0.0, 0.0
			for _, j := range part {
				now[j] = (r.there[j] - r.base[j]) / scale
				off = math.Hypot(off, now[j]-before[j])
				size = math.Hypot(size, before[j]-linear[j])
			}
			switch agree := rung > 0 && size > 0 && off <= 0.05*size; {
			case agree && at.state < above:
				*at = stretch{within, scale * lengths[k], r.first[k] / scale}
			case at.state == within:
				at.state = above
				if at == &state[k] {
					for _, j := range part {
						linear[j] = before[j]
					}
				}
			}
			for _, j := range part {
				before[j] = now[j]
			}
		}
	}
	for k, s := range state {
		if n := next[k]; n.state == above && n.mean > s.mean && n.top >= math.Ldexp(s.top, ladder*(ladder-2)) {
			s = n
		}
		if lengths[k] = s.top; s.state != above {
			lengths[k] = 0
		}
	}
}

// lengthsOf are the lengths on which a gradient that is not affine changes its slope around y, for
// each part of y, to which steps of differences are relative: |y|, or the length along
// which the curvature stays what it is, whichever is longer. The rounding of a central
// difference is 1e-11 of the force at 20 to 5000 times that length, so below 1e-7 of
// its product. Where nothing is curved it is the way that the gradient asks for, and 1 where nothing says
// how long things are.
func lengthsOf(obj Objective, y, base []float64, parts [][]int) []float64 {
	r := newRays(func(dst, y []float64) { gradOf(obj, dst, y) }, y, base, parts)
	n := len(r.parts)
	size, force, guess := make([]float64, n), make([]float64, n), make([]float64, n)
	for k, part := range r.parts {
		for _, j := range part {
			size[k] = math.Hypot(size[k], y[j])
			force[k] = math.Hypot(force[k], base[j])
		}
		if guess[k] = size[k]; guess[k] == 0 {
			guess[k] = 1
		}
	}
	curvatureLengths, open := append([]float64(nil), guess...), false
	r.curvatureLengths(curvatureLengths)
	for k, l := range curvatureLengths {
		size[k] = math.Max(size[k], l)
		if l > 0 {
			force[k] = 0
		}
		open = open || l == 0
	}
	if open {
		r.reach(guess, force)
	}
	for k := range size {
		if curvatureLengths[k] == 0 {
			size[k] = math.Max(size[k], guess[k])
		}
		if size[k] == 0 {
			size[k] = 1
		}
	}
	return size
}

// Reach is how far a force would move y, along a direction without a pattern, if
// nothing but g's curvature held it: 0 where that cannot be told. base is the gradient
// at y. It works where the length guessed is off by hundreds of orders of magnitude.
func Reach(grad func(dst, y []float64), y, base []float64, force, guess float64) float64 {
	length := []float64{guess}
	newRays(grad, y, base, nil).reach(length, []float64{force})
	return length[0]
}

// length is the longest that an earlier solve, which may be nil, measured; 0: none.
func (s *Solution) length() float64 {
	longest := 0.0
	if s != nil {
		for _, l := range s.Lengths {
			if longest = math.Max(longest, l); !(longest < math.Inf(1)) {
				return 0
			}
		}
	}
	return longest
}

// told takes the length that an earlier solve, which may be nil, ended with.
func (c *curvature) told(warm *Solution) {
	if c.length = warm.length(); c.length > 0 {
		c.lengthAt = linalg.Norm(warm.Y)
	}
}

// outgrown forgets a length that was measured where y was longer by a step of the ladder:
// it is at least that y, of which a start far away says nothing here.
func (c *curvature) outgrown(size float64) bool {
	if !(c.length > 0 && size < math.Ldexp(c.lengthAt, -ladder)) {
		return false
	}
	c.length = 0
	return true
}

// lengths is what the next solve is told.
func (c *curvature) lengths() []float64 {
	if c.length == 0 {
		return nil
	}
	return []float64{c.length}
}
