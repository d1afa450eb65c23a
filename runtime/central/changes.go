package central

import (
	"math"

	"bilevelc/runtime/tolerance"
)

// changes are those of mu(x) that a direction in x makes (Barrier). A nil one is of a mu that does not read x.
type changes struct {
	s                 *Second
	weight            float64 // the derivative of F_mu by the share
	rate              float64 // of the share along the direction
	step              float64 // of differences along the direction
	ahead, behind     place
	forward, backward []float64 // len Dx
}

// place is an x beside the point and what is known of the share there.
type place struct {
	x, force []float64
	share    float64
}

func newChanges(s *Second) *changes {
	v := func(k int) []float64 { return make([]float64, k) }
	n, nx := s.c.n, len(s.x)
	h := &changes{s: s, forward: v(nx), backward: v(nx), ahead: place{x: v(nx), force: v(n)}, behind: place{x: v(nx), force: v(n)}}
	h.weight = s.c.barrier.sum(func(i int) float64 { return s.rowForces[i] * s.c.s[i] * s.c.mu / s.c.lambda[i] })
	return h
}

// measure finds the changes along v, whose largest entry is length.
func (h *changes) measure(v []float64, length float64) {
	if h == nil {
		return
	}
	h.step = math.Cbrt(tolerance.Roundoff) * h.s.size / length
	for j, w := range v {
		h.ahead.x[j], h.behind.x[j] = h.s.x[j]+h.step*w, h.s.x[j]-h.step*w
	}
	for _, at := range []*place{&h.ahead, &h.behind} {
		at.share = h.s.c.barrier.measure(at.force, at.x)
	}
	h.rate = (h.ahead.share - h.behind.share) / (2 * h.step)
}

// relative is the change of mu(x), relative to it.
func (h *changes) relative() float64 {
	if h == nil {
		return 0
	}
	return h.rate / h.s.c.barrier.share
}

// addSecond adds to dst what the second derivative of the share does to a product along the
// direction, and returns the weight with which its first one enters it.
func (h *changes) addSecond(dst []float64) float64 {
	if h == nil {
		return 0
	}
	c := h.s.c
	clear(h.forward)
	clear(h.backward)
	c.barrier.add(h.forward, h.weight, h.ahead.share, h.ahead.force, h.ahead.x)
	c.barrier.add(h.backward, h.weight, h.behind.share, h.behind.force, h.behind.x)
	for j := range dst {
		dst[j] += (h.forward[j] - h.backward[j]) / (2 * h.step)
	}
	return c.barrier.sum(func(i int) float64 { return -h.s.rowForces[i] * h.s.ds[i] * c.mu / c.lambda[i] })
}
