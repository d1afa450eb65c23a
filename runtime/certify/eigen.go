package certify

import (
	"math"
	"math/rand/v2"
)

// leastAlong is an estimate of the least eigenvalue of the k-th component's H along its
// equality rows, from above.
func (h *hessian) leastAlong(k int) (float64, error) {
	p, err := h.componentSystem(k, h.equal(k))
	if err != nil {
		return 0, err
	}
	zero := make([]float64, len(p.rows()))
	return inverseIteration(len(h.comps[k].entries), func(v []float64) ([]float64, error) {
		u, _, err := p.solve(v, zero, true)
		return u, err
	})
}

// inverseIteration is the least eigenvalue of the matrix that solve inverts, from above.
func inverseIteration(n int, solve func(v []float64) ([]float64, error)) (float64, error) {
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	v := drawn(rng, n)
	grown := 0.0
	for range 8 {
		size := norm(v)
		if size == 0 {
			break
		}
		var err error
		if v, err = solve(scaled(v, 1/size)); err != nil {
			return 0, err
		}
		grown = math.Max(grown, norm(v))
	}
	return 1 / grown, nil
}
