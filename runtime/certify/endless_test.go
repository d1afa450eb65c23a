package certify

import (
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// counting counts gradients in y.
type counting struct {
	problem.Function
	n int
}

func (c *counting) GradY(dst, x, y []float64) {
	c.n++
	c.Function.GradY(dst, x, y)
}

func (c *counting) Clone() problem.Function { return c }

// A follower whose objective exp(-y) - x y falls without end, or at x = 0 toward a value that it does not reach, has no answer. Who looks for one knows when Newton's method has taken its steps twice without coming to an end: not when it has taken
// them anew from each of as many quadratic models.
func TestFollowersWithoutAnAnswer(t *testing.T) {
	for _, x := range []float64{0, 1e-9, 1} {
		for _, y := range []float64{0.1, 1.1, 5, 20} {
			g := &counting{Function: &kkttest.Smooth{Quadratic: kkttest.Quadratic{Nx: 1, Ny: 1, M: []float64{0, -1, -1, 0}, C: make([]float64, 2)}, W: []float64{1}, Q: []float64{0}, P: [][]float64{{0, -1}}}}
			p := &problem.Problem{Name: "endless", Dx: 1, Dy: 1, F: g, G: g,
				Rows: &problem.Rows{Kind: make([]problem.Kind, 1), Rhs: []float64{0}, A: sparse.FromEntries(1, 1, nil), B: sparse.FromEntries(1, 1, []sparse.Entry{{Val: 1}})},
				X:    &problem.Set{Lo: []float64{0}, Hi: []float64{2}, E: sparse.FromEntries(0, 1, nil)}}
			d := newDeriver(p, []float64{x}, []float64{y}, []float64{0})
			if at, err := d.dual([]float64{x}, []float64{y}, nil); x == 0 && err == nil {
				t.Errorf("y = %v is no answer", at.y)
			}
			// A step takes a gradient, the residual before and after it, and a curvature by central differences at each of its lengths.
			if most := 2 * 8 * tolerance.Steps; g.n > most {
				t.Errorf("x = %v from y = %v: %d gradients, and %d are enough", x, y, g.n, most)
			}
		}
	}
}
