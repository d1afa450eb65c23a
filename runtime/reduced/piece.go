package reduced

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
)

// Held is a row of the follower at one of its ends.
type Held struct {
	Row  int
	High bool
}

// piece is one selection of the lower level's answers: rows S that hold with their multipliers, and K, biactive rows: equations on w whose
// multipliers are 0. On it lambda_S = Z (b_S - p0_S - R_S w), and y is affine in w.
type piece struct {
	*solver
	z        inverse
	side     []int8 // of each row in S or K: +1 at lo, -1 at hi, and +1 for equality rows; 0 elsewhere
	k        []int  // K, ascending
	inK      []bool
	fixed    []int8 // of each entry of w: -1 at lo, +1 at hi, 0 free
	wallOn   []bool
	coupleOn []bool

	w, y, lambda, v []float64 // at the point; lambda and v of all rows

	// derivatives: lambda_S' = -T, y' = D = J - E_S'T
	tangents []tangent // of each block; nil: of none
	d        []float64 // with sparse factors; else D is its two terms
	brought  float64   // then the length of the largest entries of E_S'T, of each column
}

func (s *solver) newPiece() *piece {
	f := s.f
	p := &piece{solver: s, side: make([]int8, f.m), inK: make([]bool, f.m), fixed: make([]int8, f.nw), wallOn: make([]bool, len(f.walls)),
		coupleOn: make([]bool, len(f.coupled)), w: make([]float64, f.nw), y: make([]float64, f.n), lambda: make([]float64, f.m), v: make([]float64, f.m)}
	p.z = newInverse(f)
	return p
}

// load takes a state over. The rows of S come in ascending order, so that the same state gives the same numbers.
func (p *piece) load(st *State) bool {
	clear(p.side)
	clear(p.inK)
	var rows []int
	for r := range p.f.rows {
		if p.f.rows[r].equal {
			p.side[r] = 1
			rows = append(rows, r)
		}
	}
	for _, h := range st.Strong {
		p.side[h.Row] = sideOf(h.High)
		rows = append(rows, h.Row)
	}
	slices.Sort(rows)
	p.k = p.k[:0]
	for _, h := range st.Biactive {
		p.side[h.Row] = sideOf(h.High)
		p.inK[h.Row] = true
		p.k = append(p.k, h.Row)
	}
	slices.Sort(p.k)
	copy(p.w, st.W)
	copy(p.fixed, st.Fixed)
	for i := range p.wallOn {
		p.wallOn[i] = p.f.walls[i].equal
	}
	for _, i := range st.Walls {
		p.wallOn[i] = true
	}
	for i := range p.coupleOn {
		p.coupleOn[i] = p.f.coupled[i].equal
	}
	for _, i := range st.Coupled {
		p.coupleOn[i] = true
	}
	return p.z.set(rows)
}

// save writes the piece back.
func (p *piece) save(st *State) {
	st.W = append(st.W[:0], p.w...)
	st.Fixed = append(st.Fixed[:0], p.fixed...)
	st.Strong, st.Biactive, st.Walls, st.Coupled = st.Strong[:0], st.Biactive[:0], st.Walls[:0], st.Coupled[:0]
	for r, side := range p.side {
		switch {
		case side == 0 || p.f.rows[r].equal:
		case p.inK[r]:
			st.Biactive = append(st.Biactive, Held{r, side < 0})
		default:
			st.Strong = append(st.Strong, Held{r, side < 0})
		}
	}
	st.Walls = append(st.Walls, each.WhereBelow(len(p.wallOn), func(i int) bool { return p.wallOn[i] && !p.f.walls[i].equal })...)
	st.Coupled = append(st.Coupled, each.WhereBelow(len(p.coupleOn), func(i int) bool { return p.coupleOn[i] && !p.f.coupled[i].equal })...)
}

func sideOf(high bool) int8 {
	if high {
		return -1
	}
	return 1
}

// end is the bound of row r on the given side.
func (f *follower) end(r int, side int8) float64 {
	if side < 0 {
		return f.rows[r].hi
	}
	return f.rows[r].lo
}

// place sets lambda, v and y at w.
func (p *piece) place() {
	f := p.f
	copy(p.v, f.p0)
	linalg.Gemv(p.v, 1, f.r, f.m, f.nw, false, p.w)
	rhs, l := make([]float64, len(p.z.rows)), make([]float64, len(p.z.rows))
	for a, r := range p.z.rows {
		rhs[a] = f.end(r, p.side[r]) - p.v[r]
	}
	if f.sparse != nil {
		p.placeSparse(rhs)
		return
	}
	p.z.times(l, rhs)
	// One step of refinement: Z is no more accurate than the condition of Y_SS leaves it.
	for range 2 {
		clear(p.lambda)
		for a, r := range p.z.rows {
			p.lambda[r] = l[a]
		}
		v := slices.Clone(p.v)
		f.addY(v, p.z.rows, func(a, _ int) float64 { return l[a] })
		for a, r := range p.z.rows {
			rhs[a] = f.end(r, p.side[r]) - v[r]
		}
		more := make([]float64, len(l))
		p.z.times(more, rhs)
		linalg.Axpy(l, 1, more)
	}
	for a, r := range p.z.rows {
		p.lambda[r] = l[a]
	}
	f.addY(p.v, p.z.rows, func(a, _ int) float64 { return l[a] })
	for _, r := range p.z.rows {
		p.v[r] = f.end(r, p.side[r])
	}
	copy(p.y, f.y0)
	p.respond(p.y, p.w, p.lambda)
	p.work(f.nw * f.m)
}

// placeSparse is place where v is p0 + R w so far, and rhs what the rows of S are from their ends. y and v follow from the solution of the joint system: H^-1 of the force of all multipliers, which on a chain add
// up to far more than the forces are, would lose their digits.
func (p *piece) placeSparse(rhs []float64) {
	f := p.f
	u, l := p.z.solve(nil, rhs)
	clear(p.lambda)
	for a, r := range p.z.rows {
		p.lambda[r] = l[a]
	}
	for r := range p.v {
		if p.v[r] += f.sparse.b.RowDot(r, u); p.z.has(r) {
			p.v[r] = f.end(r, p.side[r])
		}
	}
	copy(p.y, f.y0)
	f.addJ(p.y, p.w)
	linalg.Axpy(p.y, 1, u)
	p.work(f.m * (f.nw + 1))
}

// respond adds J w + E'lambda to y.
func (p *piece) respond(y, w, lambda []float64) {
	f := p.f
	f.addJ(y, w)
	f.addET(y, p.z.rows, func(_, r int) float64 { return lambda[r] })
}

// counts is the row that holds with the multiplier of row i of the problem, and what of it that is; false where it is 0.
func (p *piece) counts(i int) (r int, by float64, ok bool) {
	o := p.f.of[i]
	if o.row < 0 {
		return -1, 0, false
	}
	row := &p.f.rows[o.row]
	return o.row, sign(o.high) * row.unit, row.equal && row.high < 0 || p.side[o.row] == sideOf(o.high)
}

// duals sets dst to the multipliers that f reads, of signed multipliers of the rows.
func (p *piece) duals(dst, lambda []float64) {
	for k, i := range p.p.Duals {
		dst[k] = 0
		if r, by, ok := p.counts(i); ok {
			dst[k] = by * lambda[r]
		}
	}
}

func sign(high bool) float64 {
	if high {
		return -1
	}
	return 1
}

// multiplierGradient sets dst (len m) to the gradient in the signed multipliers of S and K, of the one in duals.
func (p *piece) multiplierGradient(dst, dual []float64) {
	clear(dst)
	for k, i := range p.p.Duals {
		if r, by, ok := p.counts(i); ok {
			dst[r] += by * dual[k]
		}
	}
}

// differentiate sets T, and D with sparse factors, of the blocks whose S is not that of the last time.
func (p *piece) differentiate() {
	f := p.f
	if p.tangents == nil {
		p.tangents = make([]tangent, len(f.blocks))
		if f.sparse != nil {
			p.d = append(p.d[:0], f.j...)
		}
	}
	for k := range f.blocks {
		z := &p.z.parts[k]
		if slices.Equal(z.rows, p.tangents[k].rows) {
			continue
		}
		if f.sparse != nil {
			p.differentiateSparse(z.rows)
		} else {
			p.differentiateBlock(k, z)
			p.work(len(z.rows) * f.nw * len(z.rows))
		}
	}
}

// differentiateSparse sets T and D with sparse factors, a column each.
func (p *piece) differentiateSparse(rows []int) {
	f, q, k := p.f, &p.tangents[0], len(rows)
	q.rows = append(q.rows[:0], rows...)
	q.t = linalg.Cleared(q.t, k*f.nw)
	p.d, p.brought = append(p.d[:0], f.j...), 0
	if k == 0 {
		return
	}
	v, l := make([]float64, k), make([]float64, k)
	for c := range f.nw {
		for a, r := range rows {
			v[a] = f.r[r*f.nw+c]
		}
		p.z.times(l, v)
		y := make([]float64, f.n)
		f.addET(y, rows, func(a, _ int) float64 { return -l[a] })
		for a := range l {
			q.t[a*f.nw+c] = l[a]
		}
		for i, t := range y {
			p.d[i*f.nw+c] += t
		}
		p.brought = math.Hypot(p.brought, linalg.NormInf(y))
	}
}

// chain sets dst (len nw) to the gradient in w on the piece of what has the gradient w, y, and l in the signed multipliers (len m), which it takes for its own: w + D'y - T'l.
func (p *piece) chain(dst, w, y, l []float64) {
	f := p.f
	copy(dst, w)
	if f.sparse != nil {
		linalg.Gemv(dst, 1, p.d, f.n, f.nw, true, y)
		p.work(f.n * f.nw)
	} else {
		f.addJT(dst, y)
		for k := range p.tangents {
			f.blocks[k].addE(l, p.tangents[k].rows, y)
			p.work(len(p.tangents[k].rows) * f.blocks[k].width())
		}
	}
	p.addTransposed(dst, -1, l)
}

// reduced sets dst to the gradient in w on the piece, of the gradient of f at the point.
func (p *piece) reduced(dst []float64, g point) {
	l := make([]float64, p.f.m)
	p.multiplierGradient(l, g.dual)
	p.chain(dst, g.w, g.y, l)
}

// forward sets dst to the direction of the point along the direction d.w of w, on the piece.
func (p *piece) forward(dst point, w []float64) {
	f := p.f
	copy(dst.w, w)
	clear(dst.y)
	l := make([]float64, f.m)
	p.pushT(l, -1, w)
	if f.sparse != nil {
		linalg.Gemv(dst.y, 1, p.d, f.n, f.nw, false, w)
		p.work(f.n * f.nw)
	} else {
		p.respond(dst.y, w, l)
	}
	p.duals(dst.dual, l)
}

func (p *piece) point() point {
	at := point{p.w, p.y, make([]float64, len(p.p.Duals))}
	p.duals(at.dual, p.lambda)
	return at
}

// couplings are the gradients in w of the constraints of the leader, on the piece, one a row of dst, and their values.
func (p *piece) coupling(dst []float64, c *coupledRow) {
	l := make([]float64, p.f.m)
	p.signed(l, c.l)
	p.chain(dst, c.x, c.y, l)
}

// signed sets dst (len m) to the gradient in the signed multipliers, of one in the problem's (len M).
func (p *piece) signed(dst, l []float64) {
	clear(dst)
	for i, v := range l {
		if r, by, ok := p.counts(i); ok && v != 0 {
			dst[r] += by * v
		}
	}
}

// gap is how far the leader's constraint is from its side at a point: rhs - c.
func (p *piece) gap(c *coupledRow, w, y, lambda []float64) float64 {
	l := make([]float64, p.f.m)
	p.signed(l, c.l)
	return c.rhs - linalg.Dot(c.x, w) - linalg.Dot(c.y, y) - linalg.Dot(l, lambda)
}

// rate is how fast the constraint grows along a direction, and the size of the terms of that.
func (p *piece) rate(c *coupledRow, q *rates) (rate, terms float64) {
	l := make([]float64, p.f.m)
	p.signed(l, c.l)
	rate = linalg.Dot(c.x, q.move.w) + linalg.Dot(c.y, q.move.y) + linalg.Dot(l, q.lambda)
	return rate, linalg.Norm(c.x)*linalg.Norm(q.move.w) + linalg.Norm(c.y)*linalg.Norm(q.move.y)
}
