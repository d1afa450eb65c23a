package convex

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// Solver holds one quadratic program with its workspaces, in coordinates in
// which H has a unit diagonal and rows have unit norm. It is not safe for
// concurrent use.
type Solver struct {
	*Program
	ldl    *linalg.LDL
	values []float64 // of the KKT matrix

	quad, rows *sparse.CSR // H and B, scaled
	e          []float64   // len n: y = e .* (scaled y)
	f          []float64   // len m: scaled row = f_i B_i

	c, lo, hi, r []float64 // scaled
	y, lambda    []float64 // scaled: the point
	state        []int8    // of each variable
	active       []bool    // of each row
	grad         []float64 // Hy + c, or what the caller gave
	terms        float64   // the largest term in the gradient
	own          []float64 // len n: the size of the terms in each of its entries, which makes its rounding

	rhs, step, rest []float64 // len n+m
	faceKnown       bool      // ldl holds the factors of the face (state, active)

	sides   []float64 // len m: see Terms; nil: none
	lenient bool      // rows may be off by more than rounding: no other way was found
}

// NewSolver makes a solver of programs of this structure.
func (p *Program) NewSolver() *Solver {
	n, m := p.n, p.m
	v := func(k int) []float64 { return make([]float64, k) }
	scaled := func(a *sparse.CSR) *sparse.CSR {
		return &sparse.CSR{Rows: a.Rows, Cols: a.Cols, Ptr: a.Ptr, Col: a.Col, Val: v(a.NNZ())}
	}
	return &Solver{Program: p,
		ldl:    linalg.NewLDL(p.kkt.Symbolic, func(i int) bool { return i >= n }),
		values: v(len(p.kkt.Row)), quad: scaled(p.hessian), rows: scaled(p.b), e: v(n), f: v(m),
		c: v(n), lo: v(n), hi: v(n), r: v(m), y: v(n), lambda: v(m), state: make([]int8, n), active: make([]bool, m),
		grad: v(n), own: v(n), rhs: v(n + m), step: v(n + m), rest: v(n + m)}
}

// Load sets H, in the order of its pattern; its diagonal must be positive. It
// forgets the point.
func (s *Solver) Load(h []float64) bool {
	for j := 0; j < s.n; j++ {
		d := h[s.kkt.Lower[s.kkt.Diagonal[j]]]
		if !(d > 0) || math.IsInf(d, 1) {
			return false
		}
		s.e[j] = 1 / math.Sqrt(d)
	}
	for i, e := range s.e {
		for t := s.hessian.Ptr[i]; t < s.hessian.Ptr[i+1]; t++ {
			s.quad.Val[t] = h[t] * e * s.e[s.hessian.Col[t]]
		}
	}
	for i := range s.f {
		_, plain := s.b.Row(i)
		cols, vals := s.rows.Row(i)
		sum := 0.0
		for t, j := range cols {
			vals[t] = plain[t] * s.e[j]
			sum += vals[t] * vals[t]
		}
		s.f[i] = 1
		if sum > 0 {
			s.f[i] = 1 / math.Sqrt(sum)
		}
		floats.Scale(s.f[i], vals)
	}
	clear(s.y)
	clear(s.lambda)
	clear(s.state)
	for i := range s.active {
		s.active[i] = s.equal[i] && !s.skip[i]
	}
	s.faceKnown = false
	return true
}

// Set sets the bounds and the right-hand sides.
func (s *Solver) Set(lo, hi, r []float64) {
	for j, e := range s.e {
		s.lo[j], s.hi[j] = lo[j]/e, hi[j]/e
		if lo[j] == hi[j] {
			s.put(j, Pinned)
		} else if s.state[j] == Pinned {
			s.put(j, Free)
		}
	}
	for i, f := range s.f {
		s.r[i] = r[i] * f
	}
}

// Terms says how large the terms are that each right-hand side, and the bounds of the
// variables of its row, are sums of: their rounding is one of the row.
func (s *Solver) Terms(sizes []float64) {
	if s.sides == nil {
		s.sides = make([]float64, s.m)
	}
	for i, f := range s.f {
		s.sides[i] = sizes[i] * f
	}
}

// Linear sets c from the gradient at a point: c = grad - H y.
func (s *Solver) Linear(grad, y []float64) {
	for j, e := range s.e {
		s.step[j] = y[j] / e
	}
	s.multiply(s.c, s.step[:s.n])
	for j, e := range s.e {
		s.c[j] = grad[j]*e - s.c[j]
	}
}

// Guess sets the point and the active set. Bounds that do not exist are not
// held.
func (s *Solver) Guess(y, lambda []float64, state []int8, active []bool) {
	for j, e := range s.e {
		s.y[j] = y[j] / e
		if s.state[j] == Pinned {
			continue
		}
		at := state[j]
		if at == Lower && math.IsInf(s.lo[j], 0) || at == Upper && math.IsInf(s.hi[j], 0) || at == Pinned {
			at = Free
		}
		s.put(j, at)
	}
	for i, f := range s.f {
		s.lambda[i] = lambda[i] / f
		s.hold(i, !s.skip[i] && (s.equal[i] || active[i]))
	}
}

func (s *Solver) put(j int, state int8) {
	if s.state[j] != state {
		s.state[j] = state
		s.faceKnown = false
	}
}

func (s *Solver) hold(i int, active bool) {
	if s.active[i] != active {
		s.active[i] = active
		s.faceKnown = false
	}
}

// Y writes the point; entries on a bound are exactly lo or hi.
func (s *Solver) Y(dst, lo, hi []float64) {
	for j, e := range s.e {
		switch s.state[j] {
		case Lower, Pinned:
			dst[j] = lo[j]
		case Upper:
			dst[j] = hi[j]
		default:
			dst[j] = s.y[j] * e
		}
	}
}

// Lambda writes the multipliers of the rows.
func (s *Solver) Lambda(dst []float64) {
	for i, f := range s.f {
		dst[i] = s.lambda[i] * f
	}
}

// State is where each variable is, and which rows are held. Not to be changed.
func (s *Solver) State() (state []int8, active []bool) { return s.state, s.active }

// multiply sets dst to H v.
func (s *Solver) multiply(dst, v []float64) {
	for i := range s.n {
		dst[i] = dot(s.quad, i, v)
	}
}

// rowSize is the size of the terms in row i's residual at a point of that size.
func (s *Solver) rowSize(i int, size float64) float64 {
	return s.rows.AddTerms(math.Abs(s.r[i])+size, i, s.y)
}

// rowDot is the scaled row i times v.
func (s *Solver) rowDot(i int, v []float64) float64 { return dot(s.rows, i, v) }

// dot is row i of a matrix times v, added up from the first entry to the last.
func dot(m *sparse.CSR, i int, v []float64) float64 {
	sum := 0.0
	cols, vals := m.Row(i)
	for t, j := range cols {
		sum += vals[t] * v[j]
	}
	return sum
}

// subtractRowForces subtracts B'lambda from dst.
func (s *Solver) subtractRowForces(dst, lambda []float64) { s.rows.AddMulVecT(dst, -1, lambda) }

// model sets grad to Hy + c and notes the size of its terms.
func (s *Solver) model() {
	s.multiply(s.grad, s.y)
	s.terms = 0
	for j, c := range s.c {
		s.own[j] = math.Abs(s.grad[j]) + math.Abs(c)
		s.terms = math.Max(s.terms, s.own[j])
		s.grad[j] += c
	}
	s.addRowTerms()
}

// given sets grad to a gradient of the caller's and notes the size of its terms.
func (s *Solver) given(grad []float64) {
	s.multiply(s.grad, s.y)
	for j, e := range s.e {
		g := grad[j] * e
		s.own[j] = math.Abs(s.grad[j]) + math.Abs(g-s.grad[j])
		s.grad[j] = g
	}
	s.addRowTerms()
}

// addRowTerms counts among the terms the rows' forces, and what the rounding of the
// point makes of a unit curvature.
func (s *Solver) addRowTerms() {
	size := s.size()
	for j := range s.own {
		s.own[j] += size
	}
	for i, l := range s.lambda {
		if l != 0 {
			for j, v := range s.rows.Entries(i) {
				s.own[j] += math.Abs(v * l)
			}
		}
	}
}

// share is a part of a sum of the given size.
func share(part, size float64) float64 {
	if part == 0 {
		return 0
	}
	return math.Abs(part) / size
}

// size is the largest entry of the point.
func (s *Solver) size() float64 { return linalg.NormInf(s.y) }

// Unchanged reports whether the guess is the minimizer as it stands, to
// rounding: nothing needs to be factorized then.
func (s *Solver) Unchanged() bool {
	for j, at := range s.state {
		if at == Upper && s.y[j] != s.hi[j] || (at == Lower || at == Pinned) && s.y[j] != s.lo[j] {
			return false
		}
	}
	for i, l := range s.lambda {
		if l != 0 && !s.active[i] {
			return false
		}
	}
	s.model()
	dual, primal := s.correct(false)
	return dual <= tolerance.FewRoundings && primal <= tolerance.FewRoundings && s.exchange(false) == 0
}

// Release lets go of active rows that depend on the others and on the bounds,
// as they are held, and lists them.
func (s *Solver) Release() []int {
	surplus := s.dependent(s.state, s.active)
	for _, i := range surplus {
		s.hold(i, false)
		s.lambda[i] = 0
	}
	return surplus
}

// Stationarity is the largest entry that the active rows leave of a gradient of
// the caller's on the free variables, relative to its own terms.
func (s *Solver) Stationarity(grad []float64) float64 {
	s.given(grad)
	dual, _ := s.correct(false)
	return dual
}

// Rounding is the share of the terms that rounding leaves of a stationarity.
func (s *Solver) Rounding() float64 { return tolerance.FewRoundings }

// SlopeRounding is what rounding of the gradient's terms, by their last sizes, makes of its slope along a step of the caller's.
func (s *Solver) SlopeRounding(step []float64) float64 {
	return tolerance.FewRoundings * each.SumBelow(s.n, func(j int) float64 { return math.Abs(step[j]) * s.own[j] / s.e[j] })
}
