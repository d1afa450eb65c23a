package reduced

import (
	"context"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
)

// minimize goes to the minimizer of a quadratic f on the piece that S is of, with all slacks, multipliers and constraints as inequalities. Where many rows are biactive at a point, a method that lets rows go and meets
// one at a time takes as many rounds as rows change; this takes one. It reports false, and leaves the point, where F does not fall there, or is not convex.
func (p *piece) minimize(ctx context.Context) (moved bool) {
	f, nw := p.f, p.f.nw
	p.place()
	p.differentiate()
	_, slope := p.calc.begin(p.point())
	g := make([]float64, nw)
	p.reduced(g, slope)
	h, ok := p.hessian()
	if !ok {
		return false
	}
	b := p.inequalities()
	b.H, b.C, b.Context = qp.Factored(h), g, ctx
	b.Lo, b.Hi = make([]float64, nw), make([]float64, nw)
	for j, w := range p.w {
		b.Lo[j], b.Hi[j] = math.Min(0, f.lo[j]-w), math.Max(0, f.hi[j]-w)
	}
	sol := qp.Solve(b.Problem, nil)
	if sol.Status != qp.Solved {
		return false
	}
	for j, t := range sol.Z {
		p.w[j] = math.Min(math.Max(p.w[j]+t, f.lo[j]), f.hi[j])
	}
	for _, k := range sol.Active {
		if k >= len(b.of) {
			continue
		}
		switch c := b.of[k]; c.kind {
		case leaves:
			p.keep(c.i, p.side[c.i])
		case enters:
			p.keep(c.i, sideOf(c.high))
		}
	}
	p.touch()
	p.place()
	return true
}

// hessian is that of f on the piece, in w, factorized, with a shift that is rounding.
func (p *piece) hessian() (*linalg.Cholesky, bool) {
	nw := p.f.nw
	move, curve := newPoint(nw, p.f.n, len(p.p.Duals)), newPoint(nw, p.f.n, len(p.p.Duals))
	h, e := make([]float64, nw*nw), make([]float64, nw)
	top := 0.0
	for c := range nw {
		e[c] = 1
		p.forward(move, e)
		p.calc.product(curve, move)
		p.reduced(h[c*nw:(c+1)*nw], curve)
		top = math.Max(top, math.Abs(h[c*nw+c]))
		e[c] = 0
		p.products++
	}
	for a := range nw {
		for c := range a {
			v := (h[a*nw+c] + h[c*nw+a]) / 2
			h[a*nw+c], h[c*nw+a] = v, v
		}
		h[a*nw+a] += tolerance.HalfDigits * top
	}
	return linalg.NewCholesky(nw, h)
}

// onPiece is a quadratic program on a piece, and what its rows are.
type onPiece struct {
	*qp.Problem
	of []stop
}

// inequalities are those of the piece in a step of w.
func (p *piece) inequalities() onPiece {
	f, nw := p.f, p.f.nw
	k, fixed, walls, couple, room := p.k, p.fixed, p.wallOn, p.coupleOn, p.roomC
	p.k, p.fixed, p.roomC = nil, make([]int8, nw), nil
	p.wallOn, p.coupleOn = make([]bool, len(walls)), make([]bool, len(couple))
	for i := range p.wallOn {
		p.wallOn[i] = true
	}
	for i := range p.coupleOn {
		p.coupleOn[i] = true
	}
	for r := range f.rows {
		if !p.z.has(r) {
			p.k = append(p.k, r)
		}
	}
	q := newEquations(p)
	out := onPiece{Problem: &qp.Problem{A: sparse.Empty(nw)}}
	add := func(c []float64, sign, size, room float64, equal bool, of stop) {
		for j, v := range c {
			if v != 0 {
				out.A.Append(j, sign*v/size)
			}
		}
		out.A.EndRow()
		if !equal {
			room = math.Max(0, room)
		}
		out.B, out.Equal, out.of = append(out.B, room/size), append(out.Equal, equal), append(out.of, of)
	}
	for i, length := range q.length {
		if length == 0 {
			continue
		}
		c := q.c[i*nw : (i+1)*nw]
		switch nk := len(p.k); {
		case i < nk:
			r := p.k[i]
			if lo := f.rows[r].lo; !math.IsInf(lo, -1) {
				add(c, -1, 1, (p.v[r]-lo)/length, false, stop{kind: enters, i: r})
			}
			if hi := f.rows[r].hi; !math.IsInf(hi, 1) {
				add(c, 1, 1, (hi-p.v[r])/length, false, stop{kind: enters, i: r, high: true})
			}
		case i < nk+len(q.walls):
			w := &f.walls[q.walls[i-nk]]
			add(c, 1, 1, (w.rhs-linalg.Dot(w.vec, p.w))/length, w.equal, stop{kind: bounds})
		default:
			o := &f.coupled[q.couple[i-nk-len(q.walls)]]
			add(c, 1, 1, p.gap(o, p.w, p.y, p.lambda)/length, o.equal, stop{kind: bounds})
		}
	}
	for k := range p.tangents {
		t := &p.tangents[k]
		for a, r := range t.rows {
			c := t.t[a*nw : (a+1)*nw]
			if length := linalg.Norm(c); length > 0 && !f.rows[r].equal {
				s := float64(p.side[r])
				add(c, s, length, s*p.lambda[r], false, stop{kind: leaves, i: r})
			}
		}
	}
	p.k, p.fixed, p.wallOn, p.coupleOn, p.roomC = k, fixed, walls, couple, room
	return out
}
