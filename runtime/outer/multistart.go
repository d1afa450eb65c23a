package outer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"bilevelc/internal/each"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
)

// MultiStart is a run from several starts.
type MultiStart struct {
	Starts int // 1 is the given start alone; the most of them where Automatic is set
	// Automatic ends the run after as many starts as the rule of Boender and Rinnooy Kan
	// asks for, or after a second or two of work.
	Automatic bool
	// First is how many starts go before these, and are left out: starts First to
	// First + Starts - 1 of a longer run, each as it is there.
	First   int
	Threads int // starts that run at once; results do not depend on it
	Seed    uint64
	// New makes an independent hyperobjective and method for one start.
	New func() (oracle.Hyperobjective, Method, error)
	// Set bounds the sampled starts where it does; nil for no bounds.
	Set *problem.Set
	// Name is the method's; Options apply to each start, its Start being the
	// first, and its Limits to each. Start k has the seed of its own.
	Name    string
	Options Options
	// Observer, where not nil, gives each start an observer; it is called in
	// the order of starts, the observers concurrently.
	Observer func(start int) Observer
	// Resume, where not nil, says for each start how far it had come.
	Resume []StartState
	// Keep, where not nil, is told how far each start has come: as Options.Keep, and
	// when it has ended (running is false). It is called from several goroutines.
	Keep func(start int, now StartState, running bool)
}

// StartResult is one start with its result; nil where it was not begun.
type StartResult struct {
	Start  []float64
	Result *Result
}

// StartState is how far a start has come: nowhere, to a state from which it goes
// on, or to its end.
type StartState struct {
	Run   *Checkpoint `json:"run,omitempty"`
	Ended *Ended      `json:"ended,omitempty"`
}

// Ended is what is kept of a start that has come to its end and is not the best.
type Ended struct {
	Status      status.Status `json:"status"`
	Reason      string        `json:"reason"`
	X           []float64     `json:"x,omitempty"` // best point; nil where none was evaluated
	F           float64       `json:"f"`
	Penalty     float64       `json:"penalty,omitempty"` // part of F (oracle.Point)
	Off         float64       `json:"off,omitempty"`     // what F is known to (off)
	Iterations  int           `json:"iterations"`
	Evaluations int           `json:"evaluations"`
	Calls       problem.Calls `json:"calls"`
}

// Solve runs every start and returns the results in their order, and the index
// of the best: the least F, of those that tie with it the first that is
// Solved, and -1 where no start gave a point. Of starts that ended for good and can
// not be the best, the Result holds the values of Ended alone. A context that ends
// interrupts the starts that run; the others are skipped and their Result is nil.
func (m *MultiStart) Solve(ctx context.Context) (results []StartResult, best int, err error) {
	n := max(1, m.Starts)
	if m.Resume != nil && len(m.Resume) != n {
		return nil, -1, fmt.Errorf("outer: the checkpoint is of %d starts, not %d", len(m.Resume), n)
	}
	results = make([]StartResult, n)
	errs := make([]error, n)
	ends := &podium{results: results, least: math.Inf(1)}
	known := 0 // up to the last start of which the checkpoint has something
	for k, s := range m.Resume {
		if s.Run != nil || s.Ended != nil {
			known = k + 1
		}
	}
	next := make(chan int)
	var wait, pending sync.WaitGroup
	for range min(max(1, m.Threads), n) {
		wait.Go(func() {
			for k := range next {
				if ctx.Err() == nil || k == 0 || k < known && (m.Resume[k].Run != nil || m.Resume[k].Ended != nil) { // how far those of a checkpoint have come is known
					errs[k] = m.enter(ctx, k, ends)
				}
				pending.Done()
			}
		})
	}
	draw := Starts(m.Options.Start, m.Set, m.Seed)
	for k := range m.First {
		draw(k)
	}
	begun, single := 0, m.Automatic && m.single()
	for _, until := range m.rounds(n) {
		for ; begun < until; begun++ {
			results[begun].Start = draw(m.First + begun)
			pending.Add(1)
			next <- begun
		}
		pending.Wait()
		if m.Automatic && (single || ctx.Err() != nil && begun >= known || m.enough(results[:begun])) {
			break
		}
	}
	close(next)
	wait.Wait()
	results, errs = results[:begun], errs[:begun]
	for _, err := range errs {
		if err != nil {
			return results, -1, err
		}
	}
	best = bestOf(results)
	if best >= 0 && results[best].Result.Best.Lower == nil {
		return results, -1, errors.New("checkpoint: it does not hold the start that is the best one")
	}
	return results, best, nil
}

// enter runs one start to its end. A panic of the caller's Keep is an error.
func (m *MultiStart) enter(ctx context.Context, k int, ends *podium) (err error) {
	defer func() {
		if v := recover(); v != nil {
			fault := panicked(v)
			fault.Start, err = k+1, fault
		}
	}()
	r, err := m.run(ctx, k, ends.results[k].Start)
	if r == nil {
		return err
	}
	r = ends.enter(k, r)
	if m.Keep != nil {
		// A state that cannot be written down ends nothing (see solving.solve).
		if now, err := r.Now(); err == nil {
			m.Keep(k, now, false)
		}
	}
	return err
}

// run runs one start.
func (m *MultiStart) run(ctx context.Context, k int, start []float64) (*Result, error) {
	opts := m.Options
	opts.Start = start
	// Seeds of different starts have nothing in common.
	opts.Seed = rand.NewPCG(m.Seed, uint64(m.First+k)).Uint64()
	if m.First+k == 0 {
		opts.Seed = m.Seed
	}
	if k > 0 {
		opts.Announce = nil // told once
	}
	if m.Observer != nil {
		opts.Observer = m.Observer(k)
	}
	if m.Keep != nil {
		opts.Keep = func(c *Checkpoint) { m.Keep(k, StartState{Run: c}, true) }
	}
	if m.Resume != nil {
		if e := m.Resume[k].Ended; e != nil {
			return e.result(), e.valid(len(start))
		}
		opts.Resume = m.Resume[k].Run
	}
	h, method, err := m.New()
	if err != nil {
		return nil, err
	}
	r, err := Solve(ctx, h, m.Name, method, opts)
	if fault, ok := errors.AsType[*PanicError](err); ok && m.Starts > 1 {
		fault.Start = k + 1
	}
	return r, err
}

// result is what a start that has ended gives again.
func (e *Ended) result() *Result {
	r := &Result{Status: e.Status, Reason: e.Reason, Iterations: e.Iterations, Evaluations: e.Evaluations, Calls: e.Calls,
		Measure: unmeasured(), ended: e}
	if e.X != nil {
		r.Best = &oracle.Point{X: e.X, F: e.F, Penalty: e.Penalty}
	}
	return r
}

func (e *Ended) valid(n int) error {
	if e.Status == status.Running {
		return errors.New("checkpoint: a start that ended does not say how")
	}
	if e.X == nil {
		return nil
	}
	if err := Vectors(n, e.X); err != nil {
		return fmt.Errorf("checkpoint: a start that ended: %w", err)
	}
	return nil
}

// podium keeps in full only what may still be the best of the starts.
type podium struct {
	mu      sync.Mutex
	results []StartResult
	least   float64
}

// worth is the F by which a result with a point is compared: what it is at most, as far as it is known. A penalized F that falls without
// bound where its constraints do not hold says nothing of F where they do: every other end is
// worth more.
func (r *Result) worth() float64 {
	if r.Status == status.Unbounded && r.Best.Penalty > tolerance.Target*math.Abs(r.Best.F) {
		return math.Inf(1)
	}
	if r.ended != nil {
		return r.Best.F + r.ended.Off
	}
	return r.Best.F + off(r.Best)
}

// ties reports that the F of a result is the least one but for noise and what targets
// leave of it: it may then be the best, where it is solved and the least is not.
func (r *Result) ties(least float64) bool {
	return r.worth() <= least+math.Max(tolerance.Target*math.Abs(least), 10*r.noise)
}

// enter takes the result of a start. It is cut down, as are those before it, where
// it has ended for good with an F above all that can tie with the least.
func (p *podium) enter(k int, r *Result) *Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.results[k].Result = r
	if r.Best != nil && r.worth() < p.least {
		p.least = r.worth()
		for i := range p.results {
			p.cut(i)
		}
	}
	p.cut(k)
	return p.results[k].Result
}

func (p *podium) cut(k int) {
	r := p.results[k].Result
	if r == nil || r.ended != nil || r.Status == status.Interrupted || r.Status == status.LimitReached ||
		r.Best != nil && r.ties(p.least) {
		return
	}
	e := &Ended{Status: r.Status, Reason: r.Reason, Iterations: r.Iterations, Evaluations: r.Evaluations, Calls: r.Calls}
	if r.Best != nil {
		e.X, e.F, e.Penalty, e.Off = r.Best.X, r.Best.F, r.Best.Penalty, off(r.Best)
	}
	p.results[k].Result = e.result()
}

// Now is how far the start has come.
func (r *Result) Now() (StartState, error) {
	if r.ended != nil {
		return StartState{Ended: r.ended}, nil
	}
	c, err := r.State()
	return StartState{Run: c}, err
}

// bestOf is the index that Solve returns.
func bestOf(results []StartResult) int {
	best := -1
	for k, r := range results {
		if r.Result == nil || r.Result.Best == nil {
			continue
		}
		if best < 0 || r.Result.worth() < results[best].Result.worth() {
			best = k
		}
	}
	if best < 0 || results[best].Result.Status == status.Solved {
		return best
	}
	least := results[best].Result.worth()
	for k, r := range results {
		if r.Result != nil && r.Result.Best != nil && r.Result.Status == status.Solved && r.Result.ties(least) {
			return k
		}
	}
	return best
}

// Starts gives the starts of a run one after the other: the given one, then points sampled
// around it: uniform in a bounded interval; where one side is free, at a distance
// from the other (or the start) whose scale runs through powers of ten from 1 to
// 100 over the starts. Solve projects them onto X and D.
func Starts(first []float64, set *problem.Set, seed uint64) func(k int) []float64 {
	rng := rand.New(rand.NewPCG(seed, stream+1))
	return func(k int) []float64 {
		if k == 0 {
			return first
		}
		return start(first, set, k, func(int) float64 { return rng.Float64() })
	}
}

// AdditiveRecurrence gives points of X from 1 on, as Starts does, whose shares of the widths are those of an additive recurrence (Niederreiter 1992, ch. 3; with
// the powers of the root of r^(d+1) = r + 1, Roberts 2018): no part of X is left out as long as random ones leave some. The first one is drawn.
func AdditiveRecurrence(first []float64, set *problem.Set, seed uint64) func(k int) []float64 {
	rng, root := rand.New(rand.NewPCG(seed, stream+2)), 1.0
	for range 64 { // it contracts by half or more
		root = math.Pow(1+root, 1/float64(len(first)+1))
	}
	shift := each.Below(len(first), func(j int) float64 { return rng.Float64() })
	return func(k int) []float64 {
		return start(first, set, k, func(j int) float64 {
			_, u := math.Modf(shift[j] + float64(k)*math.Pow(root, -float64(j+1)))
			return u
		})
	}
}

// start is start k > 0, from a share for each entry.
func start(first []float64, set *problem.Set, k int, share func(j int) float64) []float64 {
	x := make([]float64, len(first))
	scale := math.Pow(10, float64((k-1)%3))
	for j, center := range first {
		lo, hi := math.Inf(-1), math.Inf(1)
		if set != nil && set.Lo != nil {
			lo, hi = set.Lo[j], set.Hi[j]
		}
		u := share(j)
		switch {
		case !math.IsInf(lo, -1) && !math.IsInf(hi, 1):
			x[j] = lo + u*(hi-lo)
		case !math.IsInf(lo, -1):
			x[j] = lo + u*2*scale*(1+math.Abs(center-lo))
		case !math.IsInf(hi, 1):
			x[j] = hi - u*2*scale*(1+math.Abs(hi-center))
		default:
			x[j] = center + (2*u-1)*scale*(1+math.Abs(center))
		}
	}
	return x
}

// Jumps gives starts away from the lowest point so far: each entry goes by a normal share of its reach, half the width between its bounds or, where one is missing, what those entries are away from first by in the
// root mean square. The shares are 1, 1/2 and 1/4 in turn: where F has few minima long jumps find more, where it has many short ones do.
func Jumps(first []float64, set *problem.Set, seed uint64) func(k int, lowest []float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, stream+3))
	return func(k int, lowest []float64) []float64 {
		lo, hi := set.Lo, set.Hi
		away, free := 0.0, 0
		for j, v := range lowest {
			if math.IsInf(hi[j]-lo[j], 1) {
				away += (v - first[j]) * (v - first[j])
				free++
			}
		}
		if away = math.Sqrt(away / math.Max(1, float64(free))); away == 0 {
			away = 1
		}
		x, share := slices.Clone(lowest), math.Pow(0.5, float64(k%3))
		for j := range x {
			reach := (hi[j] - lo[j]) / 2
			if math.IsInf(reach, 1) {
				reach = away
			}
			x[j] = math.Max(lo[j], math.Min(hi[j], x[j]+share*reach*rng.NormFloat64()))
		}
		return x
	}
}
