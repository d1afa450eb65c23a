package main

import (
	"fmt"
	"math/big"
	"strings"

	"bilevelc/bench/campaign/truth"
	"bilevelc/internal/each"
)

// scaling are the units a model is written in, as powers of ten: x' = 10^X x,
// and so on; every row is multiplied by 10^Rows.
type scaling struct{ X, Y, F, G, Rows int }

// style is how the same program is put into words.
type style struct {
	matrices bool // data matrices instead of written-out sums
	maxUpper bool // maximize -f
	maxLower bool
	turned   bool // rows as >=, with the right side moved
	scale    scaling
}

// writer turns a program into a .blv model.
type writer struct {
	m    *truth.Model
	s    style
	data strings.Builder
}

func write(m *truth.Model, s style) string {
	w := &writer{m: m, s: s}
	var b strings.Builder
	f, g := w.function("f", &m.F, s.scale.F), w.function("g", &m.G, s.scale.G)
	objective := func(e string, maximize bool) string {
		if maximize {
			return "maximize -(" + e + ")"
		}
		return "minimize " + e
	}
	fmt.Fprintf(&b, "upper {\n  var x: vector[%d]%s\n  %s\n", m.Dx, set(m.XLo, m.XHi, s.scale.X), objective(f, s.maxUpper))
	w.rows(&b, "u", m.XRows)
	fmt.Fprintf(&b, "}\nlower {\n  var y: vector[%d]%s\n  %s\n", m.Dy, set(m.YLo, m.YHi, s.scale.Y), objective(g, s.maxLower))
	w.rows(&b, "r", m.Rows)
	b.WriteString("}\n")
	return "model m\n" + w.data.String() + b.String()
}

// literal is v * 10^exponent, exactly as decimals have it.
func literal(v *big.Rat, exponent int) string {
	s := strings.TrimSuffix(strings.TrimRight(v.FloatString(30), "0"), ".")
	if exponent != 0 && v.Sign() != 0 {
		s += fmt.Sprintf("e%d", exponent)
	}
	if v.Sign() < 0 {
		return "(" + s + ")"
	}
	return s
}

func set(lo, hi []*big.Rat, exponent int) string {
	switch {
	case lo[0] == nil:
		return ""
	case hi[0] == nil:
		return " in nonneg"
	}
	return fmt.Sprintf(" in box(%s, %s)", list(lo, exponent), list(hi, exponent))
}

func list(v []*big.Rat, exponent int) string {
	words := each.Below(len(v), func(j int) string { return literal(v[j], exponent) })
	return "[" + strings.Join(words, ", ") + "]"
}

// function writes 10^exponent f in the scaled variables.
func (w *writer) function(name string, f *truth.Function, exponent int) string {
	var parts []string
	x, y := w.s.scale.X, w.s.scale.Y
	linear := func(v []*big.Rat, variable string, unit int) {
		if len(v) == 0 || truth.AllZero(v) {
			return
		}
		if w.s.matrices {
			constant := name + "l" + variable
			fmt.Fprintf(&w.data, "data %s: vector[%d] = %s\n", constant, len(v), list(v, exponent-unit))
			parts = append(parts, fmt.Sprintf("%s' * %s", constant, variable))
			return
		}
		parts = append(parts, sum(v, variable, exponent-unit)...)
	}
	product := func(a [][]*big.Rat, left, right string, leftUnit, rightUnit int, half bool) {
		any := false
		for _, row := range a {
			any = any || !truth.AllZero(row)
		}
		if !any {
			return
		}
		unit := exponent - leftUnit - rightUnit
		prefix := ""
		if half {
			prefix = "0.5 * "
		}
		if w.s.matrices {
			constant := name + left + right
			rows := each.Of(a, func(row []*big.Rat) string { return list(row, unit) })
			fmt.Fprintf(&w.data, "data %s: matrix[%d, %d] = [%s]\n", constant, len(a), len(a[0]), strings.Join(rows, ", "))
			parts = append(parts, fmt.Sprintf("%s%s' * %s * %s", prefix, left, constant, right))
			return
		}
		for i, row := range a {
			for j, v := range row {
				switch {
				case v.Sign() == 0:
				case half && i == j:
					parts = append(parts, fmt.Sprintf("0.5 * %s * %s[%d]^2", literal(v, unit), left, i+1))
				case half && i > j: // once for both
				case half:
					parts = append(parts, fmt.Sprintf("%s * %s[%d] * %s[%d]", literal(v, unit), left, i+1, right, j+1))
				default:
					parts = append(parts, fmt.Sprintf("%s * %s[%d] * %s[%d]", literal(v, unit), left, i+1, right, j+1))
				}
			}
		}
	}
	linear(f.Lx, "x", x)
	linear(f.Ly, "y", y)
	product(f.Xx, "x", "x", x, x, true)
	product(f.Xy, "x", "y", x, y, false)
	product(f.Yy, "y", "y", y, y, true)
	for _, t := range f.Terms {
		u := append(sum(t.A, "x", -x), sum(t.C, "y", -y)...)
		if t.Const.Sign() != 0 || len(u) == 0 {
			u = append(u, literal(t.Const, 0))
		}
		arg := strings.Join(u, " + ")
		word := map[truth.Kind]string{truth.Exp: "exp(%s)", truth.Softplus: "log1pexp(%s)", truth.Entropy: "(%[1]s) * log(%[1]s)",
			truth.Sqrt1: "sqrt(1 + (%s)^2)"}[t.Kind]
		parts = append(parts, literal(t.Weight, exponent)+" * "+fmt.Sprintf(word, arg))
	}
	if len(parts) == 0 {
		return "0 * x[1]"
	}
	return strings.Join(parts, " + ")
}

// sum lists the terms of v' variable.
func sum(v []*big.Rat, variable string, exponent int) []string {
	var out []string
	for j := range v {
		if v[j].Sign() != 0 {
			out = append(out, fmt.Sprintf("%s * %s[%d]", literal(v[j], exponent), variable, j+1))
		}
	}
	return out
}

func (w *writer) rows(b *strings.Builder, prefix string, rows []truth.Row) {
	if len(rows) == 0 {
		return
	}
	unit := w.s.scale.Rows
	b.WriteString("  subject to\n")
	for i, r := range rows {
		a, c, rhs := r.A, r.C, r.Rhs
		relation := "<="
		if r.Equal {
			relation = "=="
		} else if w.s.turned {
			a, c, rhs = times(a, truth.Rat(-1, 1)), times(c, truth.Rat(-1, 1)), new(big.Rat).Neg(rhs)
			relation = ">="
		}
		terms := append(sum(a, "x", unit-w.s.scale.X), sum(c, "y", unit-w.s.scale.Y)...)
		fmt.Fprintf(b, "    %s%d: %s %s %s\n", prefix, i+1, strings.Join(terms, " + "), relation, literal(rhs, unit))
	}
}
