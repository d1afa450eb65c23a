package certify

import (
	"math"
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
// C of the entries with ends,
//
// and D <= k u for any u > 0 with u - T u > 0 and k (u - T u) >= a.
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
	mat := make([]float64, n*n)
	for r, c := range chosen {
		for a := range n {
			mat[r*n+a] = all[a*len(rows)+c]
		}
	}
	inverse := invert(append([]float64(nil), mat...), n)
	if inverse == nil {
		return nil
	}
	// |s(y) - s(y(x))| <= start + e'D slope
	start, slope := make([]float64, n), make([]float64, n)
	for r, c := range chosen {
		i := rows[c]
		start[r] = m.slack[i].size()
		if t.p.Rows.Kind[i] == problem.AtMost {
			start[r] = up(start[r] + point(theta).over(least[i]).hi)
			slope[r] = point(1).over(least[i]).hi
		}
		for j, v := range t.p.Rows.B.Nonzeros(i) {
			if _, is := place[j]; !is {
				start[r] = up(start[r] + point(v).mul(t.box(t.nx+j).sub(m.value[j])).size())
			}
		}
	}
	a, b, most := make([]float64, n), make([]float64, n), 0.0
	for k := range n {
		for r := range n {
			v := point(math.Abs(inverse[k*n+r]))
			a[k] = up(a[k] + v.mul(point(start[r])).hi)
			b[k] = up(b[k] + v.mul(point(slope[r])).hi)
		}
		most = math.Max(most, a[k])
	}
	u := make([]float64, n)
	ends := 0.0 // e'u
	for k := range n {
		if u[k] = math.Max(a[k], 0x1p-20*most); u[k] == 0 {
			u[k] = 1
		}
		ends = up(ends + point(e[of[k]]).mul(point(u[k])).hi)
	}
	times, lacks := 0.0, lacking(inverse, each.Of(mat, point), n)
	for k := range n {
		rest := point(u[k]).sub(point(b[k]).mul(point(ends)))
		for c, v := range lacks[k*n : k*n+n] {
			rest = rest.sub(point(v.size()).mul(point(u[c])))
		}
		if !(rest.lo > 0) {
			return nil
		}
		times = math.Max(times, point(a[k]).over(rest.lo).hi)
	}
	out := make(map[int]float64, n)
	for k, j := range of {
		out[j] = point(times).mul(point(u[k])).hi
	}
	return out
}
