package lower

import (
	"math"
	"slices"

	"bilevelc/internal/ablation"
	"bilevelc/runtime/linalg"
)

// Bounds on the work of spread: rows that hold with equality, weak ones among them, each
// of which costs a nonnegative least-squares problem, and entries of the rows.
const (
	mostTight   = 200
	mostWeak    = 32
	mostEntries = 1 << 20
)

// unsolved is the share of the gradient that multipliers leave where there is nothing to
// spread yet: far above the tolerance of solvers.
const unsolved = 1e-6

// spread gives multipliers to weak rows that may have one. Where more rows hold with
// equality than are independent, multipliers are a choice, and a solver's leaves some
// rows without one on which others press. A weak row i may press if the gradient minus
// a small force along it is still in the cone of the rows that hold: then the mean of
// all such choices presses on all such rows at once. If they depend on each other as
// functions of (x, y), they hold y wherever x moves to, and F is smooth where it seemed to
// have a kink. grad is the gradient and rest what the multipliers leave of it.
func (s *Solution) spread(q *polyhedron, grad, rest []float64) {
	if ablation.Off("spread") {
		return
	}
	pull := linalg.Norm(grad)
	if len(s.Weak) == 0 || len(s.Weak) > mostWeak || pull == 0 || len(s.Active)+len(s.Weak)+len(s.Dependent) > mostTight ||
		(len(s.Active)+len(s.Weak)+len(s.Dependent))*q.n > mostEntries || linalg.Norm(rest) > unsolved*pull {
		return
	}
	var w activeSet
	w.poly = q
	w.s, w.gz = make([]float64, q.n), make([]float64, q.n)
	w.lambda, w.current = make([]float64, q.m), make([]float64, q.m)
	w.boundary.slack = make([]float64, q.m)
	tight := make([]bool, q.m)
	w.gather(nil)
	independent := true
	for _, rows := range [][]int{s.Active, s.Weak, s.Dependent} {
		for _, i := range rows {
			tight[i] = true
			independent = w.face.add(i) && independent
		}
	}
	if independent {
		return // multipliers are unique
	}
	const (
		share    = 1e-2 // of the gradient that a row is asked to take: well above weakness
		rounding = 64 * roundingUnit
	)
	mean, found := slices.Clone(s.Lambda), 1.0
	left := make([]float64, q.n)
	for _, i := range s.Weak {
		t := share * pull / q.norm[i]
		copy(w.gz, grad)
		q.rows.B.AddRow(w.gz, i, -t)
		w.gather(nil)
		w.z = s.Y
		w.cone(tight)
		copy(left, w.gz)
		w.face.project(left)
		if linalg.Norm(left) > linalg.Norm(rest)+rounding*pull {
			continue
		}
		for k, l := range w.current {
			mean[k] += l
		}
		mean[i] += t
		found++
	}
	if found == 1 {
		return
	}
	for k := range mean {
		mean[k] /= found
	}
	presses := func(i int) bool { return mean[i]*q.norm[i] > weakness*pull }
	w.gather(nil)
	var active, dependent []int
	for _, rows := range [][]int{s.Active, s.Weak, s.Dependent} {
		for _, i := range rows {
			switch {
			case slices.Contains(active, i): // a dependent equality is in two lists
			case q.equal(i):
				active = append(active, i)
				if !w.face.in[i] && q.norm[i] > 0 {
					dependent = append(dependent, i)
				}
			case !presses(i):
				mean[i] = 0
			case w.face.add(i):
				active = append(active, i)
			case s.redundant(q, &w.face, i):
				active, dependent = append(active, i), append(dependent, i)
			default:
				return // they hold together at this x alone: a kink
			}
		}
	}
	var weak []int
	for _, rows := range [][]int{s.Weak, s.Dependent} {
		for _, i := range rows {
			switch {
			case q.equal(i) || presses(i):
			case s.redundant(q, &w.face, i):
				dependent = append(dependent, i)
			default:
				weak = append(weak, i)
			}
		}
	}
	s.Lambda, s.Active, s.Weak, s.Dependent = mean, active, weak, dependent
	s.settle(q, grad, rest)
	slices.Sort(s.Weak)
	slices.Sort(s.Dependent)
}

// settle sets what follows from other multipliers and active rows.
func (s *Solution) settle(q *polyhedron, grad, rest []float64) {
	q.subtractPull(rest, grad, s.Lambda)
	s.Residuals.Stationarity = linalg.NormInf(rest)
	s.MinMultiplier, s.Residuals.Complementarity = math.Inf(1), 0
	for _, i := range s.Active {
		if !q.equal(i) {
			s.MinMultiplier = math.Min(s.MinMultiplier, s.Lambda[i])
			s.Residuals.Complementarity = math.Max(s.Residuals.Complementarity, math.Abs(s.Lambda[i]*q.slack(i, s.Y)*q.norm[i]))
		}
	}
}

// cone is project where the rows that bind are given, and the face is that of the
// equalities.
func (w *activeSet) cone(tight []bool) {
	w.face.multipliers(w.lambda, w.gz)
	copy(w.current, w.lambda)
	for i := range w.boundary.slack {
		w.boundary.slack[i] = math.Inf(1)
		if tight[i] {
			w.boundary.slack[i] = 0
		}
	}
	w.press()
}
