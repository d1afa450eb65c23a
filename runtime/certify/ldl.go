package certify

import (
	"cmp"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/tolerance"
)

// ldl is L D L' of a sparse symmetric matrix, row by row of L by the elimination tree (Davis 2005): of a positive definite one or, with further rows
// that have nothing on the diagonal and stand for equations on the others, of the quasi-definite system
//
//	[ H  B' ]
//	[ B  0  ].
type ldl struct {
	order []int        // order[k] is the row that is the k-th
	below [][]ldlEntry // columns of L
	d     []float64
	out   []bool // the rows that are left out; their d is +Inf
}

type ldlEntry struct {
	row int
	val float64
}

// factorize factorizes a matrix whose row r has vals[r] in the columns near[r]; the first n of them are H's. The order is the reverse one of Cuthill and McKee (1969), with an equation behind all entries
// that it has: its pivot is then minus the square of its length, in the metric of the inverse of H, beside the equations before it. One that depends on those is left out. One that has an entry of its own, as margins of samples have
// their slack, depends on no others: next to that, its pivot is what the entry gives of that square, and what it shares with others is filled with no products of them.
func factorize(near [][]int, vals [][]float64, of int) (*ldl, error) {
	n := len(near)
	f := &ldl{order: cuthillMcKee(near), below: make([][]ldlEntry, n), d: make([]float64, n), out: make([]bool, n)}
	f.behind(near, vals, of)
	where := make([]int, n)
	for k, r := range f.order {
		where[r] = k
	}
	parent, flag := slices.Repeat([]int{n}, n), slices.Repeat([]int{-1}, n) // n: not yet known
	y, reach, size := make([]float64, n), make([]int, n), 0
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
				parent[i] = min(parent[i], k)
			}
			for s := len(path) - 1; s >= 0; s-- {
				top--
				reach[top] = path[s]
			}
		}
		size += n - top
		if size > tolerance.MostNumbers {
			return nil, errProducts
		}
		sizes := [2]float64{max(own, 0), max(-own, 0)} // of the terms of the pivot, by their sign
		for _, i := range reach[top:] {
			v := y[i]
			y[i] = 0
			for _, e := range f.below[i] {
				y[e.row] -= e.val * v
			}
			w := v / f.d[i]
			if w*v > 0 {
				sizes[1] += w * v
			} else {
				sizes[0] -= w * v
			}
			f.below[i] = append(f.below[i], ldlEntry{k, w})
		}
		f.d[k] = sizes[0] - sizes[1]
		switch {
		case !isNumber(f.d[k]):
			return nil, errCurvature
		case r >= of:
			if !(-f.d[k] > tolerance.Rounded*sizes[1]) {
				f.d[k], f.out[r] = math.Inf(1), true
				for _, i := range reach[top:] {
					f.below[i] = f.below[i][:len(f.below[i])-1]
				}
			}
		case !(f.d[k] > 0x1p-50*sizes[0]): // less than the rounding of its terms is not positive
			return nil, errCurvature
		}
	}
	return f, nil
}

// behind puts each equation behind the entries that it has, or behind one of its own.
func (f *ldl) behind(near [][]int, vals [][]float64, of int) {
	last := make([]int, len(near))
	for k, r := range f.order {
		last[r] = k
	}
	for r := of; r < len(near); r++ {
		last[r] = 0
		for _, q := range near[r] {
			last[r] = max(last[r], last[q])
		}
		if q := own(near, vals, r); q >= 0 {
			last[r] = last[q]
		}
	}
	slices.SortFunc(f.order, func(p, q int) int { return cmp.Or(last[p]-last[q], p-q) })
}

// own is the entry that equation r has for itself: no other equation has it, nor has H it beside others. It gives as much of the square of the equation's length as that is not lost beside the rest (tolerance.Hiding); -1 where there is none.
func own(near [][]int, vals [][]float64, r int) int {
	best, most, sum := -1, 0.0, 0.0
	for t, q := range near[r] {
		diagonal := 0.0
		for u, i := range near[q] {
			if i == q {
				diagonal += vals[q][u]
			}
		}
		give := vals[r][t] * vals[r][t] / diagonal
		sum += give
		if len(near[q]) == 2 && give > most {
			best, most = q, give
		}
	}
	if !(most*tolerance.Hiding >= sum) {
		return -1
	}
	return best
}

// solve sets b to the solution for the right side b.
func (f *ldl) solve(b []float64) {
	w := picked(b, f.order)
	for k := range w {
		if v := w[k]; v != 0 {
			for _, e := range f.below[k] {
				w[e.row] -= e.val * v
			}
		}
	}
	for k := len(w) - 1; k >= 0; k-- {
		v := w[k] / f.d[k]
		for _, e := range f.below[k] {
			v -= e.val * w[e.row]
		}
		w[k] = v
	}
	for k, r := range f.order {
		b[r] = w[k]
	}
}

// cuthillMcKee orders a graph's nodes by breadth-first searches, each from a node of
// least degree among those left, and turns the order round.
func cuthillMcKee(near [][]int) []int {
	n := len(near)
	degree := func(p, q int) int { return cmp.Or(len(near[p])-len(near[q]), p-q) }
	by := slices.SortedFunc(slices.Values(each.Number(n)), degree)
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
			slices.SortFunc(order[from:], degree)
		}
	}
	slices.Reverse(order)
	return order
}
