package certify

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	lapack "gonum.org/v1/gonum/lapack/gonum"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/tolerance"
)

// A column without an end needs d_j = 0, or d_j of one sign, exactly; the weights of a proof are doubles, and leave d_j of rounding. complete
// shows that weights next to them exist for which these d_j are 0: as many weights, or entries of Z, as there are such columns are taken to be
// unknown, and the linear system for their changes is enclosed (Krawczyk 1969; Rump 1999). Columns whose equations follow
// from others are settled in rational numbers. The weights keep the signs that they may have.
func (l *treeLeaf) complete() {
	l.reduce()
	var of []int // the columns of the system
	in := make([]bool, l.t.n)
	for more := true; more; { // each time the changes move other reduced costs, columns join the system
		more = false
		for j := range l.d {
			if l.fails(j) && !in[j] {
				must.Be(l.d[j].finite(), "column %s: the reduced cost is no number", l.column(j))
				of, in[j], more = append(of, j), true, true
			}
		}
		if more {
			l.solve(of)
		}
	}
	for j := range l.d {
		if l.fails(j) {
			must.Be(false, "column %s has no end, and the reduced cost %.3g", l.column(j), l.d[j].mid())
		}
	}
	l.signs()
}

// column names a column.
func (l *treeLeaf) column(j int) string {
	t := l.t
	switch {
	case j < t.nx:
		return fmt.Sprintf("x[%d]", j)
	case j < t.nx+t.ny:
		return fmt.Sprintf("y[%d]", j-t.nx)
	case j < t.nx+t.ny+t.m:
		return fmt.Sprintf("multiplier[%d]", j-t.nx-t.ny)
	}
	return fmt.Sprintf("u[%d]", j-t.nx-t.ny-t.m)
}

// unknown is a weight, or an entry of Z (kind treeKinds).
type unknown struct{ kind, index int }

func (l *treeLeaf) value(u unknown) *interval {
	if u.kind == treeKinds {
		return &l.z[u.index]
	}
	return &l.w[u.kind][u.index]
}

// candidates are the unknowns that may change: those of any sign, and weights that are not zero.
func (l *treeLeaf) candidates() []unknown {
	var all []unknown
	for k := range l.w {
		for i, v := range l.w[k] {
			if l.free(k, i) || !v.zero() {
				all = append(all, unknown{k, i})
			}
		}
	}
	for _, i := range l.of.curved {
		all = append(all, unknown{treeKinds, i})
	}
	return all
}

// derivative calls f with d d_j / d u for the columns where it is not 0.
func (l *treeLeaf) derivative(u unknown, f func(j int, v interval)) {
	if u.kind == treeKinds {
		for _, e := range l.of.q[u.index] {
			f(e.col, e.val)
		}
		return
	}
	cols, vals := l.t.rows[u.kind].Row(u.index)
	for s, j := range cols {
		f(j, l.coef(u.kind, u.index, s, vals[s]).neg())
	}
}

// solve encloses changes of unknowns that make d_j = 0 for the columns.
func (l *treeLeaf) solve(of []int) {
	for _, m := range l.moved { // undo the changes of the last system
		*l.value(m.u) = m.was
	}
	l.moved = l.moved[:0]
	clear(l.shown)
	at := places(of)
	l.reduce()
	all := l.candidates()
	m, n := len(of), len(all)
	a := make([]float64, m*n)
	for c, u := range all {
		l.derivative(u, func(j int, v interval) {
			if k, ok := at[j]; ok {
				a[k*n+c] = v.mid()
			}
		})
	}
	rows, cols := pivots(a, m, n, func(c int) float64 {
		if l.value(all[c]).zero() {
			return tolerance.HalfDigits // zeros make other reduced costs exact
		}
		return 1
	})
	size := len(rows)
	// matrix of the rows and columns chosen, its approximate inverse, and the residual.
	mat := make([]interval, size*size)
	place := places(each.Of(rows, func(k int) int { return of[k] }))
	for c, k := range cols {
		l.derivative(all[k], func(j int, v interval) {
			if r, ok := place[j]; ok {
				mat[r*size+c] = v
			}
		})
	}
	rhs := each.Of(rows, func(k int) interval { return l.d[of[k]].neg() })
	change := enclose(mat, rhs, size)
	for c, k := range cols {
		v := l.value(all[k])
		l.moved = append(l.moved, movedWeight{all[k], *v})
		*v = v.add(change[c])
	}
	for _, k := range rows {
		l.shown[of[k]] = true
	}
	l.reduce()
	if size < m {
		l.exactly(of)
	}
}

// movedWeight is an unknown that changed, and what it was.
type movedWeight struct {
	u   unknown
	was interval
}

// pivots are rows and columns of a (m x n) that make up a matrix that is not singular to working precision: Gaussian elimination with
// complete pivoting, columns weighted.
func pivots(a []float64, m, n int, weight func(c int) float64) (rows, cols []int) {
	a = append([]float64(nil), a...)
	usedRow, usedCol := make([]bool, m), make([]bool, n)
	weights := each.Below(n, weight)
	scale := each.Below(m, func(r int) float64 { return maxAbs(a[r*n : r*n+n]) })
	for {
		br, bc, most := -1, -1, 0.0
		for r := range m {
			if usedRow[r] || scale[r] == 0 {
				continue
			}
			for c := range n {
				if v := math.Abs(a[r*n+c]) / scale[r]; !usedCol[c] && v > 1e-9 && v*weights[c] > most { // 1e-9: half of the digits, and a margin
					br, bc, most = r, c, v*weights[c]
				}
			}
		}
		if br < 0 {
			return rows, cols
		}
		rows, cols = append(rows, br), append(cols, bc)
		usedRow[br], usedCol[bc] = true, true
		for r := range m {
			if usedRow[r] || a[r*n+bc] == 0 {
				continue
			}
			f := a[r*n+bc] / a[br*n+bc]
			for c := range n {
				if !usedCol[c] && a[br*n+c] != 0 {
					a[r*n+c] -= f * a[br*n+c]
				}
			}
			a[r*n+bc] = 0
		}
	}
}

// enclose encloses the solution of mat v = rhs, where it finds one.
func enclose(mat []interval, rhs []interval, n int) []interval {
	inverse := invert(each.Of(mat, interval.mid), n)
	must.Be(inverse != nil, "the system for the reduced costs is singular")
	mid := each.Of(rhs, interval.mid)
	about := each.Below(n, func(i int) float64 { return floats.Dot(inverse[i*n:i*n+n], mid) })
	// |v - about| <= |inverse (rhs - mat about)| / (1 - |I - inverse mat|), in the max norm.
	residual := make([]interval, n)
	for i := range n {
		residual[i] = rhs[i]
		for j := range n {
			if !mat[i*n+j].zero() {
				residual[i] = residual[i].sub(mat[i*n+j].mul(point(about[j])))
			}
		}
	}
	norm, radius, lacks := 0.0, 0.0, lacking(inverse, mat, n)
	for i := range n {
		row, sum := interval{}, interval{}
		for j := range n {
			sum = sum.add(point(lacks[i*n+j].size()))
			row = row.add(point(inverse[i*n+j]).mul(residual[j]))
		}
		norm, radius = math.Max(norm, sum.hi), math.Max(radius, row.size())
	}
	must.Be(norm < 0.5, "the system for the reduced costs is singular to working precision")
	r := point(radius).over((point(1).sub(point(norm))).lo).hi
	return each.Of(about, func(v float64) interval { return point(v).add(interval{-r, r}) })
}

// lacking is I - inverse mat, of n x n matrices.
func lacking(inverse []float64, mat []interval, n int) []interval {
	out := make([]interval, n*n)
	for i := range n {
		row := out[i*n : i*n+n]
		row[i] = point(1)
		for k, v := range inverse[i*n : i*n+n] {
			for j := range row {
				if at := mat[k*n+j]; v != 0 && !at.zero() {
					row[j] = row[j].sub(point(v).mul(at))
				}
			}
		}
	}
	return out
}

// invert is about the inverse of a matrix (n x n), in its place; nil where a pivot is 0.
func invert(mid []float64, n int) []float64 {
	var of lapack.Implementation
	pivots, work := make([]int, n), make([]float64, max(1, n))
	if !of.Dgetrf(n, n, mid, max(1, n), pivots) || !of.Dgetri(n, mid, max(1, n), pivots, work, len(work)) {
		return nil
	}
	return mid
}
