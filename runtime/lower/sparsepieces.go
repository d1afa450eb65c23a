package lower

import (
	"math"
	"slices"

	"bilevelc/internal/await"
	"bilevelc/internal/each"
	"bilevelc/runtime/convex"
	"bilevelc/runtime/linalg"
)

// pieces is the workspace of sparse solves: the numbers that belong to a plan
// at one x, and a solver for each piece.
type pieces struct {
	plan    *sparsePlan
	solvers []*convex.Solver
	local   []*local
	values  []float64 // the Hessian's entries, in the order of the pattern

	entryBounds
	y, grad     []float64 // len n: the point and the gradient there
	probe, step []float64
	lengths     []float64 // of the pieces, on which a gradient that is not affine changes its slope; nil before they are measured
}

// local holds a piece's share of vectors.
type local struct {
	lo, hi, y, grad []float64
	r, lambda       []float64
	terms           []float64 // of r and the bounds, see terms
	state           []int8
	active          []bool
	h               []float64
	loaded          *float64 // the values that the solver holds
}

// use makes the workspace one for the plan.
func (w *pieces) use(pl *sparsePlan) {
	if w.plan == pl {
		return
	}
	w.plan, w.values = pl, nil
	w.solvers, w.local = make([]*convex.Solver, len(pl.pieces)), make([]*local, len(pl.pieces))
	w.each(func(k int) {
		piece := pl.pieces[k]
		n, m := len(piece.entries), len(piece.rows)
		v := func(n int) []float64 { return make([]float64, n) }
		w.solvers[k] = piece.program.NewSolver()
		w.local[k] = &local{lo: v(n), hi: v(n), y: v(n), grad: v(n), r: v(m), lambda: v(m), terms: v(m), state: make([]int8, n),
			active: make([]bool, m), h: v(len(piece.hessian))}
	})
	for _, v := range []*[]float64{&w.lo, &w.hi, &w.y, &w.grad, &w.probe, &w.step} {
		*v = make([]float64, pl.n)
	}
	w.loRow, w.hiRow = make([]int, pl.n), make([]int, pl.n)
}

// each does a piece of work for every piece, which must depend on the piece alone.
func (w *pieces) each(do func(k int)) { await.Each(len(w.plan.pieces), w.plan.threads, do) }

// load gives the pieces' solvers the Hessian and the numbers at x, but those that are done (of which ends may tell nothing): a solver that is
// given another Hessian forgets its point, from whose face the multipliers are.
func (w *pieces) load(q *polyhedron, ends []pieceEnd) bool {
	ok := make([]bool, len(w.solvers))
	w.each(func(k int) {
		piece, l, s := w.plan.pieces[k], w.local[k], w.solvers[k]
		if ok[k] = true; ends != nil && ends[k].done {
			return
		}
		if l.loaded != &w.values[0] {
			for a, t := range piece.hessian {
				l.h[a] = w.values[t]
			}
			ok[k] = s.Load(l.h)
			l.loaded = &w.values[0]
			if !ok[k] {
				l.loaded = nil
			}
		}
		piece.gather(l.lo, w.lo)
		piece.gather(l.hi, w.hi)
		for a, i := range piece.rows {
			l.r[a] = q.rhs[i] / q.norm[i]
			l.terms[a] = w.terms(q, i)
		}
		s.Set(l.lo, l.hi, l.r)
		s.Terms(l.terms)
	})
	return !slices.Contains(ok, false)
}

// terms is the size of the terms of row i's right-hand side, over the row's norm, and of what
// the bounds of its entries are sums of.
func (w *pieces) terms(q *polyhedron, i int) float64 {
	size := q.size[i]
	for j, v := range q.rows.B.Entries(i) {
		most := 0.0
		for _, row := range [...]int{w.loRow[j], w.hiRow[j]} {
			if row >= 0 {
				most = math.Max(most, q.size[row])
			}
		}
		size += math.Abs(v) / q.norm[i] * most
	}
	return size
}

// linear gives piece k the gradient in w.grad at the point w.y.
func (w *pieces) linear(k int) {
	piece, l := w.plan.pieces[k], w.local[k]
	piece.gather(l.y, w.y)
	piece.gather(l.grad, w.grad)
	w.solvers[k].Linear(l.grad, l.y)
}

// guess notes the rows that are thought to be active.
func (w *pieces) guess(rows ...[]int) {
	for _, l := range w.local {
		clear(l.state)
		clear(l.active)
	}
	pl := w.plan
	for _, some := range rows {
		for _, i := range some {
			if k := pl.home[i]; k >= 0 {
				w.local[k].active[pl.seat[i]] = true
			} else if j := pl.bounded[i]; j >= 0 {
				side := convex.Lower
				if w.hiRow[j] == i {
					side = convex.Upper
				} else if w.loRow[j] != i {
					continue // a bound that another is tighter than
				}
				w.local[pl.owner[j]].state[pl.place[j]] = side
			}
		}
	}
}

// start gives piece k its guess: the point w.y, the rows noted and the whole's
// multipliers, or none.
func (w *pieces) start(k int, q *polyhedron, lambda []float64) {
	piece, l := w.plan.pieces[k], w.local[k]
	piece.gather(l.y, w.y)
	for a, i := range piece.rows {
		l.lambda[a] = 0
		if lambda != nil {
			l.lambda[a] = lambda[i] * q.norm[i]
		}
	}
	w.solvers[k].Guess(l.y, l.lambda, l.state, l.active)
}

// result puts piece k's point into y.
func (w *pieces) result(y []float64, k int) {
	piece, l := w.plan.pieces[k], w.local[k]
	w.solvers[k].Y(l.y, l.lo, l.hi)
	linalg.Scatter(y, piece.entries, l.y)
}

// clamp moves entries of y that rounding beside larger ones has left beyond their bounds onto
// these, and reports whether there were any.
func (w *pieces) clamp() (moved bool) {
	for j, v := range w.y {
		if w.y[j] = math.Min(math.Max(v, w.lo[j]), w.hi[j]); w.y[j] != v {
			moved = true
		}
	}
	return moved
}

// multipliers sets lambda (len m) from the pieces' solutions: those of rows as
// they are, those of bounds from what the rows leave of the gradient. With
// signed set, those of inequalities are at least 0.
func (w *pieces) multipliers(lambda []float64, q *polyhedron, signed bool) {
	clear(lambda)
	for k, piece := range w.plan.pieces {
		l := w.local[k]
		w.solvers[k].Lambda(l.lambda)
		for a, i := range piece.rows {
			lambda[i] = l.lambda[a] / q.norm[i]
			if signed && !q.equal(i) && lambda[i] < 0 {
				lambda[i] = 0
			}
		}
	}
	q.lagrangianGradient(w.probe, w.grad, lambda)
	w.held(func(j, row int) {
		if v := w.probe[j] / q.coef[row]; v > 0 || !signed {
			lambda[row] = v
		}
	})
}

// held calls do for every entry of y on a bound, with the bound's row: of two
// that are one, the one that presses against w.probe.
func (w *pieces) held(do func(j, row int)) {
	for k, piece := range w.plan.pieces {
		state, _ := w.solvers[k].State()
		for a, at := range state {
			j := piece.entries[a]
			switch {
			case at == convex.Lower, at == convex.Pinned && (w.probe[j] >= 0 || w.hiRow[j] < 0):
				do(j, w.loRow[j])
			case at == convex.Upper, at == convex.Pinned:
				do(j, w.hiRow[j])
			}
		}
	}
}

// measure recovers the Hessian of obj at w.y, where w.grad is the gradient, from
// gradients along the plan's groups of directions: one for each where the
// objective is quadratic, which is exact at any step, and else two. It reports
// false where they are not finite.
func (w *pieces) measure(obj Objective, quadratic bool) bool {
	w.steps(obj, quadratic)
	if !w.recover(obj, quadratic) {
		return false
	}
	// The force of a quadratic's step is not to be lost in the rounding of the gradient.
	if force, largest := linalg.NormInf(w.grad), linalg.NormInf(w.values); quadratic && largest > 0 && force > largest*w.step[0] {
		for j := range w.step {
			w.step[j] = powerOfTwo(16 * force / largest)
		}
		return w.recover(obj, quadratic)
	}
	return true
}

// steps sets those of the differences: see curvature.step.
func (w *pieces) steps(obj Objective, quadratic bool) {
	if quadratic {
		size := powerOfTwo(16 * math.Max(1, linalg.NormInf(w.y)))
		for j := range w.step {
			w.step[j] = size
		}
		return
	}
	if w.lengths == nil {
		parts := each.Of(w.plan.pieces, func(piece *piece) []int { return piece.entries })
		w.lengths = lengthsOf(obj, w.y, w.grad, parts)
	}
	for k, piece := range w.plan.pieces {
		typical := w.lengths[k] / math.Sqrt(float64(len(piece.entries)))
		for _, j := range piece.entries {
			w.step[j] = math.Cbrt(0x1p-53) * math.Max(typical, math.Abs(w.y[j]))
		}
	}
}

// recall takes the Hessian over that earlier solves have measured, where it is the same at every x; nil: it is not known.
func (w *pieces) recall(warm *Solution, fixed bool) {
	if w.values = nil; fixed && warm != nil && warm.Memory != nil && len(warm.Memory.Entries) == w.plan.pattern.NNZ() {
		w.values = warm.Memory.Entries
	}
}

// known takes the lengths that an earlier solve measured, or forgets them.
func (w *pieces) known(warm *Solution) {
	if w.lengths = nil; warm != nil && len(warm.Lengths) == len(w.plan.pieces) && linalg.Finite(warm.Lengths) {
		w.lengths = warm.Lengths
	}
}

// recover fills in the Hessian from differences over the steps.
func (w *pieces) recover(obj Objective, quadratic bool) bool {
	w.values = make([]float64, w.plan.pattern.NNZ())
	var base []float64
	if quadratic {
		base = w.grad
	}
	// A far end may lie outside the domain of the objective: begin again with shorter steps, up to 8 times.
	for shorter := 0; !w.plan.colouring.Differences(w.values, w.y, w.step, base, func(dst, y []float64) { obj.ValueGrad(dst, y) }); shorter++ {
		if quadratic || shorter == 8 {
			return false
		}
		for j := range w.step {
			w.step[j] /= 16
		}
	}
	return true
}

// stationarity is how far w.grad is from the forces of piece k's rows on the
// variables that are free, relative to the gradient's terms.
func (w *pieces) stationarity(k int) float64 {
	piece, l := w.plan.pieces[k], w.local[k]
	piece.gather(l.grad, w.grad)
	return w.solvers[k].Stationarity(l.grad)
}
