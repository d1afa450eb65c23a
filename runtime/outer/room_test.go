package outer

import (
	"math"
	"testing"

	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
)

// bare is a hyperobjective of which nothing but its problem is asked.
type bare struct {
	oracle.Hyperobjective
	p *problem.Problem
}

func (b bare) Problem() *problem.Problem { return b.p }

// How far x can go in a set of intervals and balls is the same wherever they are; where an entry
// has neither it grows with x, and with nothing else than what is known of it.
func TestRoom(t *testing.T) {
	inf := math.Inf(1)
	for _, away := range []float64{0, -7, 1e9} {
		for _, c := range []struct {
			name string
			set  problem.Set
			x    []float64
			want float64
		}{
			{"intervals", problem.Set{Lo: []float64{away, away, away}, Hi: []float64{away + 2, away + 6, away}}, []float64{away, away + 1, away}, 3},
			{"a ball", problem.Set{Lo: []float64{-inf, -inf, 0}, Hi: []float64{inf, inf, 8},
				Balls: []problem.Ball{{Start: 0, End: 2, Center: []float64{away, away}, Radius: 5}}}, []float64{away + 1, away, 3}, 5},
			{"one point", problem.Set{Lo: []float64{away}, Hi: []float64{away}}, []float64{away}, Width(nil, []float64{away})},
			{"an entry without bounds", problem.Set{Lo: []float64{away, 0, -inf}, Hi: []float64{away + 2, 4, inf}}, []float64{away, 0, 9}, 11},
		} {
			h := bare{p: &problem.Problem{Dx: len(c.x), X: &c.set}}
			start := make([]float64, len(c.x))
			if c.name == "one point" {
				start = c.x
			}
			run := &Run{h: h, width: Width(&c.set, start)}
			if got := run.Room(c.x); got != c.want {
				t.Errorf("%s at %g: %g, want %g", c.name, away, got, c.want)
			}
		}
	}
}
