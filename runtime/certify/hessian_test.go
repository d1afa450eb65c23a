package certify

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// entropy is sum_j y_j log y_j + |y|^2 / 2, defined for y > 0.
type entropy struct{}

func (entropy) GradY(dst, _, y []float64) {
	for j, t := range y {
		dst[j] = math.Log(t) + 1 + t
	}
}
func (entropy) Value(_, y []float64) float64 {
	sum := 0.0
	for _, t := range y {
		sum += t*math.Log(t) + t*t/2
	}
	return sum
}
func (entropy) GradX(dst, _, _ []float64) { clear(dst) }
func (g entropy) ValueGrad(dx, dy, x, y []float64) float64 {
	clear(dx)
	return g.ValueGradY(dy, x, y)
}
func (g entropy) ValueGradY(dst, x, y []float64) float64 { g.GradY(dst, x, y); return g.Value(x, y) }
func (g entropy) Clone() problem.Function                { return g }

// TestCurvatureAtEdges: where some entries of y are as near to the edge of g's domain as a
// multiplier holds an entropy there, down to exp(-600), differences of gradients find the Hessian:
// 1 + 1/y_j in each entry.
func TestCurvatureAtEdges(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 41))
		n := 1 + rng.IntN(6)
		y, v := make([]float64, n), make([]float64, n)
		for j := range y {
			if y[j] = 0.1 + rng.Float64(); j == 0 || rng.IntN(3) == 0 {
				y[j] = math.Exp(-600 * rng.Float64())
			}
			v[j] = y[j] * rng.NormFloat64()
		}
		p := &problem.Problem{Dy: n, F: entropy{}, G: entropy{},
			Rows: &problem.Rows{A: sparse.FromEntries(0, 0, nil), B: sparse.FromEntries(0, n, nil)},
			X:    &problem.Set{E: sparse.FromEntries(0, 0, nil)}}
		s := measure(p, p.F, p.G, nil, y, nil)
		h, err := newHessian(p, p.G, s, [][]int{partition(p)[0]}, nil, y)
		if err != nil {
			t.Errorf("seed %d, y = %v: %v", seed, y, err)
			continue
		}
		image := make([]float64, n)
		h.mul(image, v)
		for j := range y {
			want := 1 + 1/y[j]
			if found := h.blocks[0].h.At(j, j); math.Abs(found-want) > 1e-6*want {
				t.Errorf("seed %d, y[%d] = %g: curvature %g, want %g", seed, j, y[j], found, want)
			}
			if math.Abs(image[j]-want*v[j]) > 1e-5*math.Abs(want*v[j])+1e-5*norm(v) {
				t.Errorf("seed %d, y[%d] = %g: H v is %g there, want %g", seed, j, y[j], image[j], want*v[j])
			}
		}
	}
}
