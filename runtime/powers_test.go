package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// powered is a follower whose entries do not meet: entry i minimizes
//
//	a y^2/2 - (c x + d) y + w h(y - s)^p,  h the size, or the positive part,
//
// and the leader sum (y - t)^2 + (x - u)^2/100 over a box.
type powered struct {
	a, c, d, w, s, t []float64
	p                []float64
	hinge            []bool
	u                float64
}

func randomPowered(rng *rand.Rand, least float64) *powered {
	m := &powered{u: rng.NormFloat64()}
	for range 1 + rng.IntN(3) {
		m.a = append(m.a, 0.2+rng.Float64())
		m.c = append(m.c, rng.NormFloat64())
		m.d = append(m.d, rng.NormFloat64())
		m.w = append(m.w, 0.1+2*rng.Float64())
		m.s = append(m.s, math.Round(2*rng.NormFloat64())/2)
		m.t = append(m.t, math.Round(2*rng.NormFloat64())/2)
		m.p = append(m.p, []float64{least, least, least + 0.352, 3, 3, 4.5}[rng.IntN(6)])
		m.hinge = append(m.hinge, rng.IntN(3) == 0)
	}
	return m
}

func (m *powered) text() string {
	var g, f []string
	for i := range m.a {
		h := fmt.Sprintf("abs(y[%d] - %.17g)", i+1, m.s[i])
		if m.hinge[i] {
			h = fmt.Sprintf("max(0, y[%d] - %.17g)", i+1, m.s[i])
		}
		g = append(g, fmt.Sprintf("%.17g * y[%d]^2 - (%.17g * x + %.17g) * y[%d] + %.17g * %s^%.17g", m.a[i]/2, i+1, m.c[i], m.d[i], i+1, m.w[i], h, m.p[i]))
		f = append(f, fmt.Sprintf("(y[%d] - %.17g)^2", i+1, m.t[i]))
	}
	return fmt.Sprintf("model powers\nupper {\n  var x: real in box(-3, 3)\n  minimize %s + 0.01 * (x - %.17g)^2\n}\nlower {\n  var y: vector[%d]\n  minimize %s\n}\n",
		strings.Join(f, " + "), m.u, len(m.a), strings.Join(g, " + "))
}

// value is F(x): each y by bisection of the slope, which rises.
func (m *powered) value(x float64) float64 {
	f := 0.01 * (x - m.u) * (x - m.u)
	for i := range m.a {
		slope := func(y float64) float64 {
			e := y - m.s[i]
			kink := m.p[i] * m.w[i] * math.Copysign(math.Pow(math.Abs(e), m.p[i]-1), e)
			if m.hinge[i] && e < 0 {
				kink = 0
			}
			return m.a[i]*y - m.c[i]*x - m.d[i] + kink
		}
		lo, hi := -1e3, 1e3
		for range 80 {
			if mid := (lo + hi) / 2; slope(mid) > 0 {
				hi = mid
			} else {
				lo = mid
			}
		}
		f += (lo - m.t[i]) * (lo - m.t[i])
	}
	return f
}

// TestPowersOfKinks solves random models whose followers have powers of abs and of positive
// parts, which are smooth: F is that of bisection, no x nearby is better, and the best of a
// grid is found in nearly all.
func TestPowersOfKinks(t *testing.T) {
	t.Parallel()
	count := members.Count(48) / 2 // of each
	for of, least := range []float64{1.5, 2.5} {
		solved, best := 0, 0
		for k := range members.Seeds(t, 48) {
			if int(k%2) != of {
				continue
			}
			rng := rand.New(rand.NewPCG(k, uint64(10*least)))
			m := randomPowered(rng, least)
			res := solveText(t, m.text(), runtime.Options{Seed: 1})
			v, ok := res.Upper.Variables.Get("x")
			if !ok {
				t.Fatalf("model %d: %s: %s\n%s", k, res.Status, res.Reason, m.text())
			}
			x, f := v.Data[0], float64(res.Upper.Objective)
			if want := m.value(x); math.Abs(f-want) > 1e-7*(1+math.Abs(want)) {
				t.Errorf("model %d: F is %v at x = %v, not %v\n%s", k, f, x, want, m.text())
			}
			grid := math.Inf(1)
			for i := -600; i <= 600; i++ {
				grid = min(grid, m.value(float64(i)/200))
			}
			if f <= grid+1e-6*(1+math.Abs(grid)) {
				best++
			}
			if res.Status != runtime.Solved {
				t.Logf("least %v, model %d: %s, F %v, grid %v", least, k, res.Reason, f, grid)
				continue
			}
			solved++
			for _, h := range []float64{1e-4, 1e-3, 1e-2} {
				for _, z := range []float64{max(x-h, -3), min(x+h, 3)} {
					if near := m.value(z); near < f-1e-5*h*(1+math.Abs(f)) {
						t.Errorf("model %d: solved at x = %v with F %v, and F is %v at %v\n%s", k, x, f, near, z, m.text())
					}
				}
			}
		}
		t.Logf("powers from %v: %d of %d solved, %d the best of the grid", least, solved, count, best)
		if least := members.Least(count, 0.9); solved < least || best < least {
			t.Errorf("powers from %v: %d of %d solved, %d the best of the grid", least, solved, count, best)
		}
	}
}
