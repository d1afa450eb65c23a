package tree

import (
	"context"
	"math"
	"slices"

	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tolerance"
)

// plunger searches depth first below one node, with costs and an incumbent of its own from the start of the round.
type plunger struct {
	s      *search
	costs  costs
	cutoff float64
	level  float64 // bound up to which siblings are searched at once
	bounds activeset.Bounds
	in     ranges // of directions, where the program to be solved has secants

	relax, pieces cutting // of node relaxations; of branches for incumbents
	cuts          []tangent
	shared        int     // how many of cuts are those of the search
	thorough      bool    // node relaxations are refined until their bound is enough
	enough        float64 // for that
	follower      *kkt.Follower
	probes        []*activeset.Solver // of small parts
	last          *activeset.Basis    // of pieces
	boxes         []slopeBox          // those of the node of boxed, its program
	boxed         *activeset.Program
	rough         float64   // what rounding leaves open of the last of them that branches leave as it is: not that of secants and of McCormick's rows, whose multipliers are as ranges are
	near          []float64 // the point that the search for an incumbent is from, where f is not convex

	// What it found.
	records []record
	stack   []*node // open nodes, ids of this plunge
	learnt  []gain
	found   *candidate
	from    *candidate // a point from which f falls without end along falls
	falls   []float64
	failed  bool
	stopped bool // by the context
	first   bool // the root has had its relaxation without ranges, which is a round by itself
	effort
	before effort // the search's, as the plunge began
}

// siblings of a plunge are searched at once where their bound lies in the first quarter between the lowest of all and the cutoff
// (Linderoth and Savelsbergh 1999; Achterberg 2007): a search by bounds alone would come to them soon.
const quarter = 0.25

func (s *search) newPlunger() *plunger {
	p := &plunger{s: s, costs: s.costs.clone(), cutoff: s.cutoff(), level: math.Inf(-1), cuts: slices.Clip(s.cuts), shared: len(s.cuts), before: s.effort}
	if low := s.bound(); s.best != nil && !math.IsInf(low, -1) {
		p.level = low + quarter*(p.cutoff-low)
	}
	return p
}

// newSolver is that of a program, whose shapes fit.
func newSolver(program *activeset.Program) *activeset.Solver {
	made, err := activeset.New(program)
	if err != nil {
		panic(err) // a system holds finite numbers
	}
	return made
}

// solve solves the relaxation of a node, with tangents of the constraints that have them.
func (p *plunger) solve(ctx context.Context, n *node, basis *activeset.Basis) *activeset.Solution {
	var from refining
	for round := 0; ; round++ {
		sol, cost := p.once(ctx, n, basis)
		switch {
		case len(p.s.curved) == 0 || round >= tolerance.Steps:
			return sol
		case p.thorough && sol.Status == activeset.Optimal && sol.Value >= p.enough:
			return sol
		case !p.thorough && round >= someRounds && sol.Status == activeset.Optimal && len(p.options(n, sol.Z)) > 0:
			return sol
		case !p.refine(ctx, &p.relax, sol, cost, &from):
			return sol
		}
		basis = sol.Basis
	}
}

// once solves the relaxation of a node with the tangents known so far; cost is the linear part of its objective.
func (p *plunger) once(ctx context.Context, n *node, basis *activeset.Basis) (_ *activeset.Solution, cost []float64) {
	if !p.imply(n, nil) {
		return &activeset.Solution{Status: activeset.Infeasible}, nil
	}
	if !p.first {
		if !p.narrow(ctx, n, nil) {
			return &activeset.Solution{Status: activeset.Stopped}, nil
		}
	}
	if basis == nil {
		basis = n.basis
	}
	p.nodeBounds(n)
	of := p.relaxation(n)
	if l := p.s.lift; l != nil {
		l.bounds(p.s, &p.bounds)
		l.slopeBounds(&p.bounds, of, p.boxes)
	}
	solver := p.relax.ready(p, of)
	cost, konst, size := p.secants(of.C)
	if p.s.concave != nil {
		solver.SetObjective(of.Q, cost)
	}
	konst += p.s.quad.Const
	p.rough = 0
	cut := activeset.Options{Cutoff: new(p.cutoff - konst)}
	b := p.relax.bounds(p)
	sol := solver.Solve(ctx, b, fits(basis, len(b.RowHi)), cut)
	p.Work += sol.Work
	if sol.Status == activeset.Failed {
		solver.Forget()
		sol = solver.Solve(ctx, b, nil, cut)
		p.Work += sol.Work
	}
	short, work := activeset.Shorter(ctx, solver, b, sol, konst)
	p.Work += work
	if short != sol { // what is rounding at its box may show less over the bounds: by no more than rounding of larger terms leaves of the other
		v, rough := p.showing(cost, b, sol, size)
		if better, left := p.showing(cost, b, short, size); better-left > v-rough || left < rough && better > v-rough {
			sol = short
		}
	}
	if p.shown(cost, b, sol, size) < *cut.Cutoff && sol.Status == activeset.CutOff {
		sol = solver.Solve(ctx, b, sol.Basis, activeset.Options{})
		p.Work += sol.Work
		p.shown(cost, b, sol, size)
	}
	sol.Value += konst
	return sol, cost
}

// shown makes the value of a solution no more than what its multipliers show, less rounding next to their terms and others of `size`, and returns it.
func (p *plunger) shown(cost []float64, b *activeset.Bounds, sol *activeset.Solution, size float64) float64 {
	if sol.Status == activeset.Optimal || sol.Status == activeset.CutOff {
		v, rough := p.showing(cost, b, sol, size)
		if l := p.s.lift; p.s.concave == nil && (l == nil || len(l.slopes) == 0 || p.boxes[0].free()) {
			p.rough = rough
		}
		sol.Value = math.Min(sol.Value, v-rough)
	}
	return sol.Value
}

// showing is what the multipliers of a solution show, and the rounding next to their terms and others of `size`.
func (p *plunger) showing(cost []float64, b *activeset.Bounds, sol *activeset.Solution, size float64) (v, rough float64) {
	v, terms := shows(p.relax.program, cost, b, sol)
	if c := p.s.concave; c != nil {
		terms += c.terms(sol.Z[:p.s.sys.N])
	}
	return v, 0x1p-48 * (terms + size)
}

func (p *plunger) nodeBounds(n *node) {
	p.s.sys.Bounds(&p.bounds, n.fix)
	p.in = p.ranges(n)
	p.bounds.RowLo, p.bounds.RowHi = append(p.bounds.RowLo, p.in.lo...), append(p.bounds.RowHi, p.in.hi...)
	for _, c := range n.box {
		if c.Index < 0 {
			continue
		}
		scale := p.s.sys.ColScale[c.Index]
		p.bounds.Lo[c.Index], p.bounds.Hi[c.Index] = c.Lo/scale, c.Hi/scale
	}
}

// run searches below n until the limits of a plunge.
func (p *plunger) run(ctx context.Context, n *node) {
	root := *n
	root.id = 0
	p.records = []record{{Kind: openNode, Bound: infinite(n.bound)}}
	p.stack = []*node{&root}
	for len(p.stack) > 0 && p.Nodes < plunge && p.Work < tolerance.Second/10 && p.falls == nil && !p.first {
		top := p.stack[len(p.stack)-1]
		if top.bound >= p.cutoff {
			p.close(top, closed)
			continue
		}
		// A sibling that waits is searched now only where its bound is low; without an incumbent, only the newest is.
		if p.Nodes > 0 && !top.now && !(top.bound <= p.level) {
			break
		}
		if !p.step(ctx, top) {
			p.stopped = true
			return
		}
		if len(p.cuts)-p.shared > plunge { // a program with more takes longer than finding some again
			p.cuts = append(p.cuts[:p.shared:p.shared], p.thin(p.cuts[:p.shared])...)
			p.relax, p.pieces, p.last = cutting{}, cutting{}, nil
		}
	}
}

// close removes the top of the stack.
func (p *plunger) close(n *node, kind recordKind) {
	p.stack = p.stack[:len(p.stack)-1]
	r := &p.records[n.id]
	r.Kind, r.Bound = kind, infinite(n.bound)
}

// step solves the relaxation of the top of the stack, and closes it or branches. It reports false where it was interrupted.
func (p *plunger) step(ctx context.Context, n *node) bool {
	p.first = p.s.lift != nil && len(p.s.lift.slopes) > 0 && n.depth == 0 && math.IsInf(n.bound, -1)
	before := p.Work
	sol := p.solve(ctx, n, n.basis)
	if sol.Status == activeset.Stopped {
		return false
	}
	p.Trial -= p.Work - before
	p.first = p.first && sol.Status == activeset.Optimal
	p.Nodes++
	p.observe(n, sol)
	switch sol.Status {
	case activeset.Infeasible:
		p.close(n, empty)
		return true
	case activeset.CutOff:
		n.bound = max(n.bound, sol.Value)
		p.close(n, closed)
		return true
	case activeset.Unbounded, activeset.Failed:
		if sol.Status == activeset.Unbounded && p.Nodes == 1 { // where its ray begins is a point as others are
			if p.byFollower(ctx, p.s.sys.Unscaled(sol.Z)); ctx.Err() != nil {
				return false
			}
		}
		k := p.anyOpen(n, sol)
		switch {
		case k >= 0:
			p.split(n, k, p.at(n, k, sol.Z), [2]*outlook{}, 0)
		case sol.Status == activeset.Unbounded:
			p.from, p.falls = &candidate{z: sol.Z[:p.s.sys.N], fix: n.fix, f: math.Inf(-1)}, sol.Ray
		default:
			p.failed = true
			p.close(n, unresolved)
		}
		return true
	}
	n.bound, n.basis = max(n.bound, sol.Value), sol.Basis
	rough := p.rough
	if n.bound+rough >= p.cutoff {
		p.close(n, closed)
		return true
	}
	p.points(ctx, n, sol)
	if ctx.Err() != nil {
		return false
	}
	if n.bound+rough >= p.cutoff {
		p.close(n, closed)
		return true
	}
	if p.first { // it is open still
		p.records[n.id].Bound = infinite(n.bound)
		return true
	}
	return p.choose(ctx, n, sol)
}

// observe notes what the branch to n gave.
func (p *plunger) observe(n *node, sol *activeset.Solution) {
	if n.from.branch < 0 || n.from.distance <= 0 || math.IsInf(n.from.parent, -1) {
		return
	}
	if sol.Status == activeset.Optimal || sol.Status == activeset.CutOff {
		p.learn(n.from.branch, n.from.side, max(0, sol.Value-n.from.parent)/n.from.distance)
	}
	n.from.branch = -1
}

func (p *plunger) learn(branch, side int, unit float64) {
	g := gain{branch, side, unit}
	p.costs.note(g)
	p.learnt = append(p.learnt, g)
}

// sides are s and lambda of pair k at z, in the relaxation's units.
func (s *search) sides(k int, z []float64) (slack, mult float64) {
	pair := &s.sys.Pairs[k]
	return pair.Slack.Above(s.prog, z), pair.Mult.Above(s.prog, z)
}

// at is where an entry of x or a direction splits.
func (p *plunger) at(n *node, k int, z []float64) float64 {
	if k < len(p.s.sys.Pairs) {
		return 0
	}
	j, _ := p.s.entry(k)
	lo, hi := n.limits(p.s, j)
	if j < 0 {
		return p.splits(-1-j, lo, hi, z)
	}
	if k >= len(p.s.sys.Pairs)+len(p.s.whole) {
		return p.splitsEntry(j, lo, hi, z)
	}
	mid := math.Floor((lo + hi) / 2)
	if z != nil {
		mid = math.Floor(z[j] * p.s.sys.ColScale[j])
	}
	return min(max(mid, lo), hi-1)
}

// anyOpen is what to branch on where a relaxation has no solution: the pair of which both sides grow along its ray, else the binary entry of x whose products do, else the pair
// whose product is largest at its point, else any that is open; -1 where nothing is.
func (p *plunger) anyOpen(n *node, sol *activeset.Solution) int {
	best, most := -1, -1.0
	origin := make([]float64, len(p.s.prog.C))
	for k, f := range n.fix {
		if f != kkt.Open {
			continue
		}
		score := 0.0
		if sol.Z != nil {
			a, b := p.s.sides(k, sol.Z)
			score = min(a, b) / (1 + max(math.Abs(a), math.Abs(b))) // below 1
		}
		if sol.Ray != nil {
			a, b := p.s.sides(k, sol.Ray)
			c, d := p.s.sides(k, origin)
			if t := min(a-c, b-d); t > tolerance.Sign {
				score = 1 + t
			}
		}
		if score > most {
			best, most = k, score
		}
	}
	if best >= 0 && most < 1 && sol.Ray != nil && p.s.lift != nil {
		for k := range p.s.lift.cols {
			of := &p.s.lift.cols[k]
			i := slices.Index(p.s.whole, of.Entry)
			if i < 0 || math.Max(math.Abs(sol.Ray[of.col]), math.Abs(sol.Ray[p.s.sys.N+k])) <= tolerance.Sign {
				continue
			}
			if lo, hi := n.limits(p.s, of.Entry); lo < hi {
				return len(p.s.sys.Pairs) + i
			}
		}
	}
	if best >= 0 {
		return best
	}
	for i, j := range p.s.whole {
		if lo, hi := n.limits(p.s, j); lo < hi {
			return len(p.s.sys.Pairs) + i
		}
	}
	if sol.Status == activeset.Unbounded { // along its ray no w moves
		return -1
	}
	return p.widest(n)
}

// outlook is what is known of a child before it is searched.
type outlook struct {
	kind   recordKind // openNode, closed or empty
	bound  float64
	basis  *activeset.Basis
	slopes []slopeRange
}

// split makes the children of n: `first` is the side that is searched first.
func (p *plunger) split(n *node, k int, at float64, known [2]*outlook, first int) {
	s := p.s
	p.stack = p.stack[:len(p.stack)-1]
	branch := int32(k)
	if k >= len(s.sys.Pairs) {
		branch = int32(-1 - (k - len(s.sys.Pairs)))
	}
	id := int32(len(p.records))
	p.records[n.id] = record{Kind: inner, Branch: branch, At: at, First: id, Bound: infinite(n.bound)}
	for side := range 2 {
		r := record{Kind: openNode, Bound: infinite(n.bound)}
		if o := known[side]; o != nil && o.kind != openNode {
			r.Kind, r.Bound = o.kind, infinite(max(o.bound, n.bound))
		}
		p.records = append(p.records, r)
	}
	for _, side := range [2]int{1 - first, first} { // the one to be searched first on top
		o := known[side]
		if o != nil && o.kind != openNode {
			continue
		}
		c := n.child(s, k, side, at, n.basis)
		c.id, c.now = id+int32(side), side == first
		c.from = observation{branch: -1}
		if o != nil {
			c.bound, c.basis, c.slopes = max(c.bound, o.bound), o.basis, o.slopes
		}
		p.stack = append(p.stack, c)
	}
}
