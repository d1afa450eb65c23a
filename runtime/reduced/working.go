package reduced

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/gram"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// working are the equations on w that a step keeps: biactive rows, walls and constraints of the leader, with the fixed entries of w taken out.
type working struct {
	p      *piece
	rows   int
	c      []float64 // rows x nw, of length 1, 0 at fixed entries
	length []float64 // before that
	use    []int     // the rows that the basis is of: none of them depends on the others
	basis  linalg.QR // of their span: their columns C' = QR
	walls  []int     // which walls, behind the biactive rows
	couple []int     // which constraints, behind those
	raw    []float64 // rows x nw with fixed entries, of the walls and constraints
}

// newWorking lists the equations of a piece that is differentiated, and factorizes them.
func newWorking(p *piece) *working {
	q := newEquations(p)
	q.factorize()
	return q
}

// newEquations lists them.
func newEquations(p *piece) *working {
	f := p.f
	q := &working{p: p}
	q.walls = append(q.walls, each.WhereBelow(len(p.wallOn), func(i int) bool { return p.wallOn[i] })...)
	q.couple = append(q.couple, each.WhereBelow(len(p.coupleOn), func(i int) bool { return p.coupleOn[i] })...)
	nk := len(p.k)
	q.rows = nk + len(q.walls) + len(q.couple)
	if f.sparse != nil && math.Pow(float64(max(0, q.rows-f.nw)), 2) > math.Pow(float64(f.n), 1.5) { // more than all else takes
		f.sparse.failed = true
		p.k, nk = p.k[:0], 0
		q.walls, q.couple, q.rows = nil, nil, 0
	}
	q.c = linalg.Cleared(p.roomC, q.rows*f.nw)
	p.roomC = q.c
	row := func(i int) []float64 { return q.c[i*f.nw : (i+1)*f.nw] }
	zero := make([]float64, nk) // how long the gradients of biactive rows may be by rounding
	for a, r := range p.k {
		zero[a] = rounding * linalg.Norm(f.r[r*f.nw:(r+1)*f.nw])
	}
	if f.sparse != nil {
		for a, r := range p.k { // R_K - Y_KS T = B_K D - A_K, A_K = B_K J - R_K
			copy(row(a), f.r[r*f.nw:(r+1)*f.nw])
			for j, v := range f.sparse.b.Entries(r) {
				linalg.Axpy(row(a), v, p.d[j*f.nw:(j+1)*f.nw])
				linalg.Axpy(row(a), -v, f.j[j*f.nw:(j+1)*f.nw])
				zero[a] += tolerance.Rounded * math.Abs(v) * p.brought // of solutions, which are known next to their largest entries
			}
		}
	} else if nk > 0 {
		for a := 0; a < nk; { // a block each: K is ascending, and so are the rows of blocks
			k := f.owner[p.k[a]]
			b, t := &f.blocks[k], &p.tangents[k]
			ns, from := len(t.rows), a
			var y []float64
			zeros := each.Below(ns, func(c int) float64 {
				return rounding*linalg.Norm(t.t[c*f.nw:(c+1)*f.nw]) + tolerance.Eliminated*t.terms[c]
			})
			for ; a < nk && f.owner[p.k[a]] == k; a++ {
				r := p.k[a]
				copy(row(a), f.r[r*f.nw:(r+1)*f.nw])
				yr := b.rowY(r)
				for c, s := range t.rows {
					y = append(y, yr[s-b.first])
					zero[a] += math.Abs(yr[s-b.first]) * zeros[c]
				}
			}
			if ns > 0 {
				gram.Subtract(matrix(q.c[from*f.nw:], a-from, f.nw), matrix(y, a-from, ns), false, matrix(t.t, ns, f.nw))
			}
			p.work((a - from) * ns * f.nw)
		}
	}
	for a, i := range q.walls {
		copy(row(nk+a), f.walls[i].vec)
	}
	for a, i := range q.couple {
		p.coupling(row(nk+len(q.walls)+a), &f.coupled[i])
	}
	q.raw = append(q.raw, q.c[nk*f.nw:]...)
	q.length = make([]float64, q.rows)
	for i := range q.rows {
		c := row(i)
		whole := linalg.Norm(c)
		for j, fix := range p.fixed {
			if fix != 0 {
				c[j] = 0
			}
		}
		length := linalg.Norm(c)
		if i < nk && math.Max(whole, 1e-300) <= zero[i] || length <= rounding*whole {
			clear(c)
			continue
		}
		q.length[i] = length
		floats.Scale(1/length, c)
	}
	return q
}

// factorize takes the rows, one after the other, that do not depend on those before.
func (q *working) factorize() {
	nw := q.p.f.nw
	q.basis.Reset(nw)
	q.basis.Reserve(q.rows)
	for i, l := range q.length {
		if l == 0 || q.basis.Size() == nw {
			continue
		}
		q.p.work(2 * nw * q.basis.Size())
		if q.basis.Extend(q.c[i*nw:(i+1)*nw], tolerance.Dependence) {
			q.use = append(q.use, i)
		}
	}
}

// project overwrites v with its part along the equations, fixed entries 0, and returns the coordinates of the other part in the basis.
func (q *working) project(v []float64) []float64 {
	for j, fix := range q.p.fixed {
		if fix != 0 {
			v[j] = 0
		}
	}
	x := make([]float64, q.basis.Size())
	q.basis.Coordinates(x, v)
	q.basis.AddScaled(v, -1, x)
	q.p.work(2 * len(x) * len(v))
	return x
}

// reach is the length of the shortest way of w on which the row of an equation, of length 1, grows by 1 and the others that the basis is of hold; 1 for one that depends on them.
func (q *working) reach(i int) float64 {
	a, ok := slices.BinarySearch(q.use, i)
	if !ok {
		return 1
	}
	v := make([]float64, q.basis.Size())
	v[a] = 1
	q.basis.SolveT(v)
	q.p.work(len(v) * len(v) / 2)
	return linalg.Norm(v)
}

// multipliers are those of the equations in the gradient g, in their own units (len rows): g = C'gamma + rest.
func (q *working) multipliers(g []float64) []float64 {
	v := slices.Clone(g)
	out := make([]float64, q.rows)
	for range 2 { // the second time what rounding of the first has left
		x := q.project(v)
		q.basis.Solve(x)
		for a, i := range q.use {
			out[i] += x[a] / q.length[i]
		}
	}
	return out
}
