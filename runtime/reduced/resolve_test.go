package reduced_test

import (
	"math"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
)

// F = sum of w_i max(0, c_i'x) - q'x + |x|^2/2 has more kinks at 0 than x has entries. It is convex: 0 is its minimizer where q is inside of the sum of the segments from 0 to w_i c_i, and then multipliers of
// all kinks have their signs, though those of least squares need not; where q is beyond it in a direction, F falls along that, and there are none.
func TestMultipliersWhereKinksCrowd(t *testing.T) {
	rng := members.Rand(t, 31)
	for k := range members.Count(200) {
		n := 2 + rng.IntN(4)
		m := 2*n + rng.IntN(2*n)
		g := &kkttest.Quadratic{Nx: n, Ny: m, M: make([]float64, (n+m)*(n+m)), C: make([]float64, n+m)}
		f := &kkttest.Quadratic{Nx: n, Ny: m, M: make([]float64, (n+m)*(n+m)), C: make([]float64, n+m)}
		set := &problem.Set{Lo: make([]float64, n), Hi: make([]float64, n)}
		toward := make([]float64, n)
		for j := range n {
			f.M[j*(n+m)+j] = 1
			set.Lo[j], set.Hi[j], toward[j] = -1, 1, rng.NormFloat64()
		}
		rows := &problem.Rows{A: sparse.Empty(n), B: sparse.Empty(m)}
		stationary := k%2 == 0
		for i := range m {
			w, c, along := 0.5+rng.Float64(), make([]float64, n), 0.0
			for j := range c {
				c[j] = rng.NormFloat64()
				along += c[j] * toward[j]
			}
			share := 0.01 + 0.98*rng.Float64()
			if !stationary { // the corner of the sum that is farthest that way
				share = 0
				if along > 0 {
					share = 1
				}
			}
			g.M[(n+i)*(n+m)+n+i], f.C[n+i] = 1, w
			for j, v := range c {
				g.M[(n+i)*(n+m)+j], g.M[j*(n+m)+n+i] = -v, -v
				f.C[j] -= share * w * v
			}
			kkttest.AddRow(rows, problem.AtMost, make([]float64, n), []int{i}, []float64{1}, 0)
		}
		if !stationary {
			for j, v := range toward {
				f.C[j] -= v
			}
		}
		p := &problem.Problem{Name: "crowd", Dx: n, Dy: m, F: f, G: g, Rows: rows, X: set,
			Facts: problem.Facts{StrongConvexity: 1, JointlyQuadratic: true, DegreeF: 2}}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := reduced.Solve(t.Context(), s, make([]float64, n), reduced.Options{Still: true})
		if err != nil {
			t.Fatal(err)
		}
		worst := math.Max(r.Left, -r.Least)
		if len(r.Point.Biactive) != m || stationary && worst > 1e-9 || !stationary && worst < 1e-6 {
			t.Errorf("case %d: of %d kinks in %d entries %d are biactive, %g is left, and the least multiplier %g; stationary: %v", k, m, n, len(r.Point.Biactive), r.Left, r.Least, stationary)
		}
		if !stationary {
			continue
		}
		if left, size := s.Residual(r.Point.Multipliers, r.Point.Z); left > 1e-9*size {
			t.Errorf("case %d: multipliers leave %g of %g", k, left, size)
		}
		for i := range m {
			if gamma, nu := r.Point.Multipliers.Slack[i], r.Point.Multipliers.Lambda[i]; gamma < -1e-9 || nu < -1e-9 {
				t.Errorf("case %d, row %d: multipliers %g and %g", k, i, gamma, nu)
			}
		}
	}
}
