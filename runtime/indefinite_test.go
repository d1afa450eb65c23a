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

// An f that curves up along the entries of x that are left free, and down along others that end at bounds, is minimized to what the
// programs leave of its gradient: once the bounds stay, steps are Newton's. The follower copies a linear map of x, so that F is
// a quadratic of x by hand.
func TestIndefiniteObjectives(t *testing.T) {
	inside, count := 0, 0
	for k := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(k, 33))
		n := 2 + rng.IntN(4)
		count++
		unit := math.Pow(10, float64(rng.IntN(13)-3))
		c, d, m := make([]float64, n), make([]float64, n*n), make([]float64, n*n)
		for i := range c {
			c[i] = math.Round(100*rng.NormFloat64()) / 100
			for j := range n {
				d[i*n+j] = math.Round(100*rng.NormFloat64()) / 100
				m[i*n+j] = math.Round(100*rng.NormFloat64()) / 100
			}
			if i%2 == 0 {
				d[i*n+i], m[i*n+i] = d[i*n+i]+2, m[i*n+i]+2
			}
		}
		var f, rows strings.Builder
		for i := range n {
			fmt.Fprintf(&f, "%+g * x[%d] ", c[i], i+1)
			fmt.Fprintf(&rows, "    r%d: y[%d] == 0", i+1, i+1)
			for j := range n {
				fmt.Fprintf(&f, "%+g * x[%d] * y[%d] ", d[i*n+j], i+1, j+1)
				fmt.Fprintf(&rows, " %+g * x[%d]", m[i*n+j], j+1)
			}
			fmt.Fprintln(&rows)
		}
		text := fmt.Sprintf("model indefinite\nupper {\n  var x: vector[%[1]d] in box(-1, 1)\n  minimize %[2]v * (0 %[3]s)\n}\nlower {\n  var y: vector[%[1]d]\n  minimize sumsq(y)\n  subject to\n%[4]s}\n",
			n, unit, f.String(), rows.String())
		r := solveText(t, text, runtime.Options{Search: runtime.SearchNone})
		if r.Status != runtime.Solved {
			t.Errorf("member %d: %s (%s)\n%s", k, r.Status, r.Reason, text)
			continue
		}
		x, _ := r.Upper.Variables.Get("x")
		y := make([]float64, n)
		for i := range y {
			for j, t := range x.Data {
				y[i] += m[i*n+j] * t
			}
		}
		for j, at := range x.Data {
			slope, terms := c[j], math.Abs(c[j]) // of F in x_j
			add := func(v float64) { slope, terms = slope+v, terms+math.Abs(v) }
			for i := range n {
				add(d[j*n+i] * y[i])
				for l, t := range x.Data {
					add(t * d[l*n+i] * m[i*n+j])
				}
			}
			switch {
			case math.Abs(at) < 1-1e-9:
				inside++
				if math.Abs(slope) > 1e-10*terms {
					t.Errorf("member %d: x[%d] = %v, where F has the slope %v of terms of %v\n%s", k, j+1, at, slope, terms, text)
				}
			case slope*at > 1e-12*terms:
				t.Errorf("member %d: x[%d] = %v, where F has the slope %v\n%s", k, j+1, at, slope, text)
			}
		}
	}
	if inside < count/4 {
		t.Errorf("%d entries inside of their bounds in %d programs: too few to tell", inside, count)
	}
}
