package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/certify"
)

// rooted is a leader with roots of the distances of x from its bounds, of both signs, and a follower whose entries of y are clamped affine functions of x:
//
//	f = sum_j c_j d_j(x)^p_j + q_j (y_j - t_j)^2 + r_j x_j,   d_j = x_j - lo_j or hi_j - x_j,   y_j = min(max(a_j'x + b_j, 0), 1)
type rooted struct {
	n             int
	lo, hi        []float64
	c, p, q, t, r []float64
	upper         []bool
	a             [][]float64
	b             []float64
}

func newRooted(rng *rand.Rand, n int) *rooted {
	m := &rooted{n: n}
	round := func(v float64) float64 { return math.Round(v*100) / 100 }
	for range n {
		lo := round(2*rng.Float64() - 1)
		m.lo, m.hi = append(m.lo, lo), append(m.hi, lo+round(0.5+2*rng.Float64()))
		sign := 1.0
		if rng.IntN(2) == 0 {
			sign = -1
		}
		m.c, m.p = append(m.c, sign*round(0.1+rng.Float64())), append(m.p, []float64{0.5, 0.5, 0.3, 0.8, 0.66}[rng.IntN(5)])
		m.q, m.t = append(m.q, round(3*rng.Float64())), append(m.t, round(rng.Float64()))
		m.r, m.b = append(m.r, round(rng.NormFloat64())), append(m.b, round(rng.Float64()))
		m.upper = append(m.upper, rng.IntN(2) == 0)
		row := make([]float64, n)
		for j := range row {
			row[j] = round(rng.NormFloat64())
		}
		m.a = append(m.a, row)
	}
	return m
}

func (m *rooted) text() string {
	var f, g, x strings.Builder
	for j := range m.n {
		d := fmt.Sprintf("(x%d - (%v))", j, m.lo[j])
		if m.upper[j] {
			d = fmt.Sprintf("(%v - x%d)", m.hi[j], j)
		}
		root := fmt.Sprintf("%s^%v", d, m.p[j])
		if m.p[j] == 0.5 {
			root = "sqrt" + d
		}
		fmt.Fprintf(&f, " + (%v)*%s + %v*(y[%d] - %v)^2 + (%v)*x%d", m.c[j], root, m.q[j], j+1, m.t[j], m.r[j], j)
		fmt.Fprintf(&g, " + 0.5*(y[%d] - (%v", j+1, m.b[j])
		for k, v := range m.a[j] {
			fmt.Fprintf(&g, " + (%v)*x%d", v, k)
		}
		g.WriteString("))^2")
		fmt.Fprintf(&x, "  var x%d: real in box(%v, %v)\n", j, m.lo[j], m.hi[j])
	}
	return fmt.Sprintf("model m\nupper {\n%s  minimize 0%s\n}\nlower {\n  var y: vector[%d] in box(0, 1)\n  minimize 0%s\n}\n", x.String(), f.String(), m.n, g.String())
}

func (m *rooted) value(x []float64) (f float64) {
	for j, v := range x {
		d, y := v-m.lo[j], m.b[j]
		if m.upper[j] {
			d = m.hi[j] - v
		}
		for k, a := range m.a[j] {
			y += a * x[k]
		}
		y = math.Min(math.Max(y, 0), 1)
		f += m.c[j]*math.Pow(math.Max(d, 0), m.p[j]) + m.q[j]*(y-m.t[j])*(y-m.t[j]) + m.r[j]*v
	}
	return f
}

// least is the least F on grids that become finer around the lowest points of the last one: the ends of X are on all of them.
func (m *rooted) least() (best float64) {
	const side, kept, rounds = 61, 6, 12
	type cell struct{ lo, hi []float64 }
	cells := []cell{{m.lo, m.hi}}
	best = math.Inf(1)
	for range rounds {
		type sample struct {
			x, width []float64
			f        float64
		}
		var low []sample
		for _, c := range cells {
			x, at := make([]float64, m.n), make([]int, m.n)
			width := make([]float64, m.n)
			for j := range x {
				width[j] = (c.hi[j] - c.lo[j]) / (side - 1)
			}
			for done := false; !done; {
				for j := range x {
					if x[j] = c.lo[j] + float64(at[j])*width[j]; at[j] == side-1 {
						x[j] = c.hi[j]
					}
				}
				if f := m.value(x); len(low) < kept || f < low[len(low)-1].f {
					k := 0
					for k < len(low) && low[k].f <= f {
						k++
					}
					low = append(low[:k], append([]sample{{append([]float64(nil), x...), width, f}}, low[k:]...)...)
					low = low[:min(len(low), kept)]
				}
				done = true
				for j := range at {
					if at[j]++; at[j] < side {
						done = false
						break
					}
					at[j] = 0
				}
			}
		}
		cells = nil
		for _, s := range low {
			best = math.Min(best, s.f)
			c := cell{make([]float64, m.n), make([]float64, m.n)}
			for j := range s.x {
				c.lo[j], c.hi[j] = math.Max(m.lo[j], s.x[j]-2*s.width[j]), math.Min(m.hi[j], s.x[j]+2*s.width[j])
			}
			cells = append(cells, c)
		}
	}
	return best
}

// Where f has a root of the distance from a bound, x is kept at the bound where f rises from there without end of its slope, and at no bound from which it falls so. F is the least on fine grids, and the certificate of
// the point holds by a verification that finds the roots in the model again.
func TestRootsAtBounds(t *testing.T) {
	t.Parallel()
	off, held := 0, 0
	for seed := range members.SeedsOf(t, 12, 300) {
		m := newRooted(rand.New(rand.NewPCG(seed, 0x40075)), 2)
		p := bindText(t, m.text())
		r, err := p.Solve(t.Context(), runtime.Options{Seed: 1})
		if err != nil {
			t.Fatalf("%d: %v\n%s", seed, err, m.text())
		}
		if r.Status != runtime.Solved || r.Method != runtime.SystemMethod {
			t.Errorf("%d: %s by %s (%s)\n%s", seed, r.Status, r.Method, r.Reason, m.text())
			continue
		}
		if !verified(p, r) {
			t.Errorf("%d: the document is not verified\n%s", seed, m.text())
		}
		x := make([]float64, m.n)
		for j := range x {
			v, _ := r.Upper.Variables.Get(fmt.Sprintf("x%d", j))
			x[j] = v.Data[0]
			bound := m.lo[j]
			if m.upper[j] {
				bound = m.hi[j]
			}
			if x[j] == bound {
				held++
				if m.c[j] < 0 {
					t.Errorf("%d: x%d is at the bound %v, from which F falls without end of its slope\n%s", seed, j, bound, m.text())
				}
				if r.Upper.Hypergradient != nil {
					t.Errorf("%d: a hypergradient where F has none\n%s", seed, m.text())
				}
				forged := *r
				for k := range x {
					forged.Upper.Hypergradient = append(forged.Upper.Hypergradient, runtime.Value{Name: fmt.Sprintf("x%d", k), Data: []float64{0}})
				}
				if report, err := p.Verify(&forged); err != nil || !slices.ContainsFunc(report.Failures(), func(c certify.Check) bool { return strings.Contains(c.Detail, "no slope with an end") }) {
					t.Errorf("%d: a hypergradient passes where F has none (%v)\n%s", seed, err, m.text())
				}
				m.c[j] = -m.c[j] // F is the same at the point, and falls from the bound
				report, err := bindText(t, m.text()).Verify(r)
				m.c[j] = -m.c[j]
				if err != nil || !slices.ContainsFunc(report.Failures(), func(c certify.Check) bool { return strings.Contains(c.Claim, "strong stationarity") }) {
					t.Errorf("%d: the certificate holds at a bound of x%d from which F falls without end of its slope (%v)\n%s", seed, j, err, m.text())
				}
			}
		}
		f, least := float64(r.Upper.Objective), m.least()
		if truth := m.value(x); math.Abs(f-truth) > 1e-9*math.Max(1, math.Abs(truth)) {
			t.Errorf("%d: F = %.12g, truly %.12g\n%s", seed, f, truth, m.text())
		}
		switch gap := f - least; {
		case gap < -1e-6:
			t.Errorf("%d: F = %.10g, below the least of the grids, %.10g\n%s", seed, f, least, m.text())
		case gap > 1e-5:
			off++
			t.Logf("%d: F = %.10g, the least %.10g", seed, f, least)
		}
	}
	if n := members.Of(12, 300); off > 1+n/50 || held == 0 {
		t.Errorf("%d of %d ended at another local minimum; %d entries were held", off, n, held)
	}
}
