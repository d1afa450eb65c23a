package certify

import (
	"math"
	"math/rand/v2"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/tolerance"
)

// curvature adds up H, symmetric, by differences of gradients along directions that each move the entries of one colour, of which no two have a row in common
// (Curtis, Powell, Reid 1974): rows are those that the column of an entry may have. Of the two differences that know an entry of H each counts by its step, to which its rounding is
// inverse: an entry of y at 1e-200 has steps in which no other force changes at all.
func (h *hessian) curvature(colour []int, count int, rows func(j int) []int, add func(i, j int, v float64)) {
	n := h.p.Dy
	up, down, step := make([]float64, n), make([]float64, n), make([]float64, n)
	widths, found, moved := make([]stepping, n), make([][]float64, n), make([][]int, count)
	for j, c := range colour {
		step[j], moved[c] = h.step(j), append(moved[c], j)
	}
	for _, group := range moved {
		for range tolerance.Shortenings {
			by := make([]float64, n)
			for _, j := range group {
				by[j] = step[j]
			}
			h.halves(up, down, by)
			done := true
			for _, j := range group {
				uneven := h.uneven(rows(j), up, down)
				by := widths[j].longer(step[j], h.lost(rows(j), up, down) && !math.IsInf(uneven, 1))
				if by == 1 { // else halves differ by rounding
					by = widths[j].next(uneven)
				}
				step[j] *= by
				done = done && by == 1
			}
			if done {
				break
			}
		}
		for _, j := range group {
			from := h.y[j]
			if !h.p.Facts.QuadraticInY {
				from -= step[j]
			}
			width := h.y[j] + step[j] - from
			for _, i := range rows(j) {
				v := (up[i] - down[i]) / width
				found[j] = append(found[j], v)
				if i == j && widths[j].grown > 0 {
					h.s.lengthen(v)
				}
			}
		}
	}
	for j, column := range found {
		for k, i := range rows(j) {
			v := column[k] / 2
			if step[i] != step[j] {
				v = column[k] * (step[j] / (step[i] + step[j]))
			}
			add(i, j, v)
			add(j, i, v)
		}
	}
}

// halves sets up and down to grad_y g at the two ends of a difference, by away from y; of a g that is quadratic y itself is one.
func (h *hessian) halves(up, down, by []float64) {
	h.g.GradY(up, h.x, moved(h.y, 1, by))
	if h.p.Facts.QuadraticInY {
		copy(down, h.base)
	} else {
		h.g.GradY(down, h.x, minus(h.y, by))
	}
}

// mul sets dst to H v, by a difference of gradients along v.
func (h *hessian) mul(dst, v []float64) {
	clear(dst)
	longest := 0.0
	for j, t := range v {
		longest = math.Max(longest, math.Abs(t)/h.size(j))
	}
	step := 1 / longest
	if !isNumber(step) { // v is nothing
		return
	}
	if !h.p.Facts.QuadraticInY {
		step *= cubeRootEps
	}
	down, whole := make([]float64, len(v)), each.Number(len(v))
	var width stepping
	for range tolerance.Shortenings {
		h.halves(dst, down, scaled(v, step))
		if h.exchange != nil {
			h.exchange.products++
		}
		by := width.next(h.uneven(whole, dst, down))
		if by == 1 {
			span := step
			if !h.p.Facts.QuadraticInY {
				span = 2 * step
			}
			copy(dst, quotient(dst, down, span))
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
	from, base, to := picked(down, entries), picked(h.base, entries), picked(up, entries)
	whole := minus(to, from)
	switch {
	case !isFinite(whole):
		return math.Inf(1)
	case h.p.Facts.QuadraticInY:
		return 0
	}
	return share(distance(minus(to, base), minus(base, from)), norm(whole))
}

// lost says that a difference is too little beside the rounding of what it is one of: below 2^10
// units in the last place, where a thousandth of it may be noise; of a quadratic, where any step will do, 2^30.
func (h *hessian) lost(entries []int, up, down []float64) bool {
	whole, base := distance(picked(up, entries), picked(down, entries)), norm(picked(h.base, entries))
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
		return tolerance.Shorten
	}
	s.last = uneven
	return 1.0 / tolerance.Shorten
}

// sparseCurvature is the Hessian of g in y by differences. The pattern
// is the compiler's; one product along a random direction tries it. nil where that
// differs, or where the curvature is not sparse.
func (h *hessian) sparseCurvature(pattern *sparse.CSR) *sparse.CSR {
	n := h.p.Dy
	if pattern == nil || pattern.Rows != n || pattern.Cols != n {
		return nil
	}
	colour, count := colours(pattern)
	if count > tolerance.DenseOrder {
		return nil
	}
	var entries []sparse.Entry
	h.curvature(colour, count, func(j int) []int { cols, _ := pattern.Row(j); return cols }, func(i, j int, v float64) {
		entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v})
	})
	m := sparse.FromEntries(n, n, entries)
	rng := rand.New(rand.NewPCG(4, uint64(n)))
	v := each.Below(n, func(j int) float64 { return rng.NormFloat64() * h.size(j) })
	image, found := make([]float64, n), make([]float64, n)
	h.mul(image, v)
	m.MulVec(found, v)
	if !(distance(image, found) <= tolerance.Weak*norm(image)) {
		return nil
	}
	return m
}

// trySparse takes the curvature as sparse where it is, and positive definite.
func (h *hessian) trySparse(parts [][]int) bool {
	if h.sparse = h.sparseCurvature(h.p.Facts.HessianPattern); h.sparse == nil {
		return false
	}
	h.divide(parts)
	for k := range h.comps {
		if _, err := h.componentSystem(k, nil); err != nil {
			h.sparse, h.comps, h.parts = nil, nil, nil
			return false
		}
	}
	return true
}

// colours gives each column the least number that no column it shares a row with has.
func colours(pattern *sparse.CSR) (of []int, count int) {
	n := pattern.Cols
	colour, taken := slices.Repeat([]int{-1}, n), make([]int, n+1)
	for j := range n {
		rows, _ := pattern.Row(j)
		for _, i := range rows {
			cols, _ := pattern.Row(i)
			for _, k := range cols {
				if c := colour[k]; c >= 0 {
					taken[c] = j + 1
				}
			}
		}
		c := 0
		for taken[c] == j+1 {
			c++
		}
		colour[j], count = c, max(count, c+1)
		if count > tolerance.DenseOrder {
			return nil, count
		}
	}
	return colour, count
}
