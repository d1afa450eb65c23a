package oracle

import (
	"bilevelc/runtime/central"
	"bilevelc/runtime/linalg"
)

// Central is the path of the lower level's central points, along which F is smooth; nil
// where there is none (central.New). Calls to f and g are counted as those of h. With
// recalled it takes over the Hessian of g in y, where that is the same everywhere and lower
// solves have learned all of it; Recalls says whether they have.
func (h *Hyper) Central(recalled bool) *central.Path {
	if recalled && h.Recalls() {
		return central.New(h.p, linalg.Unpack(h.learned.N, h.learned.Upper()))
	}
	return central.New(h.p, nil)
}

// Recalls reports whether the Hessian of g in y is one matrix at every x that is known.
func (h *Hyper) Recalls() bool {
	return h.p.Facts.FixedHessian && h.learned.Complete() && !h.learned.Near
}
