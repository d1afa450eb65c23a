package planted

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
)

// model is a text and its data as they grow.
type model struct {
	head  []string // declarations
	upper []string // the upper level's lines
	lower []string // the lower level's lines before its constraints
	rows  []string // constraints
	data  *data.Set
}

const origin = "planted"

func (m *model) param(name string, value int) {
	m.data.Add(name, data.Scalar(float64(value)), origin)
	m.head = append(m.head, fmt.Sprintf("param %s: int", name))
}

func (m *model) real(name string, value float64) {
	m.data.Add(name, data.Scalar(value), origin)
	m.head = append(m.head, fmt.Sprintf("data %s: real", name))
}

func (m *model) vector(name, size string, v []float64) {
	m.data.Add(name, data.Vector(v), origin)
	m.head = append(m.head, fmt.Sprintf("data %s: vector[%s]", name, size))
}

func (m *model) matrix(name, size string, a *sparse.CSR) {
	m.data.Add(name, data.SparseMatrix(a), origin)
	m.head = append(m.head, fmt.Sprintf("data %s: matrix[%s]", name, size))
}

// begin declares what both families have: sizes, x with its set, the
// reflected variable u, and the rows.
func begin(in *Instance, r *rows, axis []float64) *model {
	p := in.Problem
	m := &model{data: &data.Set{}}
	m.param("dx", p.Dx)
	m.param("dy", p.Dy)
	set := ""
	if in.Options.UpperActive > 0 {
		m.vector("lo", "dx", p.X.Lo)
		m.vector("hi", "dx", p.X.Hi)
		set = " in box(lo, hi)"
	}
	m.vector("x0", "dx", p.Start)
	m.upper = append(m.upper, "var x: vector[dx]"+set)
	m.lower = append(m.lower, "var y: vector[dy]")
	if floats.Dot(axis, axis) == 0 {
		m.lower = append(m.lower, "let u = y")
	} else {
		m.vector("axis", "dy", axis)
		m.lower = append(m.lower, "let u = y - 2 * (axis' * y) * axis")
	}
	if r.links > 0 {
		m.param("links", r.links)
		m.matrix("K", "links, dx", rowRange(r.left, 0, r.links))
		m.matrix("E", "links, dy", rowRange(r.right, 0, r.links))
		m.vector("e", "links", r.shift[:r.links])
		m.rows = append(m.rows, "link: K * x + e == E * u")
	}
	if all := r.len(); all > r.links {
		m.param("floors", all-r.links)
		m.matrix("L", "floors, dx", rowRange(r.left, r.links, all))
		m.matrix("G", "floors, dy", rowRange(r.right, r.links, all))
		m.vector("l", "floors", r.shift[r.links:])
		m.rows = append(m.rows, "floor: G * u >= L * x + l")
	}
	return m
}

// rowRange is the rows [from, to) of m.
func rowRange(m *sparse.CSR, from, to int) *sparse.CSR {
	out := &sparse.CSR{Rows: to - from, Cols: m.Cols, Ptr: make([]int, to-from+1),
		Col: m.Col[m.Ptr[from]:m.Ptr[to]], Val: m.Val[m.Ptr[from]:m.Ptr[to]]}
	for i := range out.Ptr {
		out.Ptr[i] = m.Ptr[from+i] - m.Ptr[from]
	}
	return out
}

// text prints the model.
func (m *model) text(o Options, optimum float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// A generated problem (family %s, seed %d) with a known global optimum: F = %.15g.\n", o.Family, o.Seed, optimum)
	fmt.Fprintf(&b, "// Floors at the optimum: %d active, %d at a kink of F, %d weakly active, %d inactive.\n",
		o.Active, o.Kinks, o.Weak, o.Floors-o.Active-o.Kinks-o.Weak+o.Implied)
	b.WriteString("model planted\n\n")
	block := func(indent string, lines []string) {
		for _, line := range lines {
			b.WriteString(indent + line + "\n")
		}
	}
	block("", m.head)
	b.WriteString("\nupper {\n")
	block("  ", m.upper)
	b.WriteString("}\n\nlower {\n")
	block("  ", m.lower)
	if len(m.rows) > 0 {
		b.WriteString("  subject to\n")
		block("    ", m.rows)
	}
	b.WriteString("}\n\nsolve {\n  start x = x0\n}\n")
	return b.String()
}

func (fn *convexFunctions) model(in *Instance) (string, *data.Set) {
	m := begin(in, fn.rows, fn.axis)
	m.vector("curvature", "dy", fn.d)
	m.matrix("M", "dy, dx", fn.m)
	m.vector("s", "dy", fn.s)
	m.vector("weight", "dy", fn.w)
	m.vector("pull", "dy", fn.q)
	m.vector("target", "dy", fn.tau)
	m.real("rho", fn.rho)
	m.vector("c", "dx", fn.c)
	m.upper = append(m.upper, "minimize weight' * u + 0.5 * sum(pull .* (u - target) .^ 2) + 0.5 * rho * sumsq(x) + c' * x")
	m.lower = append(m.lower, "let r = u - M * x - s")
	if fn.curved {
		// log cosh r, without overflow
		m.lower = append(m.lower, "minimize sum(curvature .* (0.5 * r .^ 2 + r + log1pexp(-2 * r) - log(2)))")
	} else {
		m.lower = append(m.lower, "minimize 0.5 * sum(curvature .* r .^ 2)")
	}
	return m.text(in.Options, in.Optimum.F), m.data
}

func (fn *slackFunctions) model(in *Instance) (string, *data.Set) {
	m := begin(in, fn.rows, fn.axis)
	m.vector("curvature", "dy", fn.d)
	m.matrix("P", "dy, dx", fn.pm)
	m.vector("p", "dy", fn.p)
	m.vector("goal", "dy", fn.y)
	m.vector("center", "dx", fn.x)
	m.real("rho", fn.rho)
	m.real("offset", fn.offset)
	objective := "minimize offset + 0.5 * sumsq(y - goal) + 0.5 * rho * sumsq(x - center)"
	if in.Options.UpperActive > 0 {
		m.vector("tilt", "dx", fn.nu)
		objective += " + tilt' * (x - center)"
	}
	if in.Options.Kinks > 0 {
		m.vector("price", "floors", fn.prices[fn.rows.links:])
		objective += " + price' * (G * u - L * x - l)"
	}
	m.upper = append(m.upper, objective)
	m.lower = append(m.lower, "minimize 0.5 * sum(curvature .* u .^ 2) + y' * (P * x + p)")
	return m.text(in.Options, in.Optimum.F), m.data
}
