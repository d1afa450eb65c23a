package certify

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
)

// boundPart is the system of rows of a component without dense factors. Entries that a row of
// a single entry holds are fixed; what is left, the free entries and the general rows, is solved by inner.
type boundPart struct {
	p        *problem.Problem
	entries  []int
	place    []int // entry of y -> position in entries
	index    []int
	held     []int     // position in index -> entry of y that it alone holds, or -1
	coef     []float64 // of that row
	general  []int     // positions in index of the others
	free     []int     // entries of y that no row holds alone
	adjoints map[int]adjoint
	inner
}

// inner is what is known of H, and how the system of what is free is solved.
type inner interface {
	mul(dst, v []float64) // H v, over the entries
	// inFree is the solution for right sides of the free entries and of the general rows.
	inFree(a, b []float64) (u, v []float64, err error)
}

// newBoundPart holds the independent ones of the given rows.
func newBoundPart(h *hessian, k int, rows []int) (componentSystem, error) {
	s := &boundPart{p: h.p, entries: h.comps[k].entries, place: h.place, adjoints: map[int]adjoint{}}
	holder := map[int]int{} // of an entry: the row that holds it
	var general []int
	for _, i := range rows {
		j, _ := h.p.Rows.Bound(i)
		if j < 0 {
			general = append(general, i)
		} else if _, twice := holder[j]; !twice {
			holder[j] = i
		}
	}
	for _, j := range s.entries {
		if _, held := holder[j]; !held {
			s.free = append(s.free, j)
		}
	}
	var part componentSystem
	out := make([]bool, len(general))
	if h.sparse == nil {
		if len(general) > len(s.free) {
			return nil, errFace
		}
		of := &products{boundPart: s, h: h}
		s.inner, part = of, of
	} else {
		f := &sparseFactor{boundPart: s, m: h.sparse, small: h.p.Facts.StrongConvexity}
		if err := f.factorize(general, out); err != nil {
			return nil, err
		}
		s.inner, part = f, f
	}
	g := 0
	for _, i := range rows {
		j, coef := h.p.Rows.Bound(i)
		if j < 0 {
			if g++; out[g-1] {
				continue
			}
			s.general = append(s.general, len(s.index))
			j, coef = -1, 0
		} else if holder[j] != i {
			continue
		}
		s.index, s.held, s.coef = append(s.index, i), append(s.held, j), append(s.coef, coef)
	}
	return part, nil
}

func (s *boundPart) rows() []int            { return s.index }
func (s *boundPart) known() map[int]adjoint { return s.adjoints }

// once is a solution to what rounding of one solve leaves.
func (s *boundPart) once(a, b []float64) (u, v []float64, err error) {
	u, v = make([]float64, len(a)), make([]float64, len(b))
	for k, j := range s.held {
		if j >= 0 {
			u[s.place[j]] = b[k] / s.coef[k]
		}
	}
	rest, apart := a, b
	if maxAbs(u) != 0 { // what the held entries do to the others moves to the right side
		rest, apart = s.residual(a, b, u, v)
	}
	w, off, err := s.inFree(picked(rest, each.Of(s.free, func(j int) int { return s.place[j] })), picked(apart, s.general))
	if err != nil {
		return nil, nil, err
	}
	for r, j := range s.free {
		u[s.place[j]] = w[r]
	}
	for g, k := range s.general {
		v[k] = off[g]
	}
	// Multipliers of the held entries from what is left of the first line.
	rest, _ = s.residual(a, b, u, v)
	for k, j := range s.held {
		if j >= 0 {
			v[k] = rest[s.place[j]] / s.coef[k]
		}
	}
	if !isFinite(u) || !isFinite(v) {
		return nil, nil, errFace
	}
	return u, v, nil
}

// residual is what a solution leaves of the right sides.
func (s *boundPart) residual(a, b, u, v []float64) (ra, rb []float64) {
	ra, rb = make([]float64, len(a)), slices.Clone(b)
	s.mul(ra, u)
	floats.SubTo(ra, a, ra)
	for k, i := range s.index {
		for j, a := range s.p.Rows.B.Entries(i) {
			ra[s.place[j]] -= a * v[k]
			rb[k] -= a * u[s.place[j]]
		}
	}
	return ra, rb
}
