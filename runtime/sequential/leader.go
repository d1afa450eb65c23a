package sequential

import (
	"context"
	"errors"
	"fmt"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
	"bilevelc/runtime/tolerance"
)

// Subproblems of systems that are too large for factors of them all are solved in the leader's space (package reduced): the follower, which is strongly convex there, is eliminated block by block.

// program is the system of a subproblem, with f as an objective of all its unknowns where these are few enough to be solved with factors of them all.
func (v *Solver) program(pt *point, hess *sparse.CSR, region trust, penalty elastic) (*kkt.System, error) {
	return v.system(v.model(pt, hess, region, penalty))
}

// system is that of a problem of the kind of model.
func (v *Solver) system(p *problem.Problem) (*kkt.System, error) {
	if v.opts.Large {
		return kkt.Read(p)
	}
	return kkt.New(p)
}

// inLeaderSpace solves a subproblem from z: with the biactive rows of the last one, and without them where that leads nowhere.
func (v *Solver) inLeaderSpace(ctx context.Context, s *kkt.System, z []float64, st *state) (*kkt.Point, error) {
	opts := reduced.Options{NoPath: true, Near: true, Warm: st.end, OneVertex: !st.vertices}
	if st.hidden > 0 { // what is left of the gradient is by the terms of a follower without rows, and more by those of the certificate
		opts.Tolerance = tolerance.Sign / math.Max(tolerance.Hiding, st.hidden)
	}
	r, err := v.inLeader(ctx, s, z, opts)
	if opts.Warm != nil && ctx.Err() == nil {
		leads := err == nil
		if leads {
			fall, terms := promised(s, z, r.Point)
			noise := tolerance.Rounded * terms // of what solves leave of the follower's answer
			leads = fall > noise || fall >= -noise && r.Status == reduced.Stationary
		}
		if !leads {
			opts.Warm = nil
			r, err = v.inLeader(ctx, s, z, opts)
		}
	}
	if st.end = nil; r != nil {
		st.end = r.End
	}
	if errors.Is(err, reduced.ErrInfeasible) { // z is feasible: rounding alone says otherwise
		err = reduced.ErrNumerical
	}
	return InTermsOfPieces(ctx, r, err)
}

// inLeader is reduced.Solve from z, counted.
func (v *Solver) inLeader(ctx context.Context, s *kkt.System, z []float64, opts reduced.Options) (*reduced.Result, error) {
	before := v.work
	opts.Working = func(work int64) {
		if v.work = before + work; v.opts.Working != nil {
			v.opts.Working()
		}
	}
	opts.Observe = func(step reduced.Step) { opts.Working(step.Work) }
	r, err := reduced.Solve(ctx, s, s.X(z), opts)
	if r != nil {
		v.work = before + r.Work.Operations
	}
	return r, err
}

// InTermsOfPieces is what package reduced found, with the errors of pieces.Solver.From.
func InTermsOfPieces(ctx context.Context, r *reduced.Result, err error) (*kkt.Point, error) {
	var unbounded *reduced.Unbounded
	switch {
	case errors.Is(err, reduced.ErrInfeasible):
		return nil, fmt.Errorf("%w: %w", &pieces.FollowerError{Status: activeset.Infeasible}, err)
	case errors.As(err, &unbounded):
		return nil, &pieces.Unbounded{Z: unbounded.Z, Ray: unbounded.Ray}
	case errors.Is(err, reduced.ErrEndless):
		return nil, pieces.ErrEndless
	case err != nil:
		return nil, err
	case r.Status == reduced.Interrupted:
		return r.Point, context.Cause(ctx)
	case r.Status != reduced.Stationary:
		return r.Point, pieces.ErrStalled
	}
	return r.Point, nil
}

// estimate are multipliers of the branch at a point, by least squares.
func (v *Solver) estimate(ctx context.Context, st *state) (weights, bool) {
	s, err := v.program(st.pt, st.convex(), nil, nil)
	if err != nil {
		return weights{}, false
	}
	r, err := v.still(ctx, s, v.start(s, st.pt), st)
	if err != nil {
		return weights{}, false
	}
	return v.multipliers(&sub{s: s, p: r.Point})
}

// still is the point of z with the multipliers of the branches that meet there.
func (v *Solver) still(ctx context.Context, s *kkt.System, z []float64, st *state) (*reduced.Result, error) {
	r, err := v.inLeader(ctx, s, z, reduced.Options{Still: true})
	if err != nil {
		return nil, err
	}
	if _, size := s.Residual(r.Point.Multipliers, r.Point.Z); size > 0 {
		st.hidden = r.End.Scale / size
	}
	return r, nil
}

// look is pieces.Solver.Examine in the leader's space: the multipliers that the branches which meet at the point leave it, and what they leave of grad f. The Lagrangian's own Hessian says whether it is a saddle point.
func (v *Solver) look(ctx context.Context, s *kkt.System, st *state) (*pieces.Examined, error) {
	z := v.start(s, st.pt)
	out := &pieces.Examined{Point: &kkt.Point{Z: z, F: st.pt.f, SecondOrder: kkt.NotChecked}, Measure: math.Inf(1)}
	r, err := v.still(ctx, s, z, st)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return out, nil
	}
	copy(s.Lambda(z), s.Lambda(r.Point.Z)) // those that the certificate is about, where the follower's are not unique
	s.OntoBranch(z)
	out.Point.Branch, out.Point.Biactive = s.BranchAt(z)
	out.Point.Vertices, out.Point.AllVertices = r.Point.Vertices, r.Point.AllVertices
	m := r.Point.Multipliers
	s.Settle(m, z)
	left, size := s.Residual(m, z)
	out.Measure = math.Max(left/math.Max(size, math.SmallestNonzeroFloat64), -r.Least*math.Min(1, st.hidden)) // the gradient's own terms vanish with it where nothing holds
	if out.Measure <= tolerance.Certified {
		out.Point.Multipliers, out.Point.SecondOrder = m, r.Point.SecondOrder
	}
	return out, nil
}
