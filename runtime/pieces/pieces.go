// Package pieces finds local solutions of a bilevel problem on its KKT system (package kkt): an active-set method for the
// mathematical program with complementarity constraints.
//
// A branch holds one side of every pair at zero; on it the problem is one of linear constraints. Three steps repeat:
//
//  1. minimize f on the branch: one convex quadratic or linear program where f is one, else sequential quadratic
//     programming with line searches (Nocedal and Wright 2006, chapter 18);
//
//  2. at its minimizer z, minimize the linearization of f over the system with both sides of the biactive pairs only kept
//     nonnegative. If no point lowers it, its multipliers show that z is strongly stationary (Scheel and Scholtes 2000);
//
//  3. else search the assignments of the biactive pairs for one on which the linearization falls, depth first: a linear program
//     with complementarity constraints (LPCC; Kirches, Larson, Leyffer and Manns 2022; Nurkanovic and Leyffer 2026). There is one, and its branch comes
//     next, with a lower f; or there is none, and z is B-stationary: no direction lowers f to first order.
//
//  4. where the follower's multipliers are not unique, the point is looked at with the other vertices of them: a bilevel program is at a local
//     solution only if its system is so with every one (Dempe and Dutta 2012).
//
// Each round lowers f, and there are finitely many branches. All points are feasible for the system, so that f is
// attained: by the follower's answer to x that is best for the leader on its branch.
package pieces

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/tolerance"
)

// Step is what an observer sees after each round.
type Step struct {
	Round    int
	F        float64
	Measure  float64 // by how much the linearization of f falls over the trust region, relative to its size
	Biactive int
}

// Options of a solve. The zero value has no observers.
type Options struct {
	Observer func(Step)
	Working  func() // is called after each program of a round
}

// Unbounded is the error of a solve that found f to fall without end on a branch: along Ray from Z, len N both.
type Unbounded struct{ Z, Ray []float64 }

func (*Unbounded) Error() string { return "f improves without bound" }

// FollowerError is the error of a start where the follower has no answer.
type FollowerError struct{ Status activeset.Status }

func (e *FollowerError) Error() string {
	return fmt.Sprintf("the lower level has no answer there: %v", e.Status)
}

// errNotFinite says that f, or its gradient, is not finite on the way.
var errNotFinite = errors.New("f is not finite")

// ErrEndless says that f falls on and on along a branch, with no ray that shows it to have no bound.
var ErrEndless = errors.New("the leader's objective improves as far as it was followed, and nothing shows that it does so without end")

// Endless is an ErrEndless with the point, len N, as far as which the branch was followed.
type Endless struct{ Z []float64 }

func (*Endless) Error() string { return ErrEndless.Error() }

func (*Endless) Unwrap() error { return ErrEndless }

// ErrStalled says that rounding keeps a solve from going on; the point comes with it.
var ErrStalled = errors.New("the active-set method stalls")

// Solver holds the workspaces of solves on one system. It is not safe for concurrent use.
type Solver struct {
	s        *kkt.System
	opts     Options
	follower *kkt.Follower
	branch   *activeset.Solver // of branch problems
	linear   *activeset.Solver // of linearizations
	warm     *activeset.Basis  // the last of branch problems
	bounds   activeset.Bounds
	from     float64 // the size of z at the start of an improvement
	work     int64
	part     []int // of each column the class that rows join it to; nil before it is asked for
}

// New prepares solves on s.
func New(s *kkt.System, opts Options) (*Solver, error) {
	v := &Solver{branch: new(activeset.Solver), linear: new(activeset.Solver), opts: opts}
	return v, v.Load(s)
}

// Load makes v the solver that New makes of s, in the storage that it has.
func (v *Solver) Load(s *kkt.System) (err error) {
	defer must.Catch(&err)
	*v = Solver{s: s, opts: v.opts, branch: v.branch, linear: v.linear}
	v.follower = must.Get(kkt.NewFollower(s))
	program := *s.Relaxation
	program.Q, program.C = s.ScaledObjective(s.Objective.Relaxed())
	if !s.Objective.Convex {
		program.Q = nil
	}
	must.Do(v.branch.Load(&program))
	program.Q = nil
	return v.linear.Load(&program)
}

// Next is Load of a system like the one before, as one that is linearized at another point: the first program of a branch begins at the working set that the last of that ended with.
func (v *Solver) Next(s *kkt.System) error {
	warm := v.warm
	err := v.Load(s)
	v.warm = warm
	return err
}

// Forget drops the working set that the next program of a branch would begin at.
func (v *Solver) Forget() { v.warm = nil }

// Work is what all solves so far have taken (activeset.Solution.Work).
func (v *Solver) Work() int64 { return v.work + v.follower.Work }

// Follower is the follower of the system.
func (v *Solver) Follower() *kkt.Follower { return v.follower }

// From is the local solution that the follower's answer to x leads to.
func (v *Solver) From(ctx context.Context, x []float64) (*kkt.Point, error) {
	z, status := v.follower.Solve(ctx, x)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if status != activeset.Optimal {
		return nil, &FollowerError{status}
	}
	branch, _ := v.s.BranchAt(z)
	return v.Improve(ctx, z, branch)
}

// Improve is the local solution that a point z of a branch leads to (len N, in the model's units; one entry a pair, none Open).
// A point of the branch is all that z is needed for: where f is convex it may be nil. Where the context ends the last point comes with its cause.
func (v *Solver) Improve(ctx context.Context, z []float64, branch []kkt.Fix) (*kkt.Point, error) {
	branch = append([]kkt.Fix(nil), branch...)
	last, flat, escapes := math.Inf(1), 0, 0
	v.from = 1
	if z != nil {
		v.from = v.sizeRead(z)
	}
	var reached *kkt.Point
	for round := 1; ; round++ {
		next, err := v.minimize(ctx, z, branch)
		if next == nil {
			return reached, err
		}
		next = v.refine(next)
		p := &kkt.Point{Z: next, F: v.s.Value(next), Branch: branch, SecondOrder: kkt.NotChecked}
		_, p.Biactive = v.s.BranchAt(next)
		if reached = p; err != nil {
			return reached, err
		}
		look, err := v.lookAtVertex(ctx, p)
		if err != nil {
			return reached, err
		}
		if v.opts.Observer != nil {
			v.opts.Observer(Step{round, p.F, look.measure, len(p.Biactive)})
		}
		// Rounds that gain less than rounding of F are counted: what they go by is rounding alone.
		if p.F < last-tolerance.SumRounding*(math.Abs(last)+v.terms(next)) || math.IsInf(last, 1) {
			last, flat = p.F, 0
		} else {
			flat++
		}
		if look.next == nil {
			// A way of negative curvature ends at a constraint: as many of them as there are constraints lead somewhere else, or nowhere.
			if away := v.secondOrder(ctx, p, look); away != nil && flat == 0 && escapes < len(v.s.Pairs)+v.s.N {
				escapes++
				z = away
				continue
			}
			other, next, err := v.elsewhere(ctx, p)
			if err != nil {
				return reached, err
			}
			if other == nil || flat > len(v.s.Pairs)+1 {
				if other != nil {
					return p, ErrStalled
				}
				return p, nil
			}
			z, branch = other, next
			continue
		}
		if flat > len(v.s.Pairs)+1 {
			return p, ErrStalled
		}
		z, branch = p.Z, look.next
	}
}

// size is the largest entry of z in the relaxation's units, and at least 1: the trust region of linearizations.
func (v *Solver) size(z []float64) float64 {
	r := 1.0
	r = math.Max(r, each.LargestBelow(len(z), func(j int) float64 { return math.Abs(z[j]) / v.s.ColScale[j] }))
	return r
}

// sizeRead is size over x, y and the multipliers that f reads: others that are not unique may be anywhere on a branch.
func (v *Solver) sizeRead(z []float64) float64 {
	s, r := v.s, 1.0
	read := func(j int) { r = math.Max(r, math.Abs(z[j])/s.ColScale[j]) }
	for j := range s.Nx + s.Ny {
		read(j)
	}
	for _, i := range s.P.Duals {
		read(s.Nx + s.Ny + i)
	}
	return r
}

// scaledGradient is that of f at z, with strong duality where the system has it, in the relaxation's units.
func (v *Solver) scaledGradient(z []float64) []float64 {
	q := v.dual()
	if q == nil {
		return v.plainGradient(z)
	}
	g := make([]float64, v.s.N)
	q.Gradient(g, z)
	floats.Mul(g, v.s.ColScale)
	return g
}

// terms is the size of the terms of f at z, beside which it may be small itself: |f| and what its slopes make of z.
func (v *Solver) terms(z []float64) float64 {
	size := math.Abs(v.s.Value(z))
	for j, g := range v.scaledGradient(z) {
		size += math.Abs(g * z[j] / v.s.ColScale[j])
	}
	return size
}

// gradientTerms are the sizes of the terms of each entry of scaledGradient at z: where it vanishes, what is left of them is rounding. Of an f that is not quadratic they are told
// from the gradient half way to 0.
func (v *Solver) gradientTerms(z, grad []float64) []float64 {
	if q := v.dual(); q != nil {
		return v.quadraticTerms(q, z)
	}
	return v.plainTerms(z, grad)
}

// quadraticTerms are the sizes of the terms of a quadratic's gradient, in the relaxation's units.
func (v *Solver) quadraticTerms(q *sparse.Quadratic, z []float64) []float64 {
	out := make([]float64, v.s.N)
	q.GradientTerms(out, z)
	floats.Mul(out, v.s.ColScale)
	return out
}

// plainTerms are the sizes of the terms of each entry of grad, the plain gradient of f itself.
func (v *Solver) plainTerms(z, grad []float64) []float64 {
	if o := v.s.Objective; o.Known {
		return v.quadraticTerms(&o.Quadratic, z)
	}
	out := v.s.GradientTerms(z, each.Below(v.s.N, func(j int) float64 { return grad[j] / v.s.ColScale[j] }))
	floats.Mul(out, v.s.ColScale)
	return out
}

// dual is the quadratic whose multipliers the programs of v give: nil where f is taken as it is.
func (v *Solver) dual() *sparse.Quadratic {
	if v.s.Objective.Convex && v.s.Objective.Known {
		return v.s.Objective.Relaxed()
	}
	return nil
}

// solve runs a program and counts its work; the error is that of the context, or of a failure.
func (v *Solver) solve(ctx context.Context, of *activeset.Solver, b *activeset.Bounds, warm *activeset.Basis) (*activeset.Solution, error) {
	sol := of.Solve(ctx, b, warm, activeset.Options{})
	v.work += sol.Work
	if v.opts.Working != nil {
		v.opts.Working()
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case sol.Status == activeset.Failed:
		return nil, fmt.Errorf("%w: a program could not be solved", ErrStalled)
	}
	return sol, nil
}

// empty is the Hessian of a linear objective.
func empty(h *sparse.CSR) bool { return h == nil || h.NNZ() == 0 }
