package certify

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// enclosed is a polynomial with its slopes in y, and their rounding.
type enclosed struct {
	formula
	of *polynomial
}

// SlopeY implements problem.Rounded: sums of a dozen terms.
func (e enclosed) SlopeY(direction, x, y []float64) (lo, hi float64, ok bool) {
	dx, dy := make([]float64, len(x)), make([]float64, len(y))
	e.of.ValueGrad(dx, dy, x, y)
	slope, terms := 0.0, 0.0
	for j, d := range direction {
		slope += d * dy[j]
		terms += math.Abs(d) * (math.Abs(dy[j]) + math.Abs(e.of.l[len(x)+j]))
		for k, v := range y {
			terms += math.Abs(d * e.of.m[len(x)+j][len(x)+k] * v)
		}
	}
	return slope - 0x1p-48*terms, slope + 0x1p-48*terms, true
}

func (e enclosed) Clone() problem.Function { return e }

// What an answer is off by, in the slack of a row and in the multiplier of one, is what its slopes along their adjoints say, in whatever direction it is: the answer is known by the numbers of g, which
// are made for it.
func TestSlopesTellWhatAnAnswerIsOffBy(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 11))
	seen := [2]int{}
	for trial := range 300 {
		const dy, m = 4, 3
		whole := func(k int) float64 { return float64(rng.IntN(2*k+1) - k) }
		g := newPolynomial(1 + dy)
		for i := range dy {
			for j := range i {
				g.set(1+i, 1+j, whole(1))
			}
			g.set(1+i, 1+i, float64(5+rng.IntN(200)))
		}
		x, y, lambda := []float64{whole(3)}, make([]float64, dy), make([]float64, m)
		p := &problem.Problem{Name: "slopes", Dx: 1, Dy: dy, F: quadratic{}, Start: []float64{0}, Rows: &problem.Rows{Kind: make([]problem.Kind, m)},
			X:     &problem.Set{Lo: []float64{-4}, Hi: []float64{4}, E: sparse.FromEntries(0, 1, nil)},
			Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
		p.F = formula(quadratic{d: ones(dy)}.ValueGrad)
		b := make([]float64, m*dy)
		for k := range b {
			b[k] = whole(2)
		}
		for j := range y {
			y[j] = whole(3)
			g.set(0, 1+j, whole(1))
		}
		p.Rows.A, p.Rows.B = sparse.FromEntries(m, 1, nil), sparse.FromDense(m, dy, b)
		face := []int{0, 1} // the last row has slack
		for i := range m {
			p.Rows.Rhs = append(p.Rows.Rhs, -p.Rows.B.RowDot(i, y))
		}
		p.Rows.Rhs[2]++
		for _, i := range face {
			lambda[i] = float64(1 + rng.IntN(3))
		}
		for j := range dy { // grad_y g = B'lambda at y
			g.l[1+j] = -floats.Dot(g.m[1+j], append([]float64{x[0]}, y...))
			for i := range m {
				g.l[1+j] += b[i*dy+j] * lambda[i]
			}
		}
		p.G = enclosed{formula(g.ValueGrad), g}
		d := newDeriver(p, x, y, lambda)
		at, err := d.onFace(x, y, face)
		if err != nil || len(at.active) < 2 {
			continue // rows that depend on each other
		}
		for j := range at.y {
			at.y[j] = y[j] + 0x1p-20*whole(3)
		}
		for _, i := range face {
			at.lambda[i] = lambda[i] + 0x1p-20*whole(3)
		}
		for i := range m {
			k, inside := places(at.active)[i]
			want := p.Rows.B.RowDot(i, at.y) - p.Rows.B.RowDot(i, y)
			if inside {
				want = at.system.give(k) * (at.lambda[i] - lambda[i])
				seen[1]++
			} else {
				seen[0]++
			}
			if got := d.bySlopes(at, i, k, inside, math.Inf(1)) / tolerance.Margin; !(math.Abs(got-math.Abs(want)) <= 1e-3*math.Abs(want)+0x1p-30) {
				t.Errorf("trial %d, row %d: off by %g, and %g by the slopes", trial, i, want, got)
			}
		}
	}
	if seen[0] < 100 || seen[1] < 100 {
		t.Errorf("%d slacks, %d multipliers", seen[0], seen[1])
	}
}
