// Package reduced solves the local problem of a leader whose follower has a positive definite quadratic objective, in the space of the
// leader's variables: y is eliminated, F(x) = f(x, y*(x)) is piecewise smooth, and a point is left only for one with a smaller F. Three phases follow
// each other: the path (path.go), Newton's method on F with the follower smoothed by a barrier; the crossover (crossover.go) to rows with
// s = lambda = 0; and an active-set method on the pieces of F (round.go, search.go), with those biactive rows kept as equations, which ends at a strongly
// stationary point, its multipliers and what is known of the second order (finish.go).
package reduced

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
)

// ErrInfeasible says that no y is feasible at the start, or no point is in X.
var ErrInfeasible = errors.New("no feasible y at the start")

// ErrNumerical says that rounding keeps the follower's answer from being found.
var ErrNumerical = errors.New("the follower's rows are dependent to rounding")

// Options of Solve; the zero value has defaults.
type Options struct {
	// Tolerance is the part of the terms of the gradient that may be left of it, and that a multiplier may be negative by; 0 for defaultTolerance.
	Tolerance float64
	// NoPath begins with the pieces, at the start.
	NoPath bool
	// Near says that the start may be near kinks, as the end of a path is: they are looked for as there.
	Near bool
	// Multipliers, optional, are those of the follower's rows (len rows) at x, not 0 on independent rows alone: a follower with sparse factors is solved from there, where its answer is far.
	Multipliers func(x []float64) []float64
	// Still leaves the point where it is, with all rows biactive that nothing decides on, and finds its multipliers: Left and Least say whether they are stationary.
	Still bool
	// OneVertex ends where the point is stationary with the follower's multipliers at hand, other vertices of which are not looked at.
	OneVertex bool
	// Steps limits the steps of all phases; 0 for no limit.
	Steps int
	// Observe, optional, is told of each step.
	Observe func(Step)
	// Working, optional, is told of the work so far (Work.Operations) within long steps.
	Working func(work int64)
	// Warm, optional, is the end of a run for a system with the same rows: its biactive rows are tried first, where Near is set.
	Warm *State
}

// Phase of a run.
type Phase uint8

// The phases, in their order.
const (
	OnPath Phase = iota
	Crossing
	OnPieces
	Done
)

var phaseNames = [...]string{"path", "crossover", "pieces", "done"}

func (p Phase) String() string { return phaseNames[p] }

// Step is one step of a run.
type Step struct {
	Phase     Phase
	Iteration int
	F         float64
	Measure   float64 // on the path the length of the Newton step; on the pieces the gradient along the manifold, as a part of its terms
	Biactive  int
	Work      int64 // so far (Work.Operations)
}

// State is where a run stands between two steps.
type State struct {
	Phase            Phase
	Iteration        int
	W                []float64 // the leader's variables, and the further ones of X
	Strong, Biactive []Held
	Fixed            []int8
	Walls, Coupled   []int
	Path             *PathState
	F, Measure       float64
	Scale            float64  // of the gradient at the first point on the pieces
	Single           bool     // rows are let go one at a time
	Low              float64  // F when it fell by more than its noise last
	Met              []uint64 // the states that the run has come to since, one after the other
	Crossed          []int    // rows that came to a kink since F fell by more than its noise last
	Above            float64  // F as the first of them came
	Weakened         []int    // rows made biactive at this point because nothing decides on them
	Vertices         []Vertex // of the follower's multipliers at this point, as far as they are known
	Looked           int      // at how many of them before that at hand
	MoreVertices     bool
	Signs            map[Sign][2]activeset.State // the working set with which multipliers of dependent equations were found last: of each, and of its row
	Curvature        kkt.SecondOrder
	Work             Work
}

// Work is what a run has done, the same on every machine.
type Work struct {
	Operations        int64 // multiplications of the linear algebra, roughly
	Gradients         int64 // of f
	Factors           int64 // on the path
	Products          int64 // with Hessians
	Crossings, Rounds int64 // on the pieces
}

// Status says how a run ended.
type Status uint8

// The ends: strongly stationary, out of steps, no progress (gradients that depend on each other, or rounding), stopped from outside.
const (
	Stationary Status = iota
	OutOfSteps
	Stalled
	Interrupted
)

var statusNames = [...]string{"strongly stationary", "out of steps", "stalled", "interrupted"}

func (s Status) String() string { return statusNames[s] }

// Result of a run: a feasible point, its multipliers where they are strongly stationary to the tolerance.
type Result struct {
	Point  *kkt.Point
	Status Status
	// Left is what is left of the gradient on the manifold, and Least the least multiplier that should not be negative, both as parts of the gradient's terms.
	Left, Least float64
	Work        Work
	End         *State
}

// solver is what the phases share.
type solver struct {
	f         *follower
	p         *problem.Problem
	calc      *calculus
	opts      Options
	projector *qp.Projector

	ops, factors, products, crossings int
	began                             Work // what counted was as the step at hand began
	convex                            bool // f is, and so is F on each piece
	roomR, roomC                      []float64
}

func (s *solver) work(n int) { s.ops += n }

// Space is a system in the space of the leader's variables: y is eliminated once, for any number of solves in turn.
type Space struct {
	f     *follower
	p     *problem.Problem
	whole *Space // its follower is condensed, of this space's; nil: it is not
}

// New eliminates y.
func New(sys *kkt.System) (_ *Space, err error) {
	defer must.Catch(&err)
	f := must.Get(eliminable(sys))
	whole := &Space{f: f, p: sys.P}
	if short, p := condensed(f); short != nil {
		return &Space{short, p, whole}, nil
	}
	return whole, nil
}

// Solve is New and Space.Solve.
func Solve(ctx context.Context, sys *kkt.System, x0 []float64, opts Options) (_ *Result, err error) {
	defer must.Catch(&err)
	s := must.Get(New(sys))
	return s.Solve(ctx, x0, opts)
}

// Solve runs the three phases from x0, which X and the follower's rows should allow. F is no higher at an end that is not a limit than at x0.
func (s *Space) Solve(ctx context.Context, x0 []float64, opts Options) (_ *Result, err error) {
	defer must.Catch(&err)
	if opts.Still && s.whole != nil {
		s = s.whole
	}
	p := s.solver(opts).newPiece()
	st := must.Get(p.start(x0))
	if opts.Still {
		return p.examine(ctx, st)
	}
	begin, path := st.F, st.Path != nil
	end, err := p.run(ctx, st)
	higher := err == nil && (end == Stationary || end == Stalled) && st.F > begin+tolerance.Sign*math.Abs(begin)
	if path && (higher || errors.Is(err, ErrInfeasible)) { // the path looks past kinks: it may lead higher, or to where rounding leaves no answer
		p.opts.NoPath = true
		if down, e := p.start(x0); e == nil {
			down.Work, down.Iteration = st.Work, st.Iteration
			if to, e := p.run(ctx, down); e == nil && (err != nil || down.F < st.F) {
				st, end, err = down, to, nil
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if s.whole == nil {
		return p.finish(ctx, st, end)
	}
	p = s.whole.solver(opts).newPiece()
	out, err := p.finish(ctx, st, end)
	if err == nil && out.Status == Stalled { // rounding of the composite may be more than that of y
		st.Phase = OnPieces
		if end, err = p.run(ctx, st); err == nil {
			out, err = p.finish(ctx, st, end)
		}
	}
	return out, err
}

// run is the phases from a state on.
func (p *piece) run(ctx context.Context, st *State) (Status, error) {
	for st.Phase != Done {
		if ctx.Err() != nil {
			return Interrupted, nil
		}
		if p.opts.Steps > 0 && st.Iteration >= p.opts.Steps {
			return OutOfSteps, nil
		}
		p.began = p.counted()
		end, err := p.step(ctx, st)
		if p.z.failed() {
			return Stalled, ErrFactors
		}
		if err != nil {
			return Stalled, err
		}
		st.Work.add(p.counted(), p.began)
		st.Iteration++
		if p.opts.Observe != nil {
			p.opts.Observe(Step{st.Phase, st.Iteration, st.F, st.Measure, len(st.Biactive), st.Work.Operations})
		}
		if end != nil {
			return *end, nil
		}
	}
	return Stationary, nil
}

// working tells how much a run has done within a step, with work that is not counted yet.
func (p *piece) working(st *State, more int64) {
	if p.opts.Working != nil {
		work := st.Work
		work.add(p.counted(), p.began)
		p.opts.Working(work.Operations + more)
	}
}

func (s *Space) solver(opts Options) *solver {
	f := s.f
	if opts.Tolerance == 0 {
		opts.Tolerance = tolerance.SolveAccuracy
	}
	if f.sparse != nil {
		f.sparse.factors, f.sparse.failed = 0, false
		opts.NoPath = true // the path has a factor of all rows at each step
	}
	opts.NoPath = opts.NoPath || opts.Still
	o := f.sys.Objective
	return &solver{f: f, p: s.p, opts: opts, calc: newCalculus(s.p, f.nw), convex: o != nil && o.Known && o.Dual == nil && o.Convex}
}

func (s *solver) counted() Work {
	return Work{int64(s.ops) + s.f.work, s.calc.calls, int64(s.factors), int64(s.products), int64(s.crossings), 0}
}

func (w *Work) add(now, before Work) {
	w.Operations += now.Operations - before.Operations
	w.Gradients += now.Gradients - before.Gradients
	w.Factors += now.Factors - before.Factors
	w.Products += now.Products - before.Products
	w.Crossings += now.Crossings - before.Crossings
}

// start is the state at x0.
func (p *piece) start(x0 []float64) (*State, error) {
	f := p.f
	w := slices.Clone(x0)
	if e := p.p.X.Extended; e.Extra() > 0 {
		w = e.Least(x0)
	}
	st := &State{W: make([]float64, f.nw), Fixed: make([]int8, f.nw)}
	if err := p.projectX(st.W, w); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInfeasible, err)
	}
	if p.opts.Warm != nil {
		st.Signs, st.Strong = p.opts.Warm.Signs, p.opts.Warm.Strong
	}
	for j := range st.W {
		if f.lo[j] == f.hi[j] {
			st.Fixed[j] = -1
		}
	}
	if p.opts.NoPath || len(f.coupled) > 0 || !f.readsX || !p.startPath(st) {
		st.Path, st.Phase = nil, Crossing
	}
	return st, nil
}

// step takes one step of the phase at hand. It returns an end where there is nothing more to do.
func (p *piece) step(ctx context.Context, st *State) (*Status, error) {
	switch st.Phase {
	case OnPath:
		if p.pathStep(st) {
			st.Phase = Crossing
		}
		return nil, nil
	case Crossing:
		return nil, p.cross(ctx, st)
	}
	return p.round(ctx, st)
}

// cross takes the follower's exact answer where the path has ended, and the rows near a kink onto it.
func (p *piece) cross(ctx context.Context, st *State) error {
	within := 0.0
	if st.Path != nil {
		p.seed(st)
		for r, side := range p.side {
			if side != 0 && !p.f.rows[r].equal {
				st.Strong = append(st.Strong, Held{r, side < 0})
			}
		}
		within = near * math.Sqrt(st.Path.Mu)
	}
	if !p.crossover(st, 0) {
		return ErrInfeasible
	}
	if p.opts.Near {
		_, _, least := p.scales()
		within = near * math.Sqrt(pathEnd) * least
		for p.f.sparse != nil && p.nearKinks(within) > p.f.nw { // more seldom meet, and each that does not takes a factor
			within /= 4
		}
	}
	if p.opts.Still {
		p.weaken(st)
	}
	slices.Sort(p.k)
	exact := State{Path: st.Path}
	p.save(&exact)
	value := p.calc.value(p.point())
	noise := p.calc.noise(p.point())
	if p.warm(&exact, value) {
		within = 0
	}
	for tried := -1; within > 0 && ctx.Err() == nil; within /= 4 { // smaller each time, until F is no larger than without
		rows := p.nearKinks(within)
		if rows == tried { // they are the same
			continue
		}
		tried = rows
		if p.crossover(&exact, within) && p.calc.value(p.point()) <= value+noise {
			break
		}
		if !p.load(&exact) {
			return ErrInfeasible
		}
		p.place()
		p.working(st, 0)
	}
	st.Path, st.Phase, st.F = nil, OnPieces, p.calc.value(p.point())
	p.save(st)
	if p.broken(tolerance.Feasibility) == 0 {
		return nil
	}
	if err := p.feasible(ctx); err != nil {
		return err
	}
	p.save(st)
	st.F = p.calc.value(p.point())
	return nil
}
