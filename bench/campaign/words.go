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

// variable is the name of entry i of w, and its unit.
func (s *system) variable(i int) (string, int) {
	switch j := i - s.Dx; {
	case j < 0:
		return s.x(i), at(s.ux, i)
	case j < s.Dy:
		return s.y(j), at(s.uy, j)
	default:
		return fmt.Sprintf("dual(r%d)", j-s.Dy+1), s.ug - at(s.ur, j-s.Dy)
	}
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
	var data, b strings.Builder
	fmt.Fprintf(&b, "upper {\n")
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
	objective := func(name string, q *truth.Quadratic, terms []truth.Term, unit int, largest bool, take func(int) bool) {
		switch {
		case s.tables && largest:
			fmt.Fprintf(&b, "  maximize -(%s)\n", s.table(&data, name, q, terms, unit))
		case s.tables:
			fmt.Fprintf(&b, "  minimize %s\n", s.table(&data, name, q, terms, unit))
		case largest:
			fmt.Fprintf(&b, "  maximize %s\n", s.written(-1, q, terms, unit, take))
		default:
			fmt.Fprintf(&b, "  minimize %s\n", s.written(1, q, terms, unit, take))
		}
	}
	objective("f", &s.F, s.UpperTerms, s.uf, s.maxF, func(int) bool { return true })
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
		objective("g", s.Follower(), s.LowerTerms, s.ug, s.maxG, func(i int) bool { return i < s.Dx || i < s.Dx+s.Dy && s.block[i-s.Dx] == k })
		s.writeRows(&b, "r", s.Rows, s.ur, func(i int) bool { return s.bound[i] == 0 && s.blockOf(i) == k })
		b.WriteString("}\n")
	}
	if !s.strict() {
		b.WriteString("solve { ties = optimistic }\n")
	}
	return "model m\n" + data.String() + b.String()
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
	all := func(v []float64, t float64) bool {
		return !slices.ContainsFunc(v, func(w float64) bool { return w != t })
	}
	switch {
	case !all(hi, math.Inf(1)):
	case all(lo, math.Inf(-1)):
		return ""
	case all(lo, 0):
		return " in nonneg"
	}
	return fmt.Sprintf(" in box(%s, %s)", list(lo, u, 0), list(hi, u, 0))
}

// list are numbers, each in its unit times 10^exponent.
func list(v []float64, u []int, exponent int) string {
	return "[" + strings.Join(each.Below(len(v), func(j int) string { return decimalLiteral(v[j]+0, exponent+at(u, j)) }), ", ") + "]"
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
		fmt.Fprintf(b, "%s    %s%d: %s %s %s\n", head, prefix, i+1, s.linear(sign, r.A, r.C, u).text(), relation, decimalLiteral(sign*r.Rhs+0, u))
		head = ""
	}
}

// linear is sign 10^unit (a'x + c'y).
func (s *system) linear(sign float64, a, c []float64, unit int) *sumText {
	t := &sumText{}
	for i, v := range slices.Concat(a, c) {
		n, u := s.variable(i)
		t.add(sign*v, unit-u, n)
	}
	return t
}

// written is sign 10^unit times a function, of the entries that are taken.
func (s *system) written(sign float64, q *truth.Quadratic, terms []truth.Term, unit int, take func(int) bool) string {
	t := &sumText{}
	t.add(sign*q.Const, unit, "")
	entries := each.WhereBelow(len(q.C), take)
	for _, i := range entries {
		n, u := s.variable(i)
		t.add(sign*q.C[i], unit-u, n)
	}
	for _, i := range entries {
		n, u := s.variable(i)
		for j := range i {
			c, uc := s.variable(j)
			t.add(sign*q.H[i][j], unit-u-uc, c+" * "+n)
		}
		t.add(sign*q.H[i][i]/2, unit-2*u, n+"^2")
	}
	s.smooth(t, sign, terms, unit)
	return t.text()
}

// smooth adds smooth terms.
func (s *system) smooth(t *sumText, sign float64, terms []truth.Term, unit int) {
	for _, v := range terms {
		u := s.linear(1, v.A, v.C, 0)
		u.add(v.Const, 0, "")
		word := map[truth.Kind]string{truth.Exp: "exp(%s)", truth.Softplus: "log1pexp(%s)", truth.Entropy: "(%[1]s) * log(%[1]s)",
			truth.Sqrt1: "sqrt(1 + (%s)^2)"}[v.Kind]
		t.add(sign*v.Weight, unit, fmt.Sprintf(word, u.text()))
	}
}

// table is 10^unit times a function of x and y, by products of arrays that are data.
func (s *system) table(data *strings.Builder, name string, q *truth.Quadratic, terms []truth.Term, unit int) string {
	t, n := &sumText{}, s.Dx+s.Dy
	levels := []struct {
		name     string
		from, to int
		unit     int
	}{{"x", 0, s.Dx, at(s.ux, 0)}, {"y", s.Dx, n, at(s.uy, 0)}}
	for _, l := range levels {
		if c := q.C[l.from:l.to]; !zero(c) {
			fmt.Fprintf(data, "data %sl%s: vector[%d] = %s\n", name, l.name, len(c), list(c, nil, unit-l.unit))
			t.add(1, 0, fmt.Sprintf("%sl%s' * %s", name, l.name, l.name))
		}
	}
	for i, l := range levels {
		for _, r := range levels[i:] {
			rows := each.Of(q.H[l.from:l.to], func(h []float64) []float64 { return h[r.from:r.to] })
			if zero(slices.Concat(rows...)) {
				continue
			}
			words := each.Of(rows, func(v []float64) string { return list(v, nil, unit-l.unit-r.unit) })
			fmt.Fprintf(data, "data %s%s%s: matrix[%d, %d] = [%s]\n", name, l.name, r.name, len(rows), len(rows[0]), strings.Join(words, ", "))
			half := map[bool]float64{true: 0.5, false: 1}[l == r]
			t.add(half, 0, fmt.Sprintf("%s' * %s%s%s * %s", l.name, name, l.name, r.name, r.name))
		}
	}
	s.smooth(t, 1, terms, unit)
	return t.text()
}
