package system

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

// wholeJumps goes on from the best point, where x has whole entries and the search has not proved it, by jumps of entries of x, each answered by the follower alone and by own entries of the leader: down to where one entry or several alone gain nothing, and on
// from random changes of a half to a sixteenth of all entries there (iterated local search: Lourenco, Martin and Stuetzle 2003). It ends with a second's work, or where twice as many changes in a row have gained nothing as there were before, and twice as many as starts are at least.
func (run *Run) wholeJumps(ctx context.Context) (err error) {
	defer must.Catch(&err)
	s, set := run.System, run.n.X
	if run.n.Integer == nil || run.Best == nil || run.Curved != nil || run.opts.Search != SearchBudget || run.opts.Nodes > 0 || !s.Objective.Known || len(set.Balls) > 0 {
		return nil
	}
	follower, own := must.Get(kkt.NewFollower(s)), must.Get(newOwn(s))
	moves := each.WhereBelow(s.Nx, func(j int) bool { return set.Lo[j] < set.Hi[j] && !slices.Contains(own.cols, j) })
	if len(moves) == 0 {
		return nil
	}
	rng, tried, answer := rand.New(rand.NewPCG(run.opts.Seed, uint64(len(moves)))), int64(0), tree.NodeWork*int64(len(run.n.Followers())) // each answer is a program for each follower
	move := func(x []float64, j int) { x[j] = jumped(rng, x[j], set.Lo[j], set.Hi[j], run.n.Integer[j]) }
	goesOn := func() bool {
		return follower.Work+own.work+tried*answer < tolerance.Second && ctx.Err() == nil
	}
	// down is where jumps lead down to, until so many in a row have gained nothing: of one entry every other one, of two half of the others.
	down := func(z []float64, f float64, enough int) ([]float64, float64) {
		for idle := 0; idle < enough && goesOn(); idle++ {
			x := slices.Clone(s.X(z))
			for more := true; more; more = rng.IntN(2) == 0 {
				move(x, moves[rng.IntN(len(moves))])
			}
			tried++
			if at, v := run.answerOf(ctx, follower, own, x); at != nil && v < f-tolerance.Sign*math.Abs(f) {
				z, f, idle = at, v, -1
			}
		}
		return z, f
	}
	lowest := run.Best.F - tolerance.Sign*s.Terms(run.Best.Z)
	best, f := down(run.Best.Z, lowest, max(mostDraws, len(moves)*len(moves))) // twice as many as there are pairs of entries
	for k, last := 0, 0; k-last < 2*max(last, outer.MostStarts()) && goesOn(); k++ {
		x := slices.Clone(s.X(best))
		for _, j := range moves {
			if rng.IntN(2<<(k%4)) == 0 {
				move(x, j)
			}
		}
		tried++
		if at, v := run.answerOf(ctx, follower, own, x); at != nil {
			if at, v = down(at, v, 2*len(moves)); v < f {
				best, f, last = at, v, k+1
			}
		}
	}
	if !(f < lowest) || ctx.Err() != nil {
		return nil
	}
	branch, _ := s.BranchAt(best)
	if point, failed := run.polish(ctx, &kkt.Point{Z: best, F: f, Branch: branch}); point != nil && better(point, failed, run.Best, run.err) {
		run.Best, run.err = point, failed
	}
	return nil
}

// answerOf is, where X has an x with these entries beside own ones, the follower's answer to x with multipliers, its choice the leader's where that is a convex program, own entries with the least f beside it, and f; nil where there is none that the leader's rows take.
func (run *Run) answerOf(ctx context.Context, follower *kkt.Follower, own *own, x []float64) (z []float64, f float64) {
	s := run.System
	lo, hi := slices.Clone(x), slices.Clone(x)
	for _, j := range own.cols {
		if j < len(x) {
			lo[j], hi[j] = run.n.X.Lo[j], run.n.X.Hi[j]
		}
	}
	if !admits(run.n.X, lo, hi) {
		return nil, 0
	}
	if s.Objective.Convex && len(s.P.Duals) == 0 {
		z, _, _ = leastAt(ctx, s, follower, x)
	} else if at, status := follower.Solve(ctx, x); status == activeset.Optimal && s.OffCoupled(at) <= tolerance.Sign {
		z = at
	}
	if z == nil || !own.answer(ctx, z) {
		return nil, 0
	}
	if f = s.Value(z); math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, 0
	}
	return z, f
}

// jumped is another value of an entry of x between its bounds, by a random share of their distance, of a unit where they have none; a whole number where it is to be one.
func jumped(rng *rand.Rand, v, lo, hi float64, whole bool) float64 {
	reach := hi - lo
	if math.IsInf(reach, 1) {
		reach = 1 + math.Abs(v)
	}
	by := reach * math.Pow(0.5, float64(rng.IntN(10))) * (2*rng.Float64() - 1)
	if whole {
		by = math.Copysign(math.Ceil(math.Abs(by)), by)
	}
	if v+by < lo || v+by > hi {
		by = -by
	}
	return max(lo, min(hi, v+by))
}

// own are the continuous entries of x that nothing but f and X reads, and the further variables of X: the leader's program for them alone says what they are beside all others.
type own struct {
	s      *kkt.System
	cols   []int // of z
	rows   []int // of the relaxation
	hess   *sparse.CSR
	grad   []float64
	bounds activeset.Bounds
	solver *activeset.Solver
	last   *activeset.Basis
	work   int64
}

func newOwn(s *kkt.System) (*own, error) {
	o, r := &own{s: s, grad: make([]float64, s.N)}, s.Relaxation
	read := make([]bool, s.N)
	for i, origin := range s.Origin {
		if origin.Kind != kkt.UpperRow && origin.Kind != kkt.ExtendedRow {
			for j := range r.A.Nonzeros(i) {
				read[j] = true
			}
		}
	}
	hess, _ := s.ScaledObjective(&s.Objective.Quadratic)
	curved := func(j int) bool { return !s.Objective.Convex && hess != nil && hess.Reads(j) }
	place := make([]int, s.N)
	for j := range s.N {
		place[j] = -1
		if j >= s.Nx && j < s.Nx+s.Ny+s.M || read[j] || j < s.Nx && s.P.Integer[j] || curved(j) {
			continue
		}
		place[j] = len(o.cols)
		o.cols = append(o.cols, j)
	}
	if len(o.cols) == 0 {
		return o, nil
	}
	restricted := func(to *sparse.CSR, from *sparse.CSR, i int) (any bool) {
		for j, v := range from.Nonzeros(i) {
			if place[j] >= 0 {
				to.Append(place[j], v)
				any = true
			}
		}
		return any
	}
	a := sparse.Empty(len(o.cols))
	for i := range s.Origin {
		if restricted(a, r.A, i) {
			a.EndRow()
			o.rows = append(o.rows, i)
		}
	}
	if hess != nil {
		o.hess = sparse.Empty(len(o.cols))
		for _, j := range o.cols {
			restricted(o.hess, hess, j)
			o.hess.EndRow()
		}
	}
	o.bounds = activeset.Bounds{RowLo: make([]float64, len(o.rows)), RowHi: make([]float64, len(o.rows))}
	for _, j := range o.cols {
		o.bounds.Lo, o.bounds.Hi = append(o.bounds.Lo, r.Lo[j]), append(o.bounds.Hi, r.Hi[j])
	}
	var err error
	o.solver, err = activeset.New(&activeset.Program{N: len(o.cols), Q: o.hess, C: make([]float64, len(o.cols)), A: a, Bounds: o.bounds})
	return o, err
}

// answer sets the own entries of z to those with the least f, and reports that there are some.
func (o *own) answer(ctx context.Context, z []float64) bool {
	if len(o.cols) == 0 {
		return true
	}
	s := o.s
	for _, j := range o.cols {
		z[j] = 0
	}
	s.Gradient(o.grad, z)
	scaled := s.Scaled(z)
	for k, i := range o.rows {
		others := s.Relaxation.A.RowDot(i, scaled)
		o.bounds.RowLo[k], o.bounds.RowHi[k] = s.Relaxation.RowLo[i]-others, s.Relaxation.RowHi[i]-others
	}
	o.solver.SetObjective(o.hess, each.Of(o.cols, func(j int) float64 { return o.grad[j] * s.ColScale[j] }))
	sol := o.solver.Solve(ctx, &o.bounds, o.last, activeset.Options{})
	o.work += sol.Work
	if sol.Basis != nil {
		o.last = sol.Basis
	}
	if sol.Status != activeset.Optimal {
		return false
	}
	for k, j := range o.cols {
		z[j] = sol.Z[k] * s.ColScale[j]
	}
	return true
}
