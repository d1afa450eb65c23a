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

// Where a follower can be led to any y, F is least where f is: starts are made as long as f leads from them to lower values over the rows, and from no other points. The least is found on a grid.
func TestStartsWhereNothingIsLower(t *testing.T) {
	t.Parallel()
	covered := 0
	for seed := range members.SeedsOf(t, 12, 40) {
		rng := rand.New(rand.NewPCG(seed, 21))
		a, b, slope := 0.5+rng.Float64(), 2*rng.Float64()-1, 0.2+0.5*rng.Float64()
		f, valleys := fmt.Sprintf("exp(%v * y) + (y - %v)^4", a, b), false
		value := func(y float64) float64 { return math.Exp(a*y) + math.Pow(y-b, 4) }
		if seed%2 == 0 {
			f, valleys = fmt.Sprintf("((y - %v)^2 - 1)^2 + %v * y", b, slope), true
			value = func(y float64) float64 { return math.Pow((y-b)*(y-b)-1, 2) + slope*y }
		}
		least := math.Inf(1)
		for k := range 400001 {
			least = math.Min(least, value(-2+1e-5*float64(k)))
		}
		r := solveText(t, fmt.Sprintf(`model valleys
upper {
  var x: real in box(-2, 2)
  minimize %s
}
lower {
  var y: real in box(-3, 3)
  minimize (y - x)^2 + 0.01 * (y - x)^4
}
`, f), runtime.Options{})
		if got := float64(r.Upper.Objective); math.Abs(got-least) > 1e-6 {
			t.Errorf("seed %d: F = %v, and %v is the least", seed, got, least)
		}
		said := strings.Contains(strings.Join(r.Notes, "\n"), "no start was made from")
		if covered += len(r.Starts); !valleys && (!said || len(r.Starts) > 0) {
			t.Errorf("seed %d: %d starts; %q", seed, len(r.Starts), r.Notes)
		}
	}
	if covered == 0 {
		t.Error("none had a further start")
	}
}

// Points that the minimizer of both levels' rows leads to are points of X, to rounding. At a vertex of X, from which no direction leads, nothing is said of curvature.
func TestPointsOfTheRelaxationKeepX(t *testing.T) {
	t.Parallel()
	vertices := 0
	for seed := range members.SeedsOf(t, 8, 60) {
		rng := rand.New(rand.NewPCG(seed, 22))
		e, side, slope := make([]float64, 3), -1.0, make([]float64, 4)
		for j := range e {
			e[j] = math.Round(40*rng.Float64()-20) / 10
			side += math.Abs(e[j]) * (0.4 + 0.5*rng.Float64())
		}
		for j := range slope {
			slope[j] = math.Round(60*rng.Float64()-30) / 10
		}
		side = -math.Abs(side) / 2
		r := solveText(t, fmt.Sprintf(`model vertex
upper {
  var x: vector[3] in box(-1, 1)
  minimize %v * x[1] + (-3) * y[3]
  subject to
    u1: %v * x[1] + %v * x[2] + %v * x[3] <= %v
}
lower {
  var y: vector[3]
  minimize %v * x[2] * y[3] + %v * x[3] * y[3] + 0.5 * y[1]^2 + 1.5 * y[2]^2 + 0.5 * y[3]^2 + log1pexp(x[1] - y[3])
  subject to
    r1: %v * x[2] + 3 * y[1] + 1.8 * y[2] - y[3] <= -11.5
}
`, slope[0], e[0], e[1], e[2], side, slope[1], slope[2], slope[3]), runtime.Options{})
		if r.Status != runtime.Solved {
			continue
		}
		x, _ := r.Upper.Variables.Get("x")
		over, terms, at := -side, math.Abs(side), 0
		for j, v := range x.Data {
			over += e[j] * v
			terms += math.Abs(e[j] * v)
			if math.Abs(v) == 1 {
				at++
			}
		}
		if over > 1e-13*terms {
			t.Errorf("seed %d: u1 is missed by %v of %v", seed, over, terms)
		}
		if at == 3 || at == 2 && over > -1e-9*terms && e[0]*e[1]*e[2] != 0 {
			vertices++
			if strings.Contains(strings.Join(r.Notes, "\n"), "curves the wrong way") {
				t.Errorf("seed %d: %q at the vertex %v", seed, r.Notes, x.Data)
			}
		}
	}
	if vertices == 0 {
		t.Error("no point is a vertex")
	}
}
