package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestSolvedIsAttained holds that F of what is called solved is what the follower's own answer gives: of followers whose objective, a sum of fourth powers, has no
// curvature at the answer, in all x (two terms of y and z that are 0 there) or beside the best x alone (terms of y that are 0 for one x
// together). Answers by two equations, and by bisection of the slope.
func TestSolvedIsAttained(t *testing.T) {
	t.Parallel()
	failed := 0
	for seed := range members.SeedsOf(t, 3, 20) {
		r := rand.New(rand.NewPCG(seed, 43))
		round := func(v float64) float64 { return math.Round(10*v) / 10 }
		var a, b, m, n []float64 // terms (m y + n z - a x - b)^4
		var terms []string
		plane := r.IntN(2) == 0
		for k := range 2 {
			a, b, m, n = append(a, round(r.NormFloat64())), append(b, round(r.NormFloat64())), append(m, 1), append(n, 0)
			if plane {
				m[k], n[k] = 1+0.5*float64(k), round(1-2*float64(k)+0.3*r.NormFloat64())
			} else {
				a[k] += 2 * float64(k)
				b[k] = round(b[0]) // they meet at x = 0
			}
			terms = append(terms, fmt.Sprintf("((%v) * y + (%v) * z - (%v) * x - (%v))^4", m[k], n[k], a[k], b[k]))
		}
		vars, third := "  var y: real in box(-20, 20)\n  var z: real in box(-20, 20)\n", ""
		if !plane {
			third = " + (z - 1)^2"
		}
		c, d := round(r.NormFloat64()), round(r.NormFloat64())
		p := 0.1
		if !plane {
			p = 9
		}
		ties := ""
		if plane || r.IntN(3) > 0 { // the plane's are refused without
			ties = "solve { ties = optimistic }\n"
		}
		text := fmt.Sprintf("model powers\nupper {\n  var x: real in box(0, 2)\n  minimize %v * x + 0.5 * (x - 1)^2 + (%v) * y + (%v) * z\n}\nlower {\n%s  minimize %s%s\n}\n%s", p, c, d, vars, strings.Join(terms, " + "), third, ties)
		result, err := bindText(t, text).Solve(context.Background(), runtime.Options{Seed: 1, TimeLimit: 10 * time.Second})
		if err != nil {
			t.Fatalf("%d: %v\n%s", seed, err, text)
		}
		if result.Status != runtime.Solved {
			failed++
			continue
		}
		v, _ := result.Upper.Variables.Get("x")
		x := v.Data[0]
		y, z := 0.0, 1.0
		if plane {
			det := m[0]*n[1] - m[1]*n[0]
			u, w := a[0]*x+b[0], a[1]*x+b[1]
			y, z = (u*n[1]-w*n[0])/det, (m[0]*w-m[1]*u)/det
		} else {
			lo, hi := -20.0, 20.0
			for range 200 {
				y = (lo + hi) / 2
				if math.Pow(y-a[0]*x-b[0], 3)+math.Pow(y-a[1]*x-b[1], 3) > 0 {
					hi = y
				} else {
					lo = y
				}
			}
		}
		want := p*x + 0.5*(x-1)*(x-1) + c*y + d*z
		size := p*x + 0.5*(x-1)*(x-1) + math.Abs(c*y) + math.Abs(d*z)
		if f := float64(result.Upper.Objective); math.Abs(f-want) > 1e-7*math.Max(1, size) {
			t.Errorf("%d: solved (%s) with F %v at %v, where the follower's own answer gives %v\n%s", seed, result.Reason, f, x, want, text)
		}
	}
	t.Logf("%d were not solved", failed)
}
