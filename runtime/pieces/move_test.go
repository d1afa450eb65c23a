package pieces

import (
	"math"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
)

// The rows y_1 >= 0, y_2 >= 0 and y_1 + y_2 >= 0 hold y = 0 against a force of (c, c + e) with the multipliers (c - t, c + e - t, t), 0 <= t <= c, the second of any sign where it is that of an equation: a vertex
// has those that its rows ask for, however small the one that is left of two large ones.
func TestSmallMultipliersOfVertices(t *testing.T) {
	rng := members.Rand(t, 41)
	for k := range members.Of(100, 2000) {
		c, part := math.Pow(10, 6*rng.Float64()-3), math.Pow(10, -1-7*rng.Float64())
		e := c * part
		kinds := make([]problem.Kind, 3)
		if k%2 == 1 {
			kinds[1] = problem.Equal
			if k%4 == 1 {
				e = -e
			}
		}
		p := &problem.Problem{Dx: 1, Dy: 2, F: &kkttest.Quadratic{Nx: 1, Ny: 2, M: make([]float64, 9), C: make([]float64, 3)}, Start: []float64{0},
			G: &kkttest.Quadratic{Nx: 1, Ny: 2, M: make([]float64, 9), C: []float64{0, c, c + e}},
			X: &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
			Rows: &problem.Rows{Kind: kinds, A: sparse.FromEntries(3, 1, nil), Rhs: make([]float64, 3),
				B: sparse.FromDense(3, 2, []float64{1, 0, 0, 1, 1, 1})},
			Facts: problem.Facts{JointlyQuadratic: true, Convex: true, DegreeF: 1}}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		v, err := New(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		z := make([]float64, s.N)
		copy(s.Lambda(z), []float64{c / 3, c/3 + e, 2 * c / 3})
		others, all := v.vertices(z)
		if len(others) != 2 || !all {
			t.Errorf("case %d, c = %g, e = %g: %d vertices", k, c, e, len(others))
		}
		for _, other := range others {
			l := s.Lambda(other)
			want := []float64{c, c + e, 0}
			if l[2] > c/2 {
				want = []float64{0, e, c}
			}
			for i, w := range want {
				if math.Abs(l[i]-w) > 1e-2*math.Abs(e) {
					t.Errorf("case %d, c = %g, e = %g, row %d: a multiplier of %g, not %g", k, c, e, i, l[i], w)
				}
			}
		}
	}
}
