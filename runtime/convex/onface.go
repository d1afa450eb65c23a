package convex

import (
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// regular is what is subtracted on the diagonal of the rows' block of the KKT
// matrix, whose other entries are 1 or smaller: it makes the matrix
// quasi-definite, with pivots well above rounding. Repeated steps undo it.
const regular = 1e-9

// assemble fills the KKT matrix of a face, with H or, for questions of the rows
// alone, the identity. Rows and columns that take no part become those of the
// identity.
func (s *Solver) assemble(identity bool) bool {
	for t, at := range s.kkt.Lower {
		s.values[t] = s.quad.Val[at]
		if identity {
			s.values[t] = 0
		}
	}
	if identity {
		for _, t := range s.kkt.Diagonal {
			s.values[t] = 1
		}
	}
	return s.factor(true, func(i int) float64 {
		if !s.reaches(i) {
			return -1
		}
		return -regular
	})
}

// factor factorizes the KKT matrix, of which the entries of H are set: without the variables that are pinned or, on a face, on
// a bound, and without the rows that are not held; diagonal is what the others have there.
func (s *Solver) factor(face bool, diagonal func(i int) float64) bool {
	out := func(j int) bool { return s.out(j, face) }
	at := 0
	for i := range s.state {
		for ; at < s.kkt.First[i+1]; at++ {
			if j := int(s.kkt.Col[at]); out(i) || out(j) {
				s.values[at] = 0
				if i == j {
					s.values[at] = 1
				}
			}
		}
	}
	base := len(s.kkt.Lower)
	for i, active := range s.active {
		for t := s.b.Ptr[i]; t < s.b.Ptr[i+1]; t++ {
			s.values[base+t] = s.rows.Val[t]
			if !active || out(s.b.Col[t]) {
				s.values[base+t] = 0
			}
		}
		d := -1.0
		if active {
			d = diagonal(i)
		}
		s.values[s.kkt.First[s.n+s.m]+i] = d
	}
	return s.ldl.Factor(s.values, tolerance.NoCurvature)
}

// out reports whether variable j is no unknown of the KKT system, of a face or of all that is not pinned.
func (s *Solver) out(j int, face bool) bool {
	return s.state[j] == Pinned || face && s.state[j] != Free
}

// reaches reports whether row i involves a free variable.
func (s *Solver) reaches(i int) bool {
	for j := range s.rows.Nonzeros(i) {
		if s.state[j] == Free {
			return true
		}
	}
	return false
}

// correct makes one Newton step on the face from the gradient in grad, and
// returns the residuals from which it was made, of stationarity on the free
// variables and of the active rows: the largest, each relative to its own terms.
func (s *Solver) correct(apply bool) (dual, primal float64) {
	copy(s.rhs, s.grad)
	s.subtractRowForces(s.rhs[:s.n], s.lambda)
	for j := range s.rhs[:s.n] {
		if s.state[j] != Free {
			s.rhs[j] = 0
			continue
		}
		s.rhs[j] = -s.rhs[j]
		dual = math.Max(dual, share(s.rhs[j], s.own[j]))
	}
	size := s.size()
	for i := 0; i < s.m; i++ {
		s.rhs[s.n+i] = 0
		if s.active[i] {
			v := s.r[i] - s.rowDot(i, s.y)
			primal = math.Max(primal, share(v, s.rowSize(i, size)))
			if s.reaches(i) {
				s.rhs[s.n+i] = v
			}
		}
	}
	if !apply {
		return dual, primal
	}
	s.solveKKT(nil, tolerance.FewRoundings)
	for j := range s.y {
		if s.state[j] == Free {
			s.y[j] += s.step[j]
		}
	}
	for i := range s.lambda {
		if s.active[i] {
			s.lambda[i] -= s.step[s.n+i]
		}
	}
	return dual, primal
}

// solveKKT solves the system that was factorized last, of an interior point or, where that is nil, of the face, for the step, until enough of the
// right-hand side is gone. The regularization stays: it makes steps at interior points those of a proximal method of multipliers,
// which does not mind rows that depend on each other (Rockafellar 1976).
func (s *Solver) solveKKT(it *iterate, enough float64) {
	diagonal := s.values[s.kkt.First[s.n+s.m]:]
	s.ldl.Solve(s.step, s.rhs)
	s.ldl.Refine(s.step, func(r, step []float64) { // entries of step that are no unknowns are 0
		s.multiply(r, step[:s.n])
		if it != nil {
			for _, b := range s.bounds(it) {
				for j, has := range b.has {
					if has {
						r[j] += b.z[j] / b.t[j] * step[j]
					}
				}
			}
		}
		for i, active := range s.active {
			r[s.n+i] = 0
			if !active {
				continue
			}
			v := step[s.n+i]
			s.rows.AddRow(r[:s.n], i, v)
			r[s.n+i] = s.rhs[s.n+i] - s.rowDot(i, step) - diagonal[i]*v
		}
		for j := range s.y {
			r[j] = s.rhs[j] - r[j]
			if s.out(j, it == nil) {
				r[j] = 0
			}
		}
	}, 2, enough*linalg.NormInf(s.rhs))
}

// prepareFace factorizes the KKT matrix of the face and puts the point onto
// its bounds.
func (s *Solver) prepareFace() bool {
	for j, at := range s.state {
		switch at {
		case Lower, Pinned:
			s.y[j] = s.lo[j]
		case Upper:
			s.y[j] = s.hi[j]
		}
	}
	for i, in := range s.active {
		if !in {
			s.lambda[i] = 0
		}
	}
	if !s.faceKnown {
		s.faceKnown = s.assemble(false)
	}
	return s.faceKnown
}

// onFace takes the point to the minimizer of the model on the face, until
// rounding ends the progress.
func (s *Solver) onFace() bool {
	if !s.prepareFace() {
		return false
	}
	last := math.Inf(1)
	for range 8 {
		s.model()
		dual, primal := s.correct(true)
		left := math.Max(dual, primal)
		if math.IsNaN(left) {
			return false
		}
		if left <= tolerance.FewRoundings || left > last/2 {
			break
		}
		last = left
	}
	s.model()
	return true
}

// Correct makes one Newton step on the face from a gradient of the caller's, at
// the point as Y gives it, and returns the stationarity on the free variables
// and the rows' residual before the step, relative to their terms.
func (s *Solver) Correct(grad []float64, apply bool) (dual, primal float64) {
	if !s.prepareFace() {
		return math.NaN(), math.NaN()
	}
	s.given(grad)
	return s.correct(apply)
}
