package convex

import (
	"math"
	"slices"

	"bilevelc/runtime/tolerance"
)

// Reduce makes the active rows and bounds of an optimal point independent, so
// that its multipliers are those of a basis: while they depend on each other the
// multipliers move along a dependency, none changing its sign, until one is 0
// and its row or bound is let go (the argument of Caratheodory's theorem). The
// point stays. Where they are too many, or a factorization failed, it leaves
// rows that depend on others and lists them; the multipliers are valid all the
// same.
func (s *Solver) Reduce() (left []int) {
	surplus := s.dependent(s.state, s.active)
	// 500 is how many dependent rows of one program Reduce takes out one by one, each at the price of a solve or a factorization.
	if len(surplus) == 0 || len(surplus) > 500 {
		return surplus
	}
	for _, i := range surplus {
		s.hold(i, false)
	}
	factored := false
	for _, i := range surplus {
		if !factored && !s.Span() {
			return surplus
		}
		factored = !s.letGo(i)
	}
	s.faceKnown = false
	s.onFace()
	return nil
}

// letGo takes the multiplier of the row i, which depends on the active rows and
// bounds, to 0, or as far as another's allows, which it then replaces. An equality holds
// whatever its multiplier is: it replaces the bound or the inequality of which the
// multiplier is 0 first, either way, and is let go only where it depends on equalities
// alone. It reports whether row i is held.
func (s *Solver) letGo(i int) (replaced bool) {
	if s.lambda[i] == 0 && !s.equal[i] {
		return false
	}
	s.combine(i, -1)
	copy(s.rest, s.grad)
	s.subtractRowForces(s.rest[:s.n], s.lambda)
	goal, row, bound := -s.lambda[i], -1, -1 // of lambda_i + t
	t := goal
	if s.equal[i] {
		t = math.Inf(1)
	}
	// A multiplier l >= 0 becomes l - t c.
	meets := func(l, c float64) bool {
		if math.Abs(c) <= tolerance.Sign {
			return false
		}
		at := math.Max(0, l) / c
		if s.equal[i] && math.Abs(at) < math.Abs(t) || !s.equal[i] && c < 0 && at > t {
			t = at
			return true
		}
		return false
	}
	for k, in := range s.active {
		if in && !s.equal[k] && meets(s.lambda[k], s.step[s.n+k]) {
			row, bound = k, -1
		}
	}
	// Of bounds: z_j becomes z_j - t q_j, q what the rows leave of row i.
	for j, at := range s.state {
		if (at == Lower || at == Upper) && meets(s.rest[j]*float64(-at), s.rhs[j]*float64(-at)) {
			row, bound = -1, j
		}
	}
	if row < 0 && bound < 0 {
		t = goal
	}
	for k, in := range s.active {
		if in {
			s.lambda[k] -= t * s.step[s.n+k]
		}
	}
	if row < 0 && bound < 0 {
		s.lambda[i] = 0
		return false
	}
	s.lambda[i] += t
	s.hold(i, true)
	if row >= 0 {
		s.lambda[row] = 0
		s.hold(row, false)
	} else {
		s.put(bound, Free)
	}
	return true
}

// Span prepares Depends: it factorizes the Gram system of the active rows on
// the free variables.
func (s *Solver) Span() bool {
	s.faceKnown = false
	return s.assemble(true)
}

// combine finds the combination of the active rows that is nearest, on the free
// variables, to the scaled row i, or to the unit vector of variable j where i is
// negative. It leaves the coefficients in step[n:] and the rest in rhs[:n].
func (s *Solver) combine(i, j int) {
	target := make([]float64, s.n)
	if i >= 0 {
		for j, v := range s.rows.Entries(i) {
			target[j] = v
		}
	} else {
		target[j] = 1
	}
	clear(s.rhs)
	for k, v := range target {
		if s.state[k] == Free {
			s.rhs[k] = v
		}
	}
	s.ldl.Solve(s.step, s.rhs)
	// The coefficients alone, improved by the rest that they leave.
	coef := append([]float64(nil), s.step[s.n:]...)
	for range 3 {
		copy(s.rhs[:s.n], target)
		s.subtractRowForces(s.rhs[:s.n], coef)
		for k := range target {
			if s.state[k] != Free {
				s.rhs[k] = 0
			}
		}
		clear(s.rhs[s.n:])
		s.ldl.Solve(s.step, s.rhs)
		for k := range coef {
			if s.active[k] {
				coef[k] += s.step[s.n+k]
			} else {
				coef[k] = 0
			}
		}
	}
	copy(s.step[s.n:], coef)
	copy(s.rhs[:s.n], target)
	s.subtractRowForces(s.rhs[:s.n], coef)
}

// Depends reports whether row i, or variable j where i is negative, lies in the
// span of the active rows and the variables on bounds, to within the sine
// tolerance, and how: coef combines the rows to it but for rest, which is 0 on
// free variables; both in the caller's units. Span must have been called.
func (s *Solver) Depends(i, j int, tolerance float64, coef, rest []float64) bool {
	if i < 0 && s.state[j] == Free && !s.touched(j) {
		return false
	}
	s.combine(i, j)
	scale := 0.0
	if i >= 0 {
		scale = 1 / s.f[i]
	} else {
		scale = s.e[j]
	}
	free := 0.0
	for k, v := range s.rhs[:s.n] {
		rest[k] = 0
		if s.state[k] == Free {
			free = math.Max(free, math.Abs(v))
		} else {
			rest[k] = v * scale / s.e[k]
		}
	}
	for k, c := range s.step[s.n:] {
		coef[k] = c * s.f[k] * scale
	}
	return free <= tolerance
}

// touched reports whether an active row involves variable j.
func (s *Solver) touched(j int) bool {
	rows, _ := s.bt.Row(j)
	return slices.ContainsFunc(rows, func(i int) bool { return s.active[i] })
}
