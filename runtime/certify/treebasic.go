package certify

import (
	"math"
	"slices"
)

// treeNetwork is a set of rows of the lower level whose multipliers may be taken to be basic: where the leader reads none of them, and others stay as they are, the multipliers of an answer that satisfy
//
//	sum over rows of B_ij lambda_i = r_j,   r = H y + G x + q - (B'lambda of the other rows),   lambda_i = 0 where s_i > 0, and >= 0 on inequalities
//
// can be replaced by some whose rows are linearly independent (Caratheodory 1911), and with these the point satisfies the system as before. Rows of several entries of y are such
// that each column has at most two of them, with the same |B_ij| = size_j: a signed graph, rows its nodes and columns its edges. In a square system that is not singular each of its components has as many edges as nodes, and
// so one cycle, or one edge with a single end; around the cycle 2 lambda_i = a sum of +-r_j/size_j, at the single end lambda_i = +-r_j/size_j, and from there each edge adds its own (Zaslavsky 1982).
// A row of a single entry of y takes what its column's two leave of it.
type treeNetwork struct {
	cols  []int // entries of y
	size  []float64
	rows  []int // those of several entries first
	nodes int   // how many these are
}

// networks are those of a part of the lower level. What else bounds a multiplier bounds a basic one as well.
func (t *treeModel) networks(y, rows []int) []treeNetwork {
	free, several := map[int]bool{}, map[int]bool{}
	for _, i := range rows {
		if slices.Contains(t.p.Duals, i) {
			continue
		}
		alone, _ := t.p.Rows.Bound(i)
		free[i], several[i] = true, alone < 0 && t.p.Rows.B.Reads(i)
	}
	bt := t.p.Rows.B.T()
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
			net.rows = append(net.rows, i)
			for j, v := range t.p.Rows.B.Nonzeros(i) {
				if !done[j] {
					done[j] = true
					net.cols, net.size = append(net.cols, j), append(net.size, math.Abs(v))
				}
				in := 0 // rows of several entries that have the column
				for other, w := range bt.Nonzeros(j) {
					if !several[other] {
						continue
					}
					in++
					fits = fits && in <= 2
					fits = fits && math.Abs(w) == math.Abs(v)
					if !seen[other] {
						seen[other] = true
						left = append(left, other)
					}
				}
			}
		}
		if fits {
			net.nodes = len(net.rows)
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
		for _, j := range net.cols {
			for i := range bt.Nonzeros(j) {
				if free[i] && !several[i] {
					net.rows = append(net.rows, i)
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(net treeNetwork) bool { return len(net.rows) == 0 })
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

// takeBasic tightens the boxes of multipliers to those that basic ones have: a tree's first is r_j/B_ij of a column, and from there edges add their own. That of a column with a single row is in ends, where two rows of a column always have opposite signs with its sign, and all
// others add up to paths. A row of a single entry takes what is left of its column.
func (t *treeModel) takeBasic(networks []treeNetwork) {
	bt := t.p.Rows.B.T()
	narrow := func(i int, to interval) {
		if lambda := t.nx + t.ny + i; !math.IsNaN(to.lo) && !math.IsNaN(to.hi) {
			t.lo[lambda], t.hi[lambda] = math.Max(t.lo[lambda], to.lo), math.Min(t.hi[lambda], to.hi)
		}
	}
	for k := range networks {
		net := &networks[k]
		own, nodes := set(net.rows), set(net.rows[:net.nodes])
		left, ends, paths, directed := make([]interval, len(net.cols)), interval{}, 0.0, true
		for c, j := range net.cols {
			r, several := t.gradient(j), []float64(nil)
			for i, v := range bt.Nonzeros(j) {
				if nodes[i] {
					several = append(several, v)
				} else if !own[i] {
					r = r.sub(point(v).mul(t.box(t.nx + t.ny + i)))
				}
			}
			left[c] = r
			switch len(several) {
			case 1:
				ends = ends.hull(signed(r.over(net.size[c]), several[0]))
			case 2:
				paths = up(paths + r.over(net.size[c]).size())
				directed = directed && (several[0] > 0) != (several[1] > 0)
			}
		}
		if !directed {
			ends = interval{-ends.size(), ends.size()}
		}
		for _, i := range net.rows[:net.nodes] {
			narrow(i, ends.add(interval{-paths, paths}))
		}
		for c, j := range net.cols {
			r := left[c]
			for i, v := range bt.Nonzeros(j) {
				if nodes[i] {
					r = r.sub(point(v).mul(t.box(t.nx + t.ny + i)))
				}
			}
			for i, v := range bt.Nonzeros(j) {
				if own[i] && !nodes[i] {
					narrow(i, interval{}.hull(signed(r.over(math.Abs(v)), v)))
				}
			}
		}
	}
}
