package main

import (
	"math"
	"slices"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
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
			steps := t.simplifications()
			if k == len(steps) {
				break
			}
			steps[k]()
			if f := shows(t); f != nil {
				s, found, again = t, f, true
				k--
			}
		}
	}
	return s, found
}

func cloneMatrix(m [][]float64) [][]float64 {
	return each.Of(m, slices.Clone)
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

// simplifications of the system as it is, each in place.
func (s *system) simplifications() []func() {
	var all []func()
	when := func(so bool, do func()) {
		if so {
			all = append(all, do)
		}
	}
	number := func(v *float64, do func()) {
		for _, w := range []float64{0, 1, -1, math.Round(*v)} {
			if w == *v {
				return
			}
			when(math.Abs(w) <= math.Abs(*v), func() { *v = w + 0; do() })
		}
	}
	numbers := func(v []float64, do func()) {
		for i := range v {
			number(&v[i], do)
		}
	}
	alone := func() {}
	for _, b := range []*bool{&s.maxF, &s.maxG, &s.turned} {
		when(*b, func() { *b = false })
	}
	for _, u := range []*int{&s.uf, &s.ug} {
		when(*u != 0, func() { *u = 0 })
	}
	for _, u := range [][]int{s.ux, s.uy, s.ur, s.uu} {
		for i := range u {
			when(u[i] != 0, func() { u[i] = 0 })
		}
	}
	for i := range s.Rows {
		when(true, func() { s.drop(i) })
	}
	for i := range s.Upper {
		when(true, func() {
			s.Upper = slices.Delete(s.Upper, i, i+1)
			if s.uu != nil {
				s.uu = slices.Delete(s.uu, i, i+1)
			}
		})
	}
	for i, whole := range s.Whole {
		when(whole, func() { s.Whole[i] = false })
	}
	both := func(m [][]float64, i, j int, v float64) func() {
		return func() { m[i][j], m[j][i] = v, v }
	}
	for i, row := range s.F.H {
		for j, v := range row[:i+1] {
			when(v != 0, both(s.F.H, i, j, 0))
			when(v != 0 && math.Abs(v) != 1, both(s.F.H, i, j, math.Copysign(1, v)))
		}
	}
	for i, row := range s.Q {
		for j, v := range row[:i] {
			when(v != 0, both(s.Q, i, j, 0))
		}
	}
	for i, row := range s.Q {
		when(row[i] != 0 && row[i] != 1, both(s.Q, i, i, 1))
	}
	for _, v := range [][]float64{s.F.C, s.Linear, {s.F.Const}} {
		numbers(v, func() { s.F.Const *= 0 })
	}
	for _, row := range s.P {
		numbers(row, alone)
	}
	for _, rows := range [][]truth.Linear{s.Rows, s.Upper} {
		for i := range rows {
			numbers(rows[i].A, alone)
			if len(s.bound) == 0 || s.bound[min(i, len(s.bound)-1)] == 0 {
				numbers(rows[i].C, alone)
			}
			number(&rows[i].Rhs, alone)
		}
	}
	for _, v := range [][]float64{s.Lo, s.Hi} {
		for i := range v {
			if !math.IsInf(v[i], 0) {
				number(&v[i], alone)
			}
		}
	}
	return all
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
