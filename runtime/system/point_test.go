package system_test

import (
	"fmt"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/system"
)

// TestGradientsAtEdges: where all of y is at its bounds, a row with slack 0 and a multiplier that is not 0 is the edge of the set of x that the follower has an answer to, unless it does not read x: F has a
// gradient in the second case alone.
func TestGradientsAtEdges(t *testing.T) {
	rng := members.Rand(t, 36)
	for k := range 40 {
		n, edge := 1+rng.IntN(3), k%2 == 0
		a, b := 0.0, 0.0
		if edge {
			a, b = 1+rng.Float64(), 1
		}
		text := fmt.Sprintf("model edge\nupper {\n  var x: real in box(-5, 5)\n  minimize x\n}\nlower {\n  var y: vector[%d] in nonneg\n  minimize sumsq(y) + sum(y)\n  subject to\n    last: %v * x + sum(y) <= %v\n}\n", n, a, b)
		model, err := runtime.Compile("edge.blv", text)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p := bound.Numeric
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		z, strong := make([]float64, s.N), 0.5+rng.Float64()
		if edge {
			z[0] = b / a
		}
		for i := range s.M {
			cols, vals := p.Rows.B.Row(i)
			z[s.Nx+s.Ny+i] = 1 + strong
			if len(cols) > 1 || vals[0] < 0 {
				z[s.Nx+s.Ny+i] = strong
			}
		}
		at := system.PointAt(p, s, z, &kkt.Multipliers{Bound: make([]float64, s.Nx), Adjoint: make([]float64, s.Ny), Slack: make([]float64, s.M), Lambda: make([]float64, s.M)})
		if !at.Strict || (at.Grad == nil) != edge {
			t.Errorf("member %d: at an edge is %t; strict %t, gradient %v, active %v\n%s", k, edge, at.Strict, at.Grad, at.Face, text)
		}
	}
}
