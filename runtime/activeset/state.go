package activeset

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/codegen/kernel"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// state holds the values and multipliers of all constraints, of the scaled
// program with the shifted objective
//
//	1/2 z'Qz + c'z + sum over k of shift_k value_k,
//
// whose shifts make multipliers feasible for a while. m_k is the multiplier in
// it: m_k - shift_k is the program's own.
type state struct {
	lo, hi     []float64 // of the values, scaled
	v, m       []float64
	shift      []float64
	side       []State
	unit       []float64 // of the value of k: what residuals, sides that cross and perturbations are next to at least
	unitM      []float64 // of the multiplier of k
	tolV, tolM []float64 // tolerance of the value, of the multiplier
	shifted    bool

	z, u, g, gt []float64 // scaled point, row multipliers, Qz + c - A'u and its terms
	az, azt     []float64
	din, dout   []float64
	terms       []float64 // of the equations of the working set
}

// reset makes the state that of n constraints before a solve.
func (s *state) reset(n, vars int) {
	s.side, s.shifted = linalg.Cleared(s.side, n), false
	for _, f := range []*[]float64{&s.lo, &s.hi, &s.v, &s.m, &s.shift, &s.unit, &s.unitM, &s.tolV, &s.tolM, &s.din, &s.dout, &s.terms} {
		*f = linalg.Cleared(*f, n)
	}
	for _, f := range []*[]float64{&s.z, &s.g, &s.gt} {
		*f = linalg.Cleared(*f, vars)
	}
	for _, f := range []*[]float64{&s.u, &s.az, &s.azt} {
		*f = linalg.Cleared(*f, n-vars)
	}
}

// bound is the value at which constraint k is active.
func (s *state) bound(k int) float64 {
	switch s.side[k] {
	case AtLower:
		return s.lo[k]
	case AtUpper:
		return s.hi[k]
	}
	return 0
}

// fixed reports whether the sides of k are one: its multiplier has any sign.
func (s *state) fixed(k int) bool { return s.lo[k] == s.hi[k] }

// excess is by how much the multiplier of the active constraint k has the
// wrong sign; 0 where it is right.
func (s *state) excess(k int) float64 {
	switch {
	case s.fixed(k):
		return 0
	case s.side[k] == AtLower:
		return max(0, -s.m[k])
	case s.side[k] == AtUpper:
		return max(0, s.m[k])
	}
	return math.Abs(s.m[k])
}

// violation is by how much the value of k is outside of its sides, and the
// sign of the move that mends it.
func (s *state) violation(k int) (by, sign float64) {
	if d := s.lo[k] - s.v[k]; d > 0 {
		return d, 1
	}
	if d := s.v[k] - s.hi[k]; d > 0 {
		return d, -1
	}
	return 0, 0
}

// gradient sets g to Qz + c - A'u and gt to the sum of its absolute terms,
// sums in twice the working precision (Ogita, Rump, Oishi 2005) where they are
// to be refined.
func (s *Solver) gradient() {
	st, n := s.st, s.program.N
	low := st.dout[:n]
	for j := 0; j < n; j++ {
		st.g[j], st.gt[j], low[j] = s.c[j], math.Abs(s.c[j]), 0
	}
	if s.q != nil {
		for i := 0; i < n; i++ {
			st.g[i], low[i], st.gt[i] = addDot(st.g[i], st.gt[i], s.q, i, st.z)
		}
		s.tab.work += int64(len(s.q.Val))
	}
	for i, u := range st.u {
		if u == 0 {
			continue
		}
		for k := s.a.Ptr[i]; k < s.a.Ptr[i+1]; k++ {
			j, a := s.a.Col[k], -s.a.Val[k]
			p := a * u
			e := math.FMA(a, u, -p)
			st.g[j], low[j] = twoSum(st.g[j], p, low[j]+e)
			st.gt[j] += math.Abs(p)
		}
		s.tab.work += 2 * linalg.Scattered * int64(s.a.Ptr[i+1]-s.a.Ptr[i]) // in twice the precision
	}
	floats.Add(st.g, low)
}

// values sets az to A z minus base (nil: 0), and azt to the sum of absolute terms.
func (s *Solver) values(base func(i int) float64) {
	st := s.st
	for i := range st.az {
		from := 0.0
		if base != nil {
			from = -base(i)
		}
		hi, lo, terms := addDot(from, math.Abs(from), s.a, i, st.z)
		st.az[i], st.azt[i] = hi+lo, terms
	}
	if s.a != nil {
		s.tab.work += 2 * linalg.Scattered * int64(len(s.a.Val))
	}
}

// addDot adds the product of row i and z to a sum, in twice the working precision, and its absolute terms to theirs.
func addDot(sum, terms float64, m *sparse.CSR, i int, z []float64) (hi, lo, _ float64) {
	hi = sum
	for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
		a, b := m.Val[k], z[m.Col[k]]
		if b == 0 {
			continue
		}
		p := a * b
		lo += math.FMA(a, b, -p)
		hi, lo = twoSum(hi, p, lo)
		terms += math.Abs(p)
	}
	return hi, lo, terms
}

// twoSum adds b to a, and the rounding error of that to low (Knuth).
func twoSum(a, b, low float64) (sum, rest float64) {
	sum = a + b
	t := sum - a
	return sum, low + ((a - (sum - t)) + (b - t))
}

// recompute solves the equations of the working set on the program's data,
// with the tableau as the approximate inverse, and sets all values,
// multipliers and tolerances. It reports false where refinement does not
// reach the accuracy of the data: the tableau is worn.
func (s *Solver) recompute() bool {
	st, t, n := s.st, s.tab, s.program.N
	// What pivots have left of a number that is 0 is rounding of what it was on the way: the
	// refinement begins at 0.
	for j := 0; j < n; j++ {
		switch {
		case t.active[j]:
			st.z[j] = st.bound(j)
		case math.Abs(st.v[j]) <= st.tolV[j]:
			st.z[j] = 0
		default:
			st.z[j] = st.v[j]
		}
	}
	for i := range st.u {
		k := n + i
		st.u[i] = -st.shift[k]
		if t.active[k] && math.Abs(st.m[k]-st.shift[k]) > st.tolM[k] {
			st.u[i] += st.m[k]
		} else if t.active[k] {
			st.u[i] = 0
		}
	}
	clear(st.terms)
	last, good := math.Inf(1), false
	for step := 0; ; step++ {
		s.gradient()
		s.values(func(i int) float64 {
			if k := n + i; t.active[k] {
				return st.bound(k)
			}
			return 0
		})
		worst := 0.0 // residual next to its terms
		t.work += vectors * int64(t.n)
		clear(st.din)
		for j := 0; j < n; j++ {
			if !t.active[j] {
				st.din[j] = st.g[j] + st.shift[j]
				st.terms[j] = max(st.gt[j]+math.Abs(st.shift[j]), st.unitM[j])
				worst = max(worst, math.Abs(st.din[j])/st.terms[j])
			}
		}
		for i, r := range st.az {
			if k := n + i; t.active[k] {
				st.din[k] = -r
				st.terms[k] = max(st.azt[i], st.unit[k])
				worst = max(worst, math.Abs(r)/st.terms[k])
			}
		}
		if math.IsNaN(worst) || math.IsInf(worst, 0) {
			return false
		}
		good = worst <= tolerance.Feasibility
		if worst <= tolerance.FewRoundings || worst > 0.25*last && good {
			break
		}
		if step > 1 && worst > 0.5*last {
			break
		}
		last = worst
		t.multiply(st.dout, st.din)
		for j := 0; j < n; j++ {
			if !t.active[j] {
				st.z[j] += st.dout[j]
			}
		}
		for i := range st.u {
			if t.active[n+i] {
				st.u[i] += st.dout[n+i]
			}
		}
	}
	for j := 0; j < n; j++ {
		st.v[j], st.m[j] = st.z[j], 0
		if t.active[j] {
			st.m[j] = st.g[j] + st.shift[j]
		}
	}
	for i, r := range st.az {
		k := n + i
		st.v[k], st.m[k] = r, 0
		if t.active[k] {
			st.v[k], st.m[k] = st.bound(k), st.u[i]+st.shift[k]
		}
	}
	s.tolerances()
	return good
}

// correction is the change of variables and multipliers of rows that takes these residuals out of the equations of the working set: what is left of the gradient of the Lagrangian, and of rows; all in the program's units.
func (s *Solver) correction(cols, rows []float64) (dz, du []float64) {
	st, t, n := s.st, s.tab, s.program.N
	clear(st.din)
	for j, v := range cols {
		if !t.active[j] {
			st.din[j] = v * s.scale.sigma * s.scale.d[j]
		}
	}
	for i, v := range rows {
		if t.active[n+i] {
			st.din[n+i] = -v * s.scale.r[i]
		}
	}
	t.multiply(st.dout, st.din)
	dz, du = make([]float64, n), make([]float64, len(rows))
	for j := range dz {
		if !t.active[j] {
			dz[j] = st.dout[j] * s.scale.d[j]
		}
	}
	for i := range du {
		if t.active[n+i] {
			du[i] = st.dout[n+i] * s.scale.r[i] / s.scale.sigma
		}
	}
	return dz, du
}

// tolerances sets those of all values and multipliers, by their terms.
func (s *Solver) tolerances() {
	st, n := s.st, s.program.N
	for j := 0; j < n; j++ {
		st.tolV[j] = tolerance.LeastSquared + min(s.near, tolerance.Rounded)*math.Abs(st.z[j])
		st.tolM[j] = tolerance.LeastSquared + s.near*st.gt[j]
	}
	for i := range st.az {
		k := n + i
		st.tolV[k] = tolerance.LeastSquared + min(s.near, tolerance.Rounded)*st.azt[i]
		st.tolM[k] = tolerance.LeastSquared + s.near*math.Abs(st.u[i])
	}
}

// boundErrors adds to the tolerances bounds, no more than tolerance.Target, of the errors of values and multipliers in a solution whose equations hold to tolerance.Feasibility of their terms: what the tableau, the inverse of the
// equations, makes of residuals of that size.
func (s *Solver) boundErrors() {
	st, t := s.st, s.tab
	wrong := false
	for k := range st.v {
		tol, unit := st.tolV[k], st.unit[k]
		by, _ := st.violation(k)
		if t.active[k] {
			tol, unit, by = st.tolM[k], st.unitM[k], st.excess(k)
		}
		wrong = wrong || by > tol && (!t.sparse || by <= tol+tolerance.Target*unit) // a basis takes several solves for them: where they decide
	}
	if !wrong {
		return
	}
	floats.ScaleTo(st.din, tolerance.Feasibility, st.terms)
	t.sizesOfProduct(st.dout, st.din, s.random)
	for k, by := range st.dout {
		tol, most := &st.tolV[k], tolerance.Target*st.unit[k]
		if t.active[k] {
			tol, most = &st.tolM[k], tolerance.Target*st.unitM[k]
		}
		if !(by < most) { // or no number
			by = most
		}
		*tol += by
	}
}

// refresh is recomputed, with errors bounded.
func (s *Solver) refresh() bool {
	good := s.recomputed()
	s.boundErrors()
	return good
}

// recomputed recomputes, and builds the tableau from the data where it is worn.
func (s *Solver) recomputed() bool {
	good := s.recompute()
	if !good && s.tab.pivots > 0 {
		s.rebuild()
		good = s.recompute()
	}
	return good
}

// rebuild makes the tableau of the present working set from the data. What is
// dependent in it to working precision leaves it: then it is not kept.
func (s *Solver) rebuild() (kept bool) {
	t, st := s.tab, s.st
	want := append([]bool(nil), t.active...)
	t.build(s.q, s.a)
	t.moveTo(want)
	kept = slices.Equal(want, t.active)
	s.place(want)
	t.pivots, s.checked = 0, 0
	for k, v := range st.v {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			st.v[k] = 0
		}
		if math.IsNaN(st.m[k]) || math.IsInf(st.m[k], 0) {
			st.m[k] = 0
		}
	}
	return kept
}

// place gives sides to constraints that are active though want says that they
// need not be, and takes them from those that are not.
func (s *Solver) place(want []bool) {
	t, st := s.tab, s.st
	for k := range st.side {
		switch {
		case !t.active[k]:
			st.side[k] = Inactive
		case !want[k] || st.side[k] == Inactive:
			st.side[k] = s.nearest(k)
		}
	}
}

// nearest is the side of k that is nearest to 0, Held where it has none.
func (s *Solver) nearest(k int) State {
	lo, hi := s.st.lo[k], s.st.hi[k]
	switch {
	case math.IsInf(lo, -1) && math.IsInf(hi, 1):
		return Held
	case math.Abs(lo) <= math.Abs(hi):
		return AtLower
	}
	return AtUpper
}

// move adds a change of in_k, with the column of k, to all values and multipliers,
// and what it may be off by to their tolerances.
func (s *Solver) move(k int, by float64, col []float64) {
	if by == 0 {
		return
	}
	t, st := s.tab, s.st
	for i, c := range col {
		if c == 0 {
			continue
		}
		d := by * c
		if t.active[i] {
			st.m[i] += d
			st.tolM[i] += tolerance.Sign * math.Abs(d)
		} else {
			st.v[i] += d
			st.tolV[i] += tolerance.Sign * math.Abs(d)
		}
	}
	if t.active[k] {
		st.v[k] += by
	} else {
		st.m[k] -= by
	}
	t.work += int64(t.n)
}

// flip puts the active constraint k at its other side, with its column in col.
func (s *Solver) flip(k int, col []float64) {
	st := s.st
	by := st.hi[k] - st.lo[k]
	if st.side[k] == AtUpper {
		by = -by
	}
	st.side[k] = AtLower + AtUpper - st.side[k]
	s.tab.column(col, k)
	s.move(k, by, col)
}

// toSide puts the value of the active constraint k at its side, from which the tolerance of the ratio test or rounding has left it; its column is to be in col.
func (s *Solver) toSide(k int, col []float64) {
	st := s.st
	if by := st.bound(k) - st.v[k]; by != 0 {
		s.tab.column(col, k)
		s.move(k, by, col)
	}
	st.v[k] = st.bound(k)
}

// value is the scaled objective at z, without shifts.
func (s *Solver) value() float64 {
	st := s.st
	sum := kernel.Dot(s.c, st.z)
	return sum + 0.5*s.quadratic(st.z)
}

// quadratic is z'Qz.
func (s *Solver) quadratic(z []float64) float64 {
	if s.q == nil {
		return 0
	}
	sum := 0.0
	for i := range z {
		if z[i] != 0 {
			sum += z[i] * s.q.RowDot(i, z)
		}
	}
	s.tab.work += int64(len(s.q.Val))
	return sum
}

// sideless reports that constraint k has no side where a weight w of its needs one.
func (s *state) sideless(k int, w float64) bool {
	return w > 0 && math.IsInf(s.lo[k], -1) || w < 0 && math.IsInf(s.hi[k], 1)
}

// charge is the sum over sides of side x weight, of variables and rows, and of the absolute terms. A
// weight that needs a side that is not there counts as 0 where it is that of a variable and no more than
// rounding, a share of its own terms, and makes the sum -Inf beyond.
func (s *Solver) charge(vars, rows, own []float64, rounding float64) (sum, terms float64) {
	st, n := s.st, len(vars)
	for k := range st.lo {
		w, open := 0.0, 0.0
		if k < n {
			w, open = vars[k], rounding*own[k]
		} else {
			w = rows[k-n]
		}
		side := st.lo[k]
		if w < 0 {
			side = st.hi[k]
		}
		switch {
		case w == 0:
		case !math.IsInf(side, 0):
			sum += w * side
			terms += math.Abs(w * side)
		case math.Abs(w) > open:
			return math.Inf(-1), math.Inf(1)
		}
	}
	return sum, terms
}
