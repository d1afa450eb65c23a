package certify

import (
	"math"
	"sort"

	"bilevelc/internal/sparse"
)

// mostFactor is how many entries a factor may have: about a second.
const mostFactor = 2e7

// ldl is L D L' of a sparse positive definite matrix, row by row of L by the elimination
// tree (Davis 2005), in the reverse order of Cuthill and McKee (1969).
type ldl struct {
	order []int // order[k] is the row that is the k-th
	col   []int // starts of the columns of L
	row   []int
	val   []float64
	d     []float64
}

// factorize factorizes m over the entries in free, whose positions are at.
func factorize(m *sparse.CSR, free []int, at map[int]int) (*ldl, error) {
	n := len(free)
	near := make([][]int, n) // positions
	vals := make([][]float64, n)
	for r, j := range free {
		cols, v := m.Row(j)
		for t, i := range cols {
			if q, ok := at[i]; ok {
				near[r], vals[r] = append(near[r], q), append(vals[r], v[t])
			}
		}
	}
	f := &ldl{order: cuthillMcKee(near), d: make([]float64, n)}
	where := make([]int, n)
	for k, r := range f.order {
		where[r] = k
	}
	parent, flag, count := make([]int, n), make([]int, n), make([]int, n)
	for k, r := range f.order {
		parent[k], flag[k] = -1, k
		for _, q := range near[r] {
			for i := where[q]; i < k && flag[i] != k; i = parent[i] {
				if parent[i] < 0 {
					parent[i] = k
				}
				count[i]++
				flag[i] = k
			}
		}
	}
	f.col = make([]int, n+1)
	for k, c := range count {
		f.col[k+1] = f.col[k] + c
	}
	if f.col[n] > mostFactor {
		return nil, errProducts
	}
	f.row, f.val = make([]int, f.col[n]), make([]float64, f.col[n])
	fill := append([]int(nil), f.col[:n]...)
	y, reach := make([]float64, n), make([]int, n)
	for k := range flag {
		flag[k] = -1
	}
	for k, r := range f.order {
		top, own := n, 0.0
		flag[k] = k
		var path []int
		for t, q := range near[r] {
			i := where[q]
			if i == k {
				own += vals[r][t]
				continue
			}
			if i > k {
				continue
			}
			y[i] += vals[r][t]
			path = path[:0]
			for ; flag[i] != k; i = parent[i] {
				path = append(path, i)
				flag[i] = k
			}
			for s := len(path) - 1; s >= 0; s-- {
				top--
				reach[top] = path[s]
			}
		}
		left := own
		for _, i := range reach[top:] {
			v := y[i]
			y[i] = 0
			for t := f.col[i]; t < fill[i]; t++ {
				y[f.row[t]] -= f.val[t] * v
			}
			w := v / f.d[i]
			left -= w * v
			f.row[fill[i]], f.val[fill[i]] = k, w
			fill[i]++
		}
		// Less than the rounding of its terms is not positive.
		if !(left > 0x1p-50*math.Abs(own)) || math.IsInf(left, 1) {
			return nil, errCurvature
		}
		f.d[k] = left
	}
	return f, nil
}

// solve sets b to the solution for the right side b.
func (f *ldl) solve(b []float64) {
	w := make([]float64, len(b))
	for k, r := range f.order {
		w[k] = b[r]
	}
	for k := range w {
		if v := w[k]; v != 0 {
			for t := f.col[k]; t < f.col[k+1]; t++ {
				w[f.row[t]] -= f.val[t] * v
			}
		}
	}
	for k := len(w) - 1; k >= 0; k-- {
		v := w[k] / f.d[k]
		for t := f.col[k]; t < f.col[k+1]; t++ {
			v -= f.val[t] * w[f.row[t]]
		}
		w[k] = v
	}
	for k, r := range f.order {
		b[r] = w[k]
	}
}

// smallest is an estimate of the least eigenvalue, from above; +Inf for no entries.
func (f *ldl) smallest() float64 {
	if len(f.d) == 0 {
		return math.Inf(1)
	}
	least, _ := inverseIteration(len(f.d), func(v []float64) ([]float64, error) {
		f.solve(v)
		return v, nil
	})
	return least
}

// cuthillMcKee orders a graph's nodes by breadth-first searches, each from a node of
// least degree among those left, and turns the order round.
func cuthillMcKee(near [][]int) []int {
	n := len(near)
	by := make([]int, n)
	for r := range by {
		by[r] = r
	}
	less := func(list []int) func(a, b int) bool {
		return func(a, b int) bool {
			p, q := list[a], list[b]
			return len(near[p]) < len(near[q]) || len(near[p]) == len(near[q]) && p < q
		}
	}
	sort.Slice(by, less(by))
	order, seen := make([]int, 0, n), make([]bool, n)
	for _, start := range by {
		if seen[start] {
			continue
		}
		seen[start] = true
		order = append(order, start)
		for k := len(order) - 1; k < len(order); k++ {
			from := len(order)
			for _, q := range near[order[k]] {
				if !seen[q] {
					seen[q] = true
					order = append(order, q)
				}
			}
			next := order[from:]
			sort.Slice(next, less(next))
		}
	}
	for a, b := 0, n-1; a < b; a, b = a+1, b-1 {
		order[a], order[b] = order[b], order[a]
	}
	return order
}
