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
}

// signed is an equation with the sign that its multiplier has at a minimum, and the length of its gradient with all entries of w: 1 for a biactive row that w does not move, which has a unit of its own.
type signed struct {
	at           int // in the equations
	sign, length float64
	equal        bool // the multiplier has any sign
}

// signProgram is the program of resolve. Its variables are the multipliers of equations and of bounds of w, each times the length of its gradient, and t; its rows say that nu is no less than -t.
type signProgram struct {
	q       *working // the equations with all entries of w
	rows    []signed
	bounds  []int     // entries of w at one of their bounds
	strong  []int     // places in rows of biactive rows whose multiplier w or others move: one t each
	columns []float64 // (rows and bounds) x nw: C' and beta, in the order of the variables
	g       []float64 // the gradient, 0 in entries that are held at both of their bounds
	activeset.Program
}

// resolve looks for multipliers of dependent equations with the signs of strong stationarity, which those of least squares need not have, by the convex program
//
//	minimize |g - C'gamma - beta|^2 + |t|^2   with   gamma >= 0,  nu = c - Y gamma >= -t,  beta of the signs of the bounds of w,
//
// g the gradient on the branch, C the gradients of the equations and Y what S leaves of that of rows in K (adjoint); each nu is in the unit in which the row's multiplier would move with w. Where the least value is 0
// the point is strongly stationary with these multipliers. It is nil where rounding keeps the program from being solved.
func (p *piece) resolve(ctx context.Context, j *judged) *signs {
	nw := p.f.nw
	m := p.signProgram(j)
	solver, err := activeset.New(&m.Program)
	if err != nil {
		return nil
	}
	sol := solver.Solve(ctx, nil, nil, activeset.Options{Cutoff: math.Inf(1)})
	p.work(int(sol.Work))
	if sol.Status != activeset.Optimal {
		return nil
	}
	held, rest := len(m.rows)+len(m.bounds), m.g
	for i, v := range sol.Z[:held] {
		linalg.Axpy(rest, -v*j.size, m.columns[i*nw:(i+1)*nw])
	}
	out := &signs{eq: make([]float64, len(j.eq)), left: linalg.Norm(rest) / j.size}
	for t, e := range m.rows {
		out.eq[e.at] = e.sign * sol.Z[t] * j.size / e.length
	}
	for _, t := range sol.Z[held:] {
		out.worst = math.Max(out.worst, t)
	}
	return out
}

// signedEquations lists the equations that multipliers of the program are of.
func (p *piece) signedEquations(q *working) (out []signed) {
	f, nk := p.f, len(p.k)
	for i, length := range q.length {
		e := signed{at: i, sign: -1, length: length}
		switch {
		case i < nk:
			if e.sign = float64(p.side[p.k[i]]); length == 0 {
				if _, pivot := p.z.column(p.k[i]); pivot <= dependent {
					continue // S determines it: its multiplier is of no effect
				}
				e.length = 1
			}
		case length == 0:
			continue
		case i < nk+len(q.walls):
			e.equal = f.walls[q.walls[i-nk]].equal
		default:
			e.equal = f.coupled[q.couple[i-nk-len(q.walls)]].equal
		}
		out = append(out, e)
	}
	return out
}

// signProgram makes the program at a point.
func (p *piece) signProgram(j *judged) *signProgram {
	f, nw, nk := p.f, p.f.nw, len(p.k)
	fixed, room := p.fixed, p.roomC
	p.fixed, p.roomC = make([]int8, nw), nil
	m := &signProgram{q: newWorking(p), g: append([]float64(nil), j.reduced...)}
	p.fixed, p.roomC = fixed, room
	m.rows = p.signedEquations(m.q)
	lo := make([]float64, len(m.rows))
	for t, e := range m.rows {
		m.columns = append(m.columns, m.q.c[e.at*nw:(e.at+1)*nw]...)
		scale(m.columns[t*nw:], e.sign)
		if e.equal {
			lo[t] = math.Inf(-1)
		}
	}
	for i, fix := range fixed {
		switch {
		case fix == 0:
		case f.lo[i] == f.hi[i]: // it takes any part of g
			m.g[i] = 0
			for t := range m.rows {
				m.columns[t*nw+i] = 0
			}
		default:
			column := make([]float64, nw)
			column[i] = -float64(fix)
			m.columns, lo, m.bounds = append(m.columns, column...), append(lo, 0), append(m.bounds, i)
		}
	}
	none := *j // nu of each row in K, with nothing of the equations
	none.eq, none.read = make([]float64, len(j.eq)), nil
	p.adjoint(&none)
	takes := make([][]float64, len(m.rows)) // what each equation takes of nu
	for t, e := range m.rows {
		takes[t] = p.eliminated(m.q, e.at)
	}
	held := len(lo)
	rows := sparse.Empty(held)
	for t, e := range m.rows {
		if e.at >= nk {
			break
		}
		r := p.k[e.at]
		_, pivot := p.z.column(r)
		if pivot <= dependent {
			continue
		}
		unit := e.sign * e.length / pivot
		for c, other := range m.rows {
			if v := takes[c][r]; v != 0 {
				rows.Append(c, -unit*other.sign*v/other.length)
			}
		}
		rows.Append(held+len(m.strong), 1)
		rows.EndRow()
		m.strong, m.RowLo = append(m.strong, t), append(m.RowLo, -unit*none.nu[r]/j.size)
	}
	n := held + len(m.strong)
	rows.Cols = n
	q, c := make([]float64, n*n), make([]float64, n)
	for i := range held {
		row := m.columns[i*nw : (i+1)*nw]
		c[i] = -linalg.Dot(row, m.g) / j.size
		for k := range i + 1 {
			v := linalg.Dot(row, m.columns[k*nw:(k+1)*nw])
			q[i*n+k], q[k*n+i] = v, v
		}
	}
	for k := held; k < n; k++ {
		q[k*n+k] = 1
	}
	m.N, m.Q, m.C, m.A = n, sparse.FromDense(n, n, q), c, rows
	m.Lo, m.Hi, m.RowHi = append(lo, make([]float64, len(m.strong))...), infinite(n), infinite(len(m.strong))
	return m
}

func infinite(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Inf(1)
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
