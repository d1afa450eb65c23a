package curvature

import (
	"math"
	"slices"

	"bilevelc/internal/directed"
	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// jacobian encloses the derivative of a node's entries with respect to z: row
// k is scale_k (mid_k ± rad_k), entry by entry, of which those that may differ from 0 are
// stored (ptr, col). An unknown Jacobian may be anything.
type jacobian struct {
	rows, cols int
	ptr, col   []int
	mid        []float64
	rad        []float64  // nil: exact
	scale      []Interval // len rows; nil: 1
	unknown    bool
}

// row returns the columns, middles and radii (nil: 0) of row k.
func (j *jacobian) row(k int) (cols []int, mid, rad []float64) {
	from, to := j.ptr[k], j.ptr[k+1]
	if j.rad != nil {
		rad = j.rad[from:to]
	}
	return j.col[from:to], j.mid[from:to], rad
}

func (j *jacobian) scaleOf(k int) Interval {
	if j.scale == nil {
		return point(1)
	}
	return j.scale[k]
}

// visit calls with every nonzero entry of row k as a range, scale included.
func (j *jacobian) visit(k int, do func(col int, v Interval)) {
	cols, mid, rad := j.row(k)
	for i, m := range mid {
		v := point(m)
		if rad != nil && rad[i] != 0 {
			v = Interval{directed.AddDown(m, -rad[i]), directed.AddUp(m, rad[i])}
		}
		if v.isZero() {
			continue
		}
		if j.scale != nil {
			v = v.mul(j.scale[k])
		}
		do(cols[i], v)
	}
}

func (j *jacobian) len(k int) int { return j.ptr[k+1] - j.ptr[k] }

// jacobianOf encloses the Jacobian of n.
func (s *study) jacobianOf(n *expr.Node) *jacobian {
	if j, ok := s.jacs[n]; ok {
		return j
	}
	j := s.computeJacobian(n)
	s.jacs[n] = j
	return j
}

func (s *study) computeJacobian(n *expr.Node) *jacobian {
	rows := n.Shape.Len()
	if !s.varies(n) {
		return &jacobian{rows: rows, cols: s.cols(), ptr: make([]int, rows+1)}
	}
	if n.Op == expr.Var {
		j := &jacobian{rows: rows, cols: s.cols(), ptr: make([]int, rows+1), col: make([]int, rows), mid: make([]float64, rows)}
		for k := range rows {
			j.ptr[k+1], j.col[k], j.mid[k] = k+1, s.column(n)+k, 1
		}
		return j
	}
	if f := s.fused(n); f != nil {
		return s.scaled(s.jacobianOf(f.leaf), s.slopesOf(n), rows)
	}
	if n.Op == expr.Gather {
		return s.picked(s.jacobianOf(n.Args[0]), n.Index)
	}
	return s.combined(n)
}

// scaled multiplies row k of the leaf's Jacobian (row 0 of a scalar's) by the
// slope of entry k: into the entries where the slope is one number, beside
// them otherwise.
func (s *study) scaled(leaf *jacobian, slopes []jet, rows int) *jacobian {
	if leaf.unknown {
		return leaf
	}
	exact := leaf.scale == nil && !slices.ContainsFunc(slopes, func(j jet) bool { return !j.d1.isPoint() || math.IsInf(j.d1.Lo, 0) })
	spread := leaf.rows == 1 && rows > 1
	if spread {
		index := make([]int, rows)
		leaf = s.picked(leaf, index)
		if leaf.unknown {
			return leaf
		}
	}
	if exact {
		acc := s.newRows()
		for k, j := range slopes {
			leaf.visit(k, func(col int, v Interval) { acc.add(col, v.mul(j.d1)) })
			acc.finish()
		}
		return acc.jacobian()
	}
	out := *leaf
	out.scale = each.Below(rows, func(k int) Interval { return leaf.scaleOf(k).mul(slopes[k].d1) })
	return &out
}

// picked takes rows by number; a negative number is a row of zeros.
func (s *study) picked(j *jacobian, index []int) *jacobian {
	if j.unknown {
		return j
	}
	cost := 0
	for _, i := range index {
		if i >= 0 {
			cost += j.len(i)
		}
	}
	if !s.work.spend(float64(cost)) {
		return &jacobian{rows: len(index), cols: j.cols, unknown: true}
	}
	out := &jacobian{rows: len(index), cols: j.cols, ptr: make([]int, 1, len(index)+1)}
	if j.rad != nil {
		out.rad = []float64{}
	}
	if j.scale != nil {
		out.scale = make([]Interval, len(index))
	}
	for k, i := range index {
		if i >= 0 {
			cols, mid, rad := j.row(i)
			out.col, out.mid = append(out.col, cols...), append(out.mid, mid...)
			if j.rad != nil {
				out.rad = append(out.rad, rad...)
			}
			if j.scale != nil {
				out.scale[k] = j.scale[i]
			}
		}
		out.ptr = append(out.ptr, len(out.mid))
	}
	return out
}

// eachEntry visits the nonzero entries of a matrix, or of its transpose, row by row.
func eachEntry(m *data.Array, trans bool, visit func(i, j int, a float64)) {
	rows, row := m.Shape[0], m.Rows(trans)
	if trans {
		rows = m.Shape[1]
	}
	for i := range rows {
		row(i, func(j int, a float64) bool {
			visit(i, j, a)
			return true
		})
	}
}

func allFinite(m *data.Array) bool {
	return !slices.ContainsFunc(m.Stored(), func(v float64) bool { return !finiteNumber(v) })
}

// gamma bounds the relative error of a sum of n products, with room for the
// few operations around it.
func gamma(n int) float64 { return float64(n+16) * 0x1p-52 }

func (r *rowSums) jacobian() *jacobian {
	if !r.inexact {
		r.out.rad = nil
	}
	return r.out
}
