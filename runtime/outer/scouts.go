package outer

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"bilevelc/runtime/central"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
)

// A run from one start ends at a point that is stationary; there may be lower ones. Where
// its way went along the central path of the follower, on which F is smooth and has fewer
// traps, the first stages of that way from other points cost little and tell which of them
// lead elsewhere: scouts. Stages have the same mu for all, so that the minima of F_mu compare:
// a scout that has come to one that is known leads where that led. With the first mu, which
// smooths most, nearly all starts come to one minimum; scouts begin with a share of
// that (scoutShare), for which where they come from still matters. There are at most as many as the rule of
// Boender and Rinnooy Kan asks for (asked). Those that have come to a minimum of their own then
// go on to their end, the lowest first, but for the certificate where they come to nothing lower.
//
// Where points of a path cost the factors of whole systems, all scouts together may make a
// tenth of the calls of the first run, a fifth of its time, as calls along a path cost more
// than those of lower solves, so that a search which finds nothing is hardly noticed; each as
// many as that made to come as far, as one that is not there by then creeps where F_mu is flat; and they begin no farther from its start than it had come by then, the one
// length that tells where minima lie: X may be far larger than all of them. Only one that is
// lower there goes on, with as many calls as the first run made.
//
// Where they cost less (scoutQuick), scouts may cost, in numbers read, some tenths of a second
// in any case and half of the first run, and come from all of X; half of that is for those that
// go on, to any minimum.
const (
	scoutShare = 1e-2 // of the first mu: there F has fallen to within a few parts in a hundred of where the way leads
	scoutTenth = 10
	scoutLeast = 6e7
	scoutHalf  = 0.5
	// Where the linear algebra of a path is products and the factors of a matrix of the size of
	// the rows (central.Path.Work), numbers are read ten times as fast as where whole systems
	// are factorized, and a first run takes some tenths of a second: they may cost twenty times
	// as much, up to two or three seconds.
	scoutQuick  = 1.6e10
	scoutTwenty = 20
	// sameStage is the part of F_mu to which the ends of a stage in one minimum agree: what
	// its tolerance leaves (approachTolerance), with room.
	sameStage = 1e-5
)

// Scouting is what scouts have found.
type Scouting struct {
	Tried    int
	First    float64       // F where the run from the given start ended
	Followed int           // scouts that went on to their end
	Start    int           // the one that the result is of; 0 where the first run's is the best
	Calls    problem.Calls // beside those of the result
}

// probe is a scout that has come to a minimum of F_mu of its own.
type probe struct {
	start int
	f     float64 // F_mu there
	from  *Checkpoint
}

// guidance is what a scout is told of the runs before it.
type guidance struct {
	scale central.Barrier // mu of the first stage
	bar   float64         // an F to fall below: a run that comes to rest above it asks for no certificate
}

// guided is a method whose runs begin along a central path.
type guided interface {
	guide(guidance)
	// waypoint is where the stages down to scoutShare have led; nil where the run did not come
	// along a path so far.
	waypoint() *waypoint
}

func (m *goldstein) guide(g guidance) { m.guidance = &g }

func (m *goldstein) waypoint() *waypoint { return m.state.Waypoint }

// notLower is the end of a scout at a point that is not below the bar.
func (m *goldstein) notLower() error {
	if g := m.guidance; g != nil && !(m.state.Center.F < g.bar) {
		return stuck("a scout that came to nothing lower")
	}
	return nil
}

// scout looks for a lower point than a first run has found.
func (m *MultiStart) scout(ctx context.Context, first *Result, draw func(k int) []float64) (*Result, *Scouting, error) {
	if !first.way.ok {
		return first, nil, nil
	}
	s := &Scouting{First: first.Best.F}
	quick := first.way.Work > 0
	budget, room := m.allowance(first)
	best, spent := first, first.Calls
	known := []float64{first.way.F} // F_mu at the minima that probes have come to
	left := func() int64 { return budget - total(spent.Sub(first.Calls)) }
	var led []probe
	for k := 1; k < asked(len(known)) && k < MostStarts && ctx.Err() == nil && left() > room; k++ {
		opts := m.Options
		opts.Announce, opts.Start, opts.Seed = nil, draw(k), rand.NewPCG(m.Seed, uint64(k)).Uint64()
		opts.Limits.Calls, opts.Limits.Iterations = room, 1
		if quick {
			opts.Limits.Calls = left()
		} else {
			opts.Start = first.near(opts.Start)
		}
		opts.brief = true
		r, err := m.begin(ctx, opts, &guidance{first.way.Scale, best.Best.F})
		if err != nil {
			return nil, nil, err
		}
		s.Tried++
		spent = spent.Add(r.Calls)
		same := func(f float64) bool { return math.Abs(f-r.way.F) <= sameStage*math.Abs(f) }
		if !r.way.ok || slices.ContainsFunc(known, same) {
			continue
		}
		known = append(known, r.way.F)
		from, err := r.State()
		if err != nil || from == nil {
			continue
		}
		led = append(led, probe{k, r.way.F, from})
	}
	slices.SortStableFunc(led, func(a, b probe) int { return cmp.Compare(a.f, b.f) })
	for _, p := range led {
		if quick && left() <= 0 || !quick && p.f > first.way.F || ctx.Err() != nil {
			break
		}
		opts := m.Options
		opts.Announce, opts.Resume = nil, p.from
		if m.Observer != nil {
			opts.Observer = m.Observer(0)
		}
		opts.Limits.Calls, opts.brief = total(first.Calls), true
		if quick {
			opts.Limits.Calls = left()
		}
		r, err := m.begin(ctx, opts, &guidance{first.way.Scale, best.Best.F})
		if err != nil {
			return nil, nil, err
		}
		s.Followed++
		spent = spent.Add(r.Calls.Sub(p.from.Calls))
		// A lower point without a certificate is not worth more than one with it.
		if r.Best != nil && r.Status == status.Solved && r.Best.F < best.Best.F && !best.ties(r.Best.F) {
			best, s.Start = r, p.start
		}
	}
	if s.Tried == 0 {
		return first, nil, nil
	}
	s.Calls = spent.Sub(best.Calls)
	return best, s, nil
}

// allowance is how many calls all scouts may make, and how many have to be left for one to begin.
func (m *MultiStart) allowance(first *Result) (budget, room int64) {
	if first.way.Work == 0 {
		return total(first.Calls) / scoutTenth, first.way.Calls
	}
	each := m.Options.Cost.call() + m.Linear + first.way.Work
	cost := each * float64(total(first.Calls))
	much := math.Min(scoutTwenty*cost, scoutQuick)
	budget = int64(math.Max(math.Max(much, scoutHalf*cost), scoutLeast) / each)
	return budget, budget / 2
}

// near is x, or the point on the way to it from the run's start that is as far off as that
// of the run at the waypoint.
func (r *Result) near(x []float64) []float64 {
	if far := distance(x, r.Start); far > r.way.Reach {
		return plus(r.Start, r.way.Reach/far, minus(x, r.Start))
	}
	return x
}

// total is the number of calls of all kinds.
func total(c problem.Calls) int64 { return c.F + c.GradF + c.G + c.GradG }

// begin runs from one start, or from a state, with a method of its own.
func (m *MultiStart) begin(ctx context.Context, opts Options, g *guidance) (*Result, error) {
	h, method, err := m.New()
	if err != nil {
		return nil, err
	}
	on, ok := method.(guided)
	if ok && g != nil {
		on.guide(*g)
	}
	r, err := Solve(ctx, h, m.Name, method, opts)
	if ok && r != nil {
		if w := on.waypoint(); w != nil {
			r.way.waypoint, r.way.ok = *w, true
		}
	}
	return r, err
}
