package sequential

import (
	"context"
	"errors"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/tolerance"
)

// sub is a solved subproblem.
type sub struct {
	s       *kkt.System
	p       *kkt.Point
	promise float64 // by how much the model falls
	terms   float64 // the size of the terms that f and the fall are sums of
	length  float64 // of the step in x, in units of x
	elastic float64 // the sum of violations that are left, by their penalties

	violates bool // one of them is more than constraints are kept to (violating)
}

// subproblem solves the QPEC at st, from a point of its system.
func (v *Solver) subproblem(ctx context.Context, st *state, from *point, penalty elastic) (_ *sub, err error) {
	defer must.Catch(&err)
	pt := st.pt
	region := trust(each.Of(v.unit, func(unit float64) float64 { return st.delta * unit }))
	hess := st.convex()
	if st.tied && st.delta < st.first {
		hess = v.dragged(st)
	}
	if len(v.kinds) == 0 {
		penalty = nil
	}
	s := must.Get(v.program(pt, hess, region, penalty))
	z := v.start(s, from)
	out := &sub{s: s}
	if v.opts.Large {
		out.p, err = v.inLeaderSpace(ctx, s, z, st)
	} else {
		out.p, err = v.onBranches(ctx, s, z)
	}
	if out.p == nil || err != nil && !errors.Is(err, pieces.ErrStalled) {
		if err == nil {
			err = pieces.ErrStalled
		}
		return nil, err
	}
	out.promise, out.terms = promised(s, z, out.p)
	for j, t := range pt.x {
		out.length = math.Max(out.length, math.Abs(out.p.Z[j]-t)/v.unit[j])
	}
	if penalty != nil {
		left := make([]float64, len(v.kinds))
		for k, side := range v.sides() {
			left[side.of] += out.p.Z[v.p.Dx+k]
		}
		for i, t := range left {
			out.elastic += penalty[i] * t
			out.violates = out.violates || t > tolerance.Sign*v.termsOf(pt, i)
		}
	}
	return out, nil
}

// promised is by how much the model falls from z to p, and the size of the terms that f and the fall are sums of.
func promised(s *kkt.System, z []float64, p *kkt.Point) (fall, terms float64) {
	here := s.Value(z)
	terms = math.Abs(here)
	grad := make([]float64, s.N)
	s.Gradient(grad, z)
	for j, g := range grad {
		terms += math.Abs(g) * math.Max(math.Abs(z[j]), math.Abs(p.Z[j]-z[j]))
	}
	return here - p.F, terms
}

// onBranches solves a subproblem from z with the active-set method on the whole system.
func (v *Solver) onBranches(ctx context.Context, s *kkt.System, z []float64) (_ *kkt.Point, err error) {
	defer must.Catch(&err)
	solver := must.Get(v.onSystem(s))
	branch, _ := s.BranchAt(z)
	p, err := solver.Improve(ctx, z, branch)
	v.work += solver.Work()
	return p, err
}

// onSystem is the active-set method on a system: one at a time.
func (v *Solver) onSystem(s *kkt.System) (*pieces.Solver, error) {
	if v.pieces == nil {
		solver, err := pieces.New(s, pieces.Options{})
		if err == nil {
			v.pieces = solver
		}
		return solver, err
	}
	return v.pieces, v.pieces.Next(s)
}

// dragged is the Hessian with a weight on how far y moves where x does not determine it: as if y had a trust region of its own, beyond which the weight costs more than f changes.
func (v *Solver) dragged(st *state) *sparse.CSR {
	p := v.p
	n := p.Dx + p.Dy + len(p.Duals)
	entries := make([]sparse.Entry, 0, p.Dy)
	top := math.Max(1, linalg.NormInf(st.pt.y))
	weight := linalg.NormInf(st.pt.grad) / (top * st.delta / st.first)
	entries = append(entries, each.Below(p.Dy, func(j int) sparse.Entry { return sparse.Entry{Row: p.Dx + j, Col: p.Dx + j, Val: weight} })...)
	drag := sparse.FromEntries(n, n, entries)
	if st.convex() == nil {
		return drag
	}
	return sparse.Add(1, st.convex(), 1, drag)
}

// multipliers are those of the Lagrangian that a subproblem ended with.
func (v *Solver) multipliers(q *sub) (w weights, ok bool) {
	m := q.p.Multipliers
	if m == nil && len(q.p.Leaves) > 0 {
		m = q.p.Leaves[0].Multipliers
	}
	if m == nil {
		return w, false
	}
	w.adjoint = slices.Clone(m.Adjoint)
	w.rows = append(make([]float64, 0, len(v.kinds)), m.Coupled...)
	w.bound, w.upper, w.extended = slices.Clone(m.Bound[:v.p.Dx]), m.UpperRows, m.Extended
	for j, t := range w.bound {
		if lo, hi := v.p.X.Box(j); q.p.Z[j] != lo && q.p.Z[j] != hi { // of the trust region
			w.bound[j] = 0
		}
		w.size = math.Max(w.size, math.Abs(t)*v.unit[j])
	}
	return w, linalg.Finite(w.adjoint) && linalg.Finite(w.rows)
}

func (v *Solver) noWeights() weights {
	return weights{adjoint: make([]float64, v.p.Dy), rows: make([]float64, len(v.kinds))}
}
