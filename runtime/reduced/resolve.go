package reduced

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
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
	list        []release // the inequalities that give way along what is left, where F falls
}

// signed is an equation with the sign that its multiplier has at a minimum, and the length of its gradient with all entries of w: 1 for a biactive row that w does not move, which has a unit of its own.
type signed struct {
	at           int // in the equations
	sign, length float64
	equal        bool // the multiplier has any sign
}

// signProgram is the program of resolve. Its variables are the multipliers of equations and of bounds of w, each times the length of its gradient, what they leave of g, and t; its rows say what they leave, and that nu is no
// less than -t.
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
// the point is strongly stationary with these multipliers. Columns that differ by rounding alone would make anything of large multipliers: each counts as what the rounding of its column
// makes of it. It is nil where rounding keeps the program from being solved.
//
// It begins with what held where it was solved last (State.Signs).
func (p *piece) resolve(ctx context.Context, j *judged, st *State) *signs {
	m := p.signProgram(j)
	held := len(m.rows) + len(m.bounds)
	z, unit := make([]float64, held), 1.0
	out := &signs{eq: make([]float64, len(j.eq))}
	basis := m.basis(st.Signs)
	var last *activeset.Solution
	scale := 1.0
	solver, err := activeset.New(&m.Program)
	if err != nil {
		return nil
	}
	for range 2 { // the second time what rounding of the first has left, in units of its own (Gleixner, Steffy and Wolter 2016)
		sol := solver.Solve(ctx, &m.Bounds, basis, activeset.Options{Working: func(work int64) { p.working(st, work) }})
		p.work(int(sol.Work))
		if sol.Status != activeset.Optimal {
			return nil
		}
		linalg.Axpy(z, unit, sol.Z[:held])
		last, scale = sol, unit
		basis, out.left, out.worst = sol.Basis, unit*linalg.Norm(sol.Z[held:held+p.f.nw]), 0
		for _, t := range sol.Z[held+p.f.nw:] {
			out.worst = math.Max(out.worst, unit*t)
		}
		more := math.Max(out.left, out.worst) / unit
		if more == 0 {
			break
		}
		m.shift(sol.Z[:held], more)
		unit *= more
	}
	st.Signs = m.held(basis)
	grows := make([]float64, len(m.rows)) // the multipliers of biactive rows, along what is left
	for k, t := range last.Z[held+p.f.nw:] {
		grows[m.strong[k]] = scale * t
	}
	give := func(kind stopKind, i int, rate float64) {
		if rate > 0 {
			out.list = append(out.list, release{kind, i, -rate * j.size})
		}
	}
	nk := len(p.k)
	for t, e := range m.rows {
		out.eq[e.at] = e.sign * z[t] * j.size / e.length
		opens := scale * last.Bound[t] // the rate of its slack: 0 but where the multiplier is 0
		switch {
		case e.at >= nk+len(j.walls):
			give(couples, j.couple[e.at-nk-len(j.walls)], opens)
		case e.at >= nk:
			give(walls, j.walls[e.at-nk], opens)
		case opens >= grows[t]:
			give(enters, p.k[e.at], opens)
		default:
			give(leaves, p.k[e.at], grows[t])
		}
	}
	for k, i := range m.bounds {
		give(bounds, i, scale*last.Bound[len(m.rows)+k])
	}
	return out
}

// Sign is a multiplier of the program: of a biactive row's slack (enters) or what nu of it may be negative by (leaves), of a wall, a constraint of the leader, or a bound.
type Sign struct {
	kind stopKind
	of   int
}

// each lists the variables of the program that have one side, with their places; a row of it is behind each that is of leaves, and given by its place.
func (m *signProgram) each(visit func(s Sign, at, row int)) {
	nk, held := len(m.q.p.k), len(m.rows)+len(m.bounds)
	for t, e := range m.rows {
		s := Sign{enters, 0}
		switch i := e.at - nk; {
		case i >= len(m.q.walls):
			s = Sign{couples, m.q.couple[i-len(m.q.walls)]}
		case i >= 0:
			s = Sign{walls, m.q.walls[i]}
		default:
			s.of = m.q.p.k[e.at]
		}
		visit(s, t, -1)
	}
	for k, i := range m.bounds {
		visit(Sign{bounds, i}, len(m.rows)+k, -1)
	}
	nw := m.q.p.f.nw
	for k, t := range m.strong {
		visit(Sign{leaves, m.q.p.k[m.rows[t].at]}, held+nw+k, nw+k)
	}
}

// basis is the working set in which the multipliers are not 0 that were not so before, and all others are.
func (m *signProgram) basis(last map[Sign][2]activeset.State) *activeset.Basis {
	b := &activeset.Basis{Var: make([]activeset.State, m.N), Row: make([]activeset.State, m.A.Rows)}
	for i := range m.q.p.f.nw {
		b.Row[i] = activeset.AtLower
	}
	m.each(func(s Sign, at, row int) {
		is, known := last[s]
		if !known && !math.IsInf(m.Lo[at], -1) {
			is[0] = activeset.AtLower
		}
		if b.Var[at] = is[0]; row >= 0 {
			b.Row[row] = is[1]
		}
	})
	return b
}

// held is what basis reads of a working set.
func (m *signProgram) held(b *activeset.Basis) map[Sign][2]activeset.State {
	out := map[Sign][2]activeset.State{}
	m.each(func(s Sign, at, row int) {
		is := [2]activeset.State{b.Var[at]}
		if row >= 0 {
			is[1] = b.Row[row]
		}
		out[s] = is
	})
	return out
}

// shift makes the program one of changes of the multipliers z, in the given unit.
func (m *signProgram) shift(z []float64, unit float64) {
	for i, t := range z {
		m.Lo[i] = (m.Lo[i] - t) / unit
	}
	for i := range m.RowLo {
		for c, v := range m.A.Entries(i) {
			if c < len(z) {
				m.RowLo[i] -= v * z[c]
				m.RowHi[i] -= v * z[c]
			}
		}
		m.RowLo[i] /= unit
		m.RowHi[i] /= unit
	}
}

// signedEquations lists the equations that multipliers of the program are of.
func (p *piece) signedEquations(q *working) (out []signed) {
	f, nk := p.f, len(p.k)
	for i, length := range q.length {
		e := signed{at: i, sign: -1, length: length}
		switch {
		case i < nk:
			if e.sign = float64(p.side[p.k[i]]); length == 0 {
				if p.z.pivot(p.k[i]) <= tolerance.SolveAccuracy {
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
	m := &signProgram{q: newEquations(p), g: slices.Clone(j.reduced)}
	p.fixed, p.roomC = fixed, room
	m.rows = p.signedEquations(m.q)
	lo := make([]float64, len(m.rows))
	for t, e := range m.rows {
		m.columns = append(m.columns, m.q.c[e.at*nw:(e.at+1)*nw]...)
		floats.Scale(e.sign, m.columns[t*nw:])
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
	takes := each.Of(m.rows, func(e signed) eliminated { return p.eliminated(m.q, e.at) })
	held := len(lo)
	errs := make([]float64, held) // the rounding of each multiplier's column
	rows := sparse.Empty(held)
	for i := range nw { // the gradient is what the multipliers make of it, and the rest
		for t := range held {
			if v := m.columns[t*nw+i]; v != 0 {
				rows.Append(t, v)
			}
		}
		rows.Append(held+i, 1)
		rows.EndRow()
		m.RowLo, m.RowHi = append(m.RowLo, m.g[i]/j.size), append(m.RowHi, m.g[i]/j.size)
	}
	for t, e := range m.rows {
		if e.at >= nk {
			break
		}
		r := p.k[e.at]
		pivot := p.z.pivot(r)
		if pivot <= tolerance.SolveAccuracy {
			continue
		}
		unit := e.sign * e.length / pivot
		for c, other := range m.rows {
			if v := takes[c].of(r); v != 0 {
				rows.Append(c, -unit*other.sign*v/other.length)
				errs[c] = math.Max(errs[c], math.Abs(unit)*f.blockOf(r).rounding()*takes[t].size*takes[c].size/other.length)
			}
		}
		rows.Append(held+nw+len(m.strong), 1)
		rows.EndRow()
		m.strong, m.RowLo, m.RowHi = append(m.strong, t), append(m.RowLo, -unit*none.nu[r]/j.size), append(m.RowHi, math.Inf(1))
	}
	n := held + nw + len(m.strong)
	rows.Cols = n
	squares := make([]sparse.Entry, n)
	for k := range squares {
		squares[k] = sparse.Entry{Row: k, Col: k, Val: 1}
		if k < held {
			squares[k].Val = errs[k] * errs[k]
		}
	}
	m.N, m.Q, m.C, m.A = n, sparse.FromEntries(n, n, squares), make([]float64, n), rows
	for range nw {
		lo = append(lo, math.Inf(-1))
	}
	m.Lo, m.Hi = append(lo, make([]float64, len(m.strong))...), slices.Repeat([]float64{math.Inf(1)}, n)
	return m
}

// eliminated is what nu loses with the multiplier of an equation (adjoint), of the rows from one on: of others nothing.
type eliminated struct {
	first int
	nu    []float64
	size  float64 // of the weights of a biactive row and of S that make it
}

func (e eliminated) of(r int) float64 {
	if r < e.first || r >= e.first+len(e.nu) {
		return 0
	}
	return e.nu[r-e.first]
}

// eliminated is Y_.r of a biactive row, E c_y + c_lambda of a constraint of the leader, less what S takes of it. Nothing is left of it with walls.
func (p *piece) eliminated(q *working, i int) eliminated {
	f, nk := p.f, len(p.k)
	switch {
	case i < nk && f.sparse == nil:
		b, v := f.blockOf(p.k[i]), slices.Clone(f.blockOf(p.k[i]).rowY(p.k[i]))
		u, _ := p.z.column(p.k[i])
		for a, r := range p.z.beside(p.k[i]) {
			linalg.Axpy(v, -u[a], b.rowY(r))
		}
		return eliminated{b.first, v, math.Sqrt(1 + linalg.Dot(u, u))}
	case i >= nk && i < nk+len(q.walls):
		return eliminated{}
	}
	v := make([]float64, f.m)
	if i < nk {
		f.addY(v, []int{p.k[i]}, func(int, int) float64 { return 1 })
	} else {
		c := &f.coupled[q.couple[i-nk-len(q.walls)]]
		p.signed(v, c.l)
		f.addE(v, c.y)
	}
	rhs, x := make([]float64, len(p.z.rows)), make([]float64, len(p.z.rows))
	for a, r := range p.z.rows {
		rhs[a] = v[r]
	}
	p.z.times(x, rhs)
	f.addY(v, p.z.rows, func(a, _ int) float64 { return -x[a] })
	return eliminated{0, v, math.Sqrt(1 + linalg.Dot(x, x))}
}
