package oracle

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// terms are the sizes of what grad_y g is made of.
type terms struct {
	Size      float64 // of the terms that add up to the gradient: its rounding is this times the unit
	Width     float64 // by how much the gradient changes as x moves by its width in X, to first order
	Curvature float64 // |grad g(y + v) - grad g(y)| / |v| along one v
}

// termsOf is the size of the terms of grad_y g at (x, y), where it is base, found with
// a few gradients. Changing every entry of
// x and y by a small part of itself, of its own sign and size, changes the gradient by
// about that part of the terms' size, whatever cancels between them: changes of one size
// cancel where terms do. Two changes may be of nearly one size by chance, to a
// sixteenth (roundings) one time in ten, in all of the probes one time in 10^4.
func termsOf(p *problem.Problem, x, y, base []float64) float64 {
	return termsAlong(p.G.GradY, x, y, base, tolerance.HalfDigits)
}

// termsAlong is termsOf for any gradient of g, with entries of x changed by another part of themselves, 0 for none.
func termsAlong(grad func(dst, x, y []float64), x, y, base []float64, partOfX float64) (size float64) {
	const probes = 4
	all := make([]float64, len(base)+len(x)+len(y))
	moved, xs, ys := all[:len(base)], all[len(base):len(base)+len(x)], all[len(base)+len(x):]
	share := shares(1)
	for range probes {
		for j, v := range x {
			xs[j] = v * (1 + partOfX*share())
		}
		for j, v := range y {
			ys[j] = v * (1 + tolerance.HalfDigits*share())
		}
		grad(moved, xs, ys)
		if d := linalg.Distance(moved, base) / tolerance.HalfDigits; d < math.Inf(1) {
			size = math.Max(size, d)
		}
	}
	return size + linalg.Norm(base)
}

// enclosed is what rounding may make of grad_y g at (x, y), in the 1-norm, by its enclosure (problem.Rounded): terms that cancel where entries are 0, of which no part moves them, are in it. 0 where there is none.
func enclosed(p *problem.Problem, x, y []float64) float64 {
	g, ok := p.G.(problem.Rounded)
	if !ok {
		return 0
	}
	along := slices.Repeat([]float64{1}, len(y))
	lo, hi, ok := g.SlopeY(along, x, y)
	if width := hi - lo; ok && width < math.Inf(1) {
		return width
	}
	return 0
}

// terms is the size of the terms of grad_y g at the point, which may cancel to 0 there.
func (at *At) terms() float64 {
	base := make([]float64, len(at.Lower.Y))
	at.Problem.G.GradY(base, at.X, at.Lower.Y)
	return termsOf(at.Problem, at.X, at.Lower.Y, base)
}

// measure finds the terms at (x, y) with a few gradients.
func measure(p *problem.Problem, x, y []float64) *terms {
	base := make([]float64, len(y))
	p.G.GradY(base, x, y)
	t := &terms{Size: termsOf(p, x, y, base)}
	moved, ys, share := make([]float64, len(y)), make([]float64, len(y)), shares(3)
	p.G.GradY(moved, shifted(p, x, share), y)
	if d := linalg.Distance(moved, base) / tolerance.HalfDigits; d < math.Inf(1) {
		t.Width = d
	}
	if p.Facts.StrongConvexity > 0 && p.Facts.Smoothness > 0 {
		return t
	}
	at := &At{Problem: p, X: x, Lower: &lower.Solution{Y: y}}
	length := tolerance.HalfDigits * at.size() / math.Sqrt(float64(len(y)))
	for j, v := range y {
		ys[j] = v + length*share()
	}
	p.G.GradY(moved, x, ys)
	if d := linalg.Distance(moved, base) / linalg.Distance(ys, y); d < math.Inf(1) {
		t.Curvature = d
	}
	return t
}

// shifted is x moved by a small share of its extents.
func shifted(p *problem.Problem, x []float64, share func() float64) []float64 {
	xs := slices.Clone(x)
	for j, size := range extents(p, x) {
		xs[j] += tolerance.HalfDigits * share() * size
	}
	return xs
}

// extents are the sizes of the entries of x over X of which x itself does not speak: half the
// widths where they are bounded; where not, 0, but the largest size of all where an entry is no more
// than what rounding leaves of that. A free entry that has come to 1e-16 beside others of size 1 has
// no digits: any rounding on the way might have made it 0.
func extents(p *problem.Problem, x []float64) []float64 {
	sizes, top := make([]float64, len(x)), 0.0
	for j, v := range x {
		lo, hi := p.X.Lo[j], p.X.Hi[j]
		if w := (hi - lo) / 2; w < math.Inf(1) {
			sizes[j] = w
			top = math.Max(top, w)
			continue
		}
		top = math.Max(top, math.Abs(v))
		for _, bound := range []float64{lo, hi} {
			if !math.IsInf(bound, 0) {
				top = math.Max(top, math.Abs(bound))
			}
		}
		if j < len(p.Start) {
			top = math.Max(top, math.Abs(p.Start[j]))
		}
	}
	for j, v := range x {
		if !(p.X.Hi[j]-p.X.Lo[j] < math.Inf(1)) && math.Abs(v) <= tolerance.SumRounding*top {
			sizes[j] = top
		}
	}
	return sizes
}

// shares returns a sequence of numbers without a pattern, of 1/2 to 1 and either sign,
// the same for a seed (SplitMix64; Steele, Lea, Flood 2014).
func shares(seed uint64) func() float64 {
	return func() float64 {
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		return (1 - 2*float64(z>>63)) * (0.5 + float64(z<<12>>12)*0x1p-53)
	}
}
