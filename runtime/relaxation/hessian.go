package relaxation

import (
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
)

// hessian is the second derivative of f in z, of differences of gradients along groups
// of directions (linalg.Colouring). Its pattern is seen: an entry of the gradient that
// does not change by a bit when an entry of z moves does not read it there.
type hessian struct {
	pattern *sparse.CSR
	colours *linalg.Colouring
	values  []float64
	onDiag  []int
	size    float64 // of steps
}

// newHessian finds the pattern at z, of n + 1 gradients.
func (r *Relaxation) newHessian(z []float64) *hessian {
	h := &hessian{size: math.Max(1, linalg.Norm(z)/math.Sqrt(float64(r.n)))}
	base, ahead, at := make([]float64, r.n), make([]float64, r.n), append([]float64(nil), z...)
	r.evaluate(base, at)
	reads := make([][]int, r.n)
	for j := range at {
		at[j] += h.size / 64
		r.evaluate(ahead, at)
		at[j] = z[j]
		for i, v := range ahead {
			if i == j || v != base[i] {
				reads[i] = append(reads[i], j)
				if i != j {
					reads[j] = append(reads[j], i)
				}
			}
		}
	}
	entries := make([]sparse.Entry, 0, 2*r.n)
	for i, cols := range reads {
		seen := make(map[int]bool, len(cols))
		for _, j := range cols {
			if !seen[j] {
				seen[j] = true
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: 1})
			}
		}
	}
	h.pattern = sparse.FromEntries(r.n, r.n, entries)
	h.colours, h.values, h.onDiag = linalg.Colour(h.pattern), make([]float64, h.pattern.NNZ()), make([]int, r.n)
	for i := range h.onDiag {
		for t := h.pattern.Ptr[i]; t < h.pattern.Ptr[i+1]; t++ {
			if h.pattern.Col[t] == i {
				h.onDiag[i] = t
			}
		}
	}
	return h
}

// measure sets the values at z, where the gradient is g; false where one is not finite.
func (r *Relaxation) measure(z, g []float64) bool {
	h := r.hessian
	step := make([]float64, r.n)
	for j, v := range z {
		// Half of the digits of a gradient: what rounding and the third derivative each
		// leave of a difference is then about the same.
		step[j] = math.Sqrt(0x1p-53) * math.Max(h.size, math.Abs(v))
	}
	return h.colours.Differences(h.values, z, step, g, func(dst, z []float64) { r.evaluate(dst, z) })
}

// multiply sets dst to H v.
func (h *hessian) multiply(dst, v []float64) {
	for i := range dst {
		dst[i] = h.pattern.RowDot(i, v)
	}
}
