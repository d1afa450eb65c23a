package lower

import (
	"math"
	"slices"
	"sync"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// polyhedron is the lower level's feasible set at one x: row i says
// B_i y >= r_i (AtMost) or B_i y = r_i (Equal), with r = A x - b. Distances
// are in y: everything is divided by the row's norm, so that the scale a row
// is written in does not matter.
type polyhedron struct {
	rows *problem.Rows
	*shape
	x    []float64 // shared with the caller
	rhs  []float64 // len m: r
	size []float64 // len m: the size of the terms that r_i is a sum of, |A_i| |x| + |b_i|, over |B_i| where that is not 0

	slackOf, slacksAt []float64  // see slacks
	combined          columnSums // see combines
}

// shape is what of a polyhedron depends on B alone. It may be shared.
type shape struct {
	b    *sparse.CSR
	m, n int
	norm []float64 // len m: |B_i|; 0 where the row does not involve y
	// bound[i] is the entry of y that row i bounds or fixes alone, or -1;
	// coef[i] its coefficient.
	bound []int
	coef  []float64
	// class[j] stands for the entries of y that rows join to entry j: a rounding of one of them
	// moves the others, and no more. of[i] is that of row i, or -1.
	class []int
	of    []int

	mu      sync.Mutex
	columns *sparse.CSR // see transposed; nil before it was asked for
}

// set points the polyhedron at the rows, at x. What depends on the rows alone is
// computed once, or taken from an earlier solution (or nil) that may have it.
func (q *polyhedron) set(p *problem.Problem, x []float64, warm *Solution) {
	fits := func(s *shape) bool { return s != nil && s.b == p.Rows.B && s.n == p.Dy }
	switch {
	case fits(q.shape):
	case warm != nil && fits(warm.shape):
		q.shape = warm.shape
	default:
		q.shape = newShape(p)
	}
	q.rows, q.rhs, q.size = p.Rows, resize(q.rhs, q.m), resize(q.size, q.m)
	q.x, q.slackOf = x, q.slackOf[:0]
	for i := range q.rhs {
		q.rhs[i] = q.rows.A.RowDot(i, x) - q.rows.Rhs[i]
		q.size[i] = math.Abs(q.rows.Rhs[i]) + q.rows.A.RowTerms(i, x)
		if q.norm[i] > 0 {
			q.size[i] /= q.norm[i]
		}
	}
}

func newShape(p *problem.Problem) *shape {
	m := p.Rows.Len()
	s := &shape{b: p.Rows.B, m: m, n: p.Dy, norm: make([]float64, m), bound: make([]int, m), coef: make([]float64, m)}
	for i := range s.norm {
		s.norm[i] = linalg.RowNorm(p.Rows.B, i)
		s.bound[i], s.coef[i] = p.Rows.Bound(i)
	}
	s.join()
	return s
}

// join finds the classes.
func (s *shape) join() {
	classes := sparse.NewClasses(s.n)
	s.class, s.of = make([]int, s.n), make([]int, s.m)
	for i := range s.of {
		classes.JoinRow(s.b, i, -1)
	}
	for j := range s.class {
		s.class[j] = classes.Of(j)
	}
	for i := range s.of {
		s.of[i] = -1
		if j, _ := s.b.First(i); j >= 0 {
			s.of[i] = s.class[j]
		}
	}
}

// transposed is B'.
func (s *shape) transposed() *sparse.CSR {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.columns == nil {
		s.columns = s.b.T()
	}
	return s.columns
}

// sizes are the largest entries of y (len n) by class, in dst (len n) at the entry that stands for it.
func (s *shape) sizes(dst, y []float64) []float64 {
	dst = linalg.Cleared(dst, s.n)
	for j, v := range y {
		dst[s.class[j]] = math.Max(dst[s.class[j]], math.Abs(v))
	}
	return dst
}

func (q *polyhedron) equal(i int) bool { return q.rows.Kind[i] == problem.Equal }

// slack is the distance by which y, nil for 0, satisfies row i; negative where it does not.
func (q *polyhedron) slack(i int, y []float64) float64 {
	if j := q.bound[i]; j >= 0 {
		s := -q.rhs[i] / q.coef[i]
		if y != nil {
			s += y[j]
		}
		return math.Copysign(1, q.coef[i]) * s
	}
	s := -q.rhs[i]
	if y != nil {
		s += q.rows.B.RowDot(i, y)
	}
	if q.norm[i] > 0 {
		s /= q.norm[i]
	}
	return s
}

// slacks are those of all rows at y, shared until the next call.
func (q *polyhedron) slacks(y []float64) []float64 {
	if len(q.slackOf) != q.m || !slices.Equal(q.slacksAt, y) {
		q.slacksAt, q.slackOf = append(q.slacksAt[:0], y...), resize(q.slackOf, q.m)
		for i := range q.slackOf {
			q.slackOf[i] = q.slack(i, y)
		}
	}
	return q.slackOf
}

// speed is the derivative of slack(i) along the direction p.
func (q *polyhedron) speed(i int, p []float64) float64 {
	switch j := q.bound[i]; {
	case j >= 0:
		return math.Copysign(p[j], q.coef[i]*p[j])
	case q.norm[i] == 0:
		return 0
	}
	return q.rows.B.RowDot(i, p) / q.norm[i]
}

// rounding is the size of the rounding errors in slack(i, y): a few units in
// the last place of the terms that it is a sum of, those of r_i among them.
func (q *polyhedron) rounding(i int, y []float64) float64 {
	if y == nil {
		return tolerance.FewRoundings * q.size[i]
	}
	if j := q.bound[i]; j >= 0 {
		return tolerance.FewRoundings * (math.Abs(y[j]) + q.size[i])
	}
	size := q.rows.B.RowTerms(i, y)
	if q.norm[i] > 0 {
		size /= q.norm[i]
	}
	return tolerance.FewRoundings * (size + q.size[i])
}

// near is how far from row i a y counts as on it: by rounding, and what is beside the entries that rows join to its own, whose sizes are given (see sizes).
func (q *polyhedron) near(i int, y, sizes []float64) float64 {
	return q.rounding(i, y) + tolerance.Feasibility*(sizes[q.of[i]]+q.size[i])
}

// unit is a length that y may be measured by, its own or, where that is 0, the
// largest distance of a row from 0; 1 where nothing says how long things are.
func (q *polyhedron) unit(y []float64) float64 {
	size := linalg.Norm(y)
	if size == 0 {
		for i, s := range q.size {
			if q.norm[i] > 0 {
				size = math.Max(size, s)
			}
		}
	}
	if size == 0 {
		return 1
	}
	return size
}

// lagrangianGradient sets dst to grad - B' lambda.
func (q *polyhedron) lagrangianGradient(dst, grad, lambda []float64) {
	copy(dst, grad)
	q.rows.B.AddMulVecT(dst, -1, lambda)
}
