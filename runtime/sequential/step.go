package sequential

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/reduced"
	"bilevelc/runtime/tolerance"
)

// Where a step brings less than tolerance.TrustPoor of the fall of phi that is promised the trust region shrinks to a quarter, and doubles above 1-tolerance.TrustPoor.

// least is the part of a violation by which a penalty that grew has to lower it (Byrd, Nocedal and Waltz 2008).
const least = 0.1

// state is where a solve stands.
type state struct {
	pt       *point
	w        weights
	delta    float64 // of the trust region, in units of x
	first    float64 // the one that it began with
	from     float64 // the size of what f reads at the start
	penalty  elastic
	kept     *point             // the one so far that violates the leader's constraints least
	falls    bool               // a ray of the system itself was found
	far      bool               // it has gone half of the way, in digits, to where it ends as one without end
	hidden   float64            // the terms of the gradient that subproblems go by over those of the certificate, as it was last seen; 0 before
	fine     bool               // derivatives are to be as exact as they can be: the end is near
	vertices bool               // subproblems look at all vertices of the follower's multipliers: with those at hand there is no step from pt
	hess     *sparse.CSR        // of the Lagrangian at pt; nil where it is not known
	made     func() *sparse.CSR // the one that stands for it in subproblems, see convex; nil where it is not known
	seen     *pieces.Examined   // what was seen at pt; nil before
	tied     bool               // x alone does not determine y next to pt
	end      *reduced.State     // of the last subproblem in the leader's space
}

// From is the local solution that the follower's answer to x leads to.
func (v *Solver) From(ctx context.Context, x []float64) (_ *kkt.Point, err error) {
	defer must.Catch(&err)
	if v.over != nil {
		p, err := v.over.From(ctx, x)
		return v.sums.point(p, v.p.Dx), v.sums.err(err, v.p.Dx)
	}
	pt := must.Get(v.begin(ctx, x))
	return v.descendFrom(ctx, pt)
}

// Improve is the local solution that x leads to with y, one of the follower's answers there, and its multipliers, of a g that is quadratic in x and y: the one that begins elsewhere need not be one that the leader's
// constraints allow.
func (v *Solver) Improve(ctx context.Context, x, y, lambda []float64) (_ *kkt.Point, err error) {
	defer must.Catch(&err)
	pt := must.Get(v.complete(slices.Clone(x), y, lambda))
	v.unit = kkt.Units(x)
	return v.descendFrom(ctx, pt)
}

// descendFrom goes from a point to one that is stationary, with a trust region as large as x. Where the context ends the last point comes with its cause, and with pieces.ErrStalled where functions next to it are not finite.
func (v *Solver) descendFrom(ctx context.Context, pt *point) (*kkt.Point, error) {
	if v.pieces != nil { // where a solve leads depends on its start alone
		v.pieces.Forget()
	}
	st := &state{pt: pt, w: v.noWeights(), delta: 1}
	for j, t := range pt.x {
		st.delta = math.Max(st.delta, math.Abs(t)/v.unit[j])
	}
	st.first, st.from = st.delta, v.sizeRead(pt)
	st.penalty, st.kept = v.penalties(pt), pt
	p, err := v.descend(ctx, st)
	// Where the violation is stationary and was less on the way the penalties, which promised a fall of phi, are too small to be exact: with ones for which phi is higher at the end than where it was least
	// the way from there does not lead to that end (Nocedal and Wright 2006, section 18.5).
	for errors.Is(err, ErrNoPoint) {
		lost, all := v.violation(st.pt.c, st.penalty)-v.violation(st.kept.c, st.penalty), v.violation(st.pt.c, st.penalty)
		if !(lost > least*all) {
			break
		}
		by := math.Max(1/tolerance.MuShrink, 2*(st.kept.f-st.pt.f)/lost)
		more := each.Of(st.penalty, func(t float64) float64 { return by * t })
		if math.IsInf(linalg.NormInf(more), 0) {
			break
		}
		st = &state{pt: st.kept, kept: st.kept, w: v.noWeights(), delta: st.first, first: st.first, from: st.from, penalty: more}
		p, err = v.descend(ctx, st)
	}
	if !st.falls && errors.As(err, new(*pieces.Unbounded)) {
		err = errNoModel
	}
	if p == nil && v.violation(st.pt.c, st.penalty) == 0 && !errors.As(err, new(*pieces.Unbounded)) && !errors.Is(err, pieces.ErrEndless) {
		p = &kkt.Point{Z: slices.Concat(st.pt.x, st.pt.y, st.pt.lambda), F: st.pt.f, SecondOrder: kkt.NotChecked}
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", pieces.ErrStalled, err)
		}
	}
	return p, err
}

// penalties are such that a unit of violation costs what f changes by along the way that changes a constraint by one. The gradient of a constraint may vanish at a point: then that it changes by its
// value over the size of the point tells; where a penalty is too small it grows (steered).
func (v *Solver) penalties(pt *point) elastic {
	out, size := make(elastic, len(v.kinds)), math.Max(1, math.Max(linalg.NormInf(pt.x), linalg.NormInf(pt.y)))
	for i, row := range pt.jac {
		steep := math.Max(linalg.NormInf(row), math.Abs(pt.c[i])/size)
		if steep == 0 {
			steep = 1
		}
		out[i] = math.Max(1, linalg.NormInf(pt.grad)/steep)
	}
	return out
}

// steered solves the subproblem with penalties that are large enough: they grow as long as that lowers the violation which the subproblem leaves, and until phi falls by a part of what it lowers it by: of penalties
// that are the multipliers phi is flat (Byrd, Nocedal and Waltz 2008).
func (v *Solver) steered(ctx context.Context, st *state) (_ *sub, err error) {
	defer must.Catch(&err)
	q, err := v.subproblem(ctx, st, st.pt, st.penalty)
	if err != nil || len(v.kinds) == 0 {
		return q, err
	}
	violating := v.violating(st.pt)
	for q.violates || violating && q.promise < least*(v.violation(st.pt.c, st.penalty)-q.elastic) {
		more := each.Of(st.penalty, func(t float64) float64 { return 1 / tolerance.MuShrink * t })
		if math.IsInf(linalg.NormInf(more), 0) {
			return q, nil
		}
		next := must.Get(v.subproblem(ctx, st, st.pt, more))
		if q.violates && tolerance.MuShrink*next.elastic > (1-least)*q.elastic {
			return q, nil
		}
		st.penalty, q = more, next
	}
	return q, nil
}

// descend goes from st to a point that is stationary. What it had reached comes with pieces.ErrStalled, where rounding ends it.
func (v *Solver) descend(ctx context.Context, st *state) (_ *kkt.Point, err error) {
	defer must.Catch(&err)
	must.Do(v.linearize(st))
	if v.opts.Large { // the multipliers of the branch at the start (Nocedal and Wright 2006, eq. 18.21)
		if w, ok := v.estimate(ctx, st); ok {
			st.w = w
			must.Do(v.linearize(st))
		}
	}
	before := math.Inf(1)
	near := false                      // the last step promised no more than a certificate may leave: it has left of the gradient about as little
	still := false                     // the last step was taken for what rounding hides of its fall: phi is no lower
	var end *pieces.Examined           // the most stationary point that was examined
	escapes := v.p.Dx + v.p.Rows.Len() // a way of negative curvature ends at a constraint: as many of them as there are constraints lead somewhere else, or nowhere
	for round := 1; round <= tolerance.Steps; round++ {
		if v.opts.Large && (st.fine || near) { // a subproblem takes longer than a look at the point
			if seen, err := v.examine(ctx, st); err == nil && seen.Point.Multipliers != nil && seen.Point.AllVertices {
				return seen.Point, nil
			}
		}
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
		if round == 1 && !v.opts.Large {
			if w, ok := v.multipliers(q); ok { // the Hessian of the Lagrangian, now that there are multipliers
				st.w = w
				must.Do(v.linearize(st))
				if again, err := v.steered(ctx, st); err == nil {
					q = again
				}
			}
		}
		if far := v.sizeRead(st.pt) / st.from; far > pieces.MostGrowth {
			if v.violating(st.pt) { // what falls is phi, not f
				return nil, ErrNoPoint
			}
			return nil, &pieces.Endless{Z: slices.Concat(st.pt.x, st.pt.y, st.pt.lambda)}
		} else if far > tolerance.HalfDigits*pieces.MostGrowth && !st.far {
			st.far = true
			if ray := v.ray(ctx, st.pt); ray != nil {
				st.falls = true
				return nil, ray
			}
		}
		near = q.promise <= tolerance.Certified*q.terms
		phi := st.pt.f + v.violation(st.pt.c, st.penalty)
		if v.opts.Observer != nil {
			v.opts.Observer(pieces.Step{Round: round, F: st.pt.f, Measure: math.Max(0, q.promise) / math.Max(q.terms, 0x1p-1022), Biactive: len(q.p.Biactive)})
		}
		if !(q.promise > tolerance.SumRounding*q.terms) || still || st.delta < tolerance.HalfDigits*st.first { // a region so small tells of values that are all rounding, too
			if !st.fine {
				still = false
				st.fine, st.delta = true, st.first // the region that coarse derivatives asked for is not that of these
				must.Do(v.linearize(st))
				continue
			}
			if v.opts.Large && !st.vertices {
				still = false
				st.vertices, st.delta = true, st.first // which takes a program for each, as many as sixty of them, in a region that rounding of phi beside this one has not made too small to fall in
				continue
			}
			// Values of phi tell no more. Steps go on as long as they make the point more stationary, or lead away from a saddle point.
			seen := must.Get(v.examine(ctx, st))
			if end == nil || seen.Measure <= math.Max(end.Measure, tolerance.SumRounding) { // of two that rounding cannot tell apart the later one: its entries of x that bounds hold are at them
				end = seen
			}
			if v.opts.Large && seen.Point.Multipliers != nil {
				return seen.Point, nil
			}
			trial, ratio := v.trial(ctx, st, q, phi)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if !(seen.Measure < before/2) || ratio < 0 {
				p := end.Point
				if p.Multipliers == nil && len(p.Leaves) == 0 {
					if ratio < 0 && seen.Measure < before/2 && st.delta >= tolerance.HalfDigits*st.first { // phi rises by what the model does not know of, less of it on a shorter step
						st.resize(q, ratio)
						continue
					}
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
				before, end = math.Inf(1), nil
			} else {
				before = seen.Measure
				st.resize(q, ratio)
			}
			must.Do(v.move(st, q, trial))
			continue
		}
		trial, ratio := v.trial(ctx, st, q, phi)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		st.resize(q, ratio)
		if trial != nil && ratio > tolerance.Armijo {
			before = math.Inf(1) // values tell again
			still = !(trial.f+v.violation(trial.c, st.penalty) < phi)
			last := *st
			if err := v.move(st, q, trial); err != nil { // at the edge of a domain, where g has no second derivatives: no step leads there
				*st = last
				still = false
				st.resize(q, -1)
			}
		}
	}
	seen := must.Get(v.examine(ctx, st))
	p := seen.Point
	if p.Multipliers == nil && len(p.Leaves) == 0 {
		err = pieces.ErrStalled
	}
	return p, err
}

// resize sets the trust region for the next step.
func (st *state) resize(q *sub, ratio float64) {
	reached := q.length >= st.delta*(1-0x1p-20) || st.tied && st.delta < st.first // or y is held (dragged)
	switch {
	case !(ratio >= tolerance.TrustPoor):
		if q.length > 0 { // a step of y alone is held by the region through its weight
			st.delta = math.Min(st.delta, q.length)
		}
		st.delta /= 4
	case ratio > 1-tolerance.TrustPoor && reached:
		st.delta *= 2
	}
}

// trial is that of a subproblem, with second-order corrections where it keeps too little of the promised fall, and the part that it keeps: less than 0 where phi rises by more than rounding.
func (v *Solver) trial(ctx context.Context, st *state, q *sub, phi float64) (*point, float64) {
	trial, ratio := v.judged(ctx, st, q, phi)
	for corrects := ratio < tolerance.TrustPoor; corrects; { // each leaves about the part of an error by which the derivatives have changed
		next, better := v.corrected(ctx, st, q, trial, phi)
		if corrects = 1-better < (1-ratio)/2 && better < 1-tolerance.TrustPoor; better > ratio {
			trial, ratio = next, better
		}
	}
	return trial, ratio
}

// judged is the trial point of a subproblem and what part of the promised fall it kept; nil and -1 where there is none.
func (v *Solver) judged(ctx context.Context, st *state, q *sub, phi float64) (*point, float64) {
	trial, err := v.try(ctx, st, q)
	if err != nil {
		return nil, -1
	}
	noise := tolerance.SumRounding * q.terms
	return trial, (phi - trial.f - v.violation(trial.c, st.penalty) + noise) / (q.promise + noise)
}

// corrected tries a second-order correction: the subproblem with the values at the rejected trial point of what it has linearized, the constraints and the follower's stationarity (Fletcher 1982; Nocedal
// and Wright 2006, section 18.3). Without it steps along curved kinks of F would leave them by the square of their length, and F would rise by as much (the Maratos effect).
func (v *Solver) corrected(ctx context.Context, st *state, q *sub, trial *point, phi float64) (*point, float64) {
	if trial == nil || len(v.kinds) == 0 && v.p.Facts.JointlyQuadratic {
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
	lo := *st.pt.lower
	lo.grad = make([]float64, v.p.Dy)
	v.p.G.GradY(lo.grad, trial.x, trial.y)
	dx, dy := linalg.Minus(trial.x, st.pt.x), linalg.Minus(trial.y, st.pt.y)
	for i := range lo.grad {
		lo.grad[i] -= lo.h.RowDot(i, dy) + lo.g.RowDot(i, dx)
	}
	shifted.lower = &lo
	moved := *st
	moved.pt = &shifted
	next, err := v.subproblem(ctx, &moved, trial, st.penalty)
	if err != nil {
		return nil, -1
	}
	next.promise, next.terms = q.promise, q.terms
	return v.judged(ctx, st, next, phi)
}

// try is the true problem's point at the x of a subproblem's solution.
func (v *Solver) try(ctx context.Context, st *state, q *sub) (*point, error) {
	p, s := v.p, q.s
	x := slices.Clone(q.p.Z[:p.Dx])
	p.X.Clamp(x)
	if p.Facts.JointlyQuadratic {
		return v.complete(x, s.Y(q.p.Z), s.Lambda(q.p.Z))
	}
	pt, err := v.answer(ctx, x, s.Y(q.p.Z))
	if errors.Is(err, ErrNotFinite) { // the model's answer is beyond the domain of g
		pt, err = v.answer(ctx, x, st.pt.y)
	}
	if errors.Is(err, ErrNotFinite) && v.inside(x) { // or a bound of X is the edge of a domain
		pt, err = v.answer(ctx, x, st.pt.y)
	}
	return pt, err
}

// inside moves the entries of x that are at a bound inside, by a rounding, and reports whether there are any.
func (v *Solver) inside(x []float64) (moved bool) {
	for j, t := range x {
		lo, hi := v.p.X.Box(j)
		step := 2 * tolerance.Roundoff * math.Max(math.Abs(t), v.unit[j])
		if t == lo {
			x[j], moved = math.Min(lo+step, hi), true
		} else if t == hi {
			x[j], moved = math.Max(hi-step, lo), true
		}
	}
	return moved
}

// move takes a trial point.
func (v *Solver) move(st *state, q *sub, trial *point) error {
	st.pt, st.vertices = trial, false
	if v.violation(trial.c, st.penalty) <= v.violation(st.kept.c, st.penalty) {
		st.kept = trial
	}
	if w, ok := v.multipliers(q); ok {
		st.w = w
	}
	return v.linearize(st)
}

// away is a lower point on the way from st to a point of the model, or the opposite; nil where phi does not fall by what decides anything else.
func (v *Solver) away(ctx context.Context, st *state, z []float64, phi float64) *point {
	pt := st.pt
	if st.tied { // the way is one of x, which does not say what y does
		return nil
	}
	if v.prepare(pt.x, pt.y) != nil {
		return nil
	}
	noise := tolerance.Sign * math.Max(math.Abs(phi), linalg.NormInf(pt.grad))
	for t := 1.0; t > 0x1p-20; t /= 2 {
		for _, way := range []float64{t, -t} {
			x := each.Below(len(pt.x), func(j int) float64 { return pt.x[j] + way*(z[j]-pt.x[j]) })
			v.p.X.Clamp(x)
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
