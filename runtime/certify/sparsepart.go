package certify

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// mostGeneral is how many rows of more than one entry there may be: their Schur complement is dense.
const mostGeneral = 1500

// sparsePart is the system of a component with a sparse curvature. Entries that a row of
// a single entry holds are fixed; what is left of H is factorized as it is, and the other
// rows have a dense Schur complement.
type sparsePart struct {
	p         *problem.Problem
	m         *sparse.CSR // H of all of y
	entries   []int
	index     []int
	held      []int      // position in index -> entry of y that it alone holds, or -1
	coef      []float64  // of that row
	general   []int      // positions in index of the others
	free      []int      // entries of y that no row holds alone
	factor    *ldl       // of H over them
	normals   []shortRow // the general rows over the free entries
	schur     envelope   // of their B H^-1 B'
	amplifies float64    // how far multipliers spread errors
	place     []int      // entry of y -> position in entries
	small     float64
	adjoints  map[int]adjoint
}

// newSparsePart holds the independent ones of the given rows.
func newSparsePart(h *hessian, k int, rows []int) (*sparsePart, error) {
	c := &h.comps[k]
	s := &sparsePart{p: h.p, m: h.sparse, entries: c.entries, place: h.place, adjoints: map[int]adjoint{}, small: math.Inf(1)}
	holder := map[int]bool{}
	var general []int
	type bound struct {
		row, entry int
		coef       float64
	}
	var bounds []bound
	for _, i := range rows {
		j, coef := h.p.Rows.Bound(i)
		switch {
		case j < 0:
			general = append(general, i)
		case !holder[j]:
			holder[j] = true
			bounds = append(bounds, bound{i, j, coef})
		}
	}
	at := make(map[int]int, len(c.entries))
	for _, j := range c.entries {
		if !holder[j] {
			at[j] = len(s.free)
			s.free = append(s.free, j)
		}
	}
	var err error
	if s.factor, err = factorize(h.sparse, s.free, at); err != nil {
		return nil, err
	}
	if len(general) > mostGeneral {
		return nil, errProducts
	}
	kept := s.complement(general, at)
	b, g := 0, 0
	for b < len(bounds) || g < len(kept) { // in the order of rows
		if g == len(kept) || b < len(bounds) && bounds[b].row < kept[g] {
			s.index = append(s.index, bounds[b].row)
			s.held, s.coef = append(s.held, bounds[b].entry), append(s.coef, bounds[b].coef)
			b++
			continue
		}
		s.general = append(s.general, len(s.index))
		s.index, s.held, s.coef = append(s.index, kept[g]), append(s.held, -1), append(s.coef, 0)
		g++
	}
	s.small = h.p.Facts.StrongConvexity
	if !(s.small > 0) {
		s.small = s.factor.smallest()
	}
	return s, nil
}

// envelope is a lower triangle L by its rows, row i being 0 before first[i]: where rows meet few
// others, as along a chain, most of it is. It stands for L L'.
type envelope struct {
	rows  [][]float64
	first []int
}

// solve sets v to (L L')^-1 v.
func (l *envelope) solve(v []float64) {
	for i, row := range l.rows {
		for t := l.first[i]; t < i; t++ {
			v[i] -= row[t] * v[t]
		}
		v[i] /= row[i]
	}
	for i := len(l.rows) - 1; i >= 0; i-- {
		row := l.rows[i]
		v[i] /= row[i]
		for t := l.first[i]; t < i; t++ {
			v[t] -= row[t] * v[i]
		}
	}
}

// shortRow is a row by its entries that are not 0.
type shortRow struct {
	cols []int
	vals []float64
}

func (r *shortRow) dot(v []float64) float64 {
	sum := 0.0
	for k, j := range r.cols {
		sum += r.vals[k] * v[j]
	}
	return sum
}

// complement factorizes S = B H^-1 B' over a maximal independent subset of the general
// rows, earlier ones first, which it returns.
func (s *sparsePart) complement(general []int, at map[int]int) (kept []int) {
	// Of a row's own length, in the metric of H^-1 and squared, what those before it leave:
	// below that the digits of S are rounding.
	const dependent = 1e-12
	var l envelope
	var solved [][]float64 // H^-1 of the rows
	for _, i := range general {
		var row shortRow
		w := make([]float64, len(s.free))
		cols, vals := s.p.Rows.B.Row(i)
		for k, j := range cols {
			if r, ok := at[j]; ok {
				row.cols, row.vals = append(row.cols, r), append(row.vals, vals[k])
				w[r] += vals[k]
			}
		}
		s.factor.solve(w)
		own := row.dot(w)
		line := make([]float64, len(kept)+1)
		left, first := own, len(kept) // line is 0 before first: rows of a chain meet few others
		for r := range kept {
			v := row.dot(solved[r])
			if v == 0 && first > r {
				continue
			}
			first = min(first, r)
			for t := max(first, l.first[r]); t < r; t++ {
				v -= l.rows[r][t] * line[t]
			}
			line[r] = v / l.rows[r][r]
			left -= line[r] * line[r]
		}
		if !(left > dependent*own) {
			continue
		}
		line[len(kept)] = math.Sqrt(left)
		l.rows, l.first, kept = append(l.rows, line), append(l.first, first), append(kept, i)
		s.normals, solved = append(s.normals, row), append(solved, w)
	}
	s.schur, s.amplifies = l, 1
	if k := len(kept); k > 0 {
		u := mat.NewTriDense(k, mat.Upper, nil)
		for i, line := range l.rows {
			for j, v := range line {
				u.SetTri(j, i, v)
			}
		}
		var c mat.Cholesky
		c.SetFromU(u)
		s.amplifies = math.Max(1, c.Cond())
	}
	return kept
}

func (s *sparsePart) rows() []int            { return s.index }
func (s *sparsePart) least() float64         { return s.small }
func (s *sparsePart) known() map[int]adjoint { return s.adjoints }

func (s *sparsePart) amplification() float64 {
	return s.amplifies
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
	w := make([]float64, len(s.free))
	for r, j := range s.free {
		w[r] = rest[s.place[j]]
	}
	force := append([]float64(nil), w...)
	s.factor.solve(w)
	if len(s.general) > 0 {
		multipliers := make([]float64, len(s.general))
		for r, k := range s.general {
			multipliers[r] = s.normals[r].dot(w) - apart[k]
		}
		s.schur.solve(multipliers)
		for r, k := range s.general {
			v[k] = multipliers[r]
			for t, j := range s.normals[r].cols {
				force[j] -= s.normals[r].vals[t] * v[k]
			}
		}
		s.factor.solve(force)
		w = force
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
