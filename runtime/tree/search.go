package tree

import (
	"container/heap"
	"context"
	"math"
	"slices"
	"sync"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
)

// search is the state of a search between rounds, and what it never changes.
type search struct {
	sys   *kkt.System
	quad  *kkt.Quadratic // what relaxations minimize, model's units
	prog  *activeset.Program
	hess  *sparse.CSR // of quad, in the relaxation's units; prog.Q is that of its convex part
	whole []int       // integer entries of x
	// concave is what an f that is not convex has beside it; nil else.
	concave *concave
	curved  []curved
	cuts    []tangent // of curved, for relaxations
	lift    *lift     // what relaxations have beside the system; nil for nothing
	opts    Options
	gap     float64

	records []record
	open    queue
	costs   costs
	best    *candidate
	late    *candidate // better than best, of a round that was interrupted: a search that goes on does that round again, as it was
	least   float64    // the lowest bound of a closed or unresolved node
	nodes   int64
	tried   int64
	work    int64
	rounds  int64
	failed  bool // some node is unresolved
	ray     *candidate
	falls   []float64
	trace   []tracePoint
	stride  int64 // nodes between points of the trace
}

// candidate is a point of the system, in the relaxation's units.
type candidate struct {
	z   []float64
	fix []kkt.Fix
	f   float64 // what relaxations minimize, which is f there
}

// newSearch prepares a search; why is not "" where there is no bound.
func newSearch(ctx context.Context, sys *kkt.System, opts Options) (s *search, why string, err error) {
	s = &search{sys: sys, quad: sys.Objective.Relaxed(), opts: opts, gap: opts.Gap, least: math.Inf(1)}
	if s.gap <= 0 {
		s.gap = DefaultGap
	}
	for j, is := range sys.P.Integer {
		if is {
			s.whole = append(s.whole, j)
		}
	}
	prog := *sys.Relaxation
	s.hess, prog.C = sys.ScaledObjective(s.quad)
	prog.Q, s.prog, s.curved = s.hess, &prog, newCurved(sys)
	if opts.Resume != nil {
		if kept := opts.Resume.Concave; kept != nil || s.hess != nil && !sys.Objective.Convex {
			if !kept.fits(sys.N) {
				return nil, "", errNotThis
			}
			s.splitObjective(ctx, kept)
		}
		s.lift = s.newLift()
		return s, "", s.resume(opts.Resume)
	}
	s.records = []record{{Kind: openNode, Bound: infinite(math.Inf(-1))}}
	s.open = queue{{fix: make([]kkt.Fix, len(sys.Pairs)), bound: math.Inf(-1), from: observation{branch: -1}}}
	why = s.splitObjective(ctx, nil)
	s.lift = s.newLift()
	s.costs = newCosts(s.branches())
	return s, why, nil
}

// branches is the number of candidates for branching: pairs, then integer entries, then directions in which f is concave.
func (s *search) branches() int {
	n := len(s.sys.Pairs) + len(s.whole)
	if s.concave != nil {
		n += len(s.concave.V)
	}
	return n
}

// Limits of a round. A plunge is a depth-first search below one node: it begins with the factors of a working set made from the data, which
// costs as much as some tens of nodes next to each other, and ends after `plunge` nodes, or plungeWork numbers (about a tenth of a second), so
// that no more than that is searched that a better incumbent of another plunge would have closed, and limits, which are looked at
// between rounds, are kept about. A round takes as many nodes as several threads need to be busy, and only once the tree has that many that are
// worth it.
const (
	nodeWork   = 3e4 // what a node takes beside linear algebra, some 30 microseconds, in the measure of work
	plunge     = 64
	plungeWork = 1e8
	together   = 8
)

// run searches until the gap is closed or a limit is reached.
func (s *search) run(ctx context.Context) (*Result, error) {
	if len(s.trace) == 0 && s.begin(ctx) {
		s.tell()
	}
	for len(s.open) > 0 && s.ray == nil && ctx.Err() == nil && !s.spent() {
		if s.best != nil && s.open[0].bound >= s.cutoff() {
			s.closeAll()
			break
		}
		if !s.round(ctx) {
			break
		}
		s.tell()
	}
	return s.result(ctx), nil
}

// tell is for what a round has changed.
func (s *search) tell() {
	now := s.progress()
	if n := len(s.trace); n == 0 || now.Nodes >= s.trace[n-1].Nodes+s.stride {
		s.trace = append(s.trace, tracePoint{now.Nodes, infinite(now.Bound), infinite(now.Incumbent)})
	}
	if len(s.trace) > longestTrace {
		kept := s.trace[:0:0]
		for k := 0; k < len(s.trace); k += 2 {
			kept = append(kept, s.trace[k])
		}
		s.trace, s.stride = kept, max(1, 2*s.stride)
	}
	if s.opts.Observe != nil {
		s.opts.Observe(now)
	}
	if s.opts.Keep != nil {
		s.opts.Keep(s.state)
	}
}

// longestTrace is as many points as a chart of some hundred columns can show.
const longestTrace = 200

// begin finds the best points of the branches of the given incumbents. It reports false where it was interrupted, as round does.
func (s *search) begin(ctx context.Context) bool {
	p := s.newPlunger()
	for _, given := range s.opts.Incumbents {
		if given != nil && len(given.Branch) == len(s.sys.Pairs) && p.allFixed(given.Branch) {
			p.near = s.scaled(given.Z)
			p.descend(ctx, given.Branch, p.wholeBox(given.Z))
		}
	}
	if ctx.Err() != nil {
		s.late = p.found
		return false
	}
	s.take(p)
	return true
}

// take adds what a plunge has found apart from nodes.
func (s *search) take(p *plunger) {
	s.nodes += p.nodes
	s.tried += p.tried
	s.work += p.work + nodeWork*(p.nodes+p.tried)
	for _, o := range p.learnt {
		s.costs.note(o)
	}
	if p.found != nil && (s.best == nil || p.found.f < s.best.f) {
		s.best = p.found
	}
	s.failed = s.failed || p.failed
	if p.falls != nil && s.ray == nil {
		s.ray, s.falls = p.from, p.falls
	}
}

func (s *search) spent() bool {
	return s.opts.Nodes > 0 && s.nodes >= s.opts.Nodes || s.opts.Work > 0 && s.work >= s.opts.Work
}

// round searches below the first open nodes. It reports false where it was interrupted: nothing has changed then, and late has the better incumbent, if there is one.
func (s *search) round(ctx context.Context) bool {
	many := 1
	if s.rounds >= 2 { // the first two find incumbents and costs that the others need
		many = min(together, 1+len(s.open)/together)
	}
	start := make([]*node, 0, many)
	for len(start) < many && len(s.open) > 0 {
		start = append(start, heap.Pop(&s.open).(*node))
	}
	plunges := make([]*plunger, len(start))
	var next sync.Mutex
	at := 0
	var wait sync.WaitGroup
	for range min(max(1, s.opts.Threads), len(start)) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for {
				next.Lock()
				k := at
				at++
				next.Unlock()
				if k >= len(start) {
					return
				}
				p := s.newPlunger()
				p.run(ctx, start[k])
				plunges[k] = p
			}
		}()
	}
	wait.Wait()
	for _, p := range plunges {
		if p.stopped {
			for _, n := range start {
				heap.Push(&s.open, n)
			}
			for _, p := range plunges {
				if p.found != nil && (s.best == nil || p.found.f < s.best.f) && (s.late == nil || p.found.f < s.late.f) {
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
func (s *search) slack(c *candidate) float64 { return max(s.gap*math.Abs(c.f), s.leaves(c)) }

// leaves is what relaxations leave open next to the terms of f at a point; where none is known, or they are 0, at a unit of its variables.
func (s *search) leaves(c *candidate) float64 {
	terms := 0.0
	if c != nil {
		terms = s.terms(c)
	}
	if terms == 0 {
		for _, v := range s.prog.C {
			terms = max(terms, math.Abs(v))
		}
	}
	if s.concave != nil {
		terms = max(terms, s.concave.Terms)
	}
	return kkt.Tolerance * terms
}

// size is what the gap of a point is relative to (GapScale).
func (s *search) size(p *kkt.Point) float64 {
	x, y := s.sys.P.Units()
	unit := slices.Concat(x, y)
	terms := math.Abs(s.quad.Const)
	for j, v := range s.quad.Lin {
		u := 1.0
		if j < len(unit) {
			u = unit[j]
		}
		terms += math.Abs(v) * max(u, math.Abs(p.Z[j]))
	}
	if q := s.quad.Hess; q != nil {
		for i, t := range p.Z {
			cols, vals := q.Row(i)
			for k, j := range cols {
				terms += 0.5 * math.Abs(t*vals[k]*p.Z[j])
			}
		}
	}
	return GapScale(p.F, terms)
}

// GapScale is what the gap between a value of f and a bound is relative to: the value; where that is 0 up to the accuracy of relaxations next to its terms (with
// variables of a unit at least, problem.Units), the part of these of which DefaultGap is that accuracy.
func GapScale(f, terms float64) float64 {
	if f = math.Abs(f); f > kkt.Tolerance*terms {
		return f
	}
	return terms * (kkt.Tolerance / DefaultGap)
}

// terms is the sum of the absolute terms of f.
func (s *search) terms(c *candidate) float64 {
	terms := math.Abs(s.quad.Const)
	for j, v := range s.prog.C {
		terms += math.Abs(v * c.z[j])
	}
	if q := s.hess; q != nil {
		for i, t := range c.z[:len(s.prog.C)] {
			if t != 0 {
				terms += 0.5 * math.Abs(t*q.RowDot(i, c.z))
			}
		}
	}
	return terms
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

func (s *search) progress() Progress {
	p := Progress{Nodes: s.nodes, Open: int64(len(s.open)), Bound: s.bound(), Incumbent: math.Inf(1), Gap: math.Inf(1), Work: s.work}
	if s.best != nil {
		p.Incumbent, p.Gap = s.best.f, s.relative()
	}
	return p
}

// relative is the gap that is left, relative to f.
func (s *search) relative() float64 {
	d := s.best.f - s.bound()
	if d <= 0 {
		return 0
	}
	return d / s.scale()
}

// scale is what gaps are relative to.
func (s *search) scale() float64 { return max(math.Abs(s.best.f), s.slack(s.best)/s.gap) }

// result says what the search has found.
func (s *search) result(ctx context.Context) *Result {
	r := &Result{Bound: s.bound(), Gap: math.Inf(1), Nodes: s.nodes, Tried: s.tried, Work: s.work, State: s.state()}
	for _, t := range s.trace {
		r.Trace = append(r.Trace, Progress{Nodes: t.Nodes, Bound: float64(t.Bound), Incumbent: float64(t.Incumbent)})
	}
	if now := s.progress(); len(r.Trace) == 0 || now.Nodes > r.Trace[len(r.Trace)-1].Nodes {
		r.Trace = append(r.Trace, now)
	} else {
		r.Trace[len(r.Trace)-1] = now
	}
	if s.ray != nil {
		r.Outcome, r.Bound = Unbounded, math.Inf(-1)
		r.Why = "the upper objective falls without end on a branch of the system"
		r.Best = s.point(ctx, s.ray)
		r.Ray = make([]float64, s.sys.N)
		s.sys.Unscaled(r.Ray, s.falls)
		return r
	}
	best := s.best
	if s.late != nil {
		best = s.late
		r.Bound = min(r.Bound, best.f)
		end := &r.Trace[len(r.Trace)-1]
		end.Bound, end.Incumbent = min(end.Bound, best.f), best.f
	}
	r.open = s.leaves(best)
	if best != nil {
		r.Best = s.point(ctx, best)
		r.Scale = s.size(r.Best)
		r.Gap = max(0, best.f-r.Bound) / r.Scale
	}
	switch {
	case len(s.open) > 0 && ctx.Err() != nil:
		r.Outcome, r.Why = Interrupted, "interrupted"
	case len(s.open) > 0:
		r.Outcome, r.Why = LimitReached, "the budget is spent"
		if math.IsInf(r.Bound, -1) {
			r.Why = "the budget is spent, and relaxations are unbounded so far"
		}
	case s.best != nil && s.bound() >= s.cutoff() && r.open > max(s.gap, DefaultGap)*r.Scale*(1+0x1p-20):
		r.Outcome, r.Why = LimitReached, "rounding of the relaxations' terms, next to which F is small, leaves more open than the gap"
	case s.best != nil && s.bound() >= s.cutoff():
		r.Outcome, r.Proved = Proved, true
	case s.failed:
		r.Outcome, r.Why = LimitReached, "relaxations of some nodes could not be solved to the accuracy needed"
	case s.best == nil:
		r.Outcome, r.Why = Infeasible, "no x has an answer of the follower that the upper level's constraints admit"
	}
	return r
}

// scaled is z in the relaxation's units.
func (s *search) scaled(z []float64) []float64 {
	if len(z) != s.sys.N {
		return nil
	}
	out := make([]float64, s.sys.N)
	s.sys.Scaled(out, z)
	return out
}

// point is a candidate in the model's units, with its multipliers.
func (s *search) point(ctx context.Context, c *candidate) *kkt.Point {
	z := make([]float64, s.sys.N)
	s.sys.Unscaled(z, c.z)
	p := &kkt.Point{Z: z, F: s.sys.Value(z), Branch: append([]kkt.Fix(nil), c.fix...)}
	_, p.Biactive = s.sys.BranchAt(z)
	w := s.newPlunger()
	w.near = c.z
	if len(s.curved) > 0 { // their multipliers are in none of its rows
		return p
	}
	if sol := w.branch(ctx, c.fix, w.wholeBox(z)); sol.Status == activeset.Optimal {
		p.Multipliers = s.sys.FromDuals(s.quad, z, sol.Row, sol.Bound)
	}
	return p
}
