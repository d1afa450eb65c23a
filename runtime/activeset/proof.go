package activeset

import (
	"math"

	"bilevelc/internal/each"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// farkas takes the weights that the column of the violated constraint p gives,
// solves for those of the working set on the program's data, and reports
// whether they prove that no point is feasible. It keeps them, unscaled.
func (s *Solver) farkas(p int, sign float64, col []float64) bool {
	t, n := s.tab, s.program.N
	w := make([]float64, t.n)
	for k, c := range col {
		if t.active[k] {
			w[k] = -sign * c
		}
	}
	w[p] = sign
	return s.proves(w[n:]) || s.refineWeights(w[n:], p) && s.proves(w[n:])
}

// refineWeights solves A'w = 0 on the inactive variables for the weights of
// the active rows, p's weight given.
func (s *Solver) refineWeights(w []float64, p int) bool {
	t, st, n := s.tab, s.st, s.program.N
	for range 3 { // each gains the digits that the tableau has
		s.transposed(st.g, nil, w)
		clear(st.din)
		for j := 0; j < n; j++ {
			if !t.active[j] && j != p {
				st.din[j] = st.g[j]
			}
		}
		t.multiply(st.dout, st.din)
		for i := range w {
			if t.active[n+i] {
				w[i] -= st.dout[n+i]
			}
		}
	}
	return linalg.Finite(w)
}

// transposed sets g to A'w and adds its absolute terms to gt, if that is not nil.
func (s *Solver) transposed(g, gt, w []float64) {
	clear(g)
	for i, v := range w {
		if v == 0 {
			continue
		}
		for k := s.a.Ptr[i]; k < s.a.Ptr[i+1]; k++ {
			term := v * s.a.Val[k]
			g[s.a.Col[k]] += term
			if gt != nil {
				gt[s.a.Col[k]] += math.Abs(term)
			}
		}
	}
}

// proves reports whether the row weights w, with the variables' weights -A'w,
// prove infeasibility: their sum over sides is positive beyond its rounding.
// Weights that need a side that is not there must be 0 up to rounding.
func (s *Solver) proves(w []float64) bool {
	st, n := s.st, s.program.N
	most := linalg.NormInf(w)
	for i := range w { // rows without the side that their weight needs
		k := n + i
		if math.Abs(w[i]) <= tolerance.Feasibility*most {
			w[i] = 0
		}
		if st.sideless(k, w[i]) {
			if math.Abs(w[i]) > tolerance.Sign*most {
				return false
			}
			w[i] = 0
		}
	}
	g, gt := make([]float64, n), make([]float64, n)
	s.transposed(g, gt, w)
	for j := range g {
		g[j] = -g[j]
		if math.Abs(g[j]) <= tolerance.FewRoundings*gt[j] {
			g[j] = 0
		}
	}
	if len(w) == 0 || most == 0 {
		return false
	}
	sum, terms := s.charge(g, w, gt, tolerance.Sign)
	// The sum of n+m products, each rounded.
	if !(sum > tolerance.FewRoundings*float64(len(st.lo))*terms) {
		return false
	}
	s.farkasRow, s.farkasBound = make([]float64, len(w)), g
	for i := range w {
		s.farkasRow[i] = w[i] * s.scale.r[i]
	}
	for j := range g {
		if st.sideless(j, g[j]) {
			g[j] = 0
		}
		g[j] /= s.scale.d[j]
	}
	return true
}

// endless takes the direction that the release of q gives and reports whether
// it is one of feasible points in which the objective falls without end. It
// keeps it, unscaled.
func (s *Solver) endless(q int, sign float64, col []float64) bool {
	t, st, n := s.tab, s.st, s.program.N
	ray := make([]float64, n)
	for j := range ray {
		switch {
		case j == q:
			ray[j] = sign
		case !t.active[j]:
			ray[j] = sign * col[j]
		}
	}
	most := linalg.NormInf(ray)
	if most == 0 || math.IsNaN(most) || math.IsInf(most, 0) {
		return false
	}
	for j := range ray {
		ray[j] /= most
		if math.Abs(ray[j]) <= tolerance.Feasibility {
			ray[j] = 0
		}
		v := ray[j]
		if v > 0 && !math.IsInf(st.hi[j], 1) || v < 0 && !math.IsInf(st.lo[j], -1) {
			if math.Abs(v) > tolerance.Sign {
				return false
			}
			ray[j] = 0
		}
	}
	for i := range st.u {
		sum, terms := 0.0, 0.0
		for j, v := range s.a.Entries(i) {
			sum += v * ray[j]
			terms += math.Abs(v * ray[j])
		}
		if k := n + i; sum > tolerance.Sign*terms && !math.IsInf(st.hi[k], 1) || sum < -tolerance.Sign*terms && !math.IsInf(st.lo[k], -1) {
			return false
		}
	}
	slope, terms := 0.0, 0.0
	for j, v := range ray {
		slope += s.c[j] * v
		terms += math.Abs(s.c[j] * v)
	}
	if !(slope < -tolerance.Sign*terms) {
		return false
	}
	if s.q != nil {
		for i := range ray {
			sum, terms := 0.0, 0.0
			for j, v := range s.q.Entries(i) {
				sum += v * ray[j]
				terms += math.Abs(v) * (tolerance.Sign*math.Abs(ray[j]) + tolerance.Feasibility)
			}
			if math.Abs(sum) > terms {
				return false
			}
		}
	}
	s.ray = ray
	for j := range ray {
		ray[j] *= s.scale.d[j]
	}
	return true
}

// beyondCutoff reports whether the present multipliers prove that the value of
// the program is beyond the cutoff.
func (s *Solver) beyondCutoff() bool {
	if math.IsInf(s.cutoff, 1) || s.st.shifted && s.perturbed {
		return false
	}
	st := s.st
	// At the minimizer of the working set: 1/2 (c'z + sum of multiplier x value).
	f := each.SumBelow(len(s.c), func(j int) float64 { return s.c[j] * st.v[j] })
	for k, m := range st.m {
		if w := m - st.shift[k]; w != 0 {
			f += w * st.v[k]
		}
	}
	s.tab.work += int64(s.tab.n)
	return f/2 > s.cutoff && s.proveBound()
}

// proveBound recomputes the point and its multipliers and reports whether the
// dual function there is beyond the cutoff.
func (s *Solver) proveBound() bool {
	st, n := s.st, s.program.N
	if !s.recomputed() {
		s.boundErrors()
		return false
	}
	for i, u := range st.u {
		if st.sideless(n+i, u) {
			st.u[i] = 0 // any multipliers of the right signs give a bound
		}
	}
	s.gradient()
	sum, terms := s.charge(st.g, st.u, st.gt, tolerance.Feasibility)
	quad := s.quadratic(st.z)
	bound := sum - quad/2
	s.bound = bound / s.scale.sigma
	if bound-tolerance.FewRoundings*float64(s.tab.n)*(terms+quad) > s.cutoff {
		return true
	}
	s.boundErrors() // the phase goes on
	return false
}
