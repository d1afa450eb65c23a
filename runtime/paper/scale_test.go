package paper

import (
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/outer"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/status"
)

// rescaled is the program in other units: x = p.x / length, F times value.
func (p *follower) rescaled(length, value float64) *follower {
	q := *p
	q.length, q.value = length, value
	return &q
}

// A program and its copy in other units of x and y, and of F, have the same answer.
func TestUnits(t *testing.T) {
	spec, err := lower.Lookup(lower.Default)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for number := range 25 {
		p := randomFollower(rng)
		start := make([]float64, p.dx)
		for j := range start {
			start[j] = rng.Float64() - 0.5
		}
		for _, name := range []string{"goldstein", "pgd"} {
			var first *outer.Result
			for _, units := range [][2]float64{{1, 1}, {1e-8, 1}, {1e8, 1}, {1, 1e-10}, {1, 1e10}, {1e-6, 1e6}} {
				q := p.rescaled(units[0], units[1])
				s, err := spec.New(nil)
				if err != nil {
					t.Fatal(err)
				}
				m := made(t, name, nil)
				h := oracle.New(q.problem(), s, &oracle.Face{Settings: *oracle.DefaultFace()})
				r, err := outer.Solve(context.Background(), h, name, m, outer.Options{Start: scaledBy(start, units[0]), Seed: 1, Limits: outer.Limits{Iterations: 2000}})
				if err != nil || r.Best == nil {
					t.Fatalf("problem %d, %s, units %v: %v %v", number, name, units, err, r)
				}
				if first == nil {
					first = r
					continue
				}
				if name == "pgd" && (r.Status == status.NumericalFailure || first.Status == status.NumericalFailure) {
					continue // at a kink, where rounding decides whether a gradient is one of a piece
				}
				if r.Status != first.Status || r.Status == status.Solved && math.Abs(r.Best.F/units[1]-first.Best.F) > 1e-6*(1+math.Abs(first.Best.F)) {
					t.Errorf("problem %d, %s, units %v: %v (%s), F %.9g at %v; it was %v (%s), F %.9g at %v", number, name, units,
						r.Status, r.Reason, r.Best.F/units[1], r.Best.X, first.Status, first.Reason, first.Best.F, first.Best.X)
				}
			}
		}
	}
}

func scaledBy(v []float64, a float64) []float64 {
	out := linalg.Clone(v)
	for j := range out {
		out[j] *= a
	}
	return out
}

// units returns the data of p in the units it is asked for, with g as it is: with
// x = L x', y = L y' linear terms and sides grow by L, slopes of F fall by it.
func (p *follower) units() *follower {
	if p.length == 0 {
		return p
	}
	q := *p
	q.length, q.value = 0, 0
	q.c, q.b, q.t = scaledBy(p.c, p.length), scaledBy(p.b, p.length), scaledBy(p.t, p.length)
	q.fx, q.fy = scaledBy(p.fx, p.value/p.length), scaledBy(p.fy, p.value/p.length)
	q.s = p.s * p.value / (p.length * p.length)
	q.bound = p.length
	q.Q = mat.DenseCopyOf(p.Q)
	return &q
}
