package certify

import (
	"math"

	lapack "gonum.org/v1/gonum/lapack/gonum"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// sparsePart is the system of a component with a sparse curvature. Entries that a row of
// a single entry holds are fixed; what is left of H is factorized with the other rows.
type sparsePart struct {
	p         *problem.Problem
	m         *sparse.CSR // H of all of y
	entries   []int
	index     []int
	held      []int     // position in index -> entry of y that it alone holds, or -1
	coef      []float64 // of that row
	general   []int     // positions in index of the others
	free      []int     // entries of y that no row holds alone
	factor    *ldl      // of H over them and the general rows that are independent
	unknown   []int     // of these: their places in the factor
	amplifies float64   // see amplification; 0: not yet
	small     float64   // see least; 0: not yet
	place     []int     // entry of y -> position in entries
	adjoints  map[int]adjoint
}

// newSparsePart holds the independent ones of the given rows.
func newSparsePart(h *hessian, k int, rows []int) (*sparsePart, error) {
	c := &h.comps[k]
	s := &sparsePart{p: h.p, m: h.sparse, entries: c.entries, place: h.place, adjoints: map[int]adjoint{}, small: h.p.Facts.StrongConvexity}
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
	at := make(map[int]int, len(c.entries))
	for _, j := range c.entries {
		if _, held := holder[j]; !held {
			at[j] = len(s.free)
			s.free = append(s.free, j)
		}
	}
	of := len(s.free)
	near, vals := make([][]int, of+len(general)), make([][]float64, of+len(general))
	add := func(r, q int, v float64) { near[r], vals[r] = append(near[r], q), append(vals[r], v) }
	for r, j := range s.free {
		cols, v := s.m.Row(j)
		for t, i := range cols {
			if q, ok := at[i]; ok {
				add(r, q, v[t])
			}
		}
	}
	for g, i := range general {
		cols, v := h.p.Rows.B.Row(i)
		for t, j := range cols {
			if q, ok := at[j]; ok {
				add(of+g, q, v[t])
				add(q, of+g, v[t])
			}
		}
	}
	var err error
	if s.factor, err = factorize(near, vals, of); err != nil {
		return nil, err
	}
	g := 0
	for _, i := range rows {
		j, coef := h.p.Rows.Bound(i)
		if j < 0 {
			if g++; s.factor.out[of+g-1] {
				continue
			}
			s.general, s.unknown = append(s.general, len(s.index)), append(s.unknown, of+g-1)
			j, coef = -1, 0
		} else if holder[j] != i {
			continue
		}
		s.index, s.held, s.coef = append(s.index, i), append(s.held, j), append(s.coef, coef)
	}
	return s, nil
}

func (s *sparsePart) rows() []int            { return s.index }
func (s *sparsePart) known() map[int]adjoint { return s.adjoints }

// least is that along the face, where no modulus is proved.
func (s *sparsePart) least() float64 {
	if !(s.small > 0) {
		s.small = math.Inf(1)
		if len(s.free) > 0 {
			s.small, _ = inverseIteration(len(s.free), func(v []float64) ([]float64, error) {
				u, _ := s.inFree(v, make([]float64, len(s.general)))
				return u, nil
			})
		}
	}
	return s.small
}

// amplification is an estimate of the largest sum in a row of G N^-1 S^-1 N (Higham 1988), S = B H^-1 B' of the general rows, N their lengths and G the ways that they give: an error of
// one in u moves no row, in units of its length, by more than one, and multipliers by S^-1 times that.
func (s *sparsePart) amplification() float64 {
	k := len(s.general)
	if s.amplifies > 0 || k == 0 {
		return math.Max(1, s.amplifies)
	}
	length, way := make([]float64, k), make([]float64, k)
	for g, i := range s.general {
		_, vals := s.p.Rows.B.Row(s.index[i])
		length[g] = norm(vals)
		way[g] = s.give(i) / length[g]
	}
	est := 0.0
	v, x, sign, save := make([]float64, k), make([]float64, k), make([]int, k), [3]int{}
	for kase := 0; ; {
		if est, kase = (lapack.Implementation{}).Dlacn2(k, v, x, sign, est, kase, &save); kase == 0 {
			break
		}
		before, behind := length, way
		if kase == 1 { // of the transposed matrix, whose columns are the rows
			before, behind = way, length
		}
		for g := range x {
			x[g] *= before[g]
		}
		_, solved := s.inFree(make([]float64, len(s.free)), x)
		for g, t := range solved {
			x[g] = t * behind[g]
		}
	}
	s.amplifies = math.Max(1, est)
	return s.amplifies
}

// inFree is the solution for the right sides a and b of the free entries and the general rows.
func (s *sparsePart) inFree(a, b []float64) (u, v []float64) {
	w := make([]float64, len(s.factor.order))
	copy(w, a)
	for g, r := range s.unknown {
		w[r] = b[g]
	}
	s.factor.solve(w)
	v = make([]float64, len(b))
	for g, r := range s.unknown {
		v[g] = w[r]
	}
	return w[:len(a)], v
}

// give takes H as diagonal.
func (s *sparsePart) give(k int) float64 {
	sum := 0.0
	cols, vals := s.p.Rows.B.Row(s.index[k])
	for t, j := range cols {
		sum += vals[t] * vals[t] / s.m.At(j, j)
	}
	return sum
}

// solve has one step of refinement.
func (s *sparsePart) solve(a, b []float64) (u, v []float64, err error) {
	u, v = s.once(a, b)
	ra, rb := append([]float64(nil), a...), append([]float64(nil), b...)
	for r, j := range s.entries {
		cols, vals := s.m.Row(j)
		for t, i := range cols {
			ra[r] -= vals[t] * u[s.place[i]]
		}
	}
	for k, i := range s.index {
		cols, vals := s.p.Rows.B.Row(i)
		for t, j := range cols {
			ra[s.place[j]] -= vals[t] * v[k]
			rb[k] -= vals[t] * u[s.place[j]]
		}
	}
	du, dv := s.once(ra, rb)
	for r, t := range du {
		u[r] += t
	}
	for k, t := range dv {
		v[k] += t
	}
	if !isFinite(u) || !isFinite(v) {
		return nil, nil, errFace
	}
	return u, v, nil
}

func (s *sparsePart) adjoint(i, r int, inside, refined bool) (a adjoint, err error) {
	ra, rb := make([]float64, len(s.entries)), make([]float64, len(s.index))
	if inside {
		rb[r] = -s.give(r)
	} else {
		cols, vals := s.p.Rows.B.Row(i)
		for t, j := range cols {
			ra[s.place[j]] += vals[t]
		}
	}
	if a.refined = refined; refined {
		a.u, a.v, err = s.solve(ra, rb)
	} else if a.u, a.v = s.once(ra, rb); !isFinite(a.u) || !isFinite(a.v) {
		err = errFace
	}
	return a, err
}

// once is a solution to what rounding of one solve leaves.
func (s *sparsePart) once(a, b []float64) (u, v []float64) {
	u, v = make([]float64, len(a)), make([]float64, len(b))
	rest := append([]float64(nil), a...) // a - H u - B' v as they are found
	apart := append([]float64(nil), b...)
	for k, j := range s.held {
		if j >= 0 {
			u[s.place[j]] = b[k] / s.coef[k]
		}
	}
	minus := func(j int, t float64) {
		if t == 0 {
			return
		}
		cols, vals := s.m.Row(j)
		for r, i := range cols {
			rest[s.place[i]] -= vals[r] * t
		}
	}
	for _, j := range s.held {
		if j >= 0 {
			minus(j, u[s.place[j]])
		}
	}
	for _, k := range s.general {
		cols, vals := s.p.Rows.B.Row(s.index[k])
		for t, j := range cols {
			apart[k] -= vals[t] * u[s.place[j]]
		}
	}
	w, off := make([]float64, len(s.free)), make([]float64, len(s.general))
	for r, j := range s.free {
		w[r] = rest[s.place[j]]
	}
	for g, k := range s.general {
		off[g] = apart[k]
	}
	w, off = s.inFree(w, off)
	for g, k := range s.general {
		v[k] = off[g]
	}
	for r, j := range s.free {
		u[s.place[j]] = w[r]
		minus(j, w[r])
	}
	for _, k := range s.general {
		cols, vals := s.p.Rows.B.Row(s.index[k])
		for t, j := range cols {
			rest[s.place[j]] -= vals[t] * v[k]
		}
	}
	for k, j := range s.held {
		if j >= 0 {
			v[k] = rest[s.place[j]] / s.coef[k]
		}
	}
	return u, v
}
