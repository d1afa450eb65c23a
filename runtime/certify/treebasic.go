package certify

import (
	"math"
	"slices"

	"bilevelc/runtime/problem"
)

// treeNetwork is a set of rows of the lower level whose multipliers may be taken to be basic: where the leader reads none of them, and others stay as they are, the multipliers of an answer that satisfy
//
//	sum over rows of B_ij lambda_i = r_j,   r = H y + G x + q - (B'lambda of the other rows),   lambda_i = 0 where s_i > 0, and >= 0 on inequalities
//
// can be replaced by some whose rows are linearly independent (Caratheodory 1911), and with these the point satisfies the system as before. Rows of several entries of y are such
// that each column has at most two of them, with the same |B_ij| = size_j: a signed graph, rows its nodes and columns its edges. In a square system that is not singular each of its components has as many edges as nodes, and
// so one cycle, or one edge with a single end; around the cycle 2 lambda_i = a sum of +-r_j/size_j, at the single end lambda_i = +-r_j/size_j, and from there each edge adds its own (Zaslavsky 1982):
//
//	|lambda_i| <= share_i sum_j |r_j|/size_j,   share_i = 1.
//
// A row of a single entry of y takes what its column's two leave of it: share_i = 2 size_j/|B_ij|.
type treeNetwork struct {
	cols  []int // entries of y
	size  []float64
	rows  []int
	share []float64
}

// networks are those of a part of the lower level, for rows with multipliers that nothing else bounds.
func (t *treeModel) networks(y, rows []int, bounded func(i int) bool) []treeNetwork {
	free, several := map[int]bool{}, map[int]bool{}
	for _, i := range rows {
		if slices.Contains(t.p.Duals, i) || t.p.Rows.Kind[i] == problem.AtMost && bounded(i) {
			continue
		}
		n := 0
		_, vals := t.p.Rows.B.Row(i)
		for _, v := range vals {
			if v != 0 {
				n++
			}
		}
		if n > 1 {
			several[i] = true
		}
		free[i] = true
	}
	bt := t.p.Rows.B.T()
	type entry struct {
		at int
		v  float64
	}
	column := func(j int) (out []entry) { // its rows of several entries
		at, vals := bt.Row(j)
		for e, i := range at {
			if vals[e] != 0 && several[i] {
				out = append(out, entry{i, vals[e]})
			}
		}
		return out
	}
	var all []treeNetwork
	seen, done := map[int]bool{}, map[int]bool{} // rows; columns
	for _, i := range rows {
		if seen[i] || !several[i] {
			continue
		}
		net, fits := treeNetwork{}, true
		seen[i] = true
		for left := []int{i}; len(left) > 0; {
			i := left[0]
			left = left[1:]
			net.rows, net.share = append(net.rows, i), append(net.share, 1)
			cols, vals := t.p.Rows.B.Row(i)
			for e, j := range cols {
				if vals[e] == 0 {
					continue
				}
				if !done[j] {
					done[j] = true
					net.cols, net.size = append(net.cols, j), append(net.size, math.Abs(vals[e]))
				}
				in := column(j)
				fits = fits && len(in) <= 2
				for _, other := range in {
					fits = fits && math.Abs(other.v) == math.Abs(vals[e])
					if !seen[other.at] {
						seen[other.at] = true
						left = append(left, other.at)
					}
				}
			}
		}
		if fits {
			all = append(all, net)
			continue
		}
		for _, i := range net.rows {
			delete(free, i)
		}
		for _, j := range net.cols {
			delete(done, j)
		}
	}
	for _, j := range y {
		if !done[j] {
			all = append(all, treeNetwork{cols: []int{j}, size: []float64{1}})
		}
	}
	for k := range all {
		net := &all[k]
		for c, j := range net.cols {
			at, vals := bt.Row(j)
			for e, i := range at {
				if vals[e] != 0 && free[i] && !several[i] {
					net.rows, net.share = append(net.rows, i), append(net.share, point(2*net.size[c]).over(math.Abs(vals[e])).hi)
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(net treeNetwork) bool { return len(net.rows) == 0 })
}

// force is at least sum_j |r_j|/size_j over the boxes, without the multipliers of rows that are open; these have the coefficients by.
func (t *treeModel) force(net *treeNetwork, open func(i int) bool) (sum float64, by map[int]float64) {
	by = map[int]float64{}
	bt, own := t.p.Rows.B.T(), make(map[int]bool, len(net.rows))
	for _, i := range net.rows {
		own[i] = true
	}
	for c, j := range net.cols {
		r := t.gradient(j)
		at, vals := bt.Row(j)
		for e, i := range at {
			switch {
			case vals[e] == 0 || own[i]:
			case open(i):
				by[i] = up(by[i] + point(math.Abs(vals[e])).over(net.size[c]).hi)
			default:
				lambda := t.nx + t.ny + i
				r = r.sub(point(vals[e]).mul(t.box(lambda)))
			}
		}
		sum = up(sum + point(r.size()).over(net.size[c]).hi)
	}
	return sum, by
}

// gradient is (H y + G x + q)_j over the boxes.
func (t *treeModel) gradient(j int) interval {
	r := point(t.linearG[j])
	for c := range t.nx {
		r = r.add(point(t.g[c][j]).mul(t.box(c)))
	}
	for c := range t.ny {
		r = r.add(point(t.h[c][j]).mul(t.box(t.nx + c)))
	}
	return r
}

// takeBasic tightens the boxes of multipliers to those that basic ones have.
func (t *treeModel) takeBasic(networks []treeNetwork) {
	for k := range networks {
		net := &networks[k]
		sum, _ := t.force(net, func(int) bool { return false })
		for e, i := range net.rows {
			most, lambda := point(net.share[e]).mul(point(sum)).hi, t.nx+t.ny+i
			if math.IsNaN(most) {
				continue
			}
			t.hi[lambda] = math.Min(t.hi[lambda], most)
			t.lo[lambda] = math.Max(t.lo[lambda], -most)
		}
	}
}
