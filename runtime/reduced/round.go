package reduced

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// release is an inequality with a negative multiplier.
type release struct {
	kind   stopKind // leaves: a biactive row becomes strong; enters: it becomes inactive; bounds, walls, couples
	i      int
	amount float64 // the fall of F per length of w that letting it go gives, of a bound per length of its entry: negative
}

// releases are the inequalities with negative multipliers at a point, beyond the tolerance.
func (p *piece) releases(j *judged) []release {
	f := p.f
	var out []release
	least := -p.opts.Tolerance * j.size
	add := func(kind stopKind, i int, amount float64, equation int) {
		if amount >= least {
			return
		}
		if equation >= 0 {
			amount /= j.reach(equation)
		}
		if amount < least {
			out = append(out, release{kind, i, amount})
		}
	}
	for a, r := range p.k {
		s := float64(p.side[r])
		length := j.length[a]
		slack, mult := s*j.slack[r]*length, 0.0
		if v, pivot := p.pull(j, r, s); v < 0 {
			if pivot > tolerance.SolveAccuracy && length > 0 {
				mult = v * length / pivot
			} else if v < -p.opts.Tolerance*j.nuTerms {
				j.stuck = true
			}
		}
		if length == 0 {
			continue
		}
		if slack <= mult {
			add(enters, r, slack, a)
		} else {
			add(leaves, r, mult, a)
		}
	}
	nk := len(p.k)
	for a, i := range j.walls {
		if !f.walls[i].equal {
			add(walls, i, -j.eq[nk+a]*j.length[nk+a], nk+a)
		}
	}
	for a, i := range j.couple {
		if !f.coupled[i].equal {
			add(couples, i, -j.eq[nk+len(j.walls)+a]*j.length[nk+len(j.walls)+a], nk+len(j.walls)+a)
		}
	}
	for i, fix := range p.fixed {
		switch {
		case fix == 0 || f.lo[i] == f.hi[i]:
		case fix < 0:
			add(bounds, i, j.bound[i], -1)
		default:
			add(bounds, i, -j.bound[i], -1)
		}
	}
	return out
}

// pull is how fast f grows with the multiplier of a biactive row at the side, and the row's pivot.
func (p *piece) pull(j *judged, r int, side float64) (v, pivot float64) {
	if v = side * j.nu[r]; v >= 0 {
		return v, 0
	}
	u, pivot := p.z.column(r)
	if pivot <= tolerance.SolveAccuracy { // E and Y of the row are those of S by u, and nothing is left of nu but what is read of lambda
		v = side * (j.read[r] - linalg.Dot(u, linalg.Gather(j.read, p.z.beside(r))))
	}
	return v, pivot
}

// letGo lets rows go, all with a multiplier of the order of the most negative one or that one alone.
func (p *piece) letGo(list []release, single bool) {
	worst := list[0]
	for _, r := range list {
		if r.amount < worst.amount {
			worst = r
		}
	}
	for _, r := range list {
		if single && r != worst || r.amount > releaseShare*worst.amount {
			continue
		}
		switch r.kind {
		case bounds:
			p.fixed[r.i] = 0
		case walls:
			p.wallOn[r.i] = false
		case couples:
			p.coupleOn[r.i] = false
		default:
			p.inK[r.i] = false
			if r.kind == enters {
				p.side[r.i] = 0
			} else if u, pivot := p.z.column(r.i); pivot > tolerance.SolveAccuracy {
				p.z.add(r.i, u, pivot)
			} else {
				p.side[r.i] = 0
			}
		}
	}
	k := p.k[:0]
	k = append(k, each.Where(p.k, func(r int) bool { return p.inK[r] })...)
	p.k = k
}

// round is one step on the pieces: the multipliers, then rows let go, or a Newton step along the manifold and a search through the pieces.
func (p *piece) round(ctx context.Context, st *State) (*Status, error) {
	if !p.load(st) { // rows that are dependent to rounding: the follower's answer from the beginning
		if !p.returnTo(st.W) {
			return end(Stalled), nil
		}
		p.save(st)
		return nil, nil
	}
	st.Work.Rounds++
	j := p.judge()
	p.size(st, j)
	if st.Work.Rounds > 1 && j.value > st.F+tolerance.Sign*(math.Abs(st.F)+j.size*math.Max(1, linalg.NormInf(p.w))) {
		return end(Stalled), nil // F has jumped: it reads multipliers that x does not determine, and is no function of x there
	}
	st.F, st.Measure = j.value, j.stationarity()
	known := noise(j.value, j.g, p.point())
	if st.cycles(known) {
		p.save(st)
		if st.Measure > tolerance.Weak {
			return end(Stalled), nil
		}
		st.Phase = Done
		return nil, nil
	}
	list := p.releases(j)
	stationary := st.Measure <= p.opts.Tolerance
	var d []float64
	strong, fixes := false, false
	if len(list) > 0 && j.dependent() {
		if s := p.resolve(ctx, j, st); s != nil {
			list = s.list // signs of multipliers that are not unique say nothing
			if strong = math.Max(s.left, s.worst) <= math.Max(p.opts.Tolerance, 2*st.Measure); strong {
				list = nil
			}
		}
	}
	if !stationary && (len(list) == 0 || st.Single || most(list) <= linalg.Norm(j.step)) {
		d = p.newton(j)
		for p.refix(d) { // each fixes at least one entry
			fixes = true
			j = p.judge()
			j.size = math.Max(j.size, st.Scale)
			d = p.newton(j)
		}
		// A Newton step that is rounding of w goes nowhere.
		stationary = st.Measure <= tolerance.Weak && linalg.NormInf(d) <= tolerance.Feasibility*math.Max(1, linalg.NormInf(p.w))
	}
	flat := false // along d F falls to second order alone
	switch {
	case stationary && len(list) == 0 && p.weaken(st):
		p.save(st)
		return nil, nil
	case stationary && len(list) == 0 && !p.opts.OneVertex && p.vertex(st):
		return nil, nil
	case stationary && len(list) == 0:
		if d, st.Curvature = p.curved(j); d == nil {
			p.save(st)
			st.Phase = Done
			return nil, nil
		}
		flat = true
	case d == nil || stationary:
		p.letGo(list, st.Single)
		p.save(st)
		return nil, nil
	}
	g := newPoint(p.f.nw, p.f.n, len(p.p.Duals))
	copy(g.w, j.g.w)
	copy(g.y, j.g.y)
	copy(g.dual, j.g.dual)
	if flat && linalg.Dot(j.reduced, d) > 0 {
		floats.Scale(-1, d)
	}
	value, out, err := p.search(ctx, d, j.value, known, g, flat, st)
	if err != nil {
		return nil, err
	}
	st.F = value
	p.save(st)
	if out.moved {
		st.Single = !(value < j.value-known) // else it may come back: F is where it was
		st.Weakened, st.Vertices, st.Looked, st.MoreVertices = nil, nil, 0, false
		return nil, nil
	}
	if !out.changed && !fixes && (st.Single || st.Measure <= tolerance.Weak) {
		if st.Measure <= tolerance.Weak && len(list) == 0 {
			if flat { // curvature of the size of rounding
				st.Curvature = kkt.NotChecked
			}
			st.Phase = Done
			return nil, nil
		}
		return end(Stalled), nil
	}
	st.Single = true
	return nil, nil
}

// cycles reports that the run has come back to a state that it had left, without a fall of F by more than its noise in between: which of the branches is lower, or what lets go of rows, is then rounding itself.
func (st *State) cycles(noise float64) bool {
	if len(st.Met) == 0 || st.F < st.Low-noise {
		st.Low, st.Met = st.F, nil
	}
	h := fnv.New64a()
	for _, held := range [][]Held{st.Strong, st.Biactive} {
		for _, r := range held {
			fmt.Fprint(h, r)
		}
		fmt.Fprintln(h)
	}
	fmt.Fprint(h, st.Fixed, st.Walls, st.Coupled, st.Single, st.Looked, len(st.Vertices), slices.Sorted(slices.Values(st.Crossed)), slices.Sorted(slices.Values(st.Weakened)))
	key, n := h.Sum64(), len(st.Met)
	if n > 0 && st.Met[n-1] == key {
		return false
	}
	back := slices.Contains(st.Met, key)
	st.Met = append(st.Met, key)
	return back
}

// size makes the terms of the gradient no less than those of a follower without rows at the first point, as they may vanish together at the end.
func (p *piece) size(st *State, j *judged) {
	if st.Scale == 0 {
		free := make([]float64, p.f.nw)
		p.f.addJT(free, j.g.y)
		st.Scale = linalg.Norm(j.g.w) + linalg.Norm(free)
	}
	j.size = math.Max(j.size, st.Scale)
}

// refix fixes the entries of w at a bound that d would leave X by.
func (p *piece) refix(d []float64) (found bool) {
	for j, v := range d {
		switch {
		case p.fixed[j] != 0:
		case v < 0 && p.atBound(j, p.f.lo[j]):
			p.fixed[j], p.w[j], found = -1, p.f.lo[j], true
		case v > 0 && p.atBound(j, p.f.hi[j]):
			p.fixed[j], p.w[j], found = 1, p.f.hi[j], true
		}
	}
	return found
}

// atBound reports whether w_j is at a bound to rounding.
func (p *piece) atBound(j int, bound float64) bool {
	return !math.IsInf(bound, 0) && math.Abs(p.w[j]-bound) <= tolerance.Feasibility*math.Max(1, math.Abs(bound))
}

func end(s Status) *Status { return &s }

func most(list []release) float64 {
	return each.Largest(list, func(r release) float64 { return -r.amount })
}

// releaseShare is the part of the most negative multiplier from which others are let go with it: those that are an order smaller are likely to
// change sign as it goes.
const releaseShare = 0.1
