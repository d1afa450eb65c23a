package reduced

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// judged are the multipliers at a point of a piece, and how far it is from stationary.
type judged struct {
	*working
	value   float64
	g       point     // gradient of f
	reduced []float64 // gradient in w on the piece
	step    []float64 // minus its part along the equations
	size    float64   // of the terms of the gradient
	eq      []float64 // multipliers of the equations
	slack   []float64 // gamma, of all rows, signed; 0 but on S and K
	nu      []float64 // of lambda, of all rows, signed
	read    []float64 // what the terms of nu have that f and the leader's constraints read of lambda
	bound   []float64 // of fixed entries of w
	nuTerms float64   // the size of the terms of nu
	// stuck: a biactive row has a negative nu, and no step in w makes its multiplier positive.
	stuck bool
}

// stationarity is the part of the gradient's terms that is left of it.
func (j *judged) stationarity() float64 {
	if j.size == 0 {
		return 0
	}
	return linalg.Norm(j.step) / j.size
}

// judge restores the equations at the point, and finds the gradient and the multipliers.
func (p *piece) judge() *judged {
	f := p.f
	p.place()
	p.differentiate()
	q := newWorking(p)
	for range 2 {
		if !p.restore(q) {
			break
		}
		p.place()
	}
	j := &judged{working: q, reduced: make([]float64, f.nw)}
	j.value, j.g = p.calc.begin(p.point())
	p.reduced(j.reduced, j.g)
	rest := slices.Clone(j.reduced)
	linalg.Axpy(rest, -1, j.g.w)
	j.size = linalg.Norm(j.g.w) + linalg.Norm(rest)
	j.step = slices.Clone(j.reduced)
	floats.Scale(-1, j.step)
	q.project(j.step)
	q.project(j.step)
	j.eq = q.multipliers(j.reduced)
	p.adjoint(j)
	return j
}

// weaken makes rows biactive whose slack and multiplier are both zero to rounding, but which count as strong or inactive; each once at a point, where its multipliers may let it go again. A row which w hardly moves is
// left as it is where w would have to go further than by rounding for its slack to be 0: its kink is elsewhere.
func (p *piece) weaken(st *State) (found bool) {
	top := linalg.NormInf(p.lambda)
	before := slices.Clone(p.side)
	var added []int
	for r := range p.f.rows {
		if side, ok := p.undecided(r, top); ok && !slices.Contains(st.Weakened, r) {
			st.Weakened = append(st.Weakened, r)
			p.keep(r, side)
			added = append(added, r)
		}
	}
	if len(added) == 0 {
		return false
	}
	slices.Sort(p.k)
	p.place()
	p.differentiate()
	q, reach := newWorking(p), tolerance.Sign*math.Max(1, linalg.Norm(p.w))
	for a, r := range slices.Clone(p.k) {
		if !slices.Contains(added, r) || !(q.length[a] > 0 && math.Abs(p.v[r]-p.f.end(r, p.side[r])) > reach*q.length[a]) {
			continue
		}
		p.inK[r], p.side[r] = false, before[r]
		p.k = slices.DeleteFunc(p.k, func(k int) bool { return k == r })
		added = slices.DeleteFunc(added, func(k int) bool { return k == r })
	}
	p.z.set(p.strong())
	p.place()
	return len(added) > 0
}

// undecided says that the slack and the multiplier of row r are both zero to what they are known to, and at which of its ends; top is the largest multiplier.
func (p *piece) undecided(r int, top float64) (side int8, ok bool) {
	row := &p.f.rows[r]
	if row.equal || p.inK[r] {
		return 0, false
	}
	off, zero := math.Min(p.v[r]-row.lo, row.hi-p.v[r]), p.slackError(r, top) // a slack is told as exactly as rows hold
	if side = p.side[r]; side != 0 {
		size := zero / tolerance.Parted
		off, zero = math.Abs(p.lambda[r]), tolerance.Sign*size
		if off > zero && off <= rounding*size && p.z.has(r) { // of rows that nearly depend on each other it is known to what Z makes of the rounding of their ends and of Y (as column has it)
			zero = math.Max(zero, 4*p.f.blockOf(r).rounding()*size*p.z.norm(r))
		}
	} else {
		side = sideOf(row.hi-p.v[r] < p.v[r]-row.lo)
	}
	return side, off <= zero
}

// adjoint sets the multipliers of the full system from those of the equations:
//
//	gamma_S = Z (E_S g_y + g_S - Y_SK gamma_K),   nu = g_lambda + E g_y - Y gamma,
//
// with the constraints of the leader, times their multipliers, taken from the gradient of f.
func (p *piece) adjoint(j *judged) {
	f, q := p.f, j.working
	nk := len(p.k)
	gy := slices.Clone(j.g.y)
	gl := make([]float64, f.m)
	p.multiplierGradient(gl, j.g.dual)
	l := make([]float64, f.m)
	for a, i := range q.couple {
		c := &f.coupled[i]
		mu := j.eq[nk+len(q.walls)+a]
		linalg.Axpy(gy, -mu, c.y)
		p.signed(l, c.l)
		linalg.Axpy(gl, -mu, l)
	}
	j.read = append(j.read[:0], gl...)
	j.slack, j.nu = make([]float64, f.m), gl
	f.addE(j.nu, gy)
	j.nuTerms = linalg.NormInf(j.nu)
	for a, r := range p.k {
		j.slack[r] = j.eq[a]
	}
	f.addY(j.nu, p.k, func(a, _ int) float64 { return -j.eq[a] })
	rows := p.z.rows
	rhs, x := make([]float64, len(rows)), make([]float64, len(rows))
	for range 2 { // the second time what rounding of the first has left
		for a, r := range rows {
			rhs[a] = j.nu[r]
		}
		p.z.times(x, rhs)
		for a, r := range rows {
			j.slack[r] += x[a]
		}
		f.addY(j.nu, rows, func(a, _ int) float64 { return -x[a] })
	}
	// grad_x f less what the rows and equations make of it is left to the bounds.
	j.bound = slices.Clone(j.reduced)
	for a := range q.rows {
		if a >= nk && j.eq[a] != 0 {
			linalg.Axpy(j.bound, -j.eq[a], q.raw[(a-nk)*f.nw:(a-nk+1)*f.nw])
		}
	}
	p.subtractBiactive(j.bound, j.eq[:nk])
	for i, fix := range p.fixed {
		if fix == 0 {
			j.bound[i] = 0
		}
	}
}

// subtractBiactive takes C'gamma from dst, C of the biactive rows with all entries of w: C = R_K - Y_KS T.
func (p *piece) subtractBiactive(dst, gamma []float64) {
	f := p.f
	if len(p.k) == 0 {
		return
	}
	for a, r := range p.k {
		linalg.Axpy(dst, -gamma[a], f.r[r*f.nw:(r+1)*f.nw])
	}
	y := make([]float64, f.m)
	f.addY(y, p.k, func(a, _ int) float64 { return gamma[a] })
	p.addTransposed(dst, 1, y)
}

// restore moves w by the least step that makes the equations hold, as rounding leaves them off; false where they hold already, and where w stands: the step is long where rows are near to dependent, and multipliers are to be
// those of w.
func (p *piece) restore(q *working) bool {
	f, nk := p.f, len(p.k)
	if len(q.use) == 0 || p.opts.Still {
		return false
	}
	off, worst, top := make([]float64, len(q.use)), 0.0, linalg.NormInf(p.lambda)
	noise := make([]float64, len(off))
	for a, i := range q.use {
		var v, size float64
		switch {
		case i < nk:
			r := p.k[i]
			v = p.v[r] - f.end(r, p.side[r])
			size = p.slackTerms(r, top) + linalg.Norm(f.r[r*f.nw:(r+1)*f.nw])*linalg.Norm(p.w)
			if math.Abs(v) <= p.slackError(r, top) && math.Abs(v) > tolerance.Sign*q.length[i]*math.Max(1, linalg.Norm(p.w)) {
				v = 0 // it holds, and w hardly moves it: what rounding leaves would take w far away
			}
		case i < nk+len(q.walls):
			w := &f.walls[q.walls[i-nk]]
			v, size = w.off(p.w), w.terms(p.w)
		default:
			c := &f.coupled[q.couple[i-nk-len(q.walls)]]
			v = -p.gap(c, p.w, p.y, p.lambda)
			size = c.size(p)
		}
		off[a], noise[a] = v/q.length[i], 16*0x1p-52*size/q.length[i]
		if size > 0 {
			worst = math.Max(worst, math.Abs(v)/size)
		}
	}
	if worst <= 16*0x1p-52 { // a few roundings
		return false
	}
	for a := range off { // what is left of it behind those before; rounding of that is not worth a way, which is long where the rows depend on each other almost
		t := q.basis.Triangle(a)
		if left := off[a] - linalg.Dot(t[:a], off[:a]); math.Abs(left) > noise[a] {
			off[a] = left / t[a]
		} else {
			off[a] = 0
		}
	}
	q.basis.AddScaled(p.w, -1, off)
	for j := range p.w {
		p.w[j] = math.Max(f.lo[j], math.Min(f.hi[j], p.w[j]))
	}
	return true
}
