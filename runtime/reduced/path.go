package reduced

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
)

// PathState is where the path stands.
type PathState struct {
	Mu, End float64
	Central *Central
	Equal   []float64 // len m: multipliers of equality rows
	Steps   int       // of this mu
	Read    []int8    // the partition at the end of the last mu
}

// The path: mu falls by factors of tolerance.MuShrink, in at most tolerance.Steps steps each, from where the barrier is as strong as the follower, a slack times a multiplier (or times the force
// that H makes over the slack, the same in its metric), to pathEnd of the square of the smaller, where what is near a kink is small beside both. A stage ends
// where a Newton step moves no slack or multiplier by tolerance.Forcing of sqrt(mu), which is what both are at a kink.
const pathEnd = 1e-3

// startPath finds the follower's answer at st.W and the mu there, from medians of its slacks and multipliers that are not 0; false where there are none, or their products are beyond the range of numbers.
func (p *piece) startPath(st *State) bool {
	p.load(st)
	if !p.lower() {
		return false
	}
	force, slack, least := p.scales()
	if slack*force == 0 || math.IsInf(slack*force, 1) {
		return false
	}
	ps := &PathState{Mu: slack * force, End: least * least * pathEnd, Equal: make([]float64, p.f.m)}
	for r := range p.f.rows {
		if p.f.rows[r].equal {
			ps.Equal[r] = p.lambda[r]
		}
	}
	ps.Central = p.begin(p.lambda, p.v, ps.Mu)
	st.Path, st.F = ps, p.calc.value(p.point())
	return true
}

// scales are medians of the follower's slacks that are not 0, of those or of its multipliers, the larger, and the smaller of both; where only slacks or only multipliers are not 0 all three are of these, and where all
// rows are biactive of what rows come to at random points of X, as far as it has ends. 0 where there is none.
func (p *piece) scales() (force, slack, least float64) {
	var slacks, forces []float64
	for r := range p.f.rows {
		row := &p.f.rows[r]
		if row.equal {
			continue
		}
		if l := math.Abs(p.lambda[r]); l > 0 {
			forces = append(forces, l)
		}
		for _, slack := range [2]float64{p.v[r] - row.lo, row.hi - p.v[r]} {
			if slack > 0 && !math.IsInf(slack, 0) {
				slacks = append(slacks, slack)
			}
		}
	}
	switch {
	case len(slacks) > 0:
	case len(forces) > 0:
		slacks = forces
	default:
		slacks = p.f.spans()
	}
	if len(forces) == 0 {
		forces = slacks
	}
	if len(slacks) == 0 {
		return 0, 0, 0
	}
	slack, force = median(slacks), median(forces)
	return math.Max(slack, force), slack, math.Min(slack, force)
}

// spans are what rows come to at random points of X, as far as it has ends, where that is not 0.
func (f *follower) spans() (spans []float64) {
	for r := range f.rows {
		square := 0.0
		for j, v := range f.r[r*f.nw : (r+1)*f.nw] {
			if half := (f.hi[j] - f.lo[j]) / 2; !math.IsInf(half, 1) {
				square += v * half * v * half
			}
		}
		if square > 0 {
			spans = append(spans, math.Sqrt(square))
		}
	}
	return spans
}

// projectX sets dst to the point of X nearest to w.
func (s *solver) projectX(dst, w []float64) error {
	f := s.f
	copy(dst, w)
	for j := range dst {
		dst[j] = math.Max(f.lo[j], math.Min(f.hi[j], dst[j]))
	}
	if len(f.walls) == 0 {
		return nil
	}
	if s.projector == nil {
		set := &problem.Set{Lo: f.lo, Hi: f.hi, E: sparse.Empty(f.nw)}
		for i := range f.walls {
			for j, v := range f.walls[i].vec {
				if v != 0 {
					set.E.Append(j, v)
				}
			}
			set.E.EndRow()
			kind := problem.AtMost
			if f.walls[i].equal {
				kind = problem.Equal
			}
			set.Kind, set.Rhs, set.Name = append(set.Kind, kind), append(set.Rhs, f.walls[i].rhs), append(set.Name, "")
		}
		s.projector = qp.NewProjector(set, &problem.Rows{A: sparse.Empty(f.nw), B: sparse.Empty(0)}, f.nw, 0)
	}
	s.projector.Restore(qp.ProjectorState{}) // the state of a run holds nothing of earlier projections
	return s.projector.Project(dst, w)
}

// face sets fixed entries and walls to those that hold at w and that the gradient g presses on.
func (p *piece) face(w, g []float64) *working {
	f := p.f
	p.k = p.k[:0]
	p.tangents = nil // no row of the follower is kept
	for i := range f.walls {
		p.wallOn[i] = f.walls[i].holds(w)
	}
	clear(p.coupleOn)
	p.fix(w, g)
	q := newWorking(p)
	for range 3 { // signs change the entries that are fixed, and these the signs
		eq := q.multipliers(g)
		left, release := slices.Clone(g), false
		for a, i := range q.walls {
			if eq[a] > 0 && !f.walls[i].equal {
				p.wallOn[i], release = false, true
				continue
			}
			linalg.Axpy(left, -eq[a], f.walls[i].vec)
		}
		if len(q.walls) == 0 {
			break
		}
		if !p.fix(w, left) && !release {
			break
		}
		q = newWorking(p)
	}
	return q
}

// fix sets the entries of w that are at a bound which g presses on; it reports a change.
func (p *piece) fix(w, g []float64) (changed bool) {
	for j, v := range w {
		var now int8
		switch {
		case v <= p.f.lo[j] && (g[j] > 0 || p.f.lo[j] == p.f.hi[j]):
			now = -1
		case v >= p.f.hi[j] && g[j] < 0:
			now = 1
		}
		changed = changed || now != p.fixed[j]
		p.fixed[j] = now
	}
	return changed
}

// pathStep takes one Newton step on F_mu, or goes on to the next mu; done at the end of the path.
func (p *piece) pathStep(st *State) (done bool) {
	f, ps := p.f, st.Path
	c := p.center(st.W, ps.Mu, ps.Central, ps.Equal)
	if c == nil || !c.factorize() {
		return true // the phase is not asked for more than it finds
	}
	a := c.differentiate()
	q := p.face(st.W, a.grad)
	st.F = a.value
	d := a.direction(q)
	st.Measure = linalg.Norm(d)
	l, r := make([]float64, f.m), make([]float64, f.m)
	linalg.Gemv(r, 1, f.r, f.m, f.nw, false, d)
	c.apply(l, r)
	move := linalg.NormInf(l)
	for i, v := range l {
		if !math.IsInf(c.dinv[i], 1) {
			move = math.Max(move, math.Abs(v*c.dinv[i]))
		}
	}
	if move <= tolerance.Forcing*math.Sqrt(ps.Mu) || ps.Steps >= tolerance.Steps || !p.arc(st, a, d, l) {
		return p.nextMu(st, c)
	}
	ps.Steps++
	return false
}

// nextMu reads the partition at the end of a stage, and reports whether the path ends: where it is that of the stage before, or mu is at its end.
func (p *piece) nextMu(st *State, c *smoothed) (done bool) {
	ps := st.Path
	ps.Central, ps.Equal = c.at, c.free
	read := make([]int8, 2*p.f.m)
	for r := range p.f.rows {
		for end := range 2 {
			if !p.f.rows[r].has(end) {
				continue
			}
			switch s, l := c.at.Slack[end][r], c.at.Mult[end][r]; {
			case s > near*near*l:
				read[2*r+end] = 1
			case l > near*near*s:
				read[2*r+end] = -1
			}
		}
	}
	same := len(ps.Read) == len(read)
	for i := range ps.Read {
		same = same && read[i] == ps.Read[i]
	}
	ps.Read = read
	if same || ps.Mu*tolerance.MuShrink < ps.End*0.99 {
		return true
	}
	ps.Mu *= tolerance.MuShrink
	ps.Steps = 0
	return false
}

// direction is the truncated Newton step of F_mu along the face of X.
func (a *adjoint) direction(q *working) []float64 {
	r := slices.Clone(a.grad)
	floats.Scale(-1, r)
	q.project(r)
	return conjugate(r, min(a.f.nw, 60), tolerance.Forcing, func(h, v []float64) {
		a.product(h, v)
		q.project(h)
	}, func(h, v []float64) float64 { return tolerance.NoCurvature * linalg.Norm(v) * linalg.Norm(h) })
}

// conjugate solves H d = r to the part of r by conjugate gradients, in a number of steps at most, and takes r for its own. It ends where the curvature
// v'H v is no more than least; v is part of d where it is negative, as what was found before may be short, in stiff directions alone, and where it is the first.
func conjugate(r []float64, steps int, part float64, product func(h, v []float64), least func(h, v []float64) float64) []float64 {
	cg := linalg.Conjugate{R: r, P: make([]float64, len(r))}
	cg.Start()
	d, h, first := make([]float64, len(r)), make([]float64, len(r)), cg.RR
	for range steps {
		product(h, cg.P)
		c := linalg.Dot(cg.P, h)
		if least := least(h, cg.P); c <= least {
			if c < -least || linalg.Norm(d) == 0 {
				linalg.Axpy(d, 1, cg.P)
			}
			break
		}
		t := cg.RR / c
		linalg.Axpy(d, t, cg.P)
		linalg.Axpy(r, -t, h)
		if cg.Turn(); cg.RR <= part*part*first {
			break
		}
	}
	return d
}

// arc searches along the projection of st.W + t d onto X, from t = 1 down; l is S R d. It reports false where no step lets F_mu fall.
func (p *piece) arc(st *State, a *adjoint, d, l []float64) bool {
	f, ps := p.f, st.Path
	w := make([]float64, f.nw)
	for t := 1.0; t > 1e-6; t /= 2 { // steps below are no way forward
		floats.AddScaledTo(w, st.W, t, d)
		if p.projectX(w, w) != nil {
			return false
		}
		slope := linalg.Dot(a.grad, w) - linalg.Dot(a.grad, st.W)
		if slope >= 0 {
			continue
		}
		c := p.center(w, ps.Mu, p.predict(a.smoothed, t, l), a.free)
		if c == nil {
			continue
		}
		if v := p.calc.value(c.point()); v <= a.value+tolerance.Armijo*slope {
			st.W, ps.Central, ps.Equal, st.F = w, c.at, c.free, v
			return true
		}
	}
	return false
}

// predict is the central point that the derivative along t d promises, kept positive.
func (p *piece) predict(c *smoothed, t float64, l []float64) *Central {
	out := c.at.clone()
	for r := range p.f.rows {
		if math.IsInf(c.dinv[r], 1) {
			continue
		}
		dv := c.dinv[r] * l[r] * t
		for end := range 2 {
			if !p.f.rows[r].has(end) {
				continue
			}
			s, m := &out.Slack[end][r], &out.Mult[end][r]
			ds := sign(end == 1) * dv
			dm := -*m / *s * ds
			// The one that grows is right to first order; the other follows from their product.
			if ds >= 0 {
				*s += ds
				*m = c.mu / *s
			} else {
				*m += dm
				*s = c.mu / *m
			}
		}
	}
	return out
}
