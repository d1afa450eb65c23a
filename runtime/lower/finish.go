package lower

import (
	"fmt"
	"math"
	"sort"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// assess fills in what a Solution says of its point: residuals, active rows
// and their margins, weak and dependent rows, and the certified error bound.
// grad is the gradient of the objective at s.Y, of that size; s.Lambda is set.
// working are the rows that carry the multipliers. It returns what they leave of the gradient.
func (s *Solution) assess(q *polyhedron, working workingSet, grad []float64, size float64, known Curvature) (rest []float64) {
	rest = make([]float64, q.n)
	q.lagrangianGradient(rest, grad, s.Lambda)
	s.Residuals = problem.Residuals{Stationarity: linalg.NormInf(rest)}
	s.MinMultiplier, s.MinSlack = math.Inf(1), math.Inf(1)
	s.Active, s.Weak, s.Dependent = nil, nil, nil
	sizes, slacks := q.sizes(nil, s.Y), q.slacks(s.Y)
	for i, slack := range slacks {
		h := -slack
		if q.norm[i] > 0 {
			h *= q.norm[i]
		}
		if q.equal(i) {
			s.Residuals.Primal = math.Max(s.Residuals.Primal, math.Abs(h))
			s.Active = append(s.Active, i)
			if q.norm[i] > 0 && !working.holds(i) {
				s.Dependent = append(s.Dependent, i)
			}
			continue
		}
		s.Residuals.Primal = math.Max(s.Residuals.Primal, h)
		s.Residuals.Dual = math.Max(s.Residuals.Dual, -s.Lambda[i])
		s.Residuals.Complementarity = math.Max(s.Residuals.Complementarity, math.Abs(s.Lambda[i]*h))
		force := s.Lambda[i] * q.norm[i]
		near := tolerance.Weak * q.size[i]
		if q.of[i] >= 0 {
			near += tolerance.Weak * sizes[q.of[i]]
		}
		switch {
		case slack > near && !(working.holds(i) && force > tolerance.Weak*size):
			s.MinSlack = math.Min(s.MinSlack, -h)
		case q.norm[i] == 0:
			// A condition on x alone that holds with equality: no part of y's
			// complementarity.
		case force > tolerance.Weak*size:
			s.Active = append(s.Active, i)
			s.MinMultiplier = math.Min(s.MinMultiplier, s.Lambda[i])
			if !working.holds(i) && redundant(q, working, i) { // a part of the others' multipliers, of the solve before
				s.Dependent = append(s.Dependent, i)
			}
		case !working.holds(i) && redundant(q, working, i):
			s.Dependent = append(s.Dependent, i)
		default:
			s.Weak = append(s.Weak, i)
		}
	}
	sort.Ints(s.Active)
	s.ErrorBound = errorBound(rest, slacks, s, q, known.Mu)
	return rest
}

// workingSet is a set of independent rows that hold with equality.
type workingSet interface {
	holds(i int) bool
	// spans reports whether the normal of row i is a combination of those of the
	// set, up to the square root of the tolerance of dependence, and puts it into
	// combination (len m, 0 on entry).
	spans(i int, combination []float64) bool
}

// testAccuracy takes back Solved where the residual force, over the least curvature mu,
// leaves y open beside its size.
func (s *Solution) testAccuracy(w *newton, q *polyhedron) {
	if s.Status != Solved || !(w.known.Mu > 0) {
		return
	}
	if open := s.Residuals.Stationarity / w.known.Mu; open > tolerance.Target*s.extent(w, q) {
		s.Status = Inaccurate
		s.Reason = fmt.Sprintf("the residual leaves y open by %.1e: the curvatures of the objective differ by too much", open)
	}
}

// redundant reports whether row i depends on the working rows as a function
// of (x, y), so that it holds with equality wherever they do and its being
// active with a zero multiplier makes no kink of y*(x).
func redundant(q *polyhedron, working workingSet, i int) bool {
	c := &q.combined
	c.combination = resize(c.combination, q.m)
	clear(c.combination)
	if !working.spans(i, c.combination) {
		return false
	}
	c.rows = c.rows[:0]
	for t, v := range c.combination { // of each row of many, so that lists of all of them would take longer than all else
		if v != 0 {
			c.rows = append(c.rows, t)
		}
	}
	// Near dependence is one of units: in those of curvature a row may be next to all along one entry.
	return q.combines(q.rows.A, i) && q.combines(q.rows.B, i)
}

// combines reports whether row i of a, the columns of x or of y, is the combination of its rows that q.combined has:
// column by column, beside the terms that make the difference, as each has units of its own.
func (q *polyhedron) combines(a *sparse.CSR, i int) bool {
	c := &q.combined
	c.begin(a.Cols)
	c.add(a, i, 1, 1)
	for _, t := range c.rows {
		// A row that takes no part has a coefficient of rounding: beside nothing else that is no
		// difference.
		by := c.combination[t]
		c.add(a, t, -by, math.Abs(by)+tolerance.Rounded/math.Sqrt(tolerance.Dependence)*q.norm[i]/q.norm[t])
	}
	for _, j := range c.touched {
		if math.Abs(c.sum[j]) > math.Sqrt(tolerance.Dependence)*c.terms[j] {
			return false
		}
	}
	return true
}

// columnSums are a combination of rows, column by column, and the size of its terms. Between uses they are 0.
type columnSums struct {
	sum, terms []float64
	touched    []int

	combination []float64 // of rows, len m
	rows        []int     // those with a part in it
}

func (c *columnSums) begin(columns int) {
	for _, j := range c.touched {
		c.sum[j], c.terms[j] = 0, 0
	}
	c.touched = c.touched[:0]
	if len(c.sum) < columns {
		c.sum, c.terms = make([]float64, columns), make([]float64, columns)
	}
}

// add adds `by` times row i of a, whose terms count `size` times.
func (c *columnSums) add(a *sparse.CSR, i int, by, size float64) {
	for j, v := range a.Entries(i) {
		if c.terms[j] == 0 {
			c.touched = append(c.touched, j)
		}
		c.sum[j] += by * v
		c.terms[j] += size * math.Abs(v)
	}
}

// errorBound is the certified distance to y*. For every z that satisfies the
// rows, strong convexity and lambda >= 0 give, with s = grad - B' lambda,
//
//	g(z) >= g(y) + grad'(z - y) + mu/2 |z - y|^2
//	     >= g(y) + lambda' h(y) + s'(z - y) + mu/2 |z - y|^2
//	     >= g(y) + lambda' h(y) - |s|^2 / (2 mu),
//
// because B (z - y) >= h(y) row by row. So gap = -lambda' h(y) + |s|^2/(2 mu)
// bounds g(y) - g*, and |y - y*| <= sqrt(2 gap / mu) for a feasible y. An
// h_i(y) that is not distinguishable from 0 in double precision counts as 0. Where y
// violates rows by more, within the tolerance of feasibility, the bound is that of the
// problem with these rows moved by that much, and how far y has to go to meet them
// (see beyond). s is as computed: what
// rounding hides in it, and in the rows, is left out (see oracle.Hyper.ErrorOfY).
func errorBound(stationarity, slacks []float64, s *Solution, q *polyhedron, mu float64) float64 {
	if !(mu > 0) || s.Residuals.Dual > 0 {
		return math.Inf(1)
	}
	gap := 0.0
	for i, lambda := range s.Lambda {
		slack := slacks[i]
		if lambda != 0 && !q.equal(i) && slack > 0 && slack > q.rounding(i, s.Y) {
			gap += lambda * slack * q.norm[i]
		}
	}
	t := linalg.Norm(stationarity)
	gap += t * t / (2 * mu)
	return math.Sqrt(2*gap/mu) + s.beyond(slacks, q)
}

// beyond is how far y has to go along the equations to meet the inequality that is farthest
// off: its violation over the sine of its angle with them. Next to the edge of D, where
// inequalities leave next to nothing of the equations, that is far more than the violation. An
// inequality that depends on the equations is a condition on x alone, as one without y.
func (s *Solution) beyond(slacks []float64, q *polyhedron) float64 {
	most := 0.0
	var equations *face
	for i := range q.m {
		off := -slacks[i]
		if q.equal(i) || q.norm[i] == 0 || !(off > 0 && off > q.rounding(i, s.Y)) {
			continue
		}
		if equations == nil {
			equations = new(face)
			equations.gather(q, nil, nil, nil)
		}
		if sine := equations.split(i); sine > tolerance.Dependence {
			most = math.Max(most, off/sine)
		}
	}
	return most
}
