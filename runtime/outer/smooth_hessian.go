package outer

import (
	"slices"

	"bilevelc/runtime/central"
	"bilevelc/runtime/linalg"
)

// hessian is the second derivative of F_mu at a point. Products are kept: after a step that is
// refused conjugate gradients go the same way again, up to the smaller region. It is made a
// matrix, by as many products as x has entries, once that many have been made: whoever pays for
// a thing only when what it would have saved has come to its price pays at most twice what is
// least.
type hessian struct {
	second *central.Second
	n      int
	made   []product
	full   []float64 // n x n; nil: not yet
}

// product is H v.
type product struct{ v, hv []float64 }

// Apply sets dst to the product with v.
func (h *hessian) Apply(dst, v []float64) {
	if h.full == nil {
		for _, p := range h.made {
			if slices.Equal(p.v, v) {
				copy(dst, p.hv)
				return
			}
		}
		if len(h.made) < h.n {
			h.second.Apply(dst, v)
			h.made = append(h.made, product{linalg.Clone(v), linalg.Clone(dst)})
			return
		}
		h.form()
	}
	for i := range dst {
		dst[i] = linalg.Dot(h.full[i*h.n:(i+1)*h.n], v)
	}
}

func (h *hessian) form() {
	h.full, h.made = make([]float64, h.n*h.n), nil
	e := make([]float64, h.n)
	for j := range e {
		e[j] = 1
		h.second.Apply(h.full[j*h.n:(j+1)*h.n], e)
		e[j] = 0
	}
	linalg.Symmetrize(h.n, h.full)
}
