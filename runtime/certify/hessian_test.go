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
		s := measure(p, p.F, p.G, nil, y, nil, math.Inf(1))
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

// coupled is an entropy in y1 that a force tilts, with a product of its entries: w y1 log y1 + t y1 + c y1 y2 + (c^2 y1^2 + y2^2)/2 + s y2.
func coupled(w, t, c, s float64) formula {
	return func(dx, dy, _, y []float64) float64 {
		clear(dx)
		dy[0] = w*(math.Log(y[0])+1) + t + c*y[1] + c*c*y[0]
		dy[1] = c*y[0] + y[1] + s
		return w*y[0]*math.Log(y[0]) + t*y[0] + c*y[0]*y[1] + (c*c*y[0]*y[0]+y[1]*y[1])/2 + s*y[1]
	}
}

// TestCurvatureOfEntriesApart: two entries of y whose lengths are up to 1e-250 apart share an entry of the Hessian, which
// the differences along the short one cannot see: no force of size s changes by a step there.
func TestCurvatureOfEntriesApart(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 42))
		y := []float64{math.Exp(-600 * rng.Float64()), 0.1 + rng.Float64()}
		w, c, s := 0.1+rng.Float64(), 1+10*rng.Float64(), 1+10*rng.Float64()
		g := coupled(w, -w*(math.Log(y[0])+1)-c*y[1], c, s)
		p := &problem.Problem{Dy: 2, F: g, G: g,
			Rows: &problem.Rows{A: sparse.FromEntries(0, 0, nil), B: sparse.FromEntries(0, 2, nil)},
			X:    &problem.Set{E: sparse.FromEntries(0, 0, nil)}}
		h, err := newHessian(p, g, measure(p, g, g, nil, y, nil, math.Inf(1)), [][]int{{0, 1}}, nil, y)
		if err != nil {
			t.Errorf("seed %d, y = %v: %v", seed, y, err)
			continue
		}
		if found := h.blocks[0].h.At(0, 1); math.Abs(found-c) > 1e-4*c {
			t.Errorf("seed %d, y = %v: mixed curvature %g, want %g", seed, y, found, c)
		}
	}
}

// TestAnswersAtZero: where y is 0 but for an entry beside the edge of an entropy, the rounding of the forces that hold it there is
// the one length that y has: an answer that is off by less is right, and one off by much more is not.
func TestAnswersAtZero(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 43))
		y := []float64{math.Exp(-200 - 400*rng.Float64()), 0}
		w, s := 0.1+rng.Float64(), 1+10*rng.Float64()
		g := coupled(w, -w*(math.Log(y[0])+1), rng.Float64(), s)
		p := &problem.Problem{Dy: 2, F: g, G: g, X: &problem.Set{E: sparse.FromEntries(0, 0, nil)}, Rows: &problem.Rows{
			A: sparse.FromEntries(2, 0, nil), B: sparse.FromEntries(2, 2, []sparse.Entry{{Row: 0, Col: 0, Val: 1}, {Row: 1, Col: 1, Val: 1}}),
			Rhs: make([]float64, 2), Kind: []problem.Kind{problem.AtMost, problem.AtMost}}}
		for _, c := range []struct {
			off  float64
			want bool
		}{{0, true}, {1e-17, true}, {1e-9, false}} {
			lambda := []float64{0, s}
			doc := &Document{Y: []float64{y[0], c.off}, Lambda: lambda}
			v := &verification{doc: doc, p: p}
			v.d = newDeriver(p, nil, doc.Y, lambda)
			v.derive()
			ok := true
			for _, check := range v.Checks {
				ok = ok && check.OK
			}
			if ok != c.want {
				t.Errorf("seed %d, y = %v off by %g: %v", seed, y, c.off, v.Checks)
			}
		}
	}
}

// partlyLinear is sum_j q_j y_j^2 / 2 + y_j.
type partlyLinear []float64

func (b partlyLinear) GradY(dst, _, y []float64) {
	for j, t := range y {
		dst[j] = b[j]*t + 1
	}
}
func (b partlyLinear) Value(_, y []float64) float64 {
	sum := 0.0
	for j, t := range y {
		sum += b[j]*t*t/2 + t
	}
	return sum
}
func (partlyLinear) GradX(dst, _, _ []float64) { clear(dst) }
func (b partlyLinear) ValueGrad(dx, dy, x, y []float64) float64 {
	clear(dx)
	return b.ValueGradY(dy, x, y)
}
func (b partlyLinear) ValueGradY(dst, x, y []float64) float64 {
	b.GradY(dst, x, y)
	return b.Value(x, y)
}
func (b partlyLinear) Clone() problem.Function { return b }

// TestCurvatureOfLinearEntries: where g is linear in some entries of y, as in angles that rows tie to flows, their differences are 0 in any step, and steps
// do not grow to where numbers end, whatever the sizes of y are.
func TestCurvatureOfLinearEntries(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 43))
		n := 2 + rng.IntN(5)
		q, y := make(partlyLinear, n), make([]float64, n)
		var ties []sparse.Entry
		equal := 0
		for j := range y {
			y[j] = rng.NormFloat64() * math.Pow(10, float64(rng.IntN(13)-6))
			if q[j] = 1 + rng.Float64(); j > 0 && rng.IntN(2) == 0 {
				q[j] = 0
				ties = append(ties, sparse.Entry{Row: equal, Col: 0, Val: 1}, sparse.Entry{Row: equal, Col: j, Val: -1})
				equal++
			}
		}
		p := &problem.Problem{Dy: n, F: q, G: q,
			Rows: &problem.Rows{Kind: make([]problem.Kind, equal), A: sparse.FromEntries(equal, 0, nil), B: sparse.FromEntries(equal, n, ties), Rhs: make([]float64, equal)},
			X:    &problem.Set{E: sparse.FromEntries(0, 0, nil)}}
		for i := range p.Rows.Kind {
			p.Rows.Kind[i] = problem.Equal
		}
		p.Facts.QuadraticInY = seed%2 == 0
		h, err := newHessian(p, p.G, measure(p, p.F, p.G, nil, y, make([]float64, p.Rows.Len()), math.Inf(1)), [][]int{partition(p)[0]}, nil, y)
		if err != nil {
			t.Errorf("seed %d, y = %v: %v", seed, y, err)
			continue
		}
		for j := range y { // the diagonal without what the rows add to it
			found := h.blocks[0].h.At(j, j)
			for _, i := range h.blocks[0].equal {
				found -= h.blocks[0].rho * p.Rows.B.At(i, j) * p.Rows.B.At(i, j)
			}
			if math.Abs(found-q[j]) > 1e-5*h.blocks[0].h.At(j, j) {
				t.Errorf("seed %d, y[%d] = %g: curvature %g, want %g", seed, j, y[j], found, q[j])
			}
		}
	}
}
