package system

import (
	"context"
	"errors"
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
	"bilevelc/runtime/sequential"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

// localSolver finds local solutions of a problem on its KKT system: package pieces on the whole system, or package reduced in the leader's
// space, where the follower's answer is one.
type localSolver interface {
	// From is the local solution that x leads to, with errors as those of pieces.Solver.From.
	From(ctx context.Context, x []float64) (*kkt.Point, error)
	// Work counts what all solves so far have taken, in multiplications, roughly: the same on every machine.
	Work() int64
}

// leaderSpace is a localSolver in the leader's space. Where it stalls and the system is small enough, its point is where the active-set method on the whole system goes on from.
type leaderSpace struct {
	s       *kkt.System
	space   *reduced.Space // of s; nil until a solve
	observe func(reduced.Step)
	working func()
	whole   func() (*pieces.Solver, error)                   // nil where the system is too large
	down    bool                                             // the next solve goes down from where it begins: no path, which looks past kinks and leads elsewhere
	sparse  func(ctx context.Context, x []float64) []float64 // reduced.Options.Multipliers, where factors are sparse; else nil
	work    int64                                            // of solves that have ended
	running int64                                            // of the one at work
}

// wholeFirst is the active-set method on the whole system, and the leader's space where that fails.
type wholeFirst struct {
	*pieces.Solver
	then *leaderSpace
}

// Work implements localSolver.
func (l wholeFirst) Work() int64 { return l.Solver.Work() + l.then.Work() }

// From implements localSolver.
func (l wholeFirst) From(ctx context.Context, x []float64) (*kkt.Point, error) {
	p, err := l.Solver.From(ctx, x)
	if err == nil || ctx.Err() != nil || errors.As(err, new(*pieces.FollowerError)) || errors.As(err, new(*pieces.Unbounded)) || errors.Is(err, pieces.ErrEndless) {
		return p, err
	}
	if q, failed := l.then.From(ctx, x); failed == nil || ctx.Err() != nil {
		return q, failed
	}
	return p, err
}

// Work implements localSolver.
func (l *leaderSpace) Work() int64 { return l.work + l.running }

// multipliers are those of sparse at an x; nil where factors are dense.
func (l *leaderSpace) multipliers(ctx context.Context) func(x []float64) []float64 {
	if l.sparse == nil {
		return nil
	}
	return func(x []float64) []float64 { return l.sparse(ctx, x) }
}

// eliminate makes the space, once.
func (l *leaderSpace) eliminate() (err error) {
	if l.space == nil {
		l.space, err = reduced.New(l.s)
	}
	return err
}

// From implements localSolver.
func (l *leaderSpace) From(ctx context.Context, x []float64) (*kkt.Point, error) {
	var r *reduced.Result
	err := l.eliminate()
	if err == nil {
		observe := func(step reduced.Step) {
			l.running = step.Work
			l.observe(step)
		}
		working := func(work int64) {
			l.running = work
			l.working()
		}
		r, err = l.space.Solve(ctx, x, reduced.Options{Observe: observe, Working: working, NoPath: l.down, Near: l.sparse != nil, Multipliers: l.multipliers(ctx)})
	}
	if l.running = 0; r != nil {
		l.work += r.Work.Operations
	}
	if errors.Is(err, reduced.ErrFactors) {
		l.work += tolerance.Second // as many as have taken a second; the next start would again
	}
	p, failed := sequential.InTermsOfPieces(ctx, r, err)
	if failed == nil || l.whole == nil || ctx.Err() != nil || errors.As(failed, new(*pieces.FollowerError)) || errors.As(failed, new(*pieces.Unbounded)) {
		return p, failed
	}
	if l.down && wholeWork(l.s) > tolerance.Second { // no start that nobody asked for is worth that
		return p, failed
	}
	whole, failed := l.whole()
	switch {
	case failed != nil && err != nil:
		return nil, err
	case failed != nil:
		return nil, failed
	case err != nil:
		return whole.From(ctx, x)
	}
	return whole.Improve(ctx, p.Z, p.Branch)
}

// OneAnswer says what keeps the leader's space from being where a problem is solved, whatever its size; "" where nothing does. Where it is taken with sparse factors, what is kept
// of the follower is a few numbers for each entry of y, or row, and of the leader: no more than is kept at all, or than ny^1.5, what a sparse factor of a mesh takes (George 1973). A step takes a solve for each entry of the leader, where the
// sampling of gradients that would take over has a lower solve for each.
func OneAnswer(p *problem.Problem) string {
	leader := p.Dx + p.X.Extended.Extra()
	switch {
	case !(p.Facts.StrongConvexity > 0):
		return "g is not shown to be strongly convex in y"
	case p.Integer != nil:
		return "an upper variable takes whole numbers only"
	case reduced.Sparse(p) && leader*leader > p.Dy && leader*(p.Dy+p.Rows.Len()) > tolerance.MostNumbers:
		return "there are too many upper variables beside a follower with a sparse Hessian"
	}
	return ""
}

// decides reports whether a search for the global optimum can be expected to end within the work of one that nobody asked for, with branches that the whole system's local solver solves: where f gives it bounds, with a node for each of the
// pairs of these parts at least, of a factor of the part's tableau each.
func decides(s *kkt.System, parts ...kkt.Part) bool {
	sum := each.Sum(parts, func(p kkt.Part) float64 { return wholeWork(p.System) * float64(len(p.Pairs)) })
	return tree.Applies(s) == "" && sum <= tolerance.Second
}

// wholeWork is what a factor of the tableau of a system's local solver takes, in multiplications.
func wholeWork(s *kkt.System) float64 {
	return tree.FactorWork(float64(s.Relaxation.N + s.Relaxation.A.Rows))
}

// searchedInFull is what a node for each pair takes.
func searchedInFull(s *kkt.System) float64 { return s.Program().Rework() * float64(len(s.Pairs)) }

// factorWork is what a search's relaxation takes from nothing, in multiplications (tree.Solve).
func factorWork(s *kkt.System) float64 { return s.Program().Work() }

// searchWork is what the relaxations take from nothing that a search has: those of the parts.
func searchWork(s *kkt.System) (sum float64) {
	if s.Objective == nil || !s.Objective.Known {
		return factorWork(s)
	}
	for _, p := range s.Parts() {
		sum += factorWork(p.System)
	}
	return sum
}

// prepare makes the system of a run and its local solver. The whole system's is taken where a search decides; elsewhere a local solution is all there will be, and that in the
// leader's space takes less:
//
//	a factor of the whole system, of N + rows, at least nx + 2 ny + 2 m:              (N + rows)^3/2 multiplications
//	the elimination of y, and some tens of factors of m rows on the path (m <= rows): ny^3/6 + ny^2 (nx + m), m^3/6 each
//
// With nx, ny and m about the same, n, these are 62 n^3 a branch, or a step on one where f is not quadratic, against about 8 n^3 in all; and the path looks past kinks with large F.
func (run *Run) prepare() (err error) {
	if !run.opts.Linear {
		return run.prepareSmooth()
	}
	n := run.n
	small := !TooLarge(n, true) || EachPart(n)
	if small {
		run.System, err = kkt.New(n)
	} else {
		run.System, err = kkt.Read(n)
	}
	if err != nil {
		return err
	}
	then := &leaderSpace{s: run.System, observe: run.observeReduced, working: run.working}
	switch {
	case OneAnswer(n) != "":
		run.local, err = run.Whole()
	case !small:
		if reduced.Sparse(n) {
			if then.sparse, err = run.multipliers(); err != nil {
				return err
			}
		}
		run.local = then
		err = run.prepareParts()
	case run.System.Objective.Known && !decides(run.System, kkt.Part{System: run.System}):
		if parts := run.System.Parts(); len(parts) > 1 && decides(run.System, parts...) && n.X.Extended.Extra() == 0 {
			run.parted, err = newParted(run.System, parts, run.observe)
			run.local = run.parted
			break
		}
		then.whole = run.Whole
		run.local = then
	default:
		var whole *pieces.Solver
		whole, err = run.Whole()
		run.local = wholeFirst{whole, then}
	}
	return err
}

// prepareParts makes the local solver of a system that is too large as a whole, but falls into parts that are not, and reads f for the search; it leaves all as it was where there are none.
func (run *Run) prepareParts() error {
	s, n := run.System, run.System.Nx+run.System.Ny // of f n gradients are read
	if s.P.Facts.DegreeF > 2 || s.P.X.Extended.Extra() > 0 || n*n > tolerance.MostNumbers || s.Widest() > Largest {
		return nil
	}
	if err := s.ReadObjective(); err != nil {
		return err
	}
	parts := s.Parts()
	for _, p := range parts {
		if p.N > Largest {
			s.Objective = nil
			return nil
		}
	}
	solver, err := newParted(s, parts, run.observe)
	if err == nil {
		run.parted, run.local = solver, solver
	}
	return err
}

// Whole is the active-set method on the whole system.
func (run *Run) Whole() (*pieces.Solver, error) {
	if run.solver == nil {
		var err error
		if run.solver, err = pieces.New(run.System, pieces.Options{Observer: run.observe, Working: run.working}); err != nil {
			return nil, err
		}
	}
	return run.solver, nil
}

// observeReduced passes a step in the leader's space on. F of the path is that of a follower who keeps off its rows: no value that the leader attains.
func (run *Run) observeReduced(step reduced.Step) {
	run.working()
	if step.Phase == reduced.OnPieces || step.Phase == reduced.Done {
		run.observe(pieces.Step{Round: step.Iteration, F: step.F, Measure: step.Measure, Biactive: step.Biactive})
		return
	}
	run.Steps++
	if run.opts.Observer != nil {
		sign := run.opts.Sign
		best := math.NaN()
		if run.Best != nil {
			best = sign * run.Best.F
		}
		run.opts.Observer(Progress{Start: len(run.Ends) + 1, Starts: max(1, run.opts.Starts), Iteration: step.Iteration, Objective: sign * step.F, Best: best,
			Measure: step.Measure, Calls: run.n.Calls()})
	}
}

// Size is the number of unknowns and multipliers of a problem's KKT system.
func Size(n *problem.Problem) int { return n.Dx + n.Dy + n.Rows.Len() }
