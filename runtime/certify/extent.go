package certify

import (
	"math"
	"math/rand/v2"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// widths is the size of each entry of x over X: half its interval, or, where
// that is not bounded, the largest number known of it.
func widths(p *problem.Problem, x []float64) []float64 {
	w := make([]float64, p.Dx)
	for j := range w {
		lo, hi := p.X.Lo[j], p.X.Hi[j]
		if !math.IsInf(lo, -1) && !math.IsInf(hi, 1) {
			w[j] = (hi - lo) / 2
			continue
		}
		w[j] = math.Max(math.Abs(x[j]), math.Max(finite(math.Abs(lo)), finite(math.Abs(hi))))
		if j < len(p.Start) {
			w[j] = math.Max(w[j], math.Abs(p.Start[j]))
		}
	}
	for _, b := range p.X.Balls {
		for j := b.Start; j < b.End; j++ {
			if b.Radius > 0 && (w[j] == 0 || b.Radius < w[j]) {
				w[j] = b.Radius
			}
		}
	}
	if maxAbs(w) == 0 { // X is one point
		w = each.Of(x, math.Abs)
	}
	// What says nothing of its own size, being 0 or what rounding of the others leaves of it, is
	// taken for as large as the others.
	top := orOne(maxAbs(w))
	for j := range w {
		if w[j] <= tolerance.SumRounding*top && (math.IsInf(p.X.Lo[j], -1) || math.IsInf(p.X.Hi[j], 1)) {
			w[j] = top
		}
	}
	return w
}

// probe is a point at about a width from x, within the bounds of X: drawn from what they leave
// of the interval, so that at a vertex of X, where steps out of it would all end where they
// began, every entry that can move does.
func (s *scales) probe(p *problem.Problem, x []float64, rng *rand.Rand) []float64 {
	return inBox(p, each.Below(len(x), func(j int) float64 {
		lo, hi := math.Max(p.X.Lo[j], x[j]-s.width[j]), math.Min(p.X.Hi[j], x[j]+s.width[j])
		return lo + (hi-lo)*rng.Float64()
	}))
}

// inBox is the point of the box of X that is nearest to z.
func inBox(p *problem.Problem, z []float64) []float64 {
	return each.Below(len(z), func(j int) float64 { return math.Max(p.X.Lo[j], math.Min(p.X.Hi[j], z[j])) })
}

// between is the point at a share of the way from a to b.
func between(a, b []float64, share float64) []float64 { return moved(a, share, minus(b, a)) }

// boundsOfY are those of y at x, from rows of one entry.
func boundsOfY(p *problem.Problem, x []float64) (lo, hi []float64) {
	lo, hi = everywhere(p.Dy)
	for i, kind := range p.Rows.Kind {
		j, coef := p.Rows.Bound(i)
		if j < 0 {
			continue
		}
		at := (p.Rows.A.RowDot(i, x) - p.Rows.Rhs[i]) / coef
		if coef > 0 || kind == problem.Equal {
			lo[j] = math.Max(lo[j], at)
		}
		if coef < 0 || kind == problem.Equal {
			hi[j] = math.Min(hi[j], at)
		}
	}
	return lo, hi
}

// reach is how far a force would move y along a random direction if nothing but the
// curvature of g held it: where the gradient has changed by as much, which a convex
// function's does at one place, whatever the units. 0 where none is found.
func reach(p *problem.Problem, g problem.Function, x, y, grad []float64, force float64, rng *rand.Rand) float64 {
	v := drawn(rng, p.Dy)
	length := norm(v)
	if length == 0 || !(force > 0) {
		return 0
	}
	change := func(far float64) float64 {
		at := gradY(g, x, moved(y, far/length, v))
		if !isFinite(at) { // norm would not see a NaN
			return math.Inf(1)
		}
		return distance(at, grad)
	}
	// By powers of 2^16 to an interval, then by its geometric mean. The range of doubles
	// is 130 such powers; a guess that is right for a quadratic saves nearly all.
	far := orOne(maxAbs(y))
	if c := change(far); c > 0 && !math.IsInf(c, 1) {
		far *= force / c
	}
	low, high := 0.0, math.Inf(1)
	for range 160 {
		if far == 0 || math.IsInf(far, 1) {
			return 0
		}
		c := change(far)
		if c > force/2 && c < 2*force {
			return far
		}
		if c < force {
			low = far
		} else {
			high = far
		}
		switch {
		case low == 0:
			far = high * 0x1p-16
		case math.IsInf(high, 1):
			far = low * 0x1p16
		case high < 2*low: // the gradient steps, or its domain ends
			return low
		default:
			far = math.Sqrt(low) * math.Sqrt(high)
		}
	}
	return 0
}

// around is where a run starts, and a few points of X, the second opposite to the first: a follower that reacts on one
// side of a kink is seen there.
func (d *deriver) around(x []float64) [][]float64 {
	rng := rand.New(rand.NewPCG(2, uint64(d.p.Dx)))
	start := append([]float64(nil), x...)
	for j := range start {
		switch lo, hi := d.p.X.Lo[j], d.p.X.Hi[j]; {
		case len(d.p.Start) == d.p.Dx:
			start[j] = d.p.Start[j]
		case hi-lo < math.Inf(1):
			start[j] = (lo + hi) / 2
		}
	}
	points := each.Below(probes, func(int) []float64 { return d.s.probe(d.p, start, rng) })
	points[1] = inBox(d.p, moved(scaled(start, 2), -1, points[0]))
	return slices.Insert(points, 0, start)
}
