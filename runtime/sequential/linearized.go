package sequential

import (
	"context"
	"errors"
	"math"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/tolerance"
)

// linearize gives a state the derivatives at its point.
func (v *Solver) linearize(st *state) error {
	if err := v.second(st.pt, st.fine); err != nil {
		return err
	}
	st.hess, st.made, st.seen = nil, nil, nil // where it is not known the model is one of first order: small steps do
	if st.tied = v.mayTie(); !st.tied || !v.p.Facts.JointlyQuadratic {
		hess, made, single := v.reducedHessian(st.pt, &st.w)
		st.hess, st.made, st.tied = hess, made, st.tied && !single
	}
	if st.tied {
		if hess, err := v.lagrangian(st.pt, &st.w); err == nil && linalg.Finite(hess.Val) {
			st.hess, st.made = hess, func() *sparse.CSR { return hess }
		}
	}
	return nil
}

// convex is what stands for the Hessian of the Lagrangian in subproblems; nil where it is not known.
func (st *state) convex() *sparse.CSR {
	if st.made == nil {
		return nil
	}
	return st.made()
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
	p := v.unconstrained().model(pt, nil, nil, nil)
	if own = v.affineCoupled(); own {
		p.F, p.Coupled, p.Facts.DegreeF, p.Facts.AffineCoupled = v.p.F, v.p.Coupled, v.p.Facts.DegreeF, v.p.Facts.AffineCoupled
	}
	s, err = v.system(p)
	return s, own, err
}

// At is the system linearized at a point that From has found, with the Hessian of the Lagrangian that its multipliers make up as that of f.
func (v *Solver) At(p *kkt.Point) (_ *kkt.System, err error) {
	defer must.Catch(&err)
	n := v.p
	pt := must.Get(v.complete(p.Z[:n.Dx], p.Z[n.Dx:n.Dx+n.Dy], p.Z[n.Dx+n.Dy:n.Dx+n.Dy+n.Rows.Len()]))
	if v.over != nil {
		v.unit = kkt.Units(pt.x)
	}
	st := &state{pt: pt, w: v.noWeights(), fine: true}
	if w, ok := v.multipliers(&sub{p: p}); ok {
		st.w = w
	}
	must.Do(v.linearize(st))
	return v.program(pt, st.hess, nil, nil)
}

// ray is a ray of the follower's KKT system along which F falls without end, from a point of the branches that a point is on; nil where none is found. The system linearized at a point is the true one where what g
// is not quadratic in is as it is there, at the ray's beginning and along it, and for the leader's constraints the certificate says so: linearized again where the ray begins it comes nearer to that, as Newton's method does.
func (v *Solver) ray(ctx context.Context, pt *point) *pieces.Unbounded {
	if v.opts.Large || len(v.p.X.Balls) > 0 || !v.affineCoupled() && v.p.Facts.DegreeF > 1 {
		return nil
	}
	for last := math.Inf(1); ; {
		ray, z := v.linearRay(ctx, pt)
		if ray == nil {
			return nil
		}
		off := 0.0
		for j := range v.p.Dx + v.p.Dy {
			if v.p.Facts.AffineAlong(j) {
				continue
			}
			if math.Abs(ray.Ray[j]) > tolerance.Sign*linalg.NormInf(ray.Ray) {
				return nil
			}
			off = math.Max(off, math.Abs(ray.Z[j]-z[j])/math.Max(math.Abs(z[j]), 0x1p-1022))
			ray.Ray[j] = 0
		}
		if off <= tolerance.Sign {
			for j := range v.p.Dx + v.p.Dy {
				if !v.p.Facts.AffineAlong(j) {
					ray.Z[j] = z[j]
				}
			}
			if !v.affineCoupled() && (v.beside(ray, 0) || v.beside(ray, 1/tolerance.Sign)) {
				return nil
			}
			return ray
		}
		if !(off < last/2) {
			return nil
		}
		last = off
		var err error
		if pt, err = v.answer(ctx, ray.Z[:v.p.Dx], ray.Z[v.p.Dx:v.p.Dx+v.p.Dy]); err != nil || v.second(pt, true) != nil {
			return nil
		}
	}
}

// beside reports that constraints of the leader do not hold at a point of a ray, in parts of the size of what it begins at.
func (v *Solver) beside(ray *pieces.Unbounded, part float64) bool {
	t := part * math.Max(1, linalg.NormInf(ray.Z)) / linalg.NormInf(ray.Ray)
	z, p := linalg.Plus(ray.Z, t, ray.Ray), v.p
	y := z[p.Dx : p.Dx+p.Dy]
	pt, err := v.evaluate(z[:p.Dx], y, z[p.Dx+p.Dy:p.Dx+p.Dy+p.Rows.Len()])
	return err != nil || v.violating(pt)
}

// affineCoupled reports that all constraints of the leader that read y are linear.
func (v *Solver) affineCoupled() bool { return v.p.Coupled == nil || v.p.Facts.AffineCoupled }

// linearRay is a ray of the system linearized at a point, and the point; nil where none is found.
func (v *Solver) linearRay(ctx context.Context, pt *point) (*pieces.Unbounded, []float64) {
	q := v.model(pt, nil, nil, nil)
	if v.affineCoupled() {
		q.F, q.Coupled, q.Facts.DegreeF = v.p.F, v.p.Coupled, v.p.Facts.DegreeF
	}
	s, err := kkt.New(q)
	if err != nil {
		return nil, nil
	}
	solver, err := v.onSystem(s)
	if err != nil {
		return nil, nil
	}
	z := v.start(s, pt)
	branch, _ := s.BranchAt(z)
	_, err = solver.Improve(ctx, z, branch)
	v.work += solver.Work()
	var out *pieces.Unbounded
	errors.As(err, &out)
	return out, z
}

// examine looks at the point of st for what shows that it is stationary.
func (v *Solver) examine(ctx context.Context, st *state) (seen *pieces.Examined, err error) {
	defer must.Catch(&err)
	if st.seen != nil {
		return st.seen, nil
	}
	defer func() { st.seen = seen }()
	if v.violating(st.pt) {
		return nil, ErrNoPoint
	}
	s := must.Get(v.program(st.pt, st.hess, nil, nil))
	if v.opts.Large {
		return v.look(ctx, s, st)
	}
	solver := must.Get(v.onSystem(s))
	z := v.start(s, st.pt)
	s.OntoBranch(z)
	seen, err = solver.Examine(ctx, z)
	v.work += solver.Work()
	if err != nil {
		return nil, err
	}
	seen.Point.F = st.pt.f
	return seen, nil
}
