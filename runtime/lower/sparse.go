package lower

import (
	"context"
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/tolerance"
)

func init() {
	register(Spec{
		Name: "sparse",
		Summary: "recovers the sparse Hessian of g in y from a few gradients along groups of directions, and solves sparse quadratic " +
			"programs by interior points and exact solves on faces, independent followers apart",
		Reference: "Curtis, Powell, Reid 1974 and Coleman, More 1984 for the Hessian; Mehrotra 1992 and Hintermueller, Ito, Kunisch 2003 for the programs",
		Needs:     Needs{StrongConvex: true, SparseHessian: true},
	}, defaultSparse(), func(s sparseSettings) Solver { return newSparse(s, 1) })
}

// sparseSettings are the settings of the solver `sparse`.
type sparseSettings struct {
	Tolerance float64 `setting:"tolerance" doc:"stationarity, relative to the size of the gradient's terms, at which a solve that rounding stopped counts as solved" min:"0" max:"1"`
}

// defaultSparse returns the defaults.
func defaultSparse() sparseSettings { return sparseSettings{Tolerance: tolerance.SolveAccuracy} }

// sparseSolver is Newton's method with quadratic programs over the rows for steps,
// where the pattern of the Hessian of g in y is known: time and memory go with
// the entries of Hessian, rows and their factors, not with the square of the
// dimension. For a quadratic g the first step is exact and further ones remove
// rounding; a Hessian that is the same at every x is recovered once, and the
// Solution carries it to the next solve. The lower level is taken apart where
// neither the pattern nor a row joins it, and a part whose warm start is the
// answer is not solved again.
type sparseSolver struct {
	settings sparseSettings
	threads  int
	poly     polyhedron
	work     pieces
	ends     []pieceEnd
	alm      *alm // for objectives of unknown curvature, and small problems that fail
}

// newSparse returns a solver that works on at most `threads` independent parts
// at a time, which does not change its results; its settings must be valid.
func newSparse(settings sparseSettings, threads int) *sparseSolver {
	dense := defaultALM()
	dense.Tolerance = settings.Tolerance
	return &sparseSolver{settings: settings, threads: threads, alm: newALM(dense)}
}

// sparsely reports whether the objective's Hessian has the pattern that is
// known of g's, or is next to it.
func sparsely(p *problem.Problem, obj Objective) bool {
	if p.Facts.HessianPattern == nil || !(p.Facts.StrongConvexity > 0) {
		return false
	}
	near, ok := obj.(nearG)
	return ok && near.BaseG().G == p.G
}

// Choose is the name of the solver for p where the user leaves it open: `sparse`
// where the Hessian of g in y is known to be sparse and is not too small for
// that to pay, and else the default.
func Choose(p *problem.Problem) string {
	pattern := p.Facts.HessianPattern
	if pattern == nil || !(p.Facts.StrongConvexity > 0) || p.Dy < tolerance.LeastSparse || pattern.NNZ() > p.Dy*p.Dy/8 {
		return Default
	}
	return "sparse"
}

// Solve implements Solver.
func (s *sparseSolver) Solve(ctx context.Context, p *problem.Problem, obj Objective, x []float64, warm *Solution) *Solution {
	if !sparsely(p, obj) {
		return s.alm.Solve(ctx, p, obj, x, warm)
	}
	out := &Solution{Y: make([]float64, p.Dy), Lambda: make([]float64, p.Rows.Len()), ErrorBound: math.Inf(1), Sparse: true}
	q, w := &s.poly, &s.work
	q.set(p, x, nil)
	if q.vacuous(out) {
		return out
	}
	s.prepare(p, warm)
	w.known(warm)
	w.read(q, false)
	if witness := w.crossed(q); witness != nil {
		return s.infeasible(out, witness)
	}
	for j := range w.hi { // what is not beyond doubt is one
		w.hi[j] = math.Max(w.hi[j], w.lo[j])
	}
	warmed := warm != nil && len(warm.Y) == p.Dy && len(warm.Lambda) == q.m && linalg.Finite(warm.Y)
	var lambda []float64
	if w.guess(); warmed {
		copy(w.y, warm.Y)
		w.guess(warm.Active, warm.Weak)
		lambda = warm.Lambda
	} else {
		for j := range w.y {
			w.y[j] = math.Min(math.Max(0, w.lo[j]), w.hi[j])
		}
	}
	n := sparseNewton{sparse: s, obj: obj, known: curvatureOf(obj), warmed: warmed, lambda: lambda}
	w.recall(warm, n.known.Fixed)
	switch end := n.run(ctx); end {
	case converged, stalled:
		out.Status, out.Reason = end.status()
	case interrupted:
		out.Status, out.Reason = end.status()
		return out
	default:
		return s.failed(ctx, p, obj, x, out, n.stuck)
	}
	if w.clamp() {
		n.evaluate()
	}
	copy(out.Y, w.y)
	out.Value = n.value
	if s.contradiction(out) {
		return out
	}
	rest := s.assess(out, n.known)
	terms := linalg.NormInf(w.grad) + linalg.NormInf(w.values)*q.unit(out.Y)
	// 1e-6 is the share of the gradient that multipliers leave where none were found: far above the tolerance of solvers.
	if out.Status == Solved && out.Residuals.Stationarity > 1e-6*terms {
		out.Status, out.Reason = Inaccurate, "no multipliers were found: the rows that hold y depend on each other"
	}
	if s.badlyScaled(out, obj, rest, n.known.Mu) {
		out.hidden()
	}
	if out.Status != Solved && p.Dy <= tolerance.DenseOrder {
		if dense := s.alm.Solve(ctx, p, obj, x, out); dense.Status == Solved {
			return dense
		}
	}
	out.plan, out.Lengths = w.plan, w.lengths
	if n.known.Fixed {
		out.Memory = &Memory{N: p.Dy, Entries: w.values}
	}
	return out
}

// badlyScaled reports that of a solution that counts as one: see Solution.badlyScaled.
func (s *sparseSolver) badlyScaled(out *Solution, obj Objective, rest []float64, mu float64) bool {
	w := &s.work
	_, ok := out.badlyScaled(&s.poly, obj, w.grad, rest, mu, func(hy []float64) bool {
		if w.values == nil {
			return false
		}
		pattern := w.plan.pattern
		for i := range hy {
			for t := pattern.Ptr[i]; t < pattern.Ptr[i+1]; t++ {
				hy[i] += w.values[t] * out.Y[pattern.Col[t]]
			}
		}
		return true
	})
	return ok
}

// prepare makes the workspace one for p: with the plan of the warm solution, or
// with the one it has, or with a new one.
func (s *sparseSolver) prepare(p *problem.Problem, warm *Solution) {
	switch {
	case s.work.plan.fits(p):
	case warm != nil && warm.plan.fits(p):
		s.work.use(warm.plan)
	default:
		s.work.use(newSparsePlan(p, &s.poly, s.threads))
	}
}

func (s *sparseSolver) infeasible(out *Solution, witness []float64) *Solution {
	out.Status, out.Reason, out.Witness = Infeasible, s.poly.explain(witness), witness
	return out
}

// failed finds out why piece k was not solved: for a proof that its rows
// contradict each other, or by the dense solver.
func (s *sparseSolver) failed(ctx context.Context, p *problem.Problem, obj Objective, x []float64, out *Solution, k int) *Solution {
	if k >= 0 {
		if witness := s.contradicted(ctx, k); witness != nil {
			return s.infeasible(out, witness)
		}
	}
	if p.Dy <= tolerance.DenseOrder {
		return s.alm.Solve(ctx, p, obj, x, nil)
	}
	out.Status, out.Reason = Failed, errUndecided.Error()
	return out
}

// contradicted is a checked proof that the rows of piece k contradict each
// other, or nil.
func (s *sparseSolver) contradicted(ctx context.Context, k int) []float64 {
	q, w := &s.poly, &s.work
	piece, l, solver := w.plan.pieces[k], w.local[k], w.solvers[k]
	l.loaded = nil
	if !solver.Load(l.h) {
		return nil
	}
	solver.Set(l.lo, l.hi, l.r)
	lambda, z, found := solver.Farkas(ctx)
	if !found {
		return nil
	}
	witness := make([]float64, q.m)
	for a, i := range piece.rows {
		witness[i] = lambda[a] / q.norm[i]
	}
	for a, v := range z {
		w.weigh(witness, q, piece.entries[a], v)
	}
	if !qp.Refuted(q.rows, q.x, witness) {
		return nil
	}
	return witness
}

// contradiction reports an equality that depends on others, which took no part
// in the solve, and contradicts them; out then says so. The pieces' solvers stay as
// they are: their points are the solution.
func (s *sparseSolver) contradiction(out *Solution) bool {
	q, w := &s.poly, &s.work
	for _, piece := range w.plan.pieces {
		for k, a := range piece.program.Skipped() {
			i := piece.rows[a]
			if math.Abs(q.slack(i, out.Y)) <= 1e3*q.rounding(i, out.Y) {
				continue
			}
			coef := piece.program.Combinations(math.Sqrt(tolerance.Dependence))[k]
			if coef == nil {
				continue
			}
			combination := make([]float64, q.m)
			for t, r := range piece.rows {
				if r != i {
					combination[r] = coef[t] * q.norm[i] / q.norm[r]
				}
			}
			if out.contradictory(q, combination, i) {
				return true
			}
		}
	}
	return false
}

// assess takes the multipliers, of independent rows, from the pieces and says
// what the solution is worth.
func (s *sparseSolver) assess(out *Solution, known Curvature) (rest []float64) {
	q, w := &s.poly, &s.work
	left := make([][]int, len(w.solvers))
	w.each(func(k int) {
		w.linear(k)
		left[k] = w.solvers[k].Reduce()
	})
	w.multipliers(out.Lambda, q, true)
	set := newSparseSet(q, w)
	for k, rows := range left {
		for _, a := range rows {
			set.in[w.plan.pieces[k].rows[a]] = false
		}
	}
	return out.assess(q, set, w.grad, linalg.NormInf(w.grad), known)
}

// sparseSet is the rows and bounds that the pieces hold, as a workingSet.
type sparseSet struct {
	q        *polyhedron
	work     *pieces
	in       []bool
	row      []int  // of each entry of y on a bound: the bound's row, or -1
	factored []bool // of each piece
}

func newSparseSet(q *polyhedron, w *pieces) *sparseSet {
	f := &sparseSet{q: q, work: w, in: make([]bool, q.m), row: slices.Repeat([]int{-1}, q.n), factored: make([]bool, len(w.solvers))}
	w.held(func(j, row int) {
		f.in[row] = true
		f.row[j] = row
	})
	for k, piece := range w.plan.pieces {
		_, active := w.solvers[k].State()
		linalg.Scatter(f.in, piece.rows, active)
	}
	return f
}

func (f *sparseSet) holds(i int) bool { return f.in[i] }

// spans implements workingSet.
func (f *sparseSet) spans(i int, combination []float64) bool {
	w, q := f.work, f.q
	k, a, j := w.plan.home[i], int(w.plan.seat[i]), -1
	scale := q.norm[i]
	if k < 0 {
		j = int(w.plan.bounded[i])
		if j < 0 {
			return false
		}
		k, a, scale = w.plan.owner[j], -1, q.coef[i]
		j = int(w.plan.place[j])
	}
	piece, solver := w.plan.pieces[k], w.solvers[k]
	if !f.factored[k] {
		if !solver.Span() {
			return false
		}
		f.factored[k] = true
	}
	coef, rest := make([]float64, len(piece.rows)), make([]float64, len(piece.entries))
	if !solver.Depends(a, j, math.Sqrt(tolerance.Dependence), coef, rest) {
		return false
	}
	for t, r := range piece.rows {
		if r != i {
			combination[r] += scale * coef[t] / q.norm[r]
		}
	}
	for t, v := range rest {
		if v != 0 {
			if row := f.row[piece.entries[t]]; row >= 0 {
				combination[row] += scale * v / q.coef[row]
			}
		}
	}
	return true
}
