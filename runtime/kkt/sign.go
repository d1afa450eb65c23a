package kkt

import (
	"math"

	"bilevelc/runtime/problem"
)

// Tolerance is the size, relative to the terms that make them up, below which a slack or a multiplier is zero: the accuracy to which
// package activeset keeps rows and signs.
const Tolerance = 1e-9

// Signs are what is positive at a point of the system, beyond Tolerance.
type Signs struct {
	Slack, Mult []bool // len M: s_i > 0, lambda_i > 0; equality rows have neither
}

// SignsAt reads the signs off z: s_i against the terms of its row and the largest entry of y, lambda_i against the largest force
// on an entry of y, both in the relaxation's units: linear algebra leaves errors relative to the largest.
func (s *System) SignsAt(z []float64) Signs {
	out := Signs{make([]bool, s.M), make([]bool, s.M)}
	slack, terms := make([]float64, s.M), make([]float64, s.M)
	s.Slack(slack, terms, z)
	answer, force := 0.0, 0.0
	for j, y := range s.Y(z) {
		answer = math.Max(answer, math.Abs(y)/s.ColScale[s.Nx+j])
	}
	for j, v := range s.forces(z) {
		force = math.Max(force, v*s.RowScale[j])
	}
	// What is left of terms that cancel is rounding of the largest of the whole system: an answer that is 0 in all its entries has no size of its own.
	noise := force
	for i, t := range terms {
		noise = math.Max(noise, t*s.rowUnit(i))
	}
	noise *= 0x1p-45
	for i, kind := range s.P.Rows.Kind {
		if kind == problem.Equal {
			continue
		}
		l, reach, push := s.Lambda(z)[i], terms[i], 0.0
		cols, vals := s.P.Rows.B.Row(i)
		for t, j := range cols {
			reach = math.Max(reach, math.Abs(vals[t])*s.ColScale[s.Nx+j]*answer)
			push = math.Max(push, math.Abs(vals[t]*l)*s.RowScale[j])
		}
		out.Slack[i] = slack[i] > Tolerance*reach && slack[i]*s.rowUnit(i) > noise
		out.Mult[i] = push > Tolerance*force && push > noise
	}
	return out
}

// rowUnit is what brings lower row i to the relaxation's units.
func (s *System) rowUnit(i int) float64 {
	unit := 0.0
	cols, vals := s.P.Rows.B.Row(i)
	for t, j := range cols {
		unit = math.Max(unit, math.Abs(vals[t])*s.ColScale[s.Nx+j])
	}
	if unit == 0 {
		return 1
	}
	return 1 / unit
}

// forces are the sizes of the terms of each stationarity row at z.
func (s *System) forces(z []float64) []float64 {
	force := make([]float64, s.Ny)
	x, y, lambda := s.X(z), s.Y(z), s.Lambda(z)
	for j := range force {
		force[j] = math.Abs(s.Q[j])
		cols, vals := s.H.Row(j)
		for t, c := range cols {
			force[j] += math.Abs(vals[t] * y[c])
		}
		cols, vals = s.G.Row(j)
		for t, c := range cols {
			force[j] += math.Abs(vals[t] * x[c])
		}
	}
	for i, l := range lambda {
		if l != 0 {
			cols, vals := s.P.Rows.B.Row(i)
			for t, c := range cols {
				force[c] += math.Abs(vals[t] * l)
			}
		}
	}
	return force
}

// Strong are the rows with a positive multiplier at z, and the equality rows (len M).
func (s *System) Strong(z []float64) []bool {
	strong := s.SignsAt(z).Mult
	for i, kind := range s.P.Rows.Kind {
		if kind == problem.Equal {
			strong[i] = true
		}
	}
	return strong
}

// BranchAt is the branch that z lies on, with its biactive pairs, which are on the side with lambda_i = 0.
func (s *System) BranchAt(z []float64) (branch []Fix, biactive []int) {
	signs := s.SignsAt(z)
	branch = make([]Fix, len(s.Pairs))
	for k, p := range s.Pairs {
		branch[k] = MultZero
		if signs.Mult[p.Row] {
			branch[k] = SlackZero
		} else if !signs.Slack[p.Row] {
			biactive = append(biactive, k)
		}
	}
	return branch, biactive
}
