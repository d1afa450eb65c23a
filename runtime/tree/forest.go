package tree

import (
	"context"
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
)

// forest is the search of a system: a tree for each of its parts (kkt.Parts). f is the sum of what it is on the parts, and the system's set is the product of theirs, so that bounds
// and points add up, and what one tree takes to close its gap does not multiply with what the others take. A round is one of the part whose gap is largest.
type forest struct {
	sys    *kkt.System
	parts  []*search
	opts   Options
	gap    float64
	trace  []tracePoint
	stride int64 // nodes between points of the trace
}

// newForest prepares a search; why is not "" where there is no bound.
func newForest(ctx context.Context, sys *kkt.System, parts []kkt.Part, opts Options) (f *forest, why string, err error) {
	if opts.Gap <= 0 {
		opts.Gap = tolerance.Target
	}
	f = &forest{sys: sys, opts: opts, gap: opts.Gap}
	st := opts.Resume
	if st != nil {
		if err := st.fits(f.gap, len(parts)); err != nil {
			return nil, "", err
		}
		f.trace, f.stride = append([]tracePoint(nil), st.Trace...), st.Stride
	}
	long := units(sys)
	for k, part := range parts {
		var kept *partState
		if st != nil {
			kept = &st.Parts[k]
		}
		s, no, err := newSearch(ctx, part, long.of(part.Cols), opts, kept)
		if err != nil {
			return nil, "", err
		}
		if f.parts = append(f.parts, s); no != "" && why == "" {
			why = no
		}
	}
	return f, why, nil
}

// run searches until the gap is closed or a limit is reached.
func (f *forest) run(ctx context.Context) (*Result, error) {
	if (len(f.trace) == 0 || f.opts.Later) && f.begin(ctx) {
		f.tell()
	}
	for ctx.Err() == nil {
		s := f.next()
		if s == nil || f.spent() || !s.round(ctx, f.opts.Threads) {
			break
		}
		f.tell()
	}
	return f.result(ctx), nil
}

// begin finds the best points of the branches of the given incumbents, part by part. It reports false where it was interrupted, as round does.
func (f *forest) begin(ctx context.Context) bool {
	plunges := make([]*plunger, len(f.parts))
	for n, s := range f.parts {
		p := s.newPlunger()
		plunges[n] = p
		for _, given := range f.opts.Incumbents {
			if s.path != nil || given == nil || len(given.Branch) != len(f.sys.Pairs) || len(given.Z) != f.sys.N || !p.allFixed(given.Branch) {
				continue
			}
			z, fix := make([]float64, s.sys.N), make([]kkt.Fix, len(s.sys.Pairs))
			for k, j := range s.part.Cols {
				z[k] = given.Z[j]
			}
			for k, pair := range s.part.PairAt {
				fix[k] = given.Branch[pair]
			}
			p.near = s.sys.Scaled(z)
			p.descend(ctx, fix, p.wholeBox(z))
		}
	}
	for n, s := range f.parts {
		if ctx.Err() != nil {
			s.late = plunges[n].found
		} else {
			s.take(plunges[n])
		}
	}
	return ctx.Err() == nil
}

// next is the part of the next round: the first that has none yet, then the one with the largest gap. nil where all is known: every gap is closed, one part has no point, or one falls without end and the others
// have points.
func (f *forest) next() *search {
	f.allot()
	if f.closed() {
		for _, s := range f.parts {
			s.closeAll()
		}
	}
	var best *search
	most, falls := 0.0, false
	for _, s := range f.parts {
		falls = falls || s.ray != nil
	}
	for _, s := range f.parts {
		switch done := s.done(); {
		case done && s.best == nil && s.ray == nil:
			return nil
		case done || falls && s.best != nil:
		case s.rounds == 0 || s.best == nil || math.IsInf(s.bound(), -1):
			if best == nil || !math.IsInf(most, 1) {
				best, most = s, math.Inf(1)
			}
		default:
			if open := s.best.f - s.bound(); best == nil || open > most {
				best, most = s, open
			}
		}
	}
	return best
}

// allot says of each part what gap of it is closed enough, beside others: its share, by what relaxations leave open of it, of the gap that is closed enough for the sum, whatever
// point between bound and incumbent turns out to be the best.
func (f *forest) allot() {
	if len(f.parts) == 1 {
		return
	}
	best, bound, leaves := f.value(), f.bound(), f.leaves()
	least := math.Min(math.Abs(best), math.Abs(bound))
	if math.IsInf(best, 0) || best*bound <= 0 {
		least = 0
	}
	for _, s := range f.parts {
		if s.rest = 0; leaves > 0 {
			s.rest = max(f.gap*least, leaves) * (s.leaves(s.latest()) / leaves)
		}
	}
}

// spent says that a limit is reached. Each part has a round in any case: without it there is no bound.
func (f *forest) spent() bool {
	for _, s := range f.parts {
		if s.rounds == 0 && !s.done() {
			return false
		}
	}
	work := f.opts.Work
	if math.IsInf(f.value(), 1) {
		work += f.opts.First
	}
	if f.opts.Nodes > 0 && f.nodes() >= f.opts.Nodes {
		return true
	}
	done := f.work()
	return f.opts.Work > 0 && done >= work && !(float64(done)+f.ahead() <= float64(work+f.opts.More))
}

// ahead is the work that is left, if what is open of each part takes as much for its share of the tree as what is closed has taken: of a node at depth d that share is 2^-d (Kilby, Slaney, Thiébaux and Walsh 2006).
func (f *forest) ahead() (work float64) {
	for _, s := range f.parts {
		if !s.done() {
			open := each.Sum(s.open, func(n *node) float64 { return math.Ldexp(1, -n.depth) })
			work += float64(s.Work) * open / (1 - open)
		}
	}
	return work
}

// total is a sum over the parts.
func total[T int64 | float64](f *forest, of func(s *search) T) (sum T) {
	for _, s := range f.parts {
		sum += of(s)
	}
	return sum
}

func (f *forest) nodes() int64 { return total(f, func(s *search) int64 { return s.Nodes }) }
func (f *forest) work() int64  { return total(f, func(s *search) int64 { return s.Work }) }

// terms is the sum of the absolute terms of what relaxations minimize at z (Result.Terms), with multipliers as short as they may be there.
func (f *forest) terms(z []float64) float64 {
	return total(f, func(s *search) float64 {
		own := linalg.Gather(z, s.part.Cols)
		return s.sizes(s.shortest(own))
	})
}

// leaves is what relaxations leave open of the bound.
func (f *forest) leaves() float64 {
	return total(f, func(s *search) float64 { return s.leaves(s.latest()) })
}

// value is f of the best point, also of a round that was interrupted; +Inf without one.
func (f *forest) value() float64 {
	return total(f, func(s *search) float64 {
		if c := s.latest(); c != nil {
			return c.f
		}
		return math.Inf(1)
	})
}

// bound is the lowest that f can be; +Inf where a part has no point.
func (f *forest) bound() float64 {
	for _, s := range f.parts {
		if b := s.bound(); math.IsInf(b, 1) {
			return b
		}
	}
	return total(f, func(s *search) float64 {
		if s.late != nil {
			return math.Min(s.bound(), s.late.f)
		}
		return s.bound()
	})
}

// closes is the absolute gap at which the search ends.
func (f *forest) closes() float64 { return max(f.gap*math.Abs(f.value()), f.leaves()) }

// closed reports that the gap is closed enough, but for the rounding of a sum.
func (f *forest) closed() bool {
	v := f.value()
	return !math.IsInf(v, 1) && f.bound() >= v-f.closes()*(1+0x1p-20)
}

func (f *forest) progress() Progress {
	p := Progress{Nodes: f.nodes(), Open: total(f, func(s *search) int64 { return int64(len(s.open)) }), Bound: f.bound(), Incumbent: f.value(), Gap: math.Inf(1), Work: f.work()}
	switch open := p.Incumbent - p.Bound; {
	case math.IsInf(p.Incumbent, 1):
	case open > 0: // relative to f, or to what is left open where that is more
		p.Gap = open / max(math.Abs(p.Incumbent), f.closes()/f.gap)
	default:
		p.Gap = 0
	}
	return p
}

// tell is for what a round has changed.
func (f *forest) tell() {
	now := f.progress()
	point := tracePoint{now.Nodes, infinite(now.Bound), infinite(now.Incumbent)}
	switch n := len(f.trace); {
	case n > 0 && now.Nodes == f.trace[n-1].Nodes: // Later
		f.trace[n-1] = point
	case n == 0 || now.Nodes >= f.trace[n-1].Nodes+f.stride:
		f.trace = append(f.trace, point)
	}
	if len(f.trace) > tolerance.MostPoints {
		kept := f.trace[:0:0]
		for k := 0; k < len(f.trace); k += 2 {
			kept = append(kept, f.trace[k])
		}
		f.trace, f.stride = kept, max(1, 2*f.stride)
	}
	if f.opts.Observe != nil {
		f.opts.Observe(now)
	}
	if f.opts.Keep != nil {
		f.opts.Keep(f.state)
	}
}

// result says what the search has found.
func (f *forest) result(ctx context.Context) *Result {
	now := f.progress()
	r := &Result{Bound: now.Bound, Gap: math.Inf(1), Nodes: now.Nodes, Tried: total(f, func(s *search) int64 { return s.Tried }), Work: now.Work, State: f.state(), Terms: f.terms}
	r.Trace = append(r.Trace, each.Of(f.trace, func(t tracePoint) Progress {
		return Progress{Nodes: t.Nodes, Bound: float64(t.Bound), Incumbent: float64(t.Incumbent)}
	})...)
	if len(r.Trace) == 0 || now.Nodes > r.Trace[len(r.Trace)-1].Nodes {
		r.Trace = append(r.Trace, now)
	} else {
		r.Trace[len(r.Trace)-1] = now
	}
	var infeasible, failed, falls, late, open bool
	known := true // a point
	for _, s := range f.parts {
		infeasible = infeasible || len(s.open) == 0 && s.best == nil && s.ray == nil && !s.failed
		failed = failed || s.failed
		falls = falls || s.ray != nil
		late = late || s.late != nil
		known = known && (s.latest() != nil || s.ray != nil)
		open = open || len(s.open) > 0
	}
	if known && !infeasible {
		r.Best = f.point(falls)
	}
	switch {
	case falls && r.Best != nil:
		r.Outcome, r.Bound = Unbounded, math.Inf(-1)
		r.Why = "the upper objective improves without end on a branch of the system"
		r.Ray = f.sys.Unscaled(f.joined(func(s *search) []float64 { return s.falls }))
		return r
	case r.Best != nil:
		r.Scale = GapScale(r.Best.F, r.Terms(r.Best.Z))
		r.Gap = max(0, now.Incumbent-r.Bound) / r.Scale
	}
	r.open = f.leaves()
	closed := r.Best != nil && !late && f.closed()
	switch {
	case infeasible:
		r.Outcome, r.Why = Infeasible, "no x has an answer of the follower that the upper level's constraints admit"
	case closed && !open && r.open <= max(f.gap, tolerance.Target)*r.Scale*(1+0x1p-20):
		r.Outcome, r.Proved = Proved, true
	case open && ctx.Err() != nil:
		r.Outcome, r.Why = Interrupted, ended(ctx)
	case open:
		r.Outcome, r.Why = LimitReached, status.Spent
		if math.IsInf(r.Bound, -1) {
			r.Why = status.Spent + ", and relaxations are unbounded so far"
		}
	case failed:
		r.Outcome, r.Why = LimitReached, "relaxations of some nodes could not be solved to the accuracy needed"
	case !closed && len(f.parts) > 1:
		r.Outcome, r.Why = LimitReached, "what relaxations of the parts leave open adds up to more than the gap"
	default:
		r.Outcome, r.Why = LimitReached, "rounding of the relaxations' terms, next to which F is small, leaves more open than the gap"
	}
	return r
}

// joined is a vector over the columns of the system from those of the parts; nil is 0.
func (f *forest) joined(of func(s *search) []float64) []float64 {
	z := make([]float64, f.sys.N)
	for _, s := range f.parts {
		if v := of(s); v != nil {
			linalg.Scatter(z, s.part.Cols, v)
		}
	}
	return z
}

// point is the best point in the model's units; of parts that fall without end, where that begins.
func (f *forest) point(falls bool) *kkt.Point {
	of := func(s *search) *candidate {
		if falls && s.ray != nil {
			return s.ray
		}
		return s.latest()
	}
	z := f.sys.Unscaled(f.joined(func(s *search) []float64 { return of(s).z }))
	p := &kkt.Point{Z: z, F: f.sys.Value(z), Branch: make([]kkt.Fix, len(f.sys.Pairs))}
	for _, s := range f.parts {
		for k, pair := range s.part.PairAt {
			p.Branch[pair] = of(s).fix[k]
		}
	}
	_, p.Biactive = f.sys.BranchAt(z)
	return p
}
