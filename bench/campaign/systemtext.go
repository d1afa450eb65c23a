package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
)

// decimalLiteral is v * 10^exponent.
func decimalLiteral(v float64, exponent int) string {
	t := strconv.FormatFloat(v, 'f', -1, 64)
	if exponent != 0 && v != 0 && !math.IsInf(v, 0) {
		t += fmt.Sprintf("e%d", exponent)
	}
	if math.IsInf(v, 0) {
		t = map[bool]string{true: "inf", false: "-inf"}[v > 0]
	}
	return t
}

// at is an element of units, of which there may be none.
func at(u []int, i int) int {
	if i < len(u) {
		return u[i]
	}
	return 0
}

func (s *system) x(j int) string { return s.name("x", j) }
func (s *system) y(j int) string { return s.name("y", j) }

func (s *system) name(v string, j int) string {
	if s.vector {
		return fmt.Sprintf("%s[%d]", v, j+1)
	}
	return fmt.Sprintf("%s%d", v, j+1)
}

// sum joins terms, each a coefficient in front of a product.
type sumText struct{ strings.Builder }

func (t *sumText) add(v float64, exponent int, product string) {
	if v == 0 {
		return
	}
	sign := " + "
	if v < 0 {
		sign = " - "
	}
	if t.Len() == 0 {
		sign = strings.TrimSpace(strings.TrimLeft(sign, " +"))
	}
	t.WriteString(sign)
	word := decimalLiteral(math.Abs(v), exponent)
	switch {
	case product == "":
		t.WriteString(word)
	case word == "1":
		t.WriteString(product)
	default:
		t.WriteString(word + " * " + product)
	}
}

func (t *sumText) text() string {
	if t.Len() == 0 {
		return "0"
	}
	return t.String()
}

// text is the model.
func (s *system) text() string {
	var b strings.Builder
	b.WriteString("model m\nupper {\n")
	if s.vector {
		fmt.Fprintf(&b, "  var x: vector[%d]%s\n", s.Dx, s.set(s.Lo, s.Hi, s.ux))
	} else {
		for j := range s.Dx {
			kind := "real"
			set := s.interval(s.Lo[j], s.Hi[j], at(s.ux, j))
			switch {
			case s.Whole[j] && s.Lo[j] == 0 && s.Hi[j] == 1:
				kind, set = "binary", ""
			case s.Whole[j]:
				kind = "integer"
			}
			fmt.Fprintf(&b, "  var x%d: %s%s\n", j+1, kind, set)
		}
	}
	word := map[bool]string{false: "minimize", true: "maximize"}
	fmt.Fprintf(&b, "  %s %s\n", word[s.maxF], s.leader())
	s.writeRows(&b, "u", s.Upper, s.uu, func(int) bool { return true })
	b.WriteString("}\n")
	for k := range slices.Max(s.block) + 1 {
		name := ""
		if slices.Max(s.block) > 0 {
			name = fmt.Sprintf(" f%d", k+1)
		}
		fmt.Fprintf(&b, "lower%s {\n", name)
		lo, hi := s.box()
		if s.vector {
			fmt.Fprintf(&b, "  var y: vector[%d]%s\n", s.Dy, s.set(lo, hi, s.uy))
		} else {
			for j := range s.Dy {
				if s.block[j] == k {
					fmt.Fprintf(&b, "  var y%d: real%s\n", j+1, s.interval(lo[j], hi[j], at(s.uy, j)))
				}
			}
		}
		fmt.Fprintf(&b, "  %s %s\n", word[s.maxG], s.follower(k))
		s.writeRows(&b, "r", s.Rows, s.ur, func(i int) bool { return s.bound[i] == 0 && s.blockOf(i) == k })
		b.WriteString("}\n")
	}
	if !s.strict() {
		b.WriteString("solve { ties = optimistic }\n")
	}
	return b.String()
}

// blockOf is the follower of a row.
func (s *system) blockOf(i int) int {
	for j, c := range s.Rows[i].C {
		if c != 0 {
			return s.block[j]
		}
	}
	return 0
}

func (s *system) interval(lo, hi float64, u int) string {
	switch {
	case math.IsInf(lo, -1) && math.IsInf(hi, 1):
		return ""
	case lo == 0 && math.IsInf(hi, 1):
		return " in nonneg"
	}
	return fmt.Sprintf(" in box(%s, %s)", decimalLiteral(lo+0, u), decimalLiteral(hi+0, u))
}

func (s *system) set(lo, hi []float64, u []int) string {
	if !slices.ContainsFunc(lo, func(v float64) bool { return !math.IsInf(v, -1) }) && !slices.ContainsFunc(hi, func(v float64) bool { return !math.IsInf(v, 1) }) {
		return ""
	}
	words := func(v []float64) string {
		t := each.Below(len(v), func(j int) string { return decimalLiteral(v[j]+0, at(u, j)) })
		return "[" + strings.Join(t, ", ") + "]"
	}
	return fmt.Sprintf(" in box(%s, %s)", words(lo), words(hi))
}

func (s *system) writeRows(b *strings.Builder, prefix string, rows []truth.Linear, units []int, take func(int) bool) {
	head := "  subject to\n"
	for i, r := range rows {
		if !take(i) {
			continue
		}
		u := at(units, i)
		sign, relation := 1.0, "<="
		if r.Equal {
			relation = "=="
		} else if s.turned {
			sign, relation = -1, ">="
		}
		t := &sumText{}
		for j, v := range r.A {
			t.add(sign*v, u-at(s.ux, j), s.x(j))
		}
		for j, v := range r.C {
			t.add(sign*v, u-at(s.uy, j), s.y(j))
		}
		fmt.Fprintf(b, "%s    %s%d: %s %s %s\n", head, prefix, i+1, t.text(), relation, decimalLiteral(sign*r.Rhs+0, u))
		head = ""
	}
}

// leader is F in words.
func (s *system) leader() string {
	sign := 1.0
	if s.maxF {
		sign = -1
	}
	name := func(i int) (string, int) {
		switch {
		case i < s.Dx:
			return s.x(i), at(s.ux, i)
		case i < s.Dx+s.Dy:
			return s.y(i - s.Dx), at(s.uy, i-s.Dx)
		}
		return fmt.Sprintf("dual(r%d)", i-s.Dx-s.Dy+1), s.ug - at(s.ur, i-s.Dx-s.Dy)
	}
	t := &sumText{}
	t.add(sign*s.F.Const, s.uf, "")
	for i, v := range s.F.C {
		n, u := name(i)
		t.add(sign*v, s.uf-u, n)
	}
	for i := range s.F.H {
		a, ua := name(i)
		for j := range i {
			c, uc := name(j)
			t.add(sign*s.F.H[i][j], s.uf-ua-uc, c+" * "+a)
		}
		t.add(sign*s.F.H[i][i]/2, s.uf-2*ua, a+"^2")
	}
	return t.text()
}

// follower is the objective of a block.
func (s *system) follower(k int) string {
	sign := 1.0
	if s.maxG {
		sign = -1
	}
	t := &sumText{}
	for j := range s.Dy {
		if s.block[j] != k {
			continue
		}
		u := at(s.uy, j)
		t.add(sign*s.Linear[j], s.ug-u, s.y(j))
		for i := range s.Dx {
			t.add(sign*s.P[i][j], s.ug-u-at(s.ux, i), s.x(i)+" * "+s.y(j))
		}
		for l := range j {
			t.add(sign*s.Q[j][l], s.ug-u-at(s.uy, l), s.y(l)+" * "+s.y(j))
		}
		t.add(sign*s.Q[j][j]/2, s.ug-2*u, s.y(j)+"^2")
	}
	return t.text()
}
