package lower

import (
	"context"
	"fmt"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// Where the curvatures of a quadratic differ by 1e8 and more, what rounding leaves of its
// gradient along the steep directions, over the curvature of the flat ones, is a long way: the
// residual says nothing of y. But what y is off by is a linear function of the residual, and along
// the direction that makes an entry of it, the adjoint, steep terms are flat: with slopes of g that
// are enclosed along these directions (problem.Rounded) the way that is left, and the rounding in
// it, are known, and steps of it lead to y* (iterative refinement with a residual that is better
// than the gradient; Higham 2002, chapter 12).

// roundingOpen reports that rounding of terms of the size of the largest curvature and force may leave y
// open by more than that, and that refinement applies.
func (s *Solution) roundingOpen(w *newton, q *polyhedron) bool {
	mu := w.known.Mu
	if !w.known.Quadratic || !(mu > 0) || q.n > tolerance.DenseOrder || !linalg.Finite(s.Y) {
		return false
	}
	size := s.extent(w, q)
	return tolerance.Roundoff*(w.curvature.largest*size+linalg.Norm(w.grad)) > tolerance.Sign*mu*size
}

// extent is the size of y: its own, or that of the way that the gradient asks for, or on which it
// is curved.
func (s *Solution) extent(w *newton, q *polyhedron) float64 {
	size := math.Max(q.unit(s.Y), s.length())
	if w.curvature.largest > 0 {
		size = math.Max(size, linalg.Norm(w.grad)/w.curvature.largest)
	}
	return size
}

// rounded is g and the linear function that the objective is more; nil where it is not of that
// form, or g does not bound its rounding.
func (w *newton) rounded() (g *AtX, slope []float64) {
	if g, slope = plusLinear(w.obj); g != nil {
		if _, _, ok := slopeOf(g, make([]float64, w.n), make([]float64, w.n)); !ok {
			return nil, nil
		}
	}
	return g, slope
}

// slopeOf is SlopeY of g.
func slopeOf(g *AtX, direction, y []float64) (lo, hi float64, ok bool) {
	if r, is := g.G.(problem.Rounded); is {
		return r.SlopeY(direction, g.X, y)
	}
	return 0, 0, false
}

// measured makes the Hessian known; false where it cannot be.
func (w *newton) measured(y []float64) bool {
	if w.curvature.hessian != nil {
		return true
	}
	w.curvature.move(y, w.grad)
	return w.curvature.columns()
}

// refinement is where refine came to.
type refinement struct {
	ofY      float64   // what is left open of y: |y - y*| on the face
	ofLambda []float64 // and of the multipliers, len m
}

// refine takes y and the multipliers of the given rows to the minimizer on them; false where
// steps do not get shorter. Value and gradient are those at the point that it leaves.
func (w *newton) refine(ctx context.Context, q *polyhedron, rows []int, y, lambda []float64) (r refinement, ok bool) {
	g, slope := w.rounded()
	if g == nil {
		return r, false
	}
	m := newFaceMatrix(w.curvature.hessian, q.rows.B, rows)
	if m == nil {
		return r, false
	}
	clear(lambda)
	w.face.multipliers(lambda, w.grad)
	for i := range lambda {
		if !slices.Contains(rows, i) {
			lambda[i] = 0
		}
	}
	// First by gradients, as far as they lead.
	last := math.Inf(1)
	for { // each halves the step, or is the last
		dy, by, ok := m.step(q, w.grad, y, lambda)
		if !ok || ctx.Err() != nil {
			return r, false
		}
		size := linalg.Norm(dy)
		if !(size <= last/2) {
			break
		}
		linalg.Axpy(y, 1, dy)
		linalg.Axpy(lambda, 1, by)
		w.value = w.obj.ValueGrad(w.grad, y)
		if last = size; size <= 2*tolerance.Roundoff*linalg.Norm(y) {
			break
		}
	}
	// Then by slopes, until what is left is rounding.
	defer func() { w.value = w.obj.ValueGrad(w.grad, y) }()
	last = math.Inf(1)
	for { // each halves the step, or is the last
		way, off, ok := m.left(q, g, slope, y, lambda)
		if !ok || ctx.Err() != nil {
			return r, false
		}
		size, open := linalg.Norm(way[:q.n]), linalg.Norm(off[:q.n])
		// Of a Hessian that is known to half of its least curvature the way is at most twice
		// what it says; and y itself is a double.
		r.ofY, r.ofLambda = 2*(size+open)+tolerance.Roundoff*q.unit(y), make([]float64, q.m)
		for a, i := range rows {
			r.ofLambda[i] = 2 * (math.Abs(way[q.n+a]) + off[q.n+a])
		}
		if size <= math.Max(open, 2*tolerance.Roundoff*linalg.Norm(y)) {
			return r, true
		}
		if !(size <= last/2) {
			return r, size <= tolerance.Sign*math.Max(q.unit(y), linalg.Norm(w.grad)/m.largest)
		}
		last = size
		linalg.Axpy(y, 1, way[:q.n])
		for a, i := range rows {
			lambda[i] += way[q.n+a]
		}
	}
}

// left is the way from y and the multipliers to the solution on the face, entry by entry (len Dy, then
// the rows in their order), and bounds of the rounding in it.
func (m *FaceMatrix) left(q *polyhedron, g *AtX, slope, y, lambda []float64) (way, off []float64, ok bool) {
	size := m.n + len(m.rows)
	way, off = make([]float64, size), make([]float64, size)
	for i := range size {
		ofY, ofLambda := make([]float64, m.n), make([]float64, len(m.rows))
		if i < m.n {
			ofY[i] = 1
		} else {
			ofLambda[i-m.n] = 1
		}
		p, gaps, ok := m.Adjoint(ofY, ofLambda)
		if !ok {
			return nil, nil, false
		}
		lo, hi, ok := slopeOf(g, p, y)
		if !ok || math.IsInf(hi-lo, 0) || math.IsNaN(hi-lo) {
			return nil, nil, false
		}
		way[i], off[i] = -(lo + (hi-lo)/2), (hi-lo)/2
		terms := math.Abs(way[i])
		for j, v := range slope {
			way[i] -= v * p[j]
			terms += math.Abs(v * p[j])
		}
		for a, row := range m.rows {
			for j, v := range q.rows.B.Entries(row) {
				t := lambda[row] * v * p[j]
				way[i] += t
				terms += math.Abs(t)
			}
			gap := (q.rhs[row] - q.rows.B.RowDot(row, y)) * gaps[a]
			way[i] += gap
			terms += math.Abs(gap)
			off[i] += q.rounding(row, y) * q.norm[row] * math.Abs(gaps[a])
		}
		off[i] += float64(m.n+size) * tolerance.Roundoff * terms // of a sum of products
	}
	return way, off, true
}

// refined is refine over the rows of a solution, with rows exchanged until the multipliers have
// their signs and no row is violated: the worst each time, as the points are the minimizers on
// their faces. Where that comes to no end it reports false, and nothing has changed.
func (g *stage) refined(ctx context.Context, s *Solution) bool {
	w := &g.active
	rows, value, grad := w.face.rows(), w.value, slices.Clone(w.grad)
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
		key := fmt.Sprint(rows)
		if seen[key] {
			return false
		}
		seen[key] = true
		w.gather(rows)
		if w.face.size() != len(rows) {
			return false // dependent
		}
		r, ok := w.refine(ctx, q, rows, y, lambda)
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
			if slack < -q.rounding(i, y)-tolerance.Feasibility*q.size[i] && slack < worst {
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
			if force := lambda[i] * q.norm[i]; !q.equal(i) && force < least && lambda[i] < -r.ofLambda[i] {
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
		s.Value, s.RoundingBound = w.value, r.ofY
		s.Status, s.Reason = s.refinedStatus(s.extent(&w.newton, q))
		return true
	}
	return false
}

// refinedStatus is the status of a point that was refined, for a size of y.
func (s *Solution) refinedStatus(size float64) (Status, string) {
	if s.RoundingBound > tolerance.Target*size {
		return Inaccurate, fmt.Sprintf("rounding of the gradient leaves y open by %.1e: the curvatures of the objective differ by too much", s.RoundingBound)
	}
	return Solved, "stationary to rounding, by steps along the face"
}
