package main

import (
	"math"
	"slices"

	"bilevelc/bench/campaign/truth"
)

// reduce takes away from a system whatever a finding of a kind does not need.
func reduce(s *system, seed uint64, kind string) (*system, []finding) {
	shows := func(t *system) []finding {
		r := &report{Seed: seed, Family: t.family}
		ask(r, t, seed)
		if slices.ContainsFunc(r.Findings, func(f finding) bool { return f.Kind == kind }) {
			return r.Findings
		}
		return nil
	}
	var found []finding
	for again := true; again; {
		again = false
		for k := 0; ; k++ {
			t := s.clone()
			if !t.simpler(k) {
				break
			}
			if f := shows(t); f != nil {
				s, found, again = t, f, true
				k--
			}
		}
	}
	return s, found
}

func cloneMatrix(m [][]float64) [][]float64 {
	out := make([][]float64, len(m))
	for i := range m {
		out[i] = slices.Clone(m[i])
	}
	return out
}

func (s *system) clone() *system {
	t := *s
	u := *s.System
	t.System = &u
	u.Lo, u.Hi, u.Whole, u.Linear = slices.Clone(u.Lo), slices.Clone(u.Hi), slices.Clone(u.Whole), slices.Clone(u.Linear)
	u.Q, u.P, u.F.H, u.F.C = cloneMatrix(u.Q), cloneMatrix(u.P), cloneMatrix(u.F.H), slices.Clone(u.F.C)
	for _, rows := range []*[]truth.Linear{&u.Rows, &u.Upper} {
		*rows = slices.Clone(*rows)
		for i := range *rows {
			r := &(*rows)[i]
			r.A, r.C = slices.Clone(r.A), slices.Clone(r.C)
		}
	}
	t.bound = slices.Clone(t.bound)
	t.ux, t.uy, t.ur, t.uu = slices.Clone(t.ux), slices.Clone(t.uy), slices.Clone(t.ur), slices.Clone(t.uu)
	return &t
}

// simpler makes the k-th simplification, in place; it is false past the last. One that changes
// nothing is made of what comes behind it.
func (s *system) simpler(k int) bool {
	next := func() bool { k--; return k == -1 }
	number := func(v *float64) bool {
		for _, w := range []float64{0, 1, -1, math.Round(*v)} {
			if w != *v && math.Abs(w) <= math.Abs(*v) && next() {
				*v = w + 0
				return true
			}
			if w == *v {
				break
			}
		}
		return false
	}
	for _, b := range []*bool{&s.maxF, &s.maxG, &s.turned} {
		if *b && next() {
			*b = false
			return true
		}
	}
	if s.uf != 0 && next() {
		s.uf = 0
		return true
	}
	if s.ug != 0 && next() {
		s.ug = 0
		return true
	}
	for _, u := range [][]int{s.ux, s.uy, s.ur, s.uu} {
		for i := range u {
			if u[i] != 0 && next() {
				u[i] = 0
				return true
			}
		}
	}
	for i := range s.Rows {
		if next() {
			s.drop(i)
			return true
		}
	}
	for i := range s.Upper {
		if next() {
			s.Upper = slices.Delete(s.Upper, i, i+1)
			if s.uu != nil {
				s.uu = slices.Delete(s.uu, i, i+1)
			}
			return true
		}
	}
	for i := range s.Whole {
		if s.Whole[i] && next() {
			s.Whole[i] = false
			return true
		}
	}
	for i := range s.F.H {
		for j := range i + 1 {
			if s.F.H[i][j] != 0 && next() {
				s.F.H[i][j], s.F.H[j][i] = 0, 0
				return true
			}
			if v := s.F.H[i][j]; v != 0 && math.Abs(v) != 1 && next() {
				s.F.H[i][j] = math.Copysign(1, v)
				s.F.H[j][i] = s.F.H[i][j]
				return true
			}
		}
	}
	for i := range s.Q {
		for j := range i {
			if s.Q[i][j] != 0 && next() {
				s.Q[i][j], s.Q[j][i] = 0, 0
				return true
			}
		}
	}
	for i := range s.Q {
		if v := s.Q[i][i]; v != 0 && v != 1 && next() {
			s.Q[i][i] = 1
			return true
		}
	}
	for _, v := range [][]float64{s.F.C, s.Linear, {s.F.Const}} {
		for i := range v {
			if number(&v[i]) {
				s.F.Const *= 0
				return true
			}
		}
	}
	for _, row := range s.P {
		for j := range row {
			if number(&row[j]) {
				return true
			}
		}
	}
	for _, rows := range [][]truth.Linear{s.Rows, s.Upper} {
		for i := range rows {
			for j := range rows[i].A {
				if number(&rows[i].A[j]) {
					return true
				}
			}
			for j := range rows[i].C {
				if (len(s.bound) == 0 || s.bound[min(i, len(s.bound)-1)] == 0) && number(&rows[i].C[j]) {
					return true
				}
			}
			if number(&rows[i].Rhs) {
				return true
			}
		}
	}
	for _, v := range [][]float64{s.Lo, s.Hi} {
		for i := range v {
			if !math.IsInf(v[i], 0) && number(&v[i]) {
				return true
			}
		}
	}
	return false
}

// drop takes row i of the follower away.
func (s *system) drop(i int) {
	s.Rows = slices.Delete(s.Rows, i, i+1)
	s.bound = slices.Delete(s.bound, i, i+1)
	if s.ur != nil {
		s.ur = slices.Delete(s.ur, i, i+1)
	}
	at := s.Dx + s.Dy + i
	s.F.C = slices.Delete(s.F.C, at, at+1)
	s.F.H = slices.Delete(s.F.H, at, at+1)
	for k := range s.F.H {
		s.F.H[k] = slices.Delete(s.F.H[k], at, at+1)
	}
}
