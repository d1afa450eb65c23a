package sequential

import (
	"context"

	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/pieces"
)

// linearize gives a state the derivatives at its point.
func (v *Solver) linearize(st *state) error {
	if err := v.second(st.pt, st.fine); err != nil {
		return err
	}
	st.hess, st.convex = nil, nil // where it is not known the model is one of first order: small steps do
	if st.tied = v.mayTie(); !st.tied || !v.p.Facts.JointlyQuadratic {
		hess, convex, single := v.reducedHessian(st.pt, &st.w)
		st.hess, st.convex, st.tied = hess, convex, st.tied && !single
	}
	if st.tied {
		if hess, err := v.lagrangian(st.pt, &st.w); err == nil && linalg.Finite(hess.Val) {
			st.hess, st.convex = hess, hess
		}
	}
	return nil
}

// Linearized is the system linearized at a point of it, with the leader's own f and constraints, which own says; where these are not linear without them, and with f to first order.
func (v *Solver) Linearized(x, y, lambda []float64) (s *kkt.System, own bool, err error) {
	pt, err := v.complete(x, y, lambda)
	if err == nil {
		err = v.second(pt, true)
	}
	if err != nil {
		return nil, false, err
	}
	only := *v
	only.kinds = nil
	p := only.model(pt, nil, nil, nil)
	if own = v.p.Coupled == nil || v.p.Facts.AffineCoupled; own {
		p.F, p.Coupled, p.Facts.DegreeF, p.Facts.AffineCoupled = v.p.F, v.p.Coupled, v.p.Facts.DegreeF, v.p.Facts.AffineCoupled
	}
	if v.opts.Large {
		s, err = kkt.Read(p)
		return s, own, err
	}
	s, err = kkt.New(p)
	return s, own, err
}

// At is the system linearized at a point that From has found, with the Hessian of the Lagrangian that its multipliers make up as that of f.
func (v *Solver) At(p *kkt.Point) (*kkt.System, error) {
	n := v.p
	pt, err := v.complete(p.Z[:n.Dx], p.Z[n.Dx:n.Dx+n.Dy], p.Z[n.Dx+n.Dy:n.Dx+n.Dy+n.Rows.Len()])
	if err != nil {
		return nil, err
	}
	st := &state{pt: pt, w: v.noWeights(), fine: true}
	if w, ok := v.multipliers(&sub{p: p}); ok {
		st.w = w
	}
	if err := v.linearize(st); err != nil {
		return nil, err
	}
	return v.program(pt, st.hess, nil, nil)
}

// examine looks at the point of st for what shows that it is stationary.
func (v *Solver) examine(ctx context.Context, st *state) (*pieces.Examined, error) {
	if v.violating(st.pt) {
		return nil, ErrNoPoint
	}
	s, err := v.program(st.pt, st.hess, nil, nil)
	if err != nil {
		return nil, err
	}
	if v.opts.Large {
		return v.look(ctx, s, st)
	}
	solver, err := pieces.New(s, pieces.Options{})
	if err != nil {
		return nil, err
	}
	seen, err := solver.Examine(ctx, v.start(s, st.pt))
	v.work += solver.Work()
	if err != nil {
		return nil, err
	}
	seen.Point.F = st.pt.f
	return seen, nil
}
