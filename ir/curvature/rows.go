package curvature

import (
	"math"

	"bilevelc/internal/directed"
	"bilevelc/ir/expr"
)

// combined builds each row as a weighted sum of rows of the arguments'
// Jacobians: the weights are the first derivatives of the operation.
func (s *study) combined(n *expr.Node) *jacobian {
	open := &jacobian{rows: n.Shape.Len(), cols: s.cols(), unknown: true}
	if n.Op.Info().Class == expr.Product && !s.work.spend(16*s.termsOf(n).Work) {
		return open
	}
	var jacs [2]*jacobian
	for i, a := range n.Args {
		if s.varies(a) {
			if jacs[i] = s.jacobianOf(a); jacs[i].unknown {
				return open
			}
		}
	}
	acc, cost, affordable := s.newRows(), 0, true
	upTo := func(row int) {
		for acc.out.rows < row {
			acc.finish()
			affordable, cost = affordable && s.work.spend(8*float64(cost)), 0
		}
	}
	s.partials(n, s.varies, func(e, arg, p int, d Interval) {
		if upTo(e); affordable && !d.isZero() {
			cost += jacs[arg].len(p)
			jacs[arg].visit(p, func(col int, v Interval) { acc.add(col, v.mul(d)) })
		}
	})
	if upTo(open.rows); !affordable || s.work.ended() {
		return open
	}
	return acc.jacobian()
}

// rowSums collects sparse rows of ranges, one after the other.
type rowSums struct {
	*rowScratch
	touched []int
	out     *jacobian
	inexact bool
}

// rowScratch is one row of sums, all 0 between rows. A study has one, which
// its rowSums use in turn.
type rowScratch struct {
	current []Interval
	used    []bool
}

func (s *study) newRows() *rowSums {
	n := s.cols()
	if s.scratch == nil {
		s.scratch = &rowScratch{make([]Interval, n), make([]bool, n)}
	}
	return &rowSums{rowScratch: s.scratch, out: &jacobian{cols: n, ptr: []int{0}, rad: []float64{}}}
}

func (r *rowSums) add(col int, v Interval) {
	if !r.used[col] {
		r.used[col] = true
		r.touched = append(r.touched, col)
	}
	r.current[col] = r.current[col].add(v)
}

// finish ends the current row. A range without a finite middle and radius is
// kept as an infinite radius.
func (r *rowSums) finish() {
	for _, c := range r.touched {
		v := r.current[c]
		if !v.isZero() {
			mid, rad := 0.0, math.Inf(1)
			if v.isPoint() {
				mid, rad = v.Lo, 0
			} else if v.finite() {
				mid = v.middle()
				rad = max(directed.AddUp(v.Hi, -mid), directed.AddUp(mid, -v.Lo))
			}
			r.out.col = append(r.out.col, c)
			r.out.mid = append(r.out.mid, mid)
			r.out.rad = append(r.out.rad, rad)
			r.inexact = r.inexact || rad != 0
		}
		r.current[c], r.used[c] = Interval{}, false
	}
	r.touched = r.touched[:0]
	r.out.ptr = append(r.out.ptr, len(r.out.mid))
	r.out.rows++
}
