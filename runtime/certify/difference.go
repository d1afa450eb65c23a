package certify

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/tolerance"
)

// difference fills the blocks' Hessians: one entry of every block is moved at a
// time, since blocks do not mix.
func (h *hessian) difference(largest int) {
	up, down := make([]float64, h.p.Dy), make([]float64, h.p.Dy)
	z := append([]float64(nil), h.y...)
	step := make([]float64, h.p.Dy)
	full := make([]*mat.Dense, len(h.blocks))
	for k, b := range h.blocks {
		full[k] = mat.NewDense(len(b.entries), len(b.entries), nil)
	}
	for c := range largest {
		shift := func(sign float64) {
			for _, b := range h.blocks {
				if c < len(b.entries) {
					j := b.entries[c]
					z[j] = h.y[j] + sign*step[j]
				}
			}
		}
		for _, b := range h.blocks {
			if c < len(b.entries) {
				step[b.entries[c]] = h.step(b.entries[c])
			}
		}
		widths := make([]stepping, len(h.blocks))
		for range tolerance.Shortenings {
			shift(1)
			h.g.GradY(up, h.x, z)
			if h.p.Facts.QuadraticInY {
				copy(down, h.base)
			} else {
				shift(-1)
				h.g.GradY(down, h.x, z)
			}
			h.calls += 2
			done := true
			for k, b := range h.blocks {
				if c < len(b.entries) {
					j := b.entries[c]
					uneven := h.uneven(b.entries, up, down)
					by := widths[k].longer(step[j], h.lost(b.entries, up, down) && !math.IsInf(uneven, 1))
					if by == 1 { // else halves differ by rounding
						by = widths[k].next(uneven)
					}
					step[j] *= by
					done = done && by == 1
				}
			}
			if done {
				break
			}
		}
		for k, b := range h.blocks {
			if c >= len(b.entries) {
				continue
			}
			j := b.entries[c]
			width := h.y[j] + step[j] - (h.y[j] - step[j])
			if h.p.Facts.QuadraticInY {
				width = h.y[j] + step[j] - h.y[j]
			}
			for r, i := range b.entries {
				full[k].Set(r, c, (up[i]-down[i])/width)
			}
			if widths[k].grown > 0 {
				h.s.lengthen(full[k].At(c, c))
			}
			z[j] = h.y[j]
		}
	}
	for k, b := range h.blocks {
		for i := range b.entries {
			for j := i; j < len(b.entries); j++ {
				b.h.SetSym(i, j, shared(full[k].At(i, j), full[k].At(j, i), step[b.entries[j]], step[b.entries[i]]))
			}
		}
	}
}

// shared is an entry of the Hessian from two differences that know it, each with a rounding inverse to its
// step: an entry of y at 1e-200 has steps in which no other force changes at all.
func shared(a, b, stepA, stepB float64) float64 {
	share := 0.5
	if stepA != stepB {
		share = stepA / (stepA + stepB)
	}
	return share*a + (1-share)*b
}

// mul sets dst to H v, by a difference of gradients along v.
func (h *hessian) mul(dst, v []float64) {
	clear(dst)
	longest := 0.0
	for j, t := range v {
		longest = math.Max(longest, math.Abs(t)/h.size(j))
	}
	step := 1 / longest
	if math.IsInf(step, 0) || math.IsNaN(step) { // v is nothing
		return
	}
	if !h.p.Facts.QuadraticInY {
		step *= cubeRootEps
	}
	z := make([]float64, len(v))
	down := h.base
	all := make([]int, len(v))
	for j := range all {
		all[j] = j
	}
	var width stepping
	for range tolerance.Shortenings {
		for j := range z {
			z[j] = h.y[j] + step*v[j]
		}
		h.g.GradY(dst, h.x, z)
		span := step
		if !h.p.Facts.QuadraticInY {
			down = make([]float64, len(v))
			for j := range z {
				z[j] = h.y[j] - step*v[j]
			}
			h.g.GradY(down, h.x, z)
			span = 2 * step
		}
		h.calls += 2
		if h.exchange != nil {
			h.exchange.products++
		}
		by := width.next(h.uneven(all, dst, down))
		if by == 1 {
			for j := range dst {
				dst[j] = (dst[j] - down[j]) / span
			}
			return
		}
		step *= by
	}
}

// step is that of a difference in one entry: any for a quadratic, where a long
// one has the least rounding, else what balances truncation and rounding.
func (h *hessian) step(j int) float64 {
	if h.p.Facts.QuadraticInY {
		return math.Max(math.Abs(h.y[j]), h.s.y)
	}
	return cubeRootEps * h.size(j)
}

// size is that of an entry of y, no less than a thousandth of the largest: what
// is nearly zero does not say on which scale g varies in it.
func (h *hessian) size(j int) float64 { return math.Max(math.Abs(h.y[j]), 1e-3*h.s.y) }

// cubeRootEps is the step, relative to the variable, that balances truncation
// and rounding of a central difference.
var cubeRootEps = math.Cbrt(0x1p-52)

// uneven is how much the halves of a difference, grad up - base and base - down over some
// entries, differ, relative to it; infinite out of the domain.
func (h *hessian) uneven(entries []int, up, down []float64) float64 {
	for _, i := range entries {
		if !isNumber(up[i] - down[i]) {
			return math.Inf(1)
		}
	}
	if h.p.Facts.QuadraticInY {
		return 0
	}
	apart, whole := 0.0, 0.0
	for _, i := range entries {
		apart = math.Hypot(apart, up[i]-h.base[i]-(h.base[i]-down[i]))
		whole = math.Hypot(whole, up[i]-down[i])
	}
	if apart == 0 {
		return 0
	}
	return apart / whole
}

// lost says that a difference is too little beside the rounding of what it is one of: below 2^10
// units in the last place, where a thousandth of it may be noise; of a quadratic, where any step will do, 2^30.
func (h *hessian) lost(entries []int, up, down []float64) bool {
	whole, base := 0.0, 0.0
	for _, i := range entries {
		whole = math.Hypot(whole, up[i]-down[i])
		base = math.Hypot(base, h.base[i])
	}
	if h.p.Facts.QuadraticInY {
		return whole <= 0x1p-22*base
	}
	return whole <= 0x1p-42*base
}

// stepping shortens a step until the halves of its difference agree to 2^-12 of it: then the
// next term, which is left, is about 2^-22 of it. What a shorter step does not cure is rounding,
// of which the longer one has less.
type stepping struct {
	last  float64 // of the step before, 0 for none
	back  bool
	grown int // by 2^4, 2^8, 2^16 ...: how many times
}

// longer is what a step that will do is to be multiplied by where its difference is lost in
// rounding: the sizes of other entries may say nothing of this one, as where one is 1e-200, beside
// the edge of an entropy, and one at a bound is 0. Each length is the square of the one before, so
// that the range of doubles is a few; a step that was too long for the halves of its difference to
// agree, or for the domain, is not lengthened again, nor one to where numbers end: an entry in which g is
// linear has a difference of 0 in all of them.
func (s *stepping) longer(step float64, lost bool) float64 {
	by := math.Ldexp(1, 4<<s.grown)
	if !lost || s.last > 0 || !(by*step < math.MaxFloat64/2) {
		return 1
	}
	s.grown++
	return by
}

// next is what the step is to be multiplied by: 1 when it will do.
func (s *stepping) next(uneven float64) float64 {
	switch {
	case uneven <= 0x1p-12 || s.back:
		return 1
	case s.last > 0 && !math.IsInf(s.last, 1) && uneven > s.last/4:
		s.back = true
		return 16
	}
	s.last = uneven
	return 1.0 / 16
}
