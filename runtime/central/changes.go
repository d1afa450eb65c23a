package central

import (
	"math"

	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// changes are those of the mu_i that a direction in x makes (Barrier). A nil one is of mu_i
// that do not read x.
type changes struct {
	s                 *Second
	weights           []float64 // of parts: the derivative of F_mu by their share
	share             []float64 // of parts: its derivative along the direction
	turn              []float64 // of parts: the derivative of weights along the direction, at this x
	step              float64   // of differences along the direction
	ahead             place
	behind            place
	forward, backward []float64 // len Dx
}

// place is an x beside the point and what is known of the shares there.
type place struct {
	x            []float64
	share, force []float64
}

func newChanges(s *Second) *changes {
	v := func(k int) []float64 { return make([]float64, k) }
	k, n, nx := s.c.parts.count, s.c.n, len(s.x)
	h := &changes{s: s, weights: v(k), share: v(k), turn: v(k), forward: v(nx), backward: v(nx),
		ahead: place{v(nx), v(k), v(n)}, behind: place{v(nx), v(k), v(n)}}
	s.c.barrier.weigh(h.weights, func(i int) float64 { return s.rowForces[i] * s.c.s[i] * s.c.mu / s.c.lambda[i] })
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
		h.s.c.barrier.measure(at.share, at.force, at.x)
	}
	for p := range h.share {
		h.share[p] = (h.ahead.share[p] - h.behind.share[p]) / (2 * h.step)
	}
}

// relative is the change of mu_i, relative to it.
func (h *changes) relative(i int) float64 {
	if h == nil {
		return 0
	}
	p := h.s.c.parts.row[i]
	if p == len(h.share) || h.s.c.p.Rows.Kind[i] == problem.Equal {
		return 0
	}
	return h.share[p] / h.s.c.barrier.share[p]
}

// addSecond adds to dst what the second derivatives of the shares do to a product along the
// direction, and returns the weights with which their first ones enter it; nil for none.
func (h *changes) addSecond(dst []float64) []float64 {
	if h == nil {
		return nil
	}
	c := h.s.c
	clear(h.forward)
	clear(h.backward)
	c.barrier.add(h.forward, h.weights, h.ahead.share, h.ahead.force, h.ahead.x)
	c.barrier.add(h.backward, h.weights, h.behind.share, h.behind.force, h.behind.x)
	for j := range dst {
		dst[j] += (h.forward[j] - h.backward[j]) / (2 * h.step)
	}
	c.barrier.weigh(h.turn, func(i int) float64 { return -h.s.rowForces[i] * h.s.ds[i] * c.mu / c.lambda[i] })
	return h.turn
}
