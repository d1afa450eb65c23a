package main

import (
	"math"
	"slices"
	"time"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
)

// reduceTime bounds the search for a smaller program of which something false is said.
const reduceTime = 20 * time.Second

// reduce takes away from a program whatever the findings do not need that shows looks for.
func reduce(s *system, shows func(*system) []finding) (*system, []finding) {
	end := time.Now().Add(reduceTime)
	var found []finding
	for again := true; again; {
		again = false
		for k := 0; time.Now().Before(end); k++ {
			t := s.clone()
			steps := t.simplifications()
			if k == len(steps) {
				break
			}
			steps[k]()
			if s.strict() && !t.strict() || !truth.Definite(t.Q, -1e-9) {
				continue // another class
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
	for _, terms := range []*[]truth.Term{&u.UpperTerms, &u.LowerTerms} {
		*terms = slices.Clone(*terms)
		for i := range *terms {
			t := &(*terms)[i]
			t.A, t.C = slices.Clone(t.A), slices.Clone(t.C)
		}
	}
	u.OfX = slices.Clone(u.OfX)
	t.bound, t.block = slices.Clone(t.bound), slices.Clone(t.block)
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
	for _, b := range []*bool{&s.maxF, &s.maxG, &s.turned, &s.tables} {
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
	for j := range s.Dy {
		when(s.Dy > 1, func() { s.dropY(j) })
	}
	for j := range s.Dx {
		when(s.Dx > 1, func() { s.dropX(j) })
	}
	for _, terms := range []*[]truth.Term{&s.UpperTerms, &s.LowerTerms} {
		for i := range *terms {
			when(true, func() { *terms = slices.Delete(*terms, i, i+1) })
		}
	}
	when(s.OfX != nil, func() { s.OfX = nil })
	for i := range s.Rows {
		when(true, func() { s.drop(i) })
	}
	for i := range s.Upper {
		when(true, func() {
			less(i, &s.Upper)
			less(i, &s.uu)
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

// less takes entry i away from each list that has one.
func less[T any](i int, lists ...*[]T) {
	for _, l := range lists {
		if i < len(*l) {
			*l = slices.Delete(*l, i, i+1)
		}
	}
}

// drop takes row i of the follower away.
func (s *system) drop(i int) {
	less(i, &s.Rows)
	less(i, &s.bound, &s.ur)
	s.dropOfF(s.Dx + s.Dy + i)
}

func (s *system) dropOfF(i int) {
	less(i, &s.F.C)
	less(i, &s.F.H)
	for k := range s.F.H {
		less(i, &s.F.H[k])
	}
}

func (s *system) dropX(j int) {
	less(j, &s.Lo, &s.Hi, &s.OfX)
	less(j, &s.Whole)
	less(j, &s.ux)
	less(j, &s.P)
	s.dropOfF(j)
	s.Dx--
	s.dropOfLinear(func(a, _ *[]float64) { less(j, a) })
}

func (s *system) dropY(j int) {
	for i := len(s.Rows) - 1; i >= 0; i-- {
		if s.bound[i] == 1+j {
			s.drop(i)
		} else if s.bound[i] > 1+j {
			s.bound[i]--
		}
	}
	less(j, &s.block, &s.uy)
	less(j, &s.Linear)
	less(j, &s.Q)
	for _, m := range [][][]float64{s.Q, s.P} {
		for i := range m {
			less(j, &m[i])
		}
	}
	s.dropOfF(s.Dx + j)
	s.Dy--
	s.dropOfLinear(func(_, c *[]float64) { less(j, c) })
}

// dropOfLinear changes the coefficients of rows and terms.
func (s *system) dropOfLinear(change func(a, c *[]float64)) {
	for _, rows := range [][]truth.Linear{s.Rows, s.Upper} {
		for i := range rows {
			change(&rows[i].A, &rows[i].C)
		}
	}
	for _, terms := range [][]truth.Term{s.UpperTerms, s.LowerTerms} {
		for i := range terms {
			change(&terms[i].A, &terms[i].C)
		}
	}
}
