package lower

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
)

// stage is what every solver here is built on: the rows at one x, the
// projection onto them, and the active-set method, with which solvers polish
// or take stock of a point.
type stage struct {
	poly       polyhedron
	projection projection
	active     activeSet
	guess      []int // rows guessed to be active
	warmed     bool  // the guess and the start are those of an earlier solution
	recycle    bool  // solves go on from the Memory of earlier ones
	inset      bool  // the start was moved inside, to where the objective is defined
	linear     []float64
	near       *Memory // of a Hessian measured near by, or nil
	eager      bool    // the whole of a Hessian is measured first where that pays: its memory serves later solves
}

// prepare sets the stage at x and starts a solution from warm, or from 0. It
// reports false where the rows alone settle the outcome, which is then in s.
func (g *stage) prepare(ctx context.Context, p *problem.Problem, obj Objective, x []float64, warm *Solution, relative float64) (s *Solution, ok bool) {
	s = &Solution{Y: make([]float64, p.Dy), Lambda: make([]float64, p.Rows.Len()), ErrorBound: math.Inf(1)}
	g.poly.set(p, x, warm)
	g.projection.set(&g.poly)
	if !g.poly.consistent(&g.active.face, s) {
		return s, false
	}
	if witness := g.projection.crossed(&g.poly); witness != nil {
		return g.finish(ctx, s, stalled, &conflict{witness}), false
	}
	g.active.reset(obj, &g.poly, &g.projection, relative)
	if g.eager = g.recycle && g.active.known.Fixed; warm != nil && g.eager {
		g.active.curvature.recall(warm.Memory)
	}
	g.near = nil
	if warm != nil && warm.Memory.Complete() && warm.Memory.Near && warm.Memory.N == p.Dy {
		g.near = warm.Memory
	}
	g.active.curvature.told(warm)
	g.guess = g.guess[:0]
	g.warmed = warm != nil && len(warm.Y) == p.Dy && linalg.Finite(warm.Y)
	if g.warmed {
		copy(s.Y, warm.Y)
		g.guess = append(append(g.guess, warm.Active...), warm.Weak...)
	}
	return s, true
}

// start moves y to a feasible point at which the objective is defined: the
// nearest one if that will do, or else one inside the inequalities.
func (g *stage) start(y []float64) error {
	w := &g.active
	if err := w.enter(y, g.guess); err != nil {
		return err
	}
	if g.inset = !w.defined(y); !g.inset {
		return nil
	}
	return g.inside(y)
}

// inside moves y to a point inside the inequalities, as objectives with a
// logarithm ask for, by a distance of 1 if there is room, or of the next power
// of 1/10 that there is room for, at which the objective is defined. Where
// there is none it leaves y alone.
func (g *stage) inside(y []float64) error {
	w := &g.active
	for margin := 1.0; margin >= 1e-6; margin /= 10 {
		g.projection.inset(margin)
		copy(w.z, y)
		_, err := g.projection.nearest(w.z, nil, w.binding[:0])
		g.projection.set(&g.poly)
		if err == nil && w.defined(w.z) {
			copy(y, w.z)
			break
		}
	}
	g.guess = g.guess[:0]
	return w.enter(y, nil)
}

// defined reports whether value and gradient at y are finite.
func (w *activeSet) defined(y []float64) bool {
	w.value = w.obj.ValueGrad(w.grad, y)
	return !math.IsNaN(w.value) && !math.IsInf(w.value, 0) && linalg.Finite(w.grad)
}

// stiffness estimates the largest curvature of the objective from one
// difference along the gradient at y; 1 where there is none.
func (g *stage) stiffness(y []float64) float64 {
	w := &g.active
	if !w.defined(y) {
		return 1
	}
	w.curvature.move(y, w.grad)
	size := linalg.Norm(w.grad)
	if size == 0 || !w.curvature.apply(w.s, w.grad) {
		return 1
	}
	if c := linalg.Norm(w.s) / size; c > 0 {
		return c
	}
	return 1
}

// nearest moves y to the nearest feasible point: the one on the present face
// where it is feasible and its multipliers are those of a projection, as
// always with equality rows; or else by a quadratic program, whose active
// rows become the face.
func (g *stage) nearest(y []float64) (err error) {
	defer must.Catch(&err)
	w := &g.active
	copy(w.z, y)
	w.face.restore(w.z)
	if w.feasible(w.z) {
		floats.SubTo(w.s, w.z, y)
		w.face.multipliers(w.lambda, w.s)
		if _, force := w.worst(w.lambda); force >= 0 {
			copy(y, w.z)
			return nil
		}
	}
	w.binding = w.face.rows()
	w.binding = must.Get(g.projection.nearest(y, w.binding, w.binding[:0]))
	w.gather(w.binding)
	return nil
}

// multipliersAt finds the multipliers and active rows at a feasible y that was
// reached in another way, with the rows that are thought to press: by
// nonnegative least squares over the rows that bind there
// (eq:approximate-lam-hat, with the signs).
func (g *stage) multipliersAt(y []float64, pressing []int) error {
	w := &g.active
	if !w.corner(y, pressing) {
		if err := w.enter(y, pressing); err != nil {
			return err
		}
	}
	if !w.defined(y) {
		return nil
	}
	copy(w.z, y)
	copy(w.gz, w.grad)
	w.project()
	return nil
}

// polish runs the active-set method from y and the guess.
func (g *stage) polish(ctx context.Context, y []float64, limit int) (outcome, error) {
	w := &g.active
	if w.known.Quadratic && w.known.Mu > 0 && !w.factored() {
		if w.gather(g.guess); w.exchange(ctx, y) {
			g.guess = w.face.rows()
		}
	}
	if err := w.enter(y, g.guess); err != nil {
		return stalled, err
	}
	return w.minimize(ctx, y, limit), nil
}

// exact is polish where the Hessian is known: from the solution, to rounding, of the
// quadratic program that it makes with one gradient.
func (g *stage) exact(ctx context.Context, y []float64, limit int) (outcome, error) {
	w := &g.active
	if g.strict(ctx, y) {
		return converged, nil
	}
	known := w.curvature.hessian
	if known == nil { // a step of it did not do what it says: it was not the right one
		return g.polish(ctx, y, limit)
	}
	if !w.defined(y) {
		return notFinite, nil
	}
	known.refined(w.z, y, w.grad)
	// What is within a few roundings of the terms of y is 0.
	level := 8 * tolerance.Roundoff * math.Max(linalg.NormInf(y), linalg.NormInf(w.z))
	if rows, ok := known.pivots(&g.poly, y, w.z, nil, g.guess); ok {
		g.guess = rows
	} else if err := g.program(known, y); err != nil {
		return stalled, err
	}
	for j, t := range y {
		if math.Abs(t) <= level {
			y[j] = 0
		}
	}
	// To the accuracy of the program; the polish puts y onto these rows.
	g.guess = g.violated(g.guess, y)
	return g.polish(ctx, y, limit)
}

// strict is exact where what is found leaves nothing to decide: every row has slack, or a multiplier, above rounding. It begins at 0, where a gradient
// of a quadratic reads no Hessian. It reports false, and leaves y and the guess alone, where that is not so.
func (g *stage) strict(ctx context.Context, y []float64) bool {
	w := &g.active
	copy(w.base, y)
	if rows, ok := w.curvature.hessian.pivots(&g.poly, y, nil, w.curvature.atZero(), g.guess); ok {
		w.gather(rows)
		if w.newton.minimize(ctx, y, w.relative) == converged && w.within(y) {
			w.face.multipliers(w.lambda, w.grad)
			copy(w.z, y)
			copy(w.gz, w.grad)
			if _, force := w.worst(w.lambda); force > w.dropLevel(w.bestNorm) {
				return true
			}
		}
	}
	copy(y, w.base)
	return false
}

// within reports that y meets the rows outside the face to their rounding; of those that depend on the face it does not say so.
func (w *activeSet) within(y []float64) bool {
	slacks := w.poly.slacks(y)
	for i, in := range w.face.in {
		if !in && w.poly.norm[i] > 0 {
			if s := slacks[i]; w.poly.equal(i) || s < 0 && s < -w.poly.rounding(i, y) {
				return false
			}
		}
	}
	return true
}

// violated appends to rows the other inequalities that y violates
// by more than rounding.
func (g *stage) violated(rows []int, y []float64) []int {
	in := make([]bool, g.poly.m)
	for _, i := range rows {
		in[i] = true
	}
	rows = append(rows, each.WhereBelow(len(in), func(i int) bool { return !in[i] && !g.poly.equal(i) && g.poly.slack(i, y) < -g.poly.rounding(i, y) })...)
	return rows
}

// program solves 1/2 y'Hy + c'y over the rows, H as known, c = grad(y0) - H y0 from the
// gradient at y0 = y, moves y to the solution and makes its active rows the
// guess.
func (g *stage) program(known *denseHessian, y []float64) error {
	w := &g.active
	g.linear = resize(g.linear, len(y))
	known.multiply(g.linear, y)
	floats.SubTo(g.linear, w.grad, g.linear)
	active, err := g.projection.minimize(qp.Factored(known.factors), g.linear, y, g.guess)
	g.guess = append(g.guess[:0], active...)
	return err
}

// finish fills in the solution from the state of the polish.
func (g *stage) finish(ctx context.Context, s *Solution, end outcome, err error) *Solution {
	if none, ok := errors.AsType[*conflict](err); ok {
		s.Status, s.Reason, s.Witness = Infeasible, g.poly.explain(none.witness), none.witness
		return s
	}
	if err != nil {
		s.Status, s.Reason = Failed, err.Error()
		return s
	}
	w := &g.active
	s.Value = w.value
	s.Status, s.Reason = end.status()
	switch end {
	case notFinite:
		return s
	case descending:
		s.Witness = append([]float64(nil), w.d...)
	}
	w.face.multipliers(s.Lambda, w.grad)
	for i, l := range s.Lambda {
		if !g.poly.equal(i) && l < 0 {
			s.Lambda[i] = 0
		}
	}
	rest := s.assess(&g.poly, &w.face, w.grad, linalg.Norm(w.grad), w.known)
	s.Lengths = w.curvature.lengths()
	if w.relative <= tolerance.SolveAccuracy && (end == converged || end == stalled) && s.roundingOpen(&w.newton, &g.poly) && g.refined(ctx, s) {
		s.assess(&g.poly, &w.face, w.grad, linalg.Norm(w.grad), w.known)
	} else if large, ok := g.badlyScaled(s, rest); !ok {
		s.testAccuracy(&w.newton, &g.poly)
	} else if !g.apart(ctx, s, large) && !g.apart(ctx, s, g.held(large)) {
		s.hidden()
	}
	s.Working, s.Sine, s.shape = w.face.rows(), w.face.sine(), g.poly.shape
	if w.curvature.hessian != nil {
		w.curvature.hessian.keep(&w.face)
	}
	if g.recycle && w.known.Fixed {
		s.Memory = w.curvature.learned()
	}
	if g.recycle && g.near != nil {
		s.Memory = g.near
	}
	return s
}
