package reduced

import (
	"context"
	"errors"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// ErrUnbounded says that f falls along a ray of the system; it comes as an Unbounded.
var ErrUnbounded = errors.New("the objective improves without bound along a ray")

// ErrEndless says that an f that is not quadratic falls on and on, with no ray that shows it to have no bound.
var ErrEndless = errors.New("the objective improves on along a direction that has no end")

// Unbounded is a point of the system, and a ray from there along which a quadratic f falls without end (len N both).
type Unbounded struct{ Z, Ray []float64 }

func (*Unbounded) Error() string { return ErrUnbounded.Error() }

// Unwrap makes it ErrUnbounded.
func (*Unbounded) Unwrap() error { return ErrUnbounded }

// unbounded is the point with the ray along q.
func (p *piece) unbounded(q *rates) error {
	s := p.f.sys
	whole := func(w, y, lambda []float64) []float64 {
		z := make([]float64, s.N)
		copy(s.X(z), w)
		if f := p.f.whole; f != nil { // y is lambda, or its rate
			f.addJ(s.Y(z), w)
			f.timesET(s.Y(z), 1, y)
		} else {
			copy(s.Y(z), y)
		}
		copy(z[s.Nx+s.Ny+s.M:], w[s.Nx:])
		for i := range s.M {
			s.Lambda(z)[i] = p.ofRow(i, lambda)
		}
		return z
	}
	u := &Unbounded{whole(p.w, p.y, p.lambda), whole(q.move.w, q.move.y, q.lambda)}
	if f := p.f.whole; f != nil {
		linalg.Axpy(s.Y(u.Z), 1, f.y0)
	}
	return u
}

// rates are the derivatives along a direction of w, on the piece as it is.
type rates struct {
	move      point     // of what f reads
	lambda, v []float64 // len m
	r, y      []float64 // R d and J d of the direction: what v and y have with no row in S
}

// along is the rates of the direction d.
func (p *piece) along(d []float64) *rates {
	f := p.f
	q := &rates{newPoint(f.nw, f.n, len(p.p.Duals)), make([]float64, f.m), make([]float64, f.m), make([]float64, f.m), make([]float64, f.n)}
	copy(q.move.w, d)
	linalg.Gemv(q.r, 1, f.r, f.m, f.nw, false, d)
	f.addJ(q.y, d)
	p.turn(q, 0, len(f.blocks))
	return q
}

// turn brings the rates of blocks up to date, from one on and before another, whose S has changed: those of the others are as they were.
func (p *piece) turn(q *rates, from, before int) {
	f := p.f
	for k := from; k < before; k++ {
		b, rows := &f.blocks[k], p.z.parts[k].rows
		rhs, l := make([]float64, len(rows)), make([]float64, len(rows))
		for a, s := range rows {
			rhs[a] = -q.r[s]
		}
		p.z.timesOf(k, l, rhs)
		clear(b.rows(q.lambda))
		copy(b.rows(q.v), b.rows(q.r))
		for _, j := range b.ys {
			q.move.y[j] = q.y[j]
		}
		for a, s := range rows {
			q.lambda[s] = l[a]
		}
		of := func(a, _ int) float64 { return l[a] }
		f.addY(q.v, rows, of)
		f.addET(q.move.y, rows, of)
		for _, s := range rows {
			q.v[s] = 0
		}
	}
	p.duals(q.move.dual, q.lambda)
}

// stop is what a step runs into.
type stop struct {
	t    float64
	kind stopKind
	i    int
	high bool
}

type stopKind uint8

const (
	nothing stopKind = iota
	enters           // row i comes to one of its ends
	leaves           // the multiplier of row i comes to 0
	bounds           // entry i of w
	walls            // a row of X
	couples          // a constraint of the leader
)

// first is the first stop along a direction. Rates below rounding of the largest count for none.
func (p *piece) first(q *rates) stop {
	f := p.f
	best := stop{t: math.Inf(1)}
	take := func(t float64, kind stopKind, i int, high bool) {
		if t < best.t {
			best = stop{math.Max(0, t), kind, i, high}
		}
	}
	least, leastL := tolerance.Feasibility*linalg.NormInf(q.v), tolerance.Feasibility*linalg.NormInf(q.lambda)
	for r := range f.rows {
		row := &f.rows[r]
		switch {
		case row.equal || p.inK[r]:
		case p.side[r] != 0:
			if s := float64(p.side[r]); s*q.lambda[r] < -leastL {
				take(math.Max(0, s*p.lambda[r])/(-s*q.lambda[r]), leaves, r, p.side[r] < 0)
			}
		case q.v[r] < -least && !math.IsInf(row.lo, -1):
			take(math.Max(0, p.v[r]-row.lo)/-q.v[r], enters, r, false)
		case q.v[r] > least && !math.IsInf(row.hi, 1):
			take(math.Max(0, row.hi-p.v[r])/q.v[r], enters, r, true)
		}
	}
	d := q.move.w
	for j, v := range d {
		switch {
		case p.fixed[j] != 0:
		case v < 0 && !math.IsInf(f.lo[j], -1):
			take(math.Max(0, p.w[j]-f.lo[j])/-v, bounds, j, false)
		case v > 0 && !math.IsInf(f.hi[j], 1):
			take(math.Max(0, f.hi[j]-p.w[j])/v, bounds, j, true)
		}
	}
	length := linalg.Norm(d)
	for i := range f.walls {
		if w := &f.walls[i]; !p.wallOn[i] {
			if rate := linalg.Dot(w.vec, d); rate > tolerance.Feasibility*w.length*length {
				take(math.Max(0, w.rhs-linalg.Dot(w.vec, p.w))/rate, walls, i, true)
			}
		}
	}
	for i := range f.coupled {
		if c := &f.coupled[i]; !p.coupleOn[i] {
			if rate, terms := p.rate(c, q); rate > tolerance.Feasibility*terms {
				take(math.Max(0, p.gap(c, p.w, p.y, p.lambda))/rate, couples, i, true)
			}
		}
	}
	return best
}

// outcome of a search along a direction.
type outcome struct {
	moved   bool
	changed bool // rows came or went
	kinks   int
}

// perCrossing are the multiplications that a crossing counts as for each entry of w, y and the rows, all of which it passes over ten times, entry by entry (measured with 1e4 of them).
const perCrossing = 40

// search goes along d as far as F falls, through the pieces that come: at each kink to the next piece while F falls on, else the row is kept as
// an equation, as it is where it comes a second time with no fall of F between by more than its noise (State.Crossed): branches that F falls on up to one kink, with biactive rows that curve, would lead to and fro. Along a flat d F falls to second order. Where y is affine along d and f quadratic, the minimizer on a piece is exact. F is known to no more than known; g is the gradient of f at the point, which it brings up to date.
func (p *piece) search(ctx context.Context, d []float64, value, known float64, g point, flat bool, st *State) (float64, outcome, error) {
	f := p.f
	q := p.along(d)
	curve := newPoint(f.nw, f.n, len(p.p.Duals))
	var out outcome
	for range 4*f.m + 10 {
		if p.z.failed() {
			return value, out, ErrFactors
		}
		if p.working(st, 0); out.kinks > 0 && (ctx.Err() != nil || p.strays(q)) {
			return value, out, nil // the biactive rows do not stay so along d on this piece
		}
		p.work(perCrossing * (f.m + f.n + f.nw))
		slope := g.dot(q.move)
		if slope >= 0 && (!flat || out.changed) {
			return value, out, nil
		}
		next := p.first(q)
		var t float64
		least := tolerance.Feasibility * math.Max(1, linalg.NormInf(p.w)) // steps of w below are rounding
		switch {
		case next.t*linalg.NormInf(d) <= least:
			t = next.t
			p.shift(q, t)
		case p.calc.quadratic:
			p.calc.product(curve, q.move)
			curv := curve.dot(q.move)
			t = math.Inf(1)
			if curv > 0 {
				t = -slope / curv
			}
			if math.IsInf(t, 1) && math.IsInf(next.t, 1) {
				return value, out, p.unbounded(q)
			}
			t = math.Min(t, next.t)
			p.shift(q, t)
			value += t*slope + t*t/2*curv
			linalg.Axpy(g.w, t, curve.w)
			linalg.Axpy(g.y, t, curve.y)
			linalg.Axpy(g.dual, t, curve.dual)
		default:
			var err error
			if t, value, err = p.line(q, slope, value, next.t, g); err != nil {
				return value, out, err
			}
		}
		out.moved = out.moved || t*linalg.NormInf(d) > least
		if t < next.t {
			return value, out, nil
		}
		i := next.i
		out.changed = true
		switch next.kind {
		case bounds:
			p.fixed[i], p.w[i] = -1, f.lo[i]
			if next.high {
				p.fixed[i], p.w[i] = 1, f.hi[i]
			}
			return value, out, nil
		case walls:
			p.wallOn[i] = true
			return value, out, nil
		case couples:
			p.coupleOn[i] = true
			return value, out, nil
		}
		p.crossings++
		out.kinks++
		side := sideOf(next.high)
		if len(st.Crossed) == 0 || value < st.Above-known {
			st.Crossed, st.Above = st.Crossed[:0], value
		}
		again := slices.Contains(st.Crossed, i)
		if !again {
			st.Crossed = append(st.Crossed, i)
		}
		p.v[i] = f.end(i, side)
		if next.kind == leaves {
			p.z.drop(i)
			p.lambda[i], p.side[i] = 0, 0
		}
		if again || next.kind == enters && !p.pass(i, side, q, g) {
			p.keep(i, side)
			return value, out, nil
		}
		if next.kind == leaves {
			if p.turn(q, f.owner[i], f.owner[i]+1); g.dot(q.move) >= 0 {
				p.keep(i, side)
				return value, out, nil
			}
		}
	}
	return value, out, nil
}

// pass takes row i into S where F falls on behind it; else, or where the follower has no answer behind it, it leaves S as it was and reports false.
func (p *piece) pass(i int, side int8, q *rates, g point) bool {
	k := p.f.owner[i]
	b, rows := &p.f.blocks[k], slices.Clone(p.z.beside(i))
	lambda, sides := slices.Clone(b.rows(p.lambda)), slices.Clone(p.side[b.first:b.first+b.m])
	if p.enter(i, side) {
		if p.turn(q, k, k+1); g.dot(q.move) < 0 {
			return true
		}
	}
	switch now := p.z.beside(i); {
	case len(now) > len(rows):
		p.z.drop(i)
	case !slices.Equal(now, rows):
		from := p.z.start[k]
		p.z.set(slices.Concat(p.z.rows[:from], rows, p.z.rows[from+len(now):]))
	}
	copy(b.rows(p.lambda), lambda)
	copy(p.side[b.first:], sides)
	return false
}

// keep makes row i biactive.
func (p *piece) keep(i int, side int8) {
	if p.z.has(i) {
		p.z.drop(i)
	}
	p.lambda[i], p.side[i], p.inK[i] = 0, side, true
	p.k = append(p.k, i)
}

// strays reports whether a biactive row, or a constraint of the leader, would leave its end along a direction, after a kink: the equations held on the piece before.
func (p *piece) strays(q *rates) bool {
	top := linalg.NormInf(q.v)
	for _, r := range p.k {
		if math.Abs(q.v[r]) > tolerance.Sign*top {
			return true
		}
	}
	for i, on := range p.coupleOn {
		if on {
			if rate, terms := p.rate(&p.f.coupled[i], q); math.Abs(rate) > tolerance.Sign*terms {
				return true
			}
		}
	}
	return false
}

// shift moves the point by t along a direction.
func (p *piece) shift(q *rates, t float64) {
	linalg.Axpy(p.w, t, q.move.w)
	linalg.Axpy(p.y, t, q.move.y)
	linalg.Axpy(p.lambda, t, q.lambda)
	linalg.Axpy(p.v, t, q.v)
}

// enter takes row i, whose multiplier is 0, into S. Where it depends on rows in S, the first of those whose multiplier comes to 0 as that of i
// grows leaves instead, y the same; it reports false where there is none: beyond, the follower has no answer.
func (p *piece) enter(i int, side int8) bool {
	u, pivot := p.z.column(i)
	if pivot > tolerance.SolveAccuracy {
		p.side[i] = side
		p.z.add(i, u, pivot)
		return true
	}
	out, best := p.leaving(i, u, side)
	if out < 0 {
		return false
	}
	for a, r := range p.z.beside(i) {
		p.lambda[r] -= best * u[a] * float64(side)
	}
	p.lambda[out], p.side[out] = 0, 0
	p.z.drop(out)
	u, pivot = p.z.column(i)
	if !(pivot > tolerance.SolveAccuracy) {
		return false
	}
	p.lambda[i], p.side[i] = best*float64(side), side
	p.z.add(i, u, pivot)
	return true
}

// line finds a step at which the smooth f of the piece falls enough (Armijo), no longer than most, by safeguarded steps on its slope, and moves there.
func (p *piece) line(q *rates, slope, value, most float64, g point) (float64, float64, error) {
	from := [4][]float64{slices.Clone(p.w), slices.Clone(p.y), slices.Clone(p.lambda), slices.Clone(p.v)}
	at := func(t float64) (float64, float64) {
		copy(p.w, from[0])
		copy(p.y, from[1])
		copy(p.lambda, from[2])
		copy(p.v, from[3])
		p.shift(q, t)
		v := p.calc.gradient(g, p.point())
		return v, g.dot(q.move)
	}
	lo, hi, lowSlope := 0.0, math.Inf(1), slope
	t := math.Min(1, most)
	for range 60 { // each halves or doubles: more than the exponent of a step that counts
		v, s := at(t)
		// Where the fall is below the rounding of f the slopes tell (Hager and Zhang 2005).
		fell := v <= value+tolerance.Armijo*t*slope || v <= value+8*0x1p-52*math.Abs(value) && math.Abs(s) < math.Abs(slope)/2
		switch {
		case fell && (s <= 0 && t == most || math.Abs(s) <= 0.1*math.Abs(slope)):
			return t, v, nil
		case fell && s < 0:
			lo, lowSlope = t, s
			if math.IsInf(hi, 1) {
				t = math.Min(2*t, most)
				continue
			}
		default:
			hi = t
			if fell && s > 0 {
				if c := lo + (t-lo)*lowSlope/(lowSlope-s); c > lo+0.1*(hi-lo) && c < hi-0.1*(hi-lo) {
					t = c
					continue
				}
			}
		}
		t = (lo + hi) / 2
	}
	if math.IsInf(hi, 1) && math.IsInf(most, 1) {
		return 0, value, ErrEndless
	}
	v, _ := at(lo)
	return lo, v, nil
}
