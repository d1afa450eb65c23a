package sequential_test

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/sequential"
	"bilevelc/runtime/tolerance"
)

// ridge is a function of x and one y by its value and gradients.
type ridge func(x []float64, y float64, dx []float64) (v, dy float64)

func (f ridge) ValueGrad(dx, dy, x, y []float64) float64 {
	if dx == nil {
		dx = make([]float64, len(x))
	}
	v, slope := f(x, y[0], dx)
	if dy != nil {
		dy[0] = slope
	}
	return v
}
func (f ridge) Value(x, y []float64) float64           { return f.ValueGrad(nil, nil, x, y) }
func (f ridge) GradX(dst, x, y []float64)              { f.ValueGrad(dst, nil, x, y) }
func (f ridge) GradY(dst, x, y []float64)              { f.ValueGrad(nil, dst, x, y) }
func (f ridge) ValueGradY(dst, x, y []float64) float64 { return f.ValueGrad(nil, dst, x, y) }
func (f ridge) Clone() problem.Function                { return f }

// F = steep max(0, |x|^2 - 1) + |x - target|^2 has a kink along the sphere, a thousand and more times as steep as F is along it, where its minimizer is for a target outside: target/|target|.
// Steps along the tangent leave the sphere by half the square of their length, which costs more than they gain: from any start as many of them as corrections need come to the end.
func TestCurvedKink(t *testing.T) {
	rng := members.Rand(t, 12)
	for k := range members.Count(100) {
		n := 2 + rng.IntN(3)
		target, size := make([]float64, n), 0.0
		for j := range target {
			target[j] = rng.NormFloat64()
			size = math.Hypot(size, target[j])
		}
		far := 1.1 + 2*rng.Float64()
		for j := range target {
			target[j] *= far / size
		}
		steep := math.Pow(10, 3+2*rng.Float64())
		f := func(x []float64, y float64, dx []float64) (v, dy float64) {
			v = steep * y
			for j, t := range x {
				dx[j] = 2 * (t - target[j])
				v += (t - target[j]) * (t - target[j])
			}
			return v, steep
		}
		g := func(x []float64, y float64, dx []float64) (v, dy float64) {
			q := -1.0
			for j, t := range x {
				dx[j] = -2 * t * y
				q += t * t
			}
			return y*y/2 - q*y, y - q
		}
		rows := &problem.Rows{A: sparse.FromEntries(1, n, nil), B: sparse.FromEntries(1, 1, []sparse.Entry{{Val: 1}}), Rhs: []float64{0}, Kind: []problem.Kind{problem.AtMost}, Name: []string{"y"}}
		p := &problem.Problem{Dx: n, Dy: 1, F: ridge(f), G: ridge(g), Rows: rows, X: &problem.Set{}, Facts: problem.Facts{StrongConvexity: 1, Convex: true, QuadraticInY: true, FixedHessian: true, DegreeF: 2}}
		steps := 0
		v, err := sequential.New(p, sequential.Options{Observer: func(pieces.Step) { steps++ }})
		if err != nil {
			t.Fatal(err)
		}
		start := make([]float64, n)
		for j := range start {
			start[j] = rng.NormFloat64() / 2
		}
		point, err := v.From(t.Context(), start)
		if err != nil {
			t.Errorf("case %d: %v", k, err)
			continue
		}
		for j := range target {
			if d := math.Abs(point.Z[j] - target[j]/far); d > tolerance.Sign*steep { // what the part of the gradient's terms that may be left moves x by
				t.Errorf("case %d: x[%d] is %g from the optimum", k, j, d)
			}
		}
		if steps > 60 {
			t.Errorf("case %d, kink of %.0f: %d steps", k, steep, steps)
		}
	}
}
