package certify

import (
	"math"
	"math/big"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// reach is how far entries of y may be from the map where s_i <= (theta + e'|y - y(x)|)/least_i on inequalities, by entry; nil where nothing shows it. They are all that rows with bounds read, but some that have
// ends. With as many such rows A as there are entries, and M about the inverse of A,
//
//	D = |y - y(x)| <= |M| |s(y) - s(y(x)) - C (y - y(x))| + |I - M A| D <= a + T D,
//
// C of the entries with ends, and bounded says what D is then.
func (m *interiorMap) reach(of []int, theta float64, least map[int]float64, e []float64) map[int]float64 {
	t, n, place := m.t, len(of), places(of)
	rows := slices.DeleteFunc(slices.Clone(m.rows), func(i int) bool { return !m.bounds(i, least) })
	if math.IsInf(theta, 1) || len(rows) < n || n*n*len(rows) > tolerance.Second {
		return nil
	}
	all := make([]float64, n*len(rows))
	for c, i := range rows {
		for j, v := range t.p.Rows.B.Entries(i) {
			if a, is := place[j]; is {
				all[a*len(rows)+c] = v
			}
		}
	}
	_, chosen := pivots(all, n, len(rows), func(int) float64 { return 1 })
	if len(chosen) < n {
		return nil
	}
	mat, inverse := transposedPart(all, len(rows), each.Number(n), chosen)
	if inverse == nil {
		return nil
	}
	// |s(y) - s(y(x))| <= start + e'D slope
	start, slope := make([]float64, n), make([]float64, n)
	for r, c := range chosen {
		i := rows[c]
		start[r] = m.slack[i].size()
		if !m.vanishes[i] {
			start[r] = up(start[r] + point(theta).over(least[i]).hi)
			slope[r] = point(1).over(least[i]).hi
		}
		for j, v := range t.p.Rows.B.Nonzeros(i) {
			if _, is := place[j]; !is {
				start[r] = up(start[r] + point(v).mul(t.box(t.nx+j).sub(m.value[j])).size())
			}
		}
	}
	a, b, times := make([]float64, n), make([]float64, n), lacking(inverse, each.Of(mat, point), n)
	for k := range n {
		for r := range n {
			v := point(math.Abs(inverse[k*n+r]))
			a[k] = up(a[k] + v.mul(point(start[r])).hi)
			b[k] = up(b[k] + v.mul(point(slope[r])).hi)
		}
		for c, j := range of {
			by := &times[k*n+c]
			*by = point(by.size()).add(point(b[k]).mul(point(e[j])))
		}
	}
	d := bounded(a, times)
	if d == nil {
		return nil
	}
	out := make(map[int]float64, n)
	for k, j := range of {
		out[j] = d[k]
	}
	return out
}

// transposedPart is the transpose of a square part of a matrix of so many columns, and about its inverse; nil where a pivot is 0.
func transposedPart(all []float64, of int, rows, cols []int) (mat, inverse []float64) {
	for _, c := range cols {
		for _, r := range rows {
			mat = append(mat, all[r*of+c])
		}
	}
	return mat, invert(slices.Clone(mat), len(cols))
}

// bounded is at least any D >= 0 with D <= a + |T| D (n x n): D <= k u for u > 0 with u - |T| u > 0 and k (u - |T| u) >= a. nil where no such u is found.
func bounded(a []float64, times []interval) []float64 {
	n, most := len(a), 0.0
	for _, v := range a {
		most = math.Max(most, v)
	}
	u, by := make([]float64, n), 0.0
	for k := range n {
		if u[k] = math.Max(a[k], 0x1p-20*most); u[k] == 0 {
			u[k] = 1
		}
	}
	for k := range n {
		rest := point(u[k])
		for c, v := range times[k*n : k*n+n] {
			rest = rest.sub(point(v.size()).mul(point(u[c])))
		}
		if !(rest.lo > 0) {
			return nil
		}
		by = math.Max(by, point(a[k]).over(rest.lo).hi)
	}
	return each.Of(u, func(v float64) float64 { return point(by).mul(point(v)).hi })
}

// correct moves the map, where it is outside, to one that satisfies equations exactly. E are independent ones among these and the inequalities on whose edge the map is, J as many entries of y, and M is about the inverse of E_J: with
// r(x) the slacks of E along the map,
//
//	y(x) - M (E_J M)^-1 r(x)   on J
//
// has none, is affine in x, and no farther from the map than |M| u with u >= |r| + |I - E_J M| u. Slacks of other rows that exactly are combinations of those of E vanish with them; and so do, at all y that satisfy the
// constraints, those of inequalities whose combination with positive weights is 0 there.
func (m *interiorMap) correct() {
	t := m.t
	var held []int
	exact := true
	for _, i := range m.rows {
		m.vanishes[i] = t.p.Rows.Kind[i] == problem.Equal
		exact = exact && m.slack[i].lo >= 0 && (!m.vanishes[i] || m.slack[i].zero())
	}
	for _, i := range m.rows {
		onEdge := !exact
		if m.on != nil { // what its multiplier weighs is to be 0, and what is not to be less than 0 may be moved by rounding
			onEdge = m.slack[i].lo < tolerance.Eliminated*m.terms(i) || m.over(m.mu, m.muBy, i).hi > 0
		}
		if m.vanishes[i] || m.slack[i].zero() || onEdge && m.slack[i].size() <= tolerance.HalfDigits*m.terms(i) {
			held = append(held, i)
		}
	}
	ny, nh, place := len(m.y), len(held), places(m.y)
	if nh == 0 || ny*nh*min(ny, nh) > tolerance.Second {
		return
	}
	all := make([]float64, ny*nh)
	for c, i := range held {
		for j, v := range t.p.Rows.B.Nonzeros(i) {
			all[place[j]*nh+c] = v
		}
	}
	entries, rows := pivots(all, ny, nh, func(c int) float64 {
		if m.vanishes[held[c]] {
			return 1
		}
		return 0x1p-30 // as much as pivots differ by: behind the equations
	})
	n, r := len(rows), each.Of(rows, func(c int) float64 { return m.slack[held[c]].size() })
	mat, inverse := transposedPart(all, nh, entries, rows)
	if inverse == nil {
		return
	}
	u := bounded(r, lacking(mat, each.Of(inverse, point), n))
	if u == nil {
		return
	}
	for b, k := range entries {
		j := m.y[k]
		for a := range n {
			m.moved[j] = up(m.moved[j] + point(math.Abs(inverse[b*n+a])).mul(point(u[a])).hi)
		}
		if m.moved[j] > 0 {
			m.value[j] = m.value[j].add(interval{-m.moved[j], m.moved[j]})
		}
	}
	for _, i := range m.rows {
		by := 0.0
		for j, v := range t.p.Rows.B.Nonzeros(i) {
			by = up(by + point(math.Abs(v)).mul(point(m.moved[j])).hi)
		}
		if by > 0 {
			m.slack[i] = m.slack[i].add(interval{-by, by})
		}
	}
	independent := map[int]bool{}
	for _, c := range rows {
		independent[c], m.slack[held[c]] = true, interval{}
	}
	for c, i := range held {
		if independent[c] {
			continue
		}
		weights := make(map[int]float64, n) // of few digits, so that combinations of rows with few digits are exact
		for a, e := range rows {
			w := 0.0
			for b, k := range entries {
				w += all[k*nh+c] * inverse[b*n+a]
			}
			if w = math.Ldexp(math.Round(math.Ldexp(w, 20)), -20); w != 0 {
				weights[held[e]] = w
			}
		}
		if m.combine(i, weights) {
			m.slack[i] = interval{}
			m.vanish(i, weights)
		}
	}
}

// combine reports whether row i is exactly the combination of others with these weights.
func (m *interiorMap) combine(i int, weights map[int]float64) bool {
	rest, product, rows := map[int]*big.Rat{}, new(big.Rat), m.t.p.Rows
	take := func(k int, w float64) {
		add := func(at int, v float64) {
			if rest[at] == nil {
				rest[at] = new(big.Rat)
			}
			rest[at].Sub(rest[at], product.Mul(rat(w), rat(v)))
		}
		add(-1, rows.Rhs[k])
		for j, v := range rows.B.Entries(k) {
			add(j, v)
		}
		for c, v := range rows.A.Entries(k) {
			add(m.t.ny+c, v)
		}
	}
	take(i, -1)
	for k, w := range weights {
		take(k, w)
	}
	for _, v := range rest {
		if v.Sign() != 0 {
			return false
		}
	}
	return true
}

// vanish notes the inequalities whose slacks are 0 since that of row i is their combination with these weights: none is positive, or, where that of row i is 0 as well, none is negative.
func (m *interiorMap) vanish(i int, weights map[int]float64) {
	adds, takes := false, false
	for k, w := range weights {
		adds, takes = adds || !m.vanishes[k] && w > 0, takes || !m.vanishes[k] && w < 0
	}
	if adds && !(m.vanishes[i] && !takes) {
		return
	}
	m.vanishes[i] = true
	for k := range weights {
		m.vanishes[k] = true
	}
}
