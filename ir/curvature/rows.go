package curvature

import (
	"math"

	"bilevelc/ir/expr"
)

// combined builds each row as a weighted sum of rows of the arguments'
// Jacobians: the weights are the first derivatives of the operation.
func (s *study) combined(n *expr.Node) *jacobian {
	open := &jacobian{rows: n.Shape.Len(), cols: s.cols(), unknown: true}
	type summand struct {
		arg    int // which argument
		row    int
		weight Interval
	}
	parts := make([][]summand, n.Shape.Len())
	add := func(k, arg, row int, weight Interval) { parts[k] = append(parts[k], summand{arg, row, weight}) }
	every := func(arg int, weight func(k int) Interval) {
		m := n.Args[arg].Shape.Len()
		for k := range parts {
			add(k, arg, k%m, weight(k))
		}
	}
	switch n.Op {
	case expr.Add, expr.Sub:
		every(0, func(int) Interval { return point(1) })
		sign := 1.0
		if n.Op == expr.Sub {
			sign = -1
		}
		every(1, func(int) Interval { return point(sign) })
	case expr.Mul:
		u, v := s.rangeOf(n.Args[0]), s.rangeOf(n.Args[1])
		every(0, func(k int) Interval { return entry(v, k) })
		every(1, func(k int) Interval { return entry(u, k) })
	case expr.Div:
		u, v := s.rangeOf(n.Args[0]), s.rangeOf(n.Args[1])
		every(0, func(k int) Interval { return entry(v, k).recip() })
		every(1, func(k int) Interval { return entry(u, k).mul(power(entry(v, k), -1).d1) })
	case expr.Sqrt: // of c + |u|^2 (see atom): the slope in c + |u|^2 is 1/(2r)
		every(0, func(int) Interval { return unary(expr.Sqrt, s.rangeOf(n.Args[0])[0]).d1 })
	case expr.Log:
		every(0, func(int) Interval { return unary(expr.Log, s.rangeOf(n.Args[0])[0]).d1 })
	case expr.Sum:
		for i := range n.Args[0].Shape.Len() {
			add(0, 0, i, point(1))
		}
	case expr.LogSumExp:
		for i, p := range softmaxRange(s.rangeOf(n.Args[0])) {
			add(0, 0, i, p)
		}
	case expr.Prod:
		r := s.rangeOf(n.Args[0])
		if len(r) > prodFactors {
			return open
		}
		for i := range r {
			p := point(1)
			for k := range r {
				if k != i {
					p = p.mul(r[k])
				}
			}
			add(0, 0, i, p)
		}
	case expr.Dot:
		u, v := s.rangeOf(n.Args[0]), s.rangeOf(n.Args[1])
		for i := range u {
			add(0, 0, i, v[i])
			add(0, 1, i, u[i])
		}
	case expr.MatVec, expr.MatMul, expr.Outer:
		if !s.work.spend(16 * products(n)) {
			return open
		}
		u, v := s.rangeOf(n.Args[0]), s.rangeOf(n.Args[1])
		s.eachProduct(n, func(i, j, k int) {
			add(k, 0, i, v[j])
			add(k, 1, j, u[i])
		})
	case expr.Transpose:
		rows, cols := n.Shape.Rows, n.Shape.Cols
		for i := range rows {
			for j := range cols {
				add(i*cols+j, 0, j*rows+i, point(1))
			}
		}
	case expr.ScatterAdd:
		for k, i := range n.Index {
			if i >= 0 {
				add(i, 0, k, point(1))
			}
		}
	default:
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
	cost := 0
	for _, row := range parts {
		for _, p := range row {
			if jacs[p.arg] != nil {
				cost += jacs[p.arg].len(p.row)
			}
		}
	}
	if !s.work.spend(8 * float64(cost)) {
		return open
	}
	acc := s.newRows()
	for _, row := range parts {
		for _, p := range row {
			if jacs[p.arg] != nil && !p.weight.isZero() {
				jacs[p.arg].visit(p.row, func(col int, v Interval) { acc.add(col, v.mul(p.weight)) })
			}
		}
		acc.finish()
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
				rad = max(addUp(v.Hi, -mid), addUp(mid, -v.Lo))
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
