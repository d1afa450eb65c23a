package lower

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
)

// Where the curvatures of a quadratic differ by 1e8 and more, what rounding leaves of its
// gradient along the steep directions, over the curvature of the flat ones, is a long way: the
// residual says nothing of y. Newton's method does. Each of its steps is known to the accuracy
// of the Hessian, which has some digits even of the least curvature while that is above the
// rounding of the largest, and takes the point to where the next step is that much shorter, as
// long as gradients are exact: those of differences of entries of y that cancel are. The length
// of the last step then is the error (iterative refinement; Higham 2002, chapter 12).

// refinable is the number of entries of y, and of rows, up to which the matrix of a face is
// factorized for this: 128^3 takes about a millisecond.
const refinable = 128

// blurred is the share of y that the residual leaves open, over the least curvature, from which
// refinement is worth its n gradients: a hundredth of that at which rows count as weak.
const blurred = weakness / 100

// blurs reports that the residual leaves y open by more than refinement may.
func (s *Solution) blurs(w *newton, q *polyhedron) bool {
	mu := w.known.Mu
	return w.known.Quadratic && mu > 0 && q.n <= refinable && q.m <= 8*refinable && linalg.Finite(s.Y) &&
		s.Residuals.Stationarity > blurred*mu*q.unit(s.Y)
}

// measured makes the Hessian known; false where it cannot be.
func (w *newton) measured(y []float64) bool {
	if w.curvature.hessian != nil {
		return true
	}
	w.curvature.move(y, w.grad)
	return w.curvature.columns()
}

// refine takes y and the multipliers of the given rows to the minimizer on them. It returns the
// last step's length and the change of the multipliers in it; false where steps do not get
// shorter, to what is at most blurred of y. Value and gradient are those at the point it leaves.
func (w *newton) refine(ctx context.Context, q *polyhedron, rows []int, y, lambda []float64) (left float64, change []float64, ok bool) {
	m := newFaceMatrix(w.curvature.hessian, q.rows.B, rows)
	if m == nil {
		return 0, nil, false
	}
	clear(lambda)
	w.face.multipliers(lambda, w.grad)
	for i := range lambda {
		if !slices.Contains(rows, i) {
			lambda[i] = 0
		}
	}
	const most = 20 // of a Hessian with one digit, each step gains one
	last := math.Inf(1)
	for range most {
		if ctx.Err() != nil {
			return 0, nil, false
		}
		dy, by, ok := m.step(q, w.grad, y, lambda)
		if !ok {
			return 0, nil, false
		}
		size, level := linalg.Norm(dy), 2*roundingUnit*linalg.Norm(y)
		if size > last/2 { // what is left is rounding, the next no better than this
			break
		}
		linalg.Axpy(y, 1, dy)
		linalg.Axpy(lambda, 1, by)
		w.value = w.obj.ValueGrad(w.grad, y)
		if last, change = size, by; size <= level {
			break
		}
	}
	return last, change, last <= blurred*q.unit(y) && linalg.Finite(w.grad)
}

// refined is refine over the rows of a solution, with rows exchanged until the multipliers have
// their signs and no row is violated: the worst each time, as the points are the minimizers on
// their faces. Where that comes to no end it reports false, and nothing has changed.
func (g *stage) refined(ctx context.Context, s *Solution) bool {
	w := &g.active
	rows, value, grad := w.face.rows(nil), w.value, slices.Clone(w.grad)
	if w.measured(s.Y) && w.defined(s.Y) && g.exchange(ctx, s, rows) {
		return true
	}
	w.gather(rows)
	w.value = value
	copy(w.grad, grad)
	return false
}

// exchange is refined from some rows.
func (g *stage) exchange(ctx context.Context, s *Solution, rows []int) bool {
	w, q := &g.active, &g.poly
	y, lambda := slices.Clone(s.Y), make([]float64, q.m)
	seen := map[string]bool{}
	for range 10 + 2*q.m {
		if key := fmt.Sprint(rows); seen[key] {
			return false
		} else {
			seen[key] = true
		}
		w.gather(rows)
		if w.face.size() != len(rows) {
			return false // dependent
		}
		left, change, ok := w.refine(ctx, q, rows, y, lambda)
		if !ok {
			return false
		}
		worst, violated := 0.0, -1
		for i := range q.m {
			if q.norm[i] == 0 || slices.Contains(rows, i) {
				continue
			}
			slack := q.slack(i, y)
			if q.equal(i) {
				slack = -math.Abs(slack)
			}
			if slack < -q.rounding(i, y)-left-feasibility*q.size[i] && slack < worst {
				worst, violated = slack, i
			}
		}
		if violated >= 0 {
			if q.equal(violated) {
				return false // it depends on the others
			}
			rows = append(slices.Clone(rows), violated)
			slices.Sort(rows)
			continue
		}
		least, drop := 0.0, -1
		for k, i := range rows {
			if force := lambda[i] * q.norm[i]; !q.equal(i) && force < least && lambda[i] < -math.Abs(change[i]) {
				least, drop = force, k
			}
		}
		if drop >= 0 {
			rows = slices.Delete(slices.Clone(rows), drop, drop+1)
			continue
		}
		for _, i := range rows {
			if !q.equal(i) && lambda[i] < 0 {
				lambda[i] = 0
			}
		}
		copy(s.Y, y)
		copy(s.Lambda, lambda)
		s.Value, s.Status, s.Reason = w.value, Solved, "stationary to rounding, by steps along the face"
		return true
	}
	return false
}
