package lower

import (
	"math"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// TestElasticNets: 1/2 w'Qw + c'w + l sum t with |w| <= t, t beside the quadratic part, is solved to where coordinate descent on w alone comes to. Half of w is 0, where both rows of an entry hold with nothing that says of what
// size y is there: on a face that the last step was along to its end they are kept, whatever rounding has left.
func TestElasticNets(t *testing.T) {
	rng := members.Rand(t, 56)
	for k := range members.Count(60) {
		n := 40 + rng.IntN(80)
		q, c, l := make([]float64, 4*n*n), make([]float64, 2*n), 0.05+0.2*rng.Float64()
		h := make([]float64, n*n)
		for range n + n/2 { // the samples
			a, target := make([]float64, n), rng.NormFloat64()
			for j := range a {
				a[j] = rng.NormFloat64()
				c[j] -= 2 * a[j] * target / float64(n)
			}
			for i, v := range a {
				linalg.Axpy(h[i*n:(i+1)*n], 2*v/float64(n), a)
			}
		}
		var rows [][]float64
		for i := range n {
			h[i*n+i] += 0.1
			copy(q[i*2*n:], h[i*n:(i+1)*n])
			c[n+i] = l
			for _, sign := range []float64{1, -1} {
				row := make([]float64, 2*n)
				row[i], row[n+i] = sign, 1
				rows = append(rows, row)
			}
		}
		p := &problem.Problem{Dy: 2 * n, F: zero{}, G: newQuadratic(0, 2*n, q, nil, c), Rows: rowsOf(0, 2*n, rows, make([]float64, 2*n), nil), X: unbounded(0),
			Facts: problem.Facts{Convex: true, QuadraticInY: true}}
		w, zeros := make([]float64, n), 0
		for moved := math.Inf(1); moved > 1e-14; {
			moved = 0
			for j := range w {
				r := h[j*n+j]*w[j] - c[j] - linalg.Dot(h[j*n:(j+1)*n], w)
				now := math.Copysign(math.Max(0, math.Abs(r)-l), r) / h[j*n+j]
				moved, w[j] = math.Max(moved, math.Abs(now-w[j])), now
			}
		}
		for _, v := range w {
			if v == 0 {
				zeros++
			}
		}
		s := solve(newALM(defaultALM()), p, G(p, nil))
		if off := linalg.Distance(s.Y[:n], w); s.Status != Solved || off > 1e-9*linalg.Norm(w) || zeros == 0 || !slices.ContainsFunc(w, func(v float64) bool { return v != 0 }) {
			t.Errorf("case %d: %d entries, %d of them 0: %v (%s), w off by %g", k, n, zeros, s.Status, s.Reason, off)
		}
	}
}
