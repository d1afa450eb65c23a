package certify

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// TestScalesAtVertices: at a vertex of X at which the terms of grad_y g cancel, so that y is 0 or
// a rounding, the size of the forces is that of the terms a width away: g = 1/2 |y - b (x - v)|^2
// at x = v, whatever the vertex. A residual there is a rounding of them.
func TestScalesAtVertices(t *testing.T) {
	for d := 1; d <= 6; d++ {
		for corner := range 1 << d {
			rng := rand.New(rand.NewPCG(uint64(corner), uint64(d)))
			lo, hi, v := make([]float64, d), make([]float64, d), make([]float64, d)
			a, b, move, y := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
			moves := rng.IntN(d) // the one entry of x that y reacts to
			for j := range d {
				lo[j] = rng.NormFloat64()
				hi[j] = lo[j] + 0.5 + rng.Float64()
				if v[j] = lo[j]; corner>>j&1 == 1 {
					v[j] = hi[j]
				}
				a[j] = 1
			}
			b[moves] = 1 + rng.Float64()
			move[moves] = b[moves] * v[moves]
			y[moves] = 0x1p-55
			p := &problem.Problem{Dx: d, Dy: d, F: quadratic{c: a}, G: quadratic{a: a, b: b, d: move},
				Rows: &problem.Rows{A: sparse.FromEntries(0, d, nil), B: sparse.FromEntries(0, d, nil)},
				X:    &problem.Set{Lo: lo, Hi: hi, E: sparse.FromEntries(0, d, nil)}}
			s := measure(p, p.F, p.G, v, y, nil, math.Inf(1))
			// The farthest of three draws falls short of a hundredth of the interval once in a million.
			if most := b[moves] * (hi[moves] - lo[moves]); !(s.force >= most/200) || s.force > 10*most {
				t.Errorf("x at the vertex %v of [%v, %v]: forces are of the size %g, and move by up to %g", v, lo, hi, s.force, most)
			}
		}
	}
}

// TestGradientWhereNothingMovesY: where X is one point and f is at its least in y, a gradient of F of rounding is 0 to the size
// that y's moving would give it.
func TestGradientWhereNothingMovesY(t *testing.T) {
	one, point := []float64{1}, []float64{-1}
	p := &problem.Problem{Dx: 1, Dy: 1, F: quadratic{a: one}, G: quadratic{a: one, d: []float64{2}}, Facts: problem.Facts{QuadraticInY: true},
		Rows: &problem.Rows{Kind: []problem.Kind{problem.AtMost}, A: sparse.FromEntries(1, 1, nil), B: sparse.FromEntries(1, 1, []sparse.Entry{{Val: 1}}), Rhs: []float64{0}},
		X:    &problem.Set{Lo: point, Hi: point, E: sparse.FromEntries(0, 1, nil)}}
	doc := &Document{X: point, Y: []float64{0}, Lambda: []float64{2}, Hypergradient: []float64{-1e-63}}
	if r := Verify(doc, p); !r.OK() {
		t.Errorf("a gradient of 0 was claimed as -1e-63: %v", r.Failures())
	}
	if doc.Hypergradient[0] = 1e-3; Verify(doc, p).OK() {
		t.Error("a gradient of 0 was claimed as 1e-3, and passes")
	}
}

// TestAnswersToWhatCorrectionsLeave: y >= 0 holds y at 0 where g alone would have it at -3e-23, of sizes of 2e-8: corrections of a face, which go to a
// rounding of the rows, leave either, and a claim of 0 is not wrong by it.
func TestAnswersToWhatCorrectionsLeave(t *testing.T) {
	n, wide := 3, make([]float64, 3)
	narrow, diagonal := make([]float64, n), []sparse.Entry{}
	for j := range n {
		wide[j], narrow[j] = 1e-7, -1e-7
		diagonal = append(diagonal, sparse.Entry{Row: j, Col: j, Val: 1})
	}
	g := quadratic{a: []float64{1, 0.1, math.Sqrt(10)}, b: []float64{-3, 10, 3 / math.Sqrt(10)}}
	p := &problem.Problem{Dx: n, Dy: n, F: quadratic{d: []float64{1, 3, 3}}, G: g, Facts: problem.Facts{QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true, DegreeF: 1},
		Rows: &problem.Rows{Kind: make([]problem.Kind, n), A: sparse.FromEntries(n, n, nil), B: sparse.FromEntries(n, n, diagonal), Rhs: make([]float64, n)},
		X:    &problem.Set{Lo: narrow, Hi: wide, E: sparse.FromEntries(0, n, nil)}}
	doc := &Document{X: []float64{4.7945869876066564e-09, -3.252918026073348e-25, 0}, Y: make([]float64, n), Lambda: make([]float64, n),
		Certificate: &Certificate{Lower: &Lower{Active: []int{0}}}}
	p.G.GradY(doc.Lambda, doc.X, doc.Y)
	doc.Lower = p.G.Value(doc.X, doc.Y)
	if r := Verify(doc, p); !r.OK() {
		t.Errorf("y = 0: %v", r.Failures())
	}
	if doc.Y[1] = 1e-18; Verify(doc, p).OK() {
		t.Error("y = 1e-18 passes")
	}
}

// TestGradientsWhereRowsHoldY: y >= 0 and y_1 + y_2 = 1 hold the answer (1, 0) to costs 1 + x and 2 with a curvature of 1e-8, by which alone y would move by 5e7 and
// gradients would be that large: a claim of 3 for F = x + y_1, whose gradient is 1, is none of rounding.
func TestGradientsWhereRowsHoldY(t *testing.T) {
	p := &problem.Problem{Dx: 1, Dy: 2, F: quadratic{c: []float64{1}, d: []float64{1}},
		G: formula(func(dx, dy, x, y []float64) float64 {
			dx[0], dy[0], dy[1] = y[0], 1+x[0]+1e-8*y[0], 2+1e-8*y[1]
			return (1+x[0])*y[0] + 2*y[1] + 0.5e-8*(y[0]*y[0]+y[1]*y[1])
		}),
		Rows: &problem.Rows{Kind: []problem.Kind{problem.Equal, problem.AtMost, problem.AtMost}, A: sparse.FromEntries(3, 1, nil),
			B: sparse.FromDense(3, 2, []float64{1, 1, 1, 0, 0, 1}), Rhs: []float64{-1, 0, 0}},
		X:     &problem.Set{Lo: []float64{0}, Hi: []float64{0.5}, E: sparse.FromEntries(0, 1, nil)},
		Facts: problem.Facts{StrongConvexity: 1e-8, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true}}
	for _, gradient := range []float64{1, 3} {
		doc := &Document{X: []float64{0.25}, Y: []float64{1, 0}, Lambda: []float64{1.25 + 1e-8, 0, 0.75 - 1e-8}, Upper: 1.25, Lower: 1.25 + 0.5e-8, Hypergradient: []float64{gradient}}
		if ok := Verify(doc, p).OK(); ok != (gradient == 1) {
			t.Errorf("a gradient of %v passes: %v, %v", gradient, ok, Verify(doc, p).Failures())
		}
	}
}

// TestTermsThatCancelAtThePoint: of f = (x - y)^2/2 at x = y = 1 the terms of grad f cancel, half way to 0 as well; they are of size 1 all the same.
func TestTermsThatCancelAtThePoint(t *testing.T) {
	one := []float64{1}
	p := &problem.Problem{Dx: 1, Dy: 1, F: quadratic{a: one, b: one}, G: quadratic{a: one, b: one}, Facts: problem.Facts{QuadraticInY: true},
		Rows: &problem.Rows{A: sparse.FromEntries(0, 1, nil), B: sparse.FromEntries(0, 1, nil)},
		X:    &problem.Set{Lo: []float64{-2}, Hi: []float64{2}, E: sparse.FromEntries(0, 1, nil)}}
	if s := measure(p, p.F, p.G, one, one, nil, math.Inf(1)); !(s.local >= 0.5) || s.local > 10 {
		t.Errorf("gradients at the point are of the size %g", s.local)
	}
}
