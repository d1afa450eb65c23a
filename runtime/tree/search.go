package tree

import (
	"container/heap"
	"context"
	"math"
	"slices"

	"bilevelc/internal/await"
	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// search is the search of one part of a system (kkt.Parts) between rounds, and what it never changes.
type search struct {
	part        kkt.Part
	sys         *kkt.System       // the part's
	quad        *sparse.Quadratic // what relaxations minimize, model's units
	long        lengths           // of columns (units)
	shares      []float64         // of products of multipliers and slacks in quad, of each block (kkt.System.Raised); nil for none
	prog        *activeset.Program
	scaled      sparse.Quadratic // the same in the relaxation's units, without the constant
	productHess *sparse.CSR      // what of it choices and products leave; prog.Q is that of its convex part
	// choices are parts of the lower level that take one of several options, optionOf the choice that each pair is of; -1 for none.
	choices    []choice
	optionOf   []int
	products   [][2]int  // of f that are columns: a binary entry of x and another column
	hulls      bool      // a relaxation has the convex hull of each choice
	low, high  []float64 // the ranges of columns that rows leave, of an f that is not convex
	whole      []int     // integer entries of x
	strong     bool      // a relaxation has strong duality, with the products and slopes that it asks for
	plain      bool      // there is time for one relaxation alone
	path       *path     // that decides it; nil for none
	smallParts []*smallPart
	shared     []int // entries of x, not integer, that several of these read
	split      []int // entries of x that are branched on: these, and others, not integer, that have slopes
	// concave is what an f, or constraints, that are not convex have beside them; nil where there are none.
	concave *concave
	curved  []curved
	cuts    []tangent // of curved, for relaxations
	lift    *lift     // what relaxations have beside the system; nil for nothing
	gap     float64   // relative to f of the part, which is less than what is left of it where there are others:
	rest    float64   // the absolute gap that is closed enough beside other parts; NaN where there are none

	condensed map[*activeset.Program]*activeset.Condensation // of those that pay

	records []record
	open    queue
	costs   costs
	best    *candidate
	late    *candidate // better than best, of a round that was interrupted: a search that goes on does that round again, as it was
	least   float64    // the lowest bound of a closed or unresolved node
	effort
	rounds int64
	failed bool // some node is unresolved
	ray    *candidate
	falls  []float64
}

// effort is what a search, or a plunge of it, has taken.
type effort struct {
	Nodes  int64 `json:"nodes"`
	Tried  int64 `json:"tried"`
	Work   int64 `json:"work"`
	Looked int64 `json:"looked,omitempty"` // of it that of points that were looked for
	Trial  int64 `json:"trial,omitempty"`  // of it that of relaxations of children that were tried, less that of nodes
}

func (e effort) plus(o effort) effort {
	return effort{e.Nodes + o.Nodes, e.Tried + o.Tried, e.Work + o.Work, e.Looked + o.Looked, e.Trial + o.Trial}
}

// candidate is a point of the system, in the relaxation's units.
type candidate struct {
	z   []float64
	fix []kkt.Fix
	f   float64 // what relaxations minimize, which is f there
	// sizes is search.sizes there, with multipliers as short as they may be.
	sizes float64
}

// newSearch prepares the search of a part whose columns have these units, or goes on with one; why is not "" where there is no bound.
func newSearch(ctx context.Context, part kkt.Part, long lengths, opts Options, kept *partState) (s *search, why string, err error) {
	sys := part.System
	s = &search{part: part, sys: sys, long: long, quad: sys.Objective.Searched(), gap: opts.Gap, plain: opts.Plain, rest: math.NaN(), least: math.Inf(1)}
	s.whole = append(s.whole, each.WhereBelow(len(sys.P.Integer), func(j int) bool { return sys.P.Integer[j] })...)
	prog := *sys.Relaxation
	s.prog, s.curved = &prog, newCurved(sys)
	s.minimize(s.quad)
	if kept == nil && opts.Held == nil || kept != nil && kept.Path {
		switch p := newPath(ctx, sys); {
		case p != nil && s.takePath(p):
			return s, "", nil
		case kept != nil:
			return nil, "", errNotThis
		}
	}
	if sys.Objective.Convex && (kept != nil && kept.Raised || kept == nil && !opts.Plain) {
		raised, shares := sys.Raised(s.quad)
		s.shares = shares
		s.minimize(raised)
	}
	s.findChoices()
	s.findProducts()
	s.enclose(ctx)
	s.findSmall()
	prog.Q = s.productHess
	if kept != nil {
		s.hulls, s.strong = kept.Hulls, kept.Strong
		if kept := kept.Concave; kept != nil || s.productHess != nil && !s.convex() || len(s.bent()) > 0 {
			if !kept.fits(sys.N, len(s.curved)) {
				return nil, "", errNotThis
			}
			s.splitConcave(ctx, kept)
		}
		s.lift = s.newLift()
		s.condense()
		return s, "", s.resume(kept)
	}
	s.records = []record{{Kind: openNode, Bound: infinite(math.Inf(-1))}}
	root := make([]kkt.Fix, len(sys.Pairs))
	for k := range root {
		if opts.Held != nil {
			root[k] = opts.Held[part.PairAt[k]]
		}
	}
	s.open = queue{{fix: root, bound: math.Inf(-1), from: observation{branch: -1}}}
	why = s.splitConcave(ctx, nil)
	s.compareHulls(opts)
	s.strong = !opts.Plain
	s.lift = s.newLift()
	if s.lift != nil && opts.Work > 0 && s.lift.program.Work() > float64(opts.Work) { // smaller relaxations are as many more nodes
		s.strong = false
		s.lift = s.newLift()
	}
	s.Work += s.condense()
	s.costs = newCosts(s.branches())
	return s, why, nil
}

// minimize makes a quadratic, in the model's units, what relaxations minimize.
func (s *search) minimize(of *sparse.Quadratic) {
	s.quad = of
	s.scaled.Hess, s.scaled.Lin = s.sys.ScaledObjective(of)
	s.prog.C = s.scaled.Lin
}

// enclose bounds multipliers and y that have no end, and that an f or a constraint which is not convex reads, or products with binary entries of x.
func (s *search) enclose(ctx context.Context) {
	var reads []int
	if s.productHess != nil && !s.convex() {
		reads = columns(s.productHess)
	}
	for _, k := range s.bent() {
		reads = append(reads, columns(s.curved[k].Hess)...)
	}
	for _, c := range s.binary() {
		for i := range s.sys.P.Rows.A.T().Nonzeros(c) {
			reads = append(reads, s.sys.Nx+s.sys.Ny+i)
		}
	}
	for _, j := range reads {
		if !math.IsInf(s.prog.Lo[j], 0) && !math.IsInf(s.prog.Hi[j], 0) {
			continue
		}
		if _, boxed, err := s.sys.Interiors(ctx); err == nil {
			s.sys, s.prog.Lo, s.prog.Hi = boxed, boxed.Relaxation.Lo, boxed.Relaxation.Hi
		}
		return
	}
}

// branches is the number of candidates for branching: pairs, then integer entries, then directions in which f is concave, then other entries that are split, which are found last.
func (s *search) branches() int { return s.firstSplit() + len(s.split) }

// directions is the number of candidates before directions, firstSplit that of those before entries that are split.
func (s *search) directions() int { return len(s.sys.Pairs) + len(s.whole) }

func (s *search) firstSplit() int {
	n := s.directions()
	if s.concave != nil {
		n += len(s.concave.V)
	}
	return n
}

// Limits of a round. A plunge is a depth-first search below one node: it begins with the factors of a working set made from the data, which
// costs as much as some tens of nodes next to each other, and ends after `plunge` nodes, or about a tenth of a second, so
// that no more than that is searched that a better incumbent of another plunge would have closed, and limits, which are looked at
// between rounds, are kept about. A round takes as many nodes as several threads need to be busy, and only once the tree has that many that are
// worth it.
const (
	NodeWork = 3e4 // what a node takes beside linear algebra, some 30 microseconds, in the measure of work
	plunge   = 64
	together = 8
)

// take adds what a plunge has found apart from nodes.
func (s *search) take(p *plunger) {
	s.effort = s.plus(p.effort)
	s.Work += NodeWork * (p.Nodes + p.Tried)
	for _, o := range p.learnt {
		s.costs.note(o)
	}
	if p.found != nil && s.lower(p.found, s.best) {
		s.best = p.found
	}
	s.failed = s.failed || p.failed
	if p.falls != nil && s.ray == nil {
		s.ray, s.falls = p.from, p.falls
	}
}

// round searches below the first open nodes. It reports false where it was interrupted: nothing has changed then, and late has the better incumbent, if there is one.
func (s *search) round(ctx context.Context, threads int) bool {
	many := 1
	if s.rounds >= 2 { // the first two find incumbents and costs that the others need
		many = min(together, 1+len(s.open)/together)
	}
	start := make([]*node, 0, many)
	for len(start) < many && len(s.open) > 0 {
		start = append(start, heap.Pop(&s.open).(*node))
	}
	plunges := make([]*plunger, len(start))
	await.Each(len(start), threads, func(k int) {
		plunges[k] = s.newPlunger()
		plunges[k].run(ctx, start[k])
	})
	for _, p := range plunges {
		if p.stopped {
			for _, n := range start {
				heap.Push(&s.open, n)
			}
			for _, p := range plunges {
				if p.found != nil && s.lower(p.found, s.best) && s.lower(p.found, s.late) {
					s.late = p.found
				}
			}
			return false
		}
	}
	for k, p := range plunges {
		s.merge(start[k], p)
	}
	s.rounds++
	return true
}

// merge adds the records and open nodes of a plunge below n.
func (s *search) merge(n *node, p *plunger) {
	s.take(p)
	if len(s.curved) > 0 {
		s.cuts = append(s.cuts, p.thin(s.cuts)...)
	}
	shift := int32(len(s.records)) - 1 // record 0 of the plunge is n, the others follow
	place := func(id int32) int32 {
		if id == 0 {
			return n.id
		}
		return id + shift
	}
	for id, r := range p.records {
		if r.Kind == inner {
			r.First += shift
		}
		if r.Kind == closed || r.Kind == unresolved {
			s.least = min(s.least, float64(r.Bound))
		}
		if id == 0 {
			s.records[n.id] = r
		} else {
			s.records = append(s.records, r)
		}
	}
	for _, o := range p.stack {
		o.id = place(o.id)
		heap.Push(&s.open, o)
	}
}

// closeAll closes all open nodes: the lowest of their bounds exceeds the cutoff.
func (s *search) closeAll() {
	for _, n := range s.open {
		s.records[n.id].Kind = closed
		s.least = min(s.least, n.bound)
	}
	s.open = nil
}

// cutoff is the value from which on the bound of a node is as good as the incumbent.
func (s *search) cutoff() float64 {
	if s.best == nil {
		return math.Inf(1)
	}
	return s.best.f - s.slack(s.best)
}

// slack is the absolute gap that is closed enough: the relative one, or what relaxations leave open.
func (s *search) slack(c *candidate) float64 {
	if math.IsNaN(s.rest) {
		return max(s.gap*math.Abs(c.f), s.leaves(c))
	}
	return max(s.rest, s.leaves(c))
}

// done reports that no round is left to do; nodes that are as good as the incumbent are closed.
func (s *search) done() bool {
	if len(s.open) > 0 && s.best != nil && s.open[0].bound >= s.cutoff() {
		s.closeAll()
	}
	return len(s.open) == 0 || s.ray != nil
}

// lower reports that f is lower at a candidate than at another, which may be nil: by more than the rounding of its terms, of which the gap of one of two points with one f may be much the larger part.
func (s *search) lower(c, than *candidate) bool {
	return than == nil || c.f < than.f-0x1p-48*s.terms(c)
}

// small reports that f is no rounding of its terms at a point, but that what relaxations leave open next to these is more than the gap. The bounds of nodes are what their multipliers show there (plunger.shown), to
// rounding, and not to the accuracy of a solution: a toll of a millionth that a million pay, beside costs of millions that strong duality has in f.
func (s *search) small(c *candidate) bool {
	open := tolerance.Sign * s.terms(c)
	return math.IsNaN(s.rest) && math.Abs(c.f) > open && s.gap*math.Abs(c.f) < open
}

// leaves is what relaxations leave open next to the terms of f at a point; where none is known, or f is 0 there as GapScale has it, next to those that it has. A path leaves half of the digits: how far answers may be from it is as the root of rounding.
func (s *search) leaves(c *candidate) float64 {
	if s.path != nil {
		return tolerance.HalfDigits * s.terms(c)
	}
	if c == nil {
		return tolerance.Sign * s.sizes(make([]float64, s.sys.N))
	}
	switch {
	case math.Abs(c.f) <= tolerance.Sign*c.sizes:
		return tolerance.Sign * c.sizes
	case s.small(c):
		return s.gap * math.Abs(c.f)
	}
	return tolerance.Sign * s.terms(c)
}

// measure finds the sizes at a point.
func (s *search) measure(c *candidate) *candidate {
	c.sizes = s.sizes(s.shortest(s.sys.Unscaled(c.z)))
	return c
}

// shortest gives a point multipliers as short as they may be there, in its place: what is open of them has no part in f.
func (s *search) shortest(z []float64) []float64 {
	copy(s.sys.Lambda(z), s.sys.P.Rows.Shortest(s.sys.Lambda(z)))
	return z
}

// sizes is the sum of the absolute terms of what relaxations minimize at z (model's units), with variables of a unit at least.
func (s *search) sizes(z []float64) float64 {
	terms := math.Abs(s.quad.Const)
	size := func(j int) float64 { return max(s.long.unit[j], math.Abs(z[j])) }
	for j, v := range s.quad.Lin {
		terms += math.Abs(v) * max(size(j), s.long.rest[j])
	}
	if terms == 0 { // the bounds of x leave 0 alone, and rounding of a bound is nothing beside that
		for _, v := range s.quad.Lin {
			terms += math.Abs(v)
		}
	}
	if q := s.quad.Hess; q != nil {
		for i := range z {
			for j, v := range q.Entries(i) {
				terms += 0.5 * size(i) * math.Abs(v) * size(j)
			}
		}
	}
	return terms
}

// lengths are those of columns: beside unit a value is small (problem.Units and MultiplierUnits, and 1 of other columns), and linear terms are taken for that of rest at least (problem.Units).
type lengths struct{ unit, rest []float64 }

// of are those of some columns.
func (l lengths) of(cols []int) lengths {
	return lengths{linalg.Gather(l.unit, cols), linalg.Gather(l.rest, cols)}
}

// units are those of a system, in the model's units.
func units(sys *kkt.System) lengths {
	x, y, rest := sys.P.Units(func(x []float64) []float64 {
		return each.Below(sys.Ny, func(j int) float64 {
			if h := sys.H.At(j, j); h > 0 {
				return (math.Abs(sys.Q[j]) + reach(sys.G, j, x)) / h
			}
			return 0
		})
	})
	forces := each.Below(sys.Ny, func(j int) float64 { return math.Abs(sys.Q[j]) + reach(sys.G, j, x) + reach(sys.H, j, y) })
	unit := slices.Concat(x, y, sys.P.MultiplierUnits(forces))
	return lengths{append(unit, slices.Repeat([]float64{1}, sys.N-len(unit))...), append(rest, make([]float64, sys.N-len(rest))...)}
}

// reach is the size of row i of a at entries of these lengths.
func reach(a *sparse.CSR, i int, lengths []float64) (sum float64) {
	for j, v := range a.Entries(i) {
		sum += math.Abs(v) * lengths[j]
	}
	return sum
}

// GapScale is what the gap between a value of f and a bound is relative to: the value; where that is 0 up to the accuracy of relaxations next to its terms (with
// variables of a unit at least, problem.Units), the part of these of which tolerance.Target is that accuracy.
func GapScale(f, terms float64) float64 {
	if f = math.Abs(f); f > tolerance.Sign*terms {
		return f
	}
	return terms * (tolerance.Sign / tolerance.Target)
}

// terms is the sum of the absolute terms of f.
func (s *search) terms(c *candidate) float64 {
	terms := math.Abs(s.quad.Const)
	for j, v := range s.prog.C {
		terms += math.Abs(v * c.z[j])
	}
	if q := s.scaled.Hess; q != nil {
		for i, t := range c.z[:len(s.prog.C)] {
			if t != 0 {
				terms += 0.5 * math.Abs(t*q.RowDot(i, c.z))
			}
		}
	}
	return terms
}

// latest is the best point, also of a round that was interrupted.
func (s *search) latest() *candidate {
	if s.late != nil {
		return s.late
	}
	return s.best
}

// bound is the lowest that f can be.
func (s *search) bound() float64 {
	b := s.least
	for _, n := range s.open { // a heap: the first is the lowest
		b = min(b, n.bound)
		break
	}
	if s.best != nil {
		b = min(b, s.best.f)
	}
	return b
}
