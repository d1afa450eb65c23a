package sequential

import (
	"context"
	"errors"
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
)

// The trust region: a step is taken where phi falls by at least accept of what the model promises; the region shrinks to a quarter where it is less than poor, and doubles
// where it is more than good and the step reached its edge (Nocedal and Wright 2006, algorithm 4.1).
const (
	accept = 1e-4
	poor   = 0.25
	good   = 0.75
	// rounds bound the steps of a solve: convergence takes some tens.
	rounds = 500
	// stiffer is the factor by which penalties grow, and least the part of a violation by which that has to lower it (Byrd, Nocedal and Waltz 2008).
	stiffer = 10
	least   = 0.1
)

// state is where a solve stands.
type state struct {
	pt      *point
	w       weights
	delta   float64 // of the trust region, in units of x
	first   float64 // the one that it began with
	penalty elastic
	fine    bool        // derivatives are to be as exact as they can be: the end is near
	hess    *sparse.CSR // of the Lagrangian at pt; nil where it is not known
	convex  *sparse.CSR // the one that stands for it in subproblems
	tied    bool        // x alone does not determine y next to pt
}

// From is the local solution that the follower's answer to x leads to.
func (v *Solver) From(ctx context.Context, x []float64) (*kkt.Point, error) {
	pt, err := v.begin(ctx, x)
	if err != nil {
		return nil, err
	}
	st := &state{pt: pt, w: v.noWeights(), delta: 1}
	for j, t := range pt.x {
		st.delta = math.Max(st.delta, math.Abs(t)/v.unit[j])
	}
	st.first = st.delta
	st.penalty = v.penalties(pt)
	return v.descend(ctx, st)
}

func (v *Solver) noWeights() weights {
	return weights{adjoint: make([]float64, v.p.Dy), rows: make([]float64, len(v.kinds))}
}

// begin is the point with the follower's answer to x.
func (v *Solver) begin(ctx context.Context, x []float64) (*point, error) {
	p := v.p
	x = append([]float64(nil), x...)
	if p.Facts.JointlyQuadratic {
		pt := &point{x: x, y: make([]float64, p.Dy), lambda: make([]float64, p.Rows.Len()), grad: make([]float64, p.Dx+p.Dy+len(p.Duals))}
		if err := v.second(pt, false); err != nil {
			return nil, err
		}
		only := *v
		only.kinds = nil
		s, err := kkt.New(only.model(pt, nil, nil, nil))
		if err != nil {
			return nil, err
		}
		f, err := kkt.NewFollower(s)
		if err != nil {
			return nil, err
		}
		v.unit = s.ColScale[:s.Nx]
		z, status := f.Solve(ctx, x)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if status != activeset.Optimal {
			return nil, &pieces.FollowerError{Status: status}
		}
		return v.complete(x, s.Y(z), s.Lambda(z))
	}
	starts := []func() ([]float64, error){func() ([]float64, error) { return make([]float64, p.Dy), nil }}
	if v.opts.Begin != nil {
		starts = append([]func() ([]float64, error){func() ([]float64, error) { return v.opts.Begin(ctx, x) }}, starts...)
	}
	err := errNotFinite
	for _, start := range starts {
		y, failed := start()
		if failed != nil {
			err = failed
			break
		}
		if y == nil {
			continue
		}
		if v.follower == nil {
			a, failed := v.newAnswers(x, y)
			if failed != nil {
				err = failed
				continue
			}
			v.follower = a
		}
		pt, failed := v.answer(ctx, x, y)
		if failed == nil {
			return pt, nil
		}
		err = failed
		break
	}
	return nil, err
}

// answer is the point with the follower's answer to x, found from y.
func (v *Solver) answer(ctx context.Context, x, y []float64) (*point, error) {
	before := v.follower.qp.Work
	y, lambda, err := v.follower.solve(ctx, x, y)
	if err == nil {
		y, lambda = v.follower.refined(ctx, x, y, lambda)
		v.within(y)
	}
	v.work += v.follower.qp.Work - before
	if err != nil {
		return nil, err
	}
	return v.complete(x, y, lambda)
}

// within takes rounding beyond bounds off entries of y.
func (v *Solver) within(y []float64) {
	rows := v.p.Rows
	for i := range rows.Kind {
		j, coef := rows.Bound(i)
		if _, read := rows.A.Row(i); j < 0 || len(read) > 0 {
			continue
		}
		if end := -rows.Rhs[i] / coef; coef > 0 {
			y[j] = math.Max(y[j], end)
		} else {
			y[j] = math.Min(y[j], end)
		}
	}
}

func (v *Solver) complete(x, y, lambda []float64) (*point, error) {
	own := func(t []float64) []float64 { return append([]float64(nil), t...) }
	return v.evaluate(x, own(y), own(lambda))
}

// penalties are such that a unit of violation costs what f changes by along the way that changes a constraint by one. The gradient of a constraint may vanish at a point: then that it changes by its
// value over the size of the point tells; where a penalty is too small it grows (steered).
func (v *Solver) penalties(pt *point) elastic {
	out, size := make(elastic, len(v.kinds)), math.Max(1, math.Max(norm(pt.x), norm(pt.y)))
	for i, row := range pt.jac {
		steep := math.Max(norm(row), math.Abs(pt.c[i])/size)
		if steep == 0 {
			steep = 1
		}
		out[i] = math.Max(1, norm(pt.grad)/steep)
	}
	return out
}

func norm(v []float64) float64 {
	top := 0.0
	for _, t := range v {
		top = math.Max(top, math.Abs(t))
	}
	return top
}

// violating reports that a constraint is violated by more than rows are kept to, relative to its terms.
func (v *Solver) violating(pt *point) bool {
	for i, c := range pt.c {
		if v.kinds[i] == problem.Equal {
			c = math.Abs(c)
		}
		if c > kkt.Tolerance*v.termsOf(pt, i) {
			return true
		}
	}
	return false
}

// termsOf is the size of the terms of constraint i at a point: its value, and what its slopes make of the point.
func (v *Solver) termsOf(pt *point, i int) float64 {
	size := math.Abs(pt.c[i])
	for j, t := range pt.jac[i] {
		size += math.Abs(t * v.entry(pt, j))
	}
	return size
}

// entry is entry j of (x, y, the multipliers that f reads).
func (v *Solver) entry(pt *point, j int) float64 {
	switch p := v.p; {
	case j < p.Dx:
		return pt.x[j]
	case j < p.Dx+p.Dy:
		return pt.y[j-p.Dx]
	default:
		return pt.lambda[p.Duals[j-p.Dx-p.Dy]]
	}
}

// sub is a solved subproblem.
type sub struct {
	s       *kkt.System
	p       *kkt.Point
	promise float64 // by how much the model falls
	terms   float64 // the size of the terms that f and the fall are sums of
	length  float64 // of the step in x, in units of x
	elastic float64 // the sum of violations that are left, by their penalties
}

// subproblem solves the QPEC at st.
func (v *Solver) subproblem(ctx context.Context, st *state, penalty elastic) (*sub, error) {
	pt := st.pt
	region := &trust{x: make([]float64, len(pt.x))}
	for j := range region.x {
		region.x[j] = st.delta * v.unit[j]
	}
	hess := st.convex
	if st.tied && st.delta < st.first {
		hess = v.dragged(st)
	}
	if len(v.kinds) == 0 {
		penalty = nil
	}
	s, err := kkt.New(v.model(pt, hess, region, penalty))
	if err != nil {
		return nil, err
	}
	solver, err := pieces.New(s, pieces.Options{})
	if err != nil {
		return nil, err
	}
	z := v.start(s, pt)
	branch, _ := s.BranchAt(z)
	out := &sub{s: s}
	out.p, err = solver.Improve(ctx, z, branch)
	v.work += solver.Work()
	if out.p == nil || err != nil && !errors.Is(err, pieces.ErrStalled) {
		if err == nil {
			err = pieces.ErrStalled
		}
		return nil, err
	}
	here := s.Value(z)
	out.promise, out.terms = here-out.p.F, math.Abs(here)
	grad := make([]float64, s.N)
	s.Gradient(grad, z)
	for j, g := range grad {
		out.terms += math.Abs(g) * math.Max(math.Abs(z[j]), math.Abs(out.p.Z[j]-z[j]))
	}
	for j, t := range pt.x {
		out.length = math.Max(out.length, math.Abs(out.p.Z[j]-t)/v.unit[j])
	}
	if penalty != nil {
		k := v.p.Dx
		for i, kind := range v.kinds {
			out.elastic += penalty[i] * out.p.Z[k]
			if k++; kind == problem.Equal {
				out.elastic += penalty[i] * out.p.Z[k]
				k++
			}
		}
	}
	return out, nil
}

// dragged is the Hessian with a weight on how far y moves where x does not determine it: as if y had a trust region of its own, beyond which the weight costs more than f changes.
func (v *Solver) dragged(st *state) *sparse.CSR {
	p := v.p
	n := p.Dx + p.Dy + len(p.Duals)
	entries := make([]sparse.Entry, 0, p.Dy)
	top := math.Max(1, norm(st.pt.y))
	weight := norm(st.pt.grad) / (top * st.delta / st.first)
	for j := range p.Dy {
		entries = append(entries, sparse.Entry{Row: p.Dx + j, Col: p.Dx + j, Val: weight})
	}
	drag := sparse.FromEntries(n, n, entries)
	if st.convex == nil {
		return drag
	}
	return sparse.Add(1, st.convex, 1, drag)
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
	w.adjoint = append([]float64(nil), m.Adjoint...)
	w.rows = append(make([]float64, 0, len(v.kinds)), m.Coupled...)
	w.bound, w.upper, w.extended = append([]float64(nil), m.Bound[:v.p.Dx]...), m.UpperRows, m.Extended
	for j, t := range w.bound {
		x, lo, hi := q.p.Z[j], math.Inf(-1), math.Inf(1)
		if v.p.X.Lo != nil {
			lo, hi = v.p.X.Lo[j], v.p.X.Hi[j]
		}
		if x != lo && x != hi { // of the trust region
			w.bound[j] = 0
		}
		w.size = math.Max(w.size, math.Abs(t)*v.unit[j])
	}
	return w, finite(w.adjoint) && finite(w.rows)
}

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
		if hess, err := v.lagrangian(st.pt, &st.w); err == nil && finite(hess.Val) {
			st.hess, st.convex = hess, hess
		}
	}
	return nil
}

// steered solves the subproblem with penalties that are large enough: they grow as long as that lowers the violation which the subproblem leaves.
func (v *Solver) steered(ctx context.Context, st *state) (*sub, error) {
	q, err := v.subproblem(ctx, st, st.penalty)
	if err != nil || len(v.kinds) == 0 {
		return q, err
	}
	for q.elastic > kkt.Tolerance*q.terms {
		more := make(elastic, len(st.penalty))
		for i, t := range st.penalty {
			more[i] = stiffer * t
		}
		if math.IsInf(norm(more), 0) {
			return q, nil
		}
		next, err := v.subproblem(ctx, st, more)
		if err != nil {
			return nil, err
		}
		if next.elastic/stiffer > (1-least)*q.elastic {
			return q, nil
		}
		st.penalty, q = more, next
	}
	return q, nil
}

// descend goes from st to a point that is stationary. What it had reached comes with pieces.ErrStalled, where rounding ends it.
func (v *Solver) descend(ctx context.Context, st *state) (*kkt.Point, error) {
	if err := v.linearize(st); err != nil {
		return nil, err
	}
	before := math.Inf(1)
	var end *pieces.Examined           // the most stationary point that was examined
	escapes := v.p.Dx + v.p.Rows.Len() // a way of negative curvature ends at a constraint: as many of them as there are constraints lead somewhere else, or nowhere
	for round := 1; round <= rounds; round++ {
		q, err := v.steered(ctx, st)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			if st.delta /= 4; st.delta < 0x1p-52*st.first {
				return nil, err
			}
			continue
		}
		if round == 1 {
			if w, ok := v.multipliers(q); ok { // the Hessian of the Lagrangian, now that there are multipliers
				st.w = w
				if err := v.linearize(st); err != nil {
					return nil, err
				}
				if again, err := v.steered(ctx, st); err == nil {
					q = again
				}
			}
		}
		phi := st.pt.f + v.violation(st.pt.c, st.penalty)
		if v.opts.Observer != nil {
			v.opts.Observer(pieces.Step{Round: round, F: st.pt.f, Measure: math.Max(0, q.promise) / math.Max(q.terms, 0x1p-1022), Biactive: len(q.p.Biactive)})
		}
		if !(q.promise > roundings*q.terms) || st.delta < flat*st.first { // a region so small tells of values that are all rounding, too
			if !st.fine {
				st.fine = true
				if err := v.linearize(st); err != nil {
					return nil, err
				}
				continue
			}
			// Values of phi tell no more. Steps go on as long as they make the point more stationary, or lead away from a saddle point.
			seen, err := v.examine(ctx, st)
			if err != nil {
				return nil, err
			}
			if end == nil || seen.Measure < end.Measure {
				end = seen
			}
			trial, err := v.try(ctx, st, q)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if !(seen.Measure < before/2) || seen.Measure == 0 || err != nil || trial.f+v.violation(trial.c, st.penalty) > phi+64*roundings*q.terms {
				p := end.Point
				if p.Multipliers == nil && len(p.Leaves) == 0 {
					return p, pieces.ErrStalled
				}
				if end.Away == nil || escapes == 0 {
					return p, nil
				}
				escapes--
				if trial = v.away(ctx, st, end.Away, phi); trial == nil {
					return p, nil
				}
				st.delta = math.Max(st.delta, v.distance(trial, st.pt))
				seen, end = &pieces.Examined{Measure: math.Inf(1)}, nil
			}
			before = seen.Measure
			if err := v.move(st, q, trial); err != nil {
				return nil, err
			}
			continue
		}
		trial, ratio := v.judged(ctx, st, q, phi)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if trial == nil || ratio < poor {
			if corrected, better := v.corrected(ctx, st, q, trial, phi); better > ratio {
				trial, ratio = corrected, better
			}
		}
		reached := q.length >= st.delta*(1-0x1p-20)
		switch {
		case !(ratio >= poor):
			st.delta = math.Min(st.delta, q.length) / 4
		case ratio > good && reached:
			st.delta *= 2
		}
		if trial != nil && ratio > accept {
			if err := v.move(st, q, trial); err != nil {
				return nil, err
			}
		}
	}
	seen, err := v.examine(ctx, st)
	if err != nil {
		return nil, err
	}
	p := seen.Point
	if p.Multipliers == nil && len(p.Leaves) == 0 {
		err = pieces.ErrStalled
	}
	return p, err
}

// judged is the trial point of a subproblem and what part of the promised fall it kept; nil and -1 where there is none.
func (v *Solver) judged(ctx context.Context, st *state, q *sub, phi float64) (*point, float64) {
	trial, err := v.try(ctx, st, q)
	if err != nil {
		return nil, -1
	}
	noise := roundings * q.terms
	return trial, (phi - trial.f - v.violation(trial.c, st.penalty) + noise) / (q.promise + noise)
}

// corrected tries a second-order correction: the subproblem with the constraints' values at the rejected trial point (Fletcher 1982; Nocedal and Wright 2006, section 18.3).
func (v *Solver) corrected(ctx context.Context, st *state, q *sub, trial *point, phi float64) (*point, float64) {
	if trial == nil || len(v.kinds) == 0 {
		return nil, -1
	}
	shifted := *st.pt
	shifted.c = make([]float64, len(v.kinds))
	for i := range shifted.c {
		shifted.c[i] = trial.c[i]
		for j, t := range st.pt.jac[i] {
			shifted.c[i] -= t * (v.entry(trial, j) - v.entry(st.pt, j))
		}
	}
	moved := *st
	moved.pt = &shifted
	next, err := v.subproblem(ctx, &moved, st.penalty)
	if err != nil {
		return nil, -1
	}
	next.promise, next.terms = q.promise, q.terms
	return v.judged(ctx, st, next, phi)
}

// try is the true problem's point at the x of a subproblem's solution.
func (v *Solver) try(ctx context.Context, st *state, q *sub) (*point, error) {
	p, s := v.p, q.s
	x := append([]float64(nil), q.p.Z[:p.Dx]...)
	for j := range x {
		if p.X.Lo != nil {
			x[j] = math.Min(math.Max(x[j], p.X.Lo[j]), p.X.Hi[j])
		}
	}
	if p.Facts.JointlyQuadratic {
		return v.complete(x, s.Y(q.p.Z), s.Lambda(q.p.Z))
	}
	pt, err := v.answer(ctx, x, s.Y(q.p.Z))
	if errors.Is(err, errNotFinite) { // the model's answer is beyond the domain of g
		pt, err = v.answer(ctx, x, st.pt.y)
	}
	return pt, err
}

// move takes a trial point.
func (v *Solver) move(st *state, q *sub, trial *point) error {
	st.pt = trial
	if w, ok := v.multipliers(q); ok {
		st.w = w
	}
	return v.linearize(st)
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
	if s, err = kkt.New(p); err != nil || !v.mayTie() {
		return s, own, err
	}
	z := v.start(s, pt)
	lo := *pt.lower
	if lo.h, err = v.ranked(pt, s.SignsAt(z).Mult); err != nil {
		return nil, false, err
	}
	p.G = &follower{pt.x, pt.y, &lo}
	s, err = kkt.New(p)
	return s, own, err
}

// Begin is the follower's answer to x, with its multipliers, where nothing is known of it.
func (v *Solver) Begin(ctx context.Context, x []float64) (y, lambda []float64, err error) {
	pt, err := v.begin(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	return pt.y, pt.lambda, nil
}

// Answer is the follower's answer to x, with its multipliers, found from y.
func (v *Solver) Answer(ctx context.Context, x, y []float64) (answer, lambda []float64, err error) {
	if v.follower == nil {
		if v.follower, err = v.newAnswers(x, y); err != nil {
			return nil, nil, err
		}
	}
	pt, err := v.answer(ctx, x, y)
	if err != nil {
		return nil, nil, err
	}
	return pt.y, pt.lambda, nil
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
	return kkt.New(v.model(pt, st.hess, nil, nil))
}

// away is a lower point on the way from st to a point of the model, or the opposite; nil where phi does not fall by what decides anything else.
func (v *Solver) away(ctx context.Context, st *state, z []float64, phi float64) *point {
	pt := st.pt
	if st.tied { // the way is one of x, which does not say what y does
		return nil
	}
	if v.follower == nil {
		made, err := v.newAnswers(pt.x, pt.y)
		if err != nil {
			return nil
		}
		v.follower = made
	}
	noise := kkt.Tolerance * math.Max(math.Abs(phi), norm(pt.grad))
	for t := 1.0; t > 0x1p-20; t /= 2 {
		for _, way := range []float64{t, -t} {
			x := make([]float64, len(pt.x))
			for j := range x {
				x[j] = pt.x[j] + way*(z[j]-pt.x[j])
				if v.p.X.Lo != nil {
					x[j] = math.Min(math.Max(x[j], v.p.X.Lo[j]), v.p.X.Hi[j])
				}
			}
			if v.outside(x) {
				continue
			}
			trial, err := v.answer(ctx, x, pt.y)
			if err == nil && trial.f+v.violation(trial.c, st.penalty) < phi-noise {
				return trial
			}
		}
	}
	return nil
}

// outside reports that x violates a row of X.
func (v *Solver) outside(x []float64) bool {
	for i, kind := range v.p.X.Kind {
		r, terms := v.p.X.E.RowDot(i, x)-v.p.X.Rhs[i], math.Abs(v.p.X.Rhs[i])
		cols, vals := v.p.X.E.Row(i)
		for t, j := range cols {
			terms += math.Abs(vals[t] * x[j])
		}
		if kind == problem.Equal {
			r = math.Abs(r)
		}
		if r > kkt.Tolerance*terms {
			return true
		}
	}
	far := false
	v.p.X.Extended.Each(x, func(int) float64 { return 0 }, func(_ int, excess, terms float64) { far = far || excess > kkt.Tolerance*terms })
	return far
}

// distance of two points in x, in units of x.
func (v *Solver) distance(a, b *point) (most float64) {
	for j, t := range a.x {
		most = math.Max(most, math.Abs(t-b.x[j])/v.unit[j])
	}
	return most
}

// examine looks at the point of st for what shows that it is stationary.
func (v *Solver) examine(ctx context.Context, st *state) (*pieces.Examined, error) {
	if v.violating(st.pt) {
		return nil, ErrNoPoint
	}
	s, err := kkt.New(v.model(st.pt, st.hess, nil, nil))
	if err != nil {
		return nil, err
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
