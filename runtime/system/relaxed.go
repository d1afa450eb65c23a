package system

import (
	"context"
	"errors"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/relaxation"
	"bilevelc/runtime/tolerance"
)

// from is the local solution that start k, x, leads to: of the first, the point that the high-point relaxation shows (relaxed), where there is one, or the lowest of what x, the relaxation's x and the end of the path of F lead to: x first where the caller said so, last else.
func (run *Run) from(ctx context.Context, k int, x []float64) (*kkt.Point, error) {
	if k > 0 {
		return run.local.From(ctx, x)
	}
	p, beside, err := run.relaxed(ctx, x)
	if p != nil || err != nil {
		return p, err
	}
	limit := int64(tolerance.Second) // of the work on starts that nobody asked for: about a second, or where those before have no certificate as much again as they took
	spent := func() bool {           // nor is a local solution the end that an answer to one of the starts is better than
		return p != nil && run.local.Work() >= limit && !(run.lowest != nil && run.lowest.F < p.F-tolerance.Sign*math.Abs(p.F))
	}
	given := func() ([]float64, error) { return x, nil }
	support := func() ([]float64, error) { return beside, nil }
	starts := []func() ([]float64, error){given, support}
	path := func() ([]float64, error) { return run.ahead(ctx, x) }
	switch {
	case run.n.Coupled != nil: // its path is one of the constraints alone
		starts = append(starts, func() ([]float64, error) {
			if p != nil {
				return nil, nil
			}
			return path()
		})
	case run.opts.Open:
		starts = []func() ([]float64, error){path, support, given}
	}
	reached := x
	for _, begin := range starts {
		if spent() || ctx.Err() != nil {
			break
		}
		at, failed := begin()
		if at == nil || failed != nil {
			continue
		}
		if reached = at; ctx.Err() != nil {
			break
		}
		lowest := math.Inf(1)
		if p != nil {
			lowest = p.F
		}
		var q *kkt.Point
		ended, failed := run.bounded(ctx, lowest, spent, func(ctx context.Context) (err error) {
			q, err = run.local.From(ctx, at)
			return err
		})
		if !ended && (p == nil || q != nil && (failed == nil || errors.Is(failed, pieces.ErrStalled)) && better(q, failed, p, err)) {
			p, err = q, failed
		}
		if err != nil {
			limit = max(limit, 2*run.local.Work())
		}
	}
	if ctx.Err() != nil {
		if p == nil && run.lowest == nil && run.Smooth != nil { // before a local solve had a point: the follower's answer is one, and takes little beside a path
			run.answered(context.WithoutCancel(ctx), reached, nil)
		}
		if q := run.lowest; q != nil && (p == nil || q.F < p.F) {
			p = q
		}
	}
	return p, err
}

// relaxed is a point of the system at a minimizer (x, y) of the high-point relaxation, where it is stationary with the relaxation's multipliers: no point of the rows of both levels near it has a lower f.
// y has to be the follower's answer to x: to the x of the minimizer that was found, or to another one that f does not tell from it (supported). Where it is neither, that x is beside it; nil where there is none. x is where the search begins; p is nil where there is none, the
// system is too large, f is quadratic and the system linear (package tree has bounds for it), or f has slopes without end, of which a relaxation knows nothing.
func (run *Run) relaxed(ctx context.Context, x []float64) (p *kkt.Point, beside []float64, err error) {
	if run.Smooth == nil && (run.System.Objective == nil || run.System.Objective.Known) || run.Smooth != nil && (Size(run.n) > Largest || len(run.n.Facts.Steep) > 0) {
		return nil, nil, nil
	}
	r := relaxation.New(run.n)
	if r == nil {
		return nil, nil, nil
	}
	s, z, err := run.answered(ctx, x, nil)
	if z == nil || err != nil {
		return nil, nil, err
	}
	least, err := r.Minimize(ctx, x, s.Y(z))
	if err != nil || least == nil {
		return nil, nil, err
	}
	run.above, run.floor = r, least.F
	if p, _, err = run.shown(ctx, least, least.X, nil); p != nil || err != nil {
		return p, nil, err
	}
	at, lambda := run.supported(ctx, least)
	if at == nil {
		return nil, nil, nil
	}
	return run.shown(ctx, least, at, lambda)
}

// atFloor reports that the best point has no higher F than the minimizer of the high-point relaxation that the first start has led to.
func (run *Run) atFloor() bool {
	return run.above != nil && run.Best != nil && run.Best.F <= run.floor+tolerance.Sign*math.Abs(run.floor)
}

// covers reports that a start is not worth making: the best point has the F of a minimizer of the high-point relaxation, and the one that the start's x and the follower's answer lead to there is no lower.
// All points of the rows of both levels on that way have more.
func (run *Run) covers(ctx context.Context, at start) bool {
	if !run.atFloor() {
		return false
	}
	s, z := run.System, at.z
	if z == nil {
		var err error
		if s, z, err = run.answered(ctx, at.x, nil); z == nil || err != nil {
			return false
		}
	}
	least, err := run.above.Minimize(ctx, at.x, s.Y(z))
	return err == nil && least != nil && least.F >= run.floor-tolerance.Sign*math.Abs(run.floor)
}

// answered is the follower's answer to x as a point of the system, or of the system linearized there; nil where there is none. y, optional, is where the search for it begins.
func (run *Run) answered(ctx context.Context, x, y []float64) (_ *kkt.System, _ []float64, err error) {
	defer must.Catch(&err)
	if run.Smooth == nil {
		whole := must.Get(run.Whole())
		z, status := whole.Follower().Solve(ctx, x)
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if status != activeset.Optimal {
			z = nil
		}
		return run.System, z, nil
	}
	var lambda []float64
	if y == nil {
		y, lambda, err = run.Smooth.Begin(ctx, x)
	} else {
		y, lambda, err = run.Smooth.Answer(ctx, x, y)
	}
	if err != nil {
		return nil, nil, ctx.Err() // a solve from there says why
	}
	s, _, err := run.Smooth.Linearized(x, y, lambda)
	if err != nil {
		return nil, nil, nil
	}
	z := make([]float64, s.N)
	copy(z, x)
	copy(s.Y(z), y)
	copy(s.Lambda(z), lambda)
	if f := s.Value(z); run.n.Coupled == nil && (run.lowest == nil || f < run.lowest.F) {
		run.lowest = &kkt.Point{Z: z, F: f}
	}
	return s, z, nil
}

// admitted is the point of X nearest to x, where the follower has no bound, at which there are y and multipliers that meet all of the system but complementarity: there it has an answer (duality). nil where
// there is none, or some of x is whole. A system that is not linear is linearized at x and y = 0.
func (run *Run) admitted(ctx context.Context, x []float64) ([]float64, error) {
	s := run.System
	switch {
	case run.n.Integer != nil:
		return nil, nil
	case run.Smooth != nil:
		var err error
		if s, _, err = run.Smooth.Linearized(x, make([]float64, run.n.Dy), make([]float64, run.n.Rows.Len())); err != nil {
			return nil, err
		}
	}
	found := activeset.Once(ctx, nearest(s, x, func(j int) float64 { return s.ColScale[j] * s.ColScale[j] }))
	if found.Status != activeset.Optimal {
		return nil, ctx.Err()
	}
	return run.inX(s.X(s.Unscaled(found.Z)))
}

// inX is the nearest point of X: minimizers of the relaxation, and what supports them, keep its rows to the tolerances of their solvers only.
func (run *Run) inX(x []float64) ([]float64, error) {
	out := make([]float64, len(x))
	return out, run.projector.ProjectUpper(out, x)
}

// shown is the point of the system with the follower's answer to the point of X nearest to x, at, where the relaxation's multipliers show it stationary; nil where they do not. lambda, optional, are multipliers that may
// make the relaxation's own y an answer.
func (run *Run) shown(ctx context.Context, least *relaxation.Point, x, lambda []float64) (p *kkt.Point, at []float64, err error) {
	if at, err = run.inX(x); err != nil {
		return nil, nil, err
	}
	s, z := run.own(at, least.Y, lambda)
	if z == nil {
		s, z, err = run.answered(ctx, at, least.Y)
	}
	if z == nil || err != nil {
		return nil, at, err
	}
	m := &kkt.Multipliers{Adjoint: make([]float64, s.Ny), Slack: append([]float64(nil), least.Lower...), Lambda: make([]float64, s.M), Bound: append([]float64(nil), least.Bound...)}
	if len(least.Upper) > 0 {
		m.UpperRows = append([]float64(nil), least.Upper...)
	}
	if m.Coupled = append([]float64(nil), least.Coupled...); m.Coupled != nil && !run.above.Holds(s.X(z), s.Y(z)) {
		return nil, at, nil
	}
	s.Settle(m, z)
	if residual, size := s.Residual(m, z); !(residual <= tolerance.Sign*size) {
		return nil, at, nil
	}
	p = &kkt.Point{Z: z, Multipliers: m, SecondOrder: kkt.NotChecked}
	p.Branch, p.Biactive = s.OntoBranch(z)
	p.F = s.Value(z)
	return p, at, nil
}

// supported is an x with the same entries as that of a minimizer of the relaxation where f feels them, and the same A x, for which there are multipliers of the follower with y,
//
//	grad_y g(x, y) = B'lambda,   lambda >= 0, = 0 on rows with slack,
//
// as tolls that make the flows of least cost the travellers' own (Hearn and Ramana 1998). Where there is none it is one that misses by least: where f does not tell y from others, as flows of several kinds from those with the same sums, another of them is met.
// Where grad_y g is not affine in x these are steps of Newton's method, as long as each is less than half as long as the one before (Deuflhard 2011, sec. 2.1).
func (run *Run) supported(ctx context.Context, least *relaxation.Point) (x, lambda []float64) {
	at, before := *least, math.Inf(1)
	for {
		x, lambda = run.supportedNext(ctx, &at)
		if x == nil || run.Smooth == nil {
			return x, nil
		}
		length := linalg.Distance(x, at.X)
		if at.X = x; !(length < before/2) || !(length > tolerance.Roundoff*linalg.Norm(x)) {
			return x, lambda
		}
		before = length
	}
}

// own is (x, y, lambda) as a point of the system linearized there, nil where the rows' multipliers do not make up grad_y g to what rounding leaves of the terms of both: a solve of the follower may end elsewhere, as which of
// its answers are best is rounding then.
func (run *Run) own(x, y, lambda []float64) (*kkt.System, []float64) {
	if lambda == nil {
		return nil, nil
	}
	s, _, err := run.Smooth.Linearized(x, y, lambda)
	if err != nil {
		return nil, nil
	}
	z := slices.Concat(x, y, lambda)
	forces := make([]float64, run.n.Dy)
	run.n.G.GradY(forces, x, y)
	down := run.n.Rows.B.T()
	for i, g := range forces {
		terms := down.AddTerms(s.H.AddTerms(s.G.AddTerms(math.Abs(g), i, x), i, y), i, lambda)
		if math.Abs(g-down.RowDot(i, lambda)) > tolerance.Rounded*terms {
			return nil, nil
		}
	}
	return s, z
}

// supportedNext is the x of supported with grad_y g as it is to first order at a point, and the multipliers.
func (run *Run) supportedNext(ctx context.Context, least *relaxation.Point) (x, lambda []float64) {
	n := run.n
	s := run.System
	if run.Smooth != nil {
		var err error
		if s, _, err = run.Smooth.Linearized(least.X, least.Y, make([]float64, n.Rows.Len())); err != nil {
			return nil, nil
		}
	}
	z := make([]float64, s.N)
	copy(z, least.X)
	copy(s.Y(z), least.Y)
	grad, fx, fy := make([]float64, n.Dy), make([]float64, n.Dx), make([]float64, n.AnswerLen())
	n.G.GradY(grad, least.X, least.Y)
	n.F.ValueGrad(fx, fy, least.X, n.Answer(least.Y, nil))
	// Variables: x - least.X, lambda, and by how much an entry of the forces is missed, in units of the largest.
	last := n.Dx + n.Rows.Len()
	q := &activeset.Program{N: last + 1, C: make([]float64, last+1), A: sparse.Empty(last + 1)}
	q.C[last] = 1
	for j, v := range least.X {
		lo, hi := n.X.Box(j)
		if lo, hi = math.Min(0, lo-v), math.Max(0, hi-v); fx[j] != 0 {
			lo, hi = 0, 0
		}
		q.Lo, q.Hi = append(q.Lo, lo), append(q.Hi, hi)
	}
	slack, terms := make([]float64, s.M), make([]float64, s.M)
	s.Slack(slack, terms, z)
	for i, kind := range n.Rows.Kind {
		lo, hi := 0.0, math.Inf(1)
		switch {
		case kind == problem.Equal:
			lo = math.Inf(-1)
		case slack[i] > math.Sqrt(tolerance.Sign)*math.Max(terms[i], 1): // minimizers are found to half of the digits of f
			hi = 0
		}
		q.Lo, q.Hi = append(q.Lo, lo), append(q.Hi, hi)
	}
	row := func(lo, hi float64) {
		q.A.EndRow()
		q.RowLo, q.RowHi = append(q.RowLo, lo), append(q.RowHi, hi)
	}
	q.Lo, q.Hi = append(q.Lo, 0), append(q.Hi, math.Inf(1))
	down, force := n.Rows.B.T(), linalg.NormInf(grad)
	for i, g := range grad {
		for _, side := range []float64{1, -1} {
			for j, v := range s.G.Entries(i) {
				q.A.Append(j, side*v)
			}
			for k, v := range down.Entries(i) {
				q.A.Append(n.Dx+k, -side*v)
			}
			q.A.Append(last, force)
			row(-side*g, math.Inf(1))
		}
	}
	for i := range n.Rows.Kind {
		if cols, vals := n.Rows.A.Row(i); len(cols) > 0 {
			q.A.AppendAll(cols, vals)
			row(0, 0)
		}
	}
	for i, kind := range n.X.Kind {
		q.A.AppendAll(n.X.E.Row(i))
		room := n.X.Rhs[i] - n.X.E.RowDot(i, least.X)
		if kind == problem.Equal {
			row(room, room)
		} else {
			row(math.Inf(-1), math.Max(0, room))
		}
	}
	sol := activeset.Once(ctx, q)
	if sol.Status != activeset.Optimal {
		return nil, nil
	}
	x = append(x, least.X...)
	for j := range x {
		x[j] += sol.Z[j]
	}
	n.X.Clamp(x)
	return x, sol.Z[n.Dx:last]
}
