package lower

import (
	"context"
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/convex"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// sparseNewton is one sparse minimization: Newton's method, each step the solution of
// a quadratic program over the rows in every piece, with a line search for each
// piece that reads slopes from the gradient alone.
type sparseNewton struct {
	sparse *sparseSolver
	obj    Objective
	known  Curvature
	warmed bool
	lambda []float64 // multipliers to start from, len m, or nil

	value float64
	stuck int  // the piece whose program has no solution, or -1
	fresh bool // the Hessian was measured at w.y
}

// pieceEnd is how far a piece is.
type pieceEnd struct {
	done     bool
	failed   bool
	measure  float64 // stationarity on its face, relative to the gradient's terms; +Inf after a step cut short
	previous float64
	length   float64 // of its step
}

// run minimizes from w.y, in place. The outcome notFinite stands for all
// failures.
func (n *sparseNewton) run(ctx context.Context) outcome {
	s, w := n.sparse, &n.sparse.work
	n.stuck = -1
	pieces := len(w.solvers)
	s.ends = make([]pieceEnd, pieces)
	for k := range s.ends {
		s.ends[k].measure, s.ends[k].previous = math.Inf(1), math.Inf(1)
	}
	if n.known.Quadratic {
		n.evaluate()
	} else if end := n.begin(ctx); end != converged {
		return end
	}
	if !linalg.Finite(w.grad) {
		return notFinite
	}
	next := make([]float64, len(w.y))
	// 100 bounds the Newton steps of one solve: far more than Newton's method takes once its steps are whole.
	for pass := 0; pass < 100; pass++ {
		if w.values == nil {
			if !w.measure(n.obj, n.known.Quadratic) {
				return notFinite
			}
			n.fresh = true
		}
		if !w.load(&s.poly, s.ends) {
			return notFinite
		}
		copy(next, w.y)
		w.each(func(k int) { n.program(ctx, k, pass == 0, next) })
		if ctx.Err() != nil {
			return interrupted
		}
		for k, e := range s.ends {
			if e.failed {
				n.stuck = k
				return notFinite
			}
		}
		if n.known.Quadratic {
			copy(w.y, next)
			n.evaluate()
		} else if !n.search(next) {
			return notFinite
		}
		if !linalg.Finite(w.grad) {
			return notFinite
		}
		switch n.progress() {
		case allDone:
			return n.grade()
		case poor:
			if n.fresh {
				return n.grade()
			}
			w.values = nil
		case slow:
			// The Hessian is measured anew where the point is now.
			if n.known.Quadratic && n.fresh {
				continue
			}
			w.values, n.fresh = nil, false
		case good:
			if !n.known.Quadratic {
				n.fresh = false
			}
		}
	}
	return n.grade()
}

// begin moves the start of a solve to the nearest point that the rows allow, or
// inside them where the objective is not defined there.
func (n *sparseNewton) begin(ctx context.Context) outcome {
	w := &n.sparse.work
	if !n.feasible() {
		if end := n.project(ctx, func(k int) bool {
			return n.warmed && w.solvers[k].ActiveSet(20) || w.solvers[k].Minimize(ctx) == convex.Optimal
		}); end != converged {
			return end
		}
	}
	if n.evaluate(); linalg.Finite(w.grad) && !math.IsNaN(n.value) && !math.IsInf(n.value, 0) {
		return converged
	}
	if end := n.project(ctx, func(k int) bool { return w.solvers[k].Center(ctx) }); end != converged {
		n.stuck = -1 // there may be no inside
		return end
	}
	n.warmed = false
	n.evaluate()
	return converged
}

// project finds a point of every piece near w.y in the Euclidean norm.
func (n *sparseNewton) project(ctx context.Context, find func(k int) bool) outcome {
	s, w := n.sparse, &n.sparse.work
	pattern := w.plan.pattern
	w.values = make([]float64, pattern.NNZ())
	for i := 0; i < pattern.Rows; i++ {
		for t := pattern.Ptr[i]; t < pattern.Ptr[i+1]; t++ {
			if pattern.Col[t] == i {
				w.values[t] = 1
			}
		}
	}
	if !w.load(&s.poly, nil) {
		return notFinite
	}
	clear(w.grad)
	next := make([]float64, len(w.y))
	ok := make([]bool, len(w.solvers))
	w.each(func(k int) {
		w.linear(k)
		w.start(k, &s.poly, nil)
		if ok[k] = find(k); ok[k] {
			w.result(next, k)
		}
	})
	w.values = nil
	if ctx.Err() != nil {
		return interrupted
	}
	for k, good := range ok {
		if !good {
			n.stuck = k
			return notFinite
		}
	}
	copy(w.y, next)
	return converged
}

// feasible reports whether w.y satisfies the rows to rounding.
func (n *sparseNewton) feasible() bool {
	q, y := &n.sparse.poly, n.sparse.work.y
	size := linalg.NormInf(y)
	for i := 0; i < q.m; i++ {
		if q.norm[i] == 0 {
			continue
		}
		v := q.slack(i, y)
		if q.equal(i) {
			v = -math.Abs(v)
		}
		if v < 0 && v < -q.rounding(i, y)-tolerance.Feasibility*size {
			return false
		}
	}
	return true
}

func (n *sparseNewton) evaluate() {
	w := &n.sparse.work
	n.value = n.obj.ValueGrad(w.grad, w.y)
}

// program solves the quadratic program of piece k at w.y and puts its solution
// into next.
func (n *sparseNewton) program(ctx context.Context, k int, first bool, next []float64) {
	s, w, e := n.sparse, &n.sparse.work, &n.sparse.ends[k]
	if e.done {
		return
	}
	solver := w.solvers[k]
	w.linear(k)
	if first {
		w.start(k, &s.poly, n.lambda)
	}
	if first && n.warmed && solver.Unchanged() {
		e.done = true
		return
	}
	// 20 is how many rounds the active-set method gets from a guess before the interior-point method starts over.
	if !((!first || n.warmed) && solver.ActiveSet(20)) {
		w.start(k, &s.poly, nil)
		if solver.Minimize(ctx) != convex.Optimal {
			e.failed = true
			return
		}
	}
	w.result(next, k)
}

// search moves each piece towards next, as far as the slope along its step is
// not up again by much, or by rounding; the gradient at a point gives the slopes of all pieces
// at once. It leaves w.y, w.grad and the value there.
func (n *sparseNewton) search(next []float64) bool {
	s, w := n.sparse, &n.sparse.work
	begin, step := append([]float64(nil), w.y...), make([]float64, len(w.y))
	slope, rounding := make([]float64, len(s.ends)), make([]float64, len(s.ends))
	for k, piece := range w.plan.pieces {
		s.ends[k].length = 1
		for _, j := range piece.entries {
			step[j] = next[j] - begin[j]
			slope[k] += step[j] * w.grad[j]
		}
		piece.gather(w.local[k].grad, step)
		rounding[k] = w.solvers[k].SlopeRounding(w.local[k].grad)
	}
	for range 60 {
		for k, piece := range w.plan.pieces {
			t := s.ends[k].length
			for _, j := range piece.entries {
				if w.y[j] = begin[j] + t*step[j]; t == 1 {
					w.y[j] = next[j]
				}
			}
		}
		n.evaluate()
		settled := true
		for k, piece := range w.plan.pieces {
			e := &s.ends[k]
			now := each.Sum(piece.entries, func(j int) float64 { return step[j] * w.grad[j] })
			switch {
			case math.IsNaN(now) || math.IsInf(now, 0):
				e.length /= 4
				settled = false
			// 0.1 is the slope, relative to that at the start of a step, up to which the step's end counts as before the minimum along it.
			case slope[k] < 0 && now > math.Max(0.1*-slope[k], rounding[k]):
				// The zero of the slope, if it were linear.
				e.length *= math.Min(0.9, math.Max(0.1, slope[k]/(slope[k]-now)))
				settled = false
			}
		}
		if settled {
			return true
		}
	}
	return false
}

// The outcomes of progress.
const (
	good = iota
	slow // the Hessian may not be that of the place
	poor // no progress
	allDone
)

// progress measures the pieces at w.y.
func (n *sparseNewton) progress() int {
	s, w := n.sparse, &n.sparse.work
	w.each(func(k int) {
		e := &s.ends[k]
		if e.done {
			return
		}
		e.previous = e.measure
		if e.length != 1 && !n.known.Quadratic {
			e.measure = math.Inf(1)
			return
		}
		e.measure = w.stationarity(k)
		e.done = e.measure <= w.solvers[k].Rounding() || e.measure > e.previous/2 && e.measure <= s.settings.Tolerance
	})
	all, better, some := true, true, false
	for _, e := range s.ends {
		if e.done {
			continue
		}
		all = false
		some = some || e.measure <= e.previous/2 || math.IsInf(e.measure, 1) || math.IsInf(e.previous, 1)
		better = better && e.measure <= 0.1*e.previous && !math.IsInf(e.measure, 1)
	}
	switch {
	case all:
		return allDone
	case better:
		return good
	case some:
		return slow
	}
	return poor
}

// grade is the outcome at the present point.
func (n *sparseNewton) grade() outcome {
	for k, e := range n.sparse.ends {
		if !e.done {
			if m := n.sparse.work.stationarity(k); !(m <= n.sparse.settings.Tolerance) || e.length != 1 && !n.known.Quadratic {
				return stalled
			}
		}
	}
	return converged
}
