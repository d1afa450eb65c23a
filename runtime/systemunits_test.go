package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// mixedUnits is a random model with a linear or convex quadratic follower: products of a coefficient and variables, in each row and objective.
type mixedUnits struct {
	nx, ny int
	lo, hi [][2]float64 // of x, then of y
	ends   []bool       // y has an upper end
	rows   [][]float64  // over x, then y; at most the last
	f, g   []term
}

// term is a coefficient of a product of variables of (x, y); -1 stands for 1.
type term struct {
	c    float64
	i, j int
}

func randomMixedUnits(rng *rand.Rand) *mixedUnits {
	m := &mixedUnits{nx: 1 + rng.IntN(2), ny: 1 + rng.IntN(3)}
	n := m.nx + m.ny
	whole := func(k int) float64 { return float64(rng.IntN(2*k+1) - k) }
	m.lo, m.hi = make([][2]float64, n), make([][2]float64, n)
	inside := make([]float64, n) // a point that keeps all rows
	for j := range n {
		inside[j] = whole(3)
		m.lo[j][0], m.hi[j][0] = inside[j]-float64(rng.IntN(4)), inside[j]+float64(1+rng.IntN(4))
		m.ends = append(m.ends, j < m.nx || rng.IntN(3) > 0)
	}
	for range 1 + rng.IntN(3) {
		row, at := make([]float64, n+1), 0.0
		for j := range n {
			row[j] = whole(3)
			at += row[j] * inside[j]
		}
		row[n] = at + float64(rng.IntN(3))
		m.rows = append(m.rows, row)
	}
	convex := rng.IntN(2) == 0
	for j := range n {
		m.f = append(m.f, term{whole(4), -1, j})
		if convex {
			m.f = append(m.f, term{float64(rng.IntN(3)), j, j})
		}
	}
	if !convex {
		m.f = append(m.f, term{whole(2), rng.IntN(m.nx), m.nx + rng.IntN(m.ny)})
	}
	curved := rng.IntN(3)
	for j := m.nx; j < n; j++ {
		c := whole(4)
		if !m.ends[j] {
			c = 1 + math.Abs(c)
		}
		m.g = append(m.g, term{c, -1, j})
		if curved == 0 || curved == 1 && rng.IntN(2) == 0 {
			m.g = append(m.g, term{float64(1 + rng.IntN(2)), j, j})
		}
		if m.ends[j] {
			m.g = append(m.g, term{whole(2), rng.IntN(m.nx), j})
		}
	}
	return m
}

// text is the model with variables that are unit times those of m, and rows, f and g times theirs: powers of two, so that it is the same problem to the last digit.
func (m *mixedUnits) text(unit, row []float64, f, g float64) string {
	n := m.nx + m.ny
	name := func(j int) string {
		if j < m.nx {
			return fmt.Sprintf("x%d", j+1)
		}
		return fmt.Sprintf("y%d", j-m.nx+1)
	}
	sum := func(terms []term, by float64) string {
		parts := []string{"0"}
		for _, t := range terms {
			if t.c == 0 {
				continue
			}
			c, product := by*t.c/unit[t.j], " * "+name(t.j)
			if t.i >= 0 {
				c, product = c/unit[t.i], " * "+name(t.i)+product
			}
			parts = append(parts, fmt.Sprintf("%.17g%s", c, product))
		}
		return strings.ReplaceAll(strings.Join(parts, " + "), "+ -", "- ")
	}
	var b strings.Builder
	declare := func(j int) {
		hi := "inf"
		if m.ends[j] {
			hi = fmt.Sprintf("%.17g", unit[j]*m.hi[j][0])
		}
		fmt.Fprintf(&b, "  var %s: real in box(%.17g, %s)\n", name(j), unit[j]*m.lo[j][0], hi)
	}
	b.WriteString("model mixed\nupper {\n")
	for j := range m.nx {
		declare(j)
	}
	fmt.Fprintf(&b, "  minimize %s\n}\nlower {\n", sum(m.f, f))
	for j := m.nx; j < n; j++ {
		declare(j)
	}
	fmt.Fprintf(&b, "  minimize %s\n  subject to\n", sum(m.g, g))
	for i, r := range m.rows {
		var terms []term
		for j := range n {
			terms = append(terms, term{r[j], -1, j})
		}
		fmt.Fprintf(&b, "    r%d: %s <= %.17g\n", i+1, sum(terms, row[i]), row[i]*r[n])
	}
	b.WriteString("}\nsolve { ties = optimistic }\n")
	return b.String()
}

// TestSystemsInUnits: a model is solved, and proved, alike whatever the units of variables, rows and objectives are, up to 2^40 either way.
func TestSystemsInUnits(t *testing.T) {
	for k := range members.Known(t, 200) {
		rng := rand.New(rand.NewPCG(k, 31))
		m := randomMixedUnits(rng)
		draw := func(n int) []float64 {
			v := make([]float64, n)
			for j := range v {
				v[j] = math.Ldexp(1, rng.IntN(81)-40)
			}
			return v
		}
		plain := m.text(ones(m.nx+m.ny), ones(len(m.rows)), 1, 1)
		by := draw(2)
		mixed := m.text(draw(m.nx+m.ny), draw(len(m.rows)), by[0], by[1])
		want := solveText(t, plain, runtime.Options{Seed: 1})
		if want.Status == runtime.NumericalFailure {
			continue // of a problem that is hard in units of 1
		}
		p := bindText(t, mixed)
		got, err := p.Solve(context.Background(), runtime.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != want.Status {
			t.Errorf("%d: %s (%s), in units of 1 %s (%s)\n%s%s", k, got.Status, got.Reason, want.Status, want.Reason, mixed, plain)
			continue
		}
		if got.Status != runtime.Solved {
			continue
		}
		a, b := float64(want.Upper.Objective), float64(got.Upper.Objective)/by[0]
		if proved := want.Global != nil && want.Global.Proved; proved && !(got.Global != nil && got.Global.Proved) || proved && math.Abs(a-b) > 1e-5*(1+math.Abs(a)) {
			t.Errorf("%d: F %v (%s), in units of 1 %v (%s)\n%s%s", k, b, got.Reason, a, want.Reason, mixed, plain)
		}
	}
}
