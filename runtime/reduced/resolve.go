package reduced

import (
	"context"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
)

// dependent reports whether equations of the point depend on each other, so that their multipliers are not unique.
func (j *judged) dependent() bool {
	n := 0
	for _, l := range j.length {
		if l > 0 {
			n++
		}
	}
	return n > len(j.use)
}

// signs are multipliers of the equations with the signs of strong stationarity, as far as there are any.
type signs struct {
	eq          []float64 // as judged.eq
	left, worst float64   // what they leave of the gradient, and of signs, as parts of the gradient's terms
	list        []release // where they leave more than rounding: what is to be let go
	d           []float64 // and a direction along which F falls to first order behind that; nil where there is none
}

// resolve looks for multipliers of dependent equations with the signs of strong stationarity, which those of least squares need not have, by the convex program
//
//	minimize |g - C'gamma - beta|^2 + |t|^2   with   gamma >= 0,  nu = c - Y gamma >= -t,  beta of the signs of the bounds of w,
//
// g the gradient on the branch, C the gradients of the equations and Y what S leaves of that of rows in K (adjoint); each nu is in the unit in which the row's multiplier would move with w. Where the least value is 0
// the point is strongly stationary with these multipliers. Else what is left of g, with its sign changed, is a direction along which F falls to first order and no slack does (the
// program's dual): the equations whose slacks grow are let go. Where nothing is left of g, the row with the largest t is to become strong. It is nil where rounding keeps the program from being solved.
func (p *piece) resolve(ctx context.Context, j *judged) *signs {
	f, nw, nk := p.f, p.f.nw, len(p.k)
	fixed, room := p.fixed, p.roomC
	p.fixed, p.roomC = make([]int8, nw), nil
	q := newWorking(p) // the equations with all entries of w
	p.fixed, p.roomC = fixed, room
	var rows []int // of the equations, their signs, and the lengths of their gradients
	var sign, length []float64
	for i, l := range q.length {
		switch {
		case i < nk && l == 0: // w does not move it: its multiplier is in its own unit, and of no effect where S determines the row
			if _, pivot := p.z.column(p.k[i]); pivot <= dependent {
				continue
			}
			rows, sign, length = append(rows, i), append(sign, float64(p.side[p.k[i]])), append(length, 1)
		case i < nk:
			rows, sign, length = append(rows, i), append(sign, float64(p.side[p.k[i]])), append(length, l)
		case l > 0:
			rows, sign, length = append(rows, i), append(sign, -1), append(length, l)
		}
	}
	equal := func(i int) bool {
		switch {
		case i < nk:
			return false
		case i < nk+len(q.walls):
			return f.walls[q.walls[i-nk]].equal
		default:
			return f.coupled[q.couple[i-nk-len(q.walls)]].equal
		}
	}
	nr := len(rows)
	a := make([]float64, 0, (nr+nw)*nw) // the columns of gamma and beta
	lo := make([]float64, 0, nr+nw)
	for t, i := range rows {
		row := append([]float64(nil), q.c[i*nw:(i+1)*nw]...)
		scale(row, sign[t])
		a = append(a, row...)
		lo = append(lo, 0)
		if equal(i) {
			lo[t] = math.Inf(-1)
		}
	}
	var entries []int
	for i, fix := range fixed {
		if fix == 0 || f.lo[i] == f.hi[i] {
			continue
		}
		row := make([]float64, nw)
		row[i] = -float64(fix)
		a, lo, entries = append(a, row...), append(lo, 0), append(entries, i)
	}
	for i, fix := range fixed { // held at both of its bounds: the entry takes any part of g
		if fix != 0 && f.lo[i] == f.hi[i] {
			for t := range lo {
				a[t*nw+i] = 0
			}
		}
	}
	g := append([]float64(nil), j.reduced...)
	for i, fix := range fixed {
		if fix != 0 && f.lo[i] == f.hi[i] {
			g[i] = 0
		}
	}
	// nu of each row in K, with nothing of the equations, and what each of them takes of it.
	none := *j
	none.eq = make([]float64, len(j.eq))
	p.adjoint(&none)
	var strong []int // places in rows of those whose multiplier w moves
	var unit []float64
	for t, i := range rows {
		if i < nk {
			if _, pivot := p.z.column(p.k[i]); pivot > dependent {
				strong, unit = append(strong, t), append(unit, length[t]/pivot)
			}
		}
	}
	nt := len(strong)
	takes := sparse.Empty(len(lo) + nt)
	var least []float64
	columns := make([][]float64, nr)
	for t, i := range rows {
		columns[t] = p.eliminated(q, i)
	}
	for b, t := range strong {
		r := p.k[rows[t]]
		for c := range rows {
			if v := columns[c][r]; v != 0 {
				takes.Append(c, -sign[t]*sign[c]*v*unit[b]/length[c])
			}
		}
		takes.Append(len(lo)+b, 1)
		takes.EndRow()
		least = append(least, -sign[t]*none.nu[r]*unit[b]/j.size)
	}
	nb := len(lo)
	n := nb + nt
	gram := make([]float64, n*n)
	c := make([]float64, n)
	for i := range lo {
		row := a[i*nw : (i+1)*nw]
		c[i] = -linalg.Dot(row, g) / j.size
		for k := range i + 1 {
			v := linalg.Dot(row, a[k*nw:(k+1)*nw])
			gram[i*n+k], gram[k*n+i] = v, v
		}
	}
	for b := range nt {
		k := nb + b
		gram[k*n+k] = 1
		lo = append(lo, 0)
	}
	up := make([]float64, n)
	for i := range up {
		up[i] = math.Inf(1)
	}
	upRow := make([]float64, nt)
	for i := range upRow {
		upRow[i] = math.Inf(1)
	}
	program := &activeset.Program{N: n, Q: sparse.FromDense(n, n, gram), C: c, A: takes, Bounds: activeset.Bounds{RowLo: least, RowHi: upRow, Lo: lo, Hi: up}}
	solver, err := activeset.New(program)
	if err != nil {
		return nil
	}
	sol := solver.Solve(ctx, nil, nil, activeset.Options{Cutoff: math.Inf(1)})
	p.work(int(sol.Work))
	if sol.Status != activeset.Optimal {
		return nil
	}
	d := append([]float64(nil), g...)
	for i := range nr + len(entries) {
		linalg.Axpy(d, -sol.Z[i]*j.size, a[i*nw:(i+1)*nw])
	}
	scale(d, -1)
	worst, at := 0.0, -1
	for b := range nt {
		if v := sol.Z[nr+len(entries)+b]; v > worst {
			worst, at = v, b
		}
	}
	out := &signs{eq: make([]float64, len(j.eq)), left: linalg.Norm(d) / j.size, worst: worst}
	for t, i := range rows {
		out.eq[i] = sign[t] * sol.Z[t] * j.size / length[t]
	}
	if math.Max(out.left, worst) <= math.Max(p.opts.Tolerance, 2*j.stationarity()) {
		return out
	}
	if worst > out.left {
		out.list = []release{{leaves, p.k[rows[strong[at]]], -worst}}
		return out
	}
	for t, i := range rows {
		if equal(i) || !(linalg.Dot(a[t*nw:(t+1)*nw], d) > p.opts.Tolerance*j.size) {
			continue
		}
		switch {
		case i < nk:
			out.list = append(out.list, release{enters, p.k[i], -1})
		case i < nk+len(q.walls):
			out.list = append(out.list, release{walls, q.walls[i-nk], -1})
		default:
			out.list = append(out.list, release{couples, q.couple[i-nk-len(q.walls)], -1})
		}
	}
	for _, i := range entries {
		if -float64(fixed[i])*d[i] > p.opts.Tolerance*j.size {
			out.list = append(out.list, release{bounds, i, -1})
		} else {
			d[i] = 0
		}
	}
	if out.d = d; len(out.list) == 0 { // what is left is rounding
		return nil
	}
	return out
}

// eliminated is what nu loses with the multiplier of an equation (adjoint): Y_.r of a biactive row, E c_y + c_lambda of a constraint of the leader, less what S takes of it. Nothing is left of it with walls.
func (p *piece) eliminated(q *working, i int) []float64 {
	f, nk := p.f, len(p.k)
	v := make([]float64, f.m)
	switch {
	case i < nk:
		f.addY(v, []int{p.k[i]}, func(int, int) float64 { return 1 })
	case i < nk+len(q.walls):
		return v
	default:
		c := &f.coupled[q.couple[i-nk-len(q.walls)]]
		p.signed(v, c.l)
		f.addE(v, 1, c.y)
	}
	rhs, x := make([]float64, len(p.z.rows)), make([]float64, len(p.z.rows))
	for a, r := range p.z.rows {
		rhs[a] = v[r]
	}
	p.z.times(x, rhs)
	f.addY(v, p.z.rows, func(a, _ int) float64 { return -x[a] })
	return v
}
