package certify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// bowl is f = 1/2 sum_j a_j (x_j - t_j)^2, which y has no part in.
type bowl struct{ a, t []float64 }

func (f bowl) ValueGrad(dx, dy, x, y []float64) float64 {
	clear(dy)
	value := 0.0
	for j, a := range f.a {
		r := x[j] - f.t[j]
		value += a * r * r / 2
		dx[j] = a * r
	}
	return value
}

// TestMappingsOfLongSteps: whatever L a gradient mapping is measured with, no point of a box from
// which F falls by a good part of what it changes over the box passes for stationary, and its
// minimizer does, in any units and however far from 0 the box is. A mapping m with a step that is
// no longer than a length s bounds how far F falls to first order over a box of diameter D,
//
//	g'(x - z) <= m (s + D) for all z of the box,
//
// as z - x+ makes no acute angle with x - g/L - x+.
func TestMappingsOfLongSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 8))
	refused, honest := 0, 0
	for trial := range 200 {
		n := 1 + rng.IntN(3)
		ux, uf := math.Pow(10, float64(rng.IntN(13)-6)), math.Pow(10, float64(rng.IntN(13)-6))
		away := math.Pow(10, float64(rng.IntN(7))) * ux // of the box from 0
		f := bowl{make([]float64, n), make([]float64, n)}
		p := &problem.Problem{Name: "bowl", Dx: n, Dy: 1, F: formula(f.ValueGrad), G: quadratic{a: []float64{1}},
			Rows:  &problem.Rows{A: sparse.FromEntries(0, n, nil), B: sparse.FromEntries(0, 1, nil)},
			X:     &problem.Set{Lo: make([]float64, n), Hi: make([]float64, n), E: sparse.FromEntries(0, n, nil)},
			Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
		x, best := make([]float64, n), make([]float64, n)
		curved := 0.0
		for j := range n {
			p.X.Lo[j] = away * (2*rng.Float64() - 1)
			p.X.Hi[j] = p.X.Lo[j] + ux*(0.5+rng.Float64())
			middle := (p.X.Lo[j] + p.X.Hi[j]) / 2
			f.a[j] = uf / (ux * ux) * (0.1 + rng.Float64())
			f.t[j] = middle + 2*ux*rng.NormFloat64()
			best[j] = math.Max(p.X.Lo[j], math.Min(p.X.Hi[j], f.t[j]))
			x[j] = p.X.Lo[j] + (p.X.Hi[j]-p.X.Lo[j])*rng.Float64()
			curved = math.Max(curved, f.a[j])
		}
		diameter := distance(p.X.Lo, p.X.Hi)
		document := func(x []float64, smoothness float64) *Document {
			g, projected := make([]float64, n), make([]float64, n)
			value := f.ValueGrad(g, make([]float64, 1), x, []float64{0})
			for j := range x {
				projected[j] = math.Max(p.X.Lo[j], math.Min(p.X.Hi[j], x[j]-g[j]/smoothness))
			}
			return &Document{X: x, Y: []float64{0}, Lambda: []float64{}, Upper: value, Hypergradient: g, Solved: true, Stationary: true,
				Certificate: &Certificate{Lower: lowerOf(p, x, []float64{0}, []float64{}, nil), GradientMapping: mappingOf(smoothness, x, g, projected, 0)}}
		}
		// What F falls by from x to the vertex that its gradient points away from, and the
		// largest gradient over the box.
		g, largest, falls := document(x, curved).Hypergradient, 0.0, 0.0
		for j := range n {
			ends := math.Max(math.Abs(p.X.Lo[j]-f.t[j]), math.Abs(p.X.Hi[j]-f.t[j]))
			largest = math.Hypot(largest, f.a[j]*ends)
			falls += math.Max(g[j]*(x[j]-p.X.Lo[j]), g[j]*(x[j]-p.X.Hi[j]))
		}
		name := fmt.Sprintf("trial %d, units x %g, F %g, box %v to %v", trial, ux, uf, p.X.Lo, p.X.Hi)
		requireOK(t, name, Verify(document(best, curved), p))
		// A step as long as the box is wide, half its diameter, is taken at its word: at a vertex
		// that F pushes at, all but for one entry that is nearly where it should be.
		push, near := norm(document(best, curved).Hypergradient), slices.Clone(best)
		if k := rng.IntN(n); f.t[k] == best[k] && push > 0 {
			near[k] += 0.8 * Share * push / f.a[k]
			if near[k] < p.X.Hi[k] {
				requireOK(t, name, Verify(document(near, push/(diameter/2)), p))
				honest++
			}
		}
		// Differences of gradients over the box, which sizes are made of, may be twice the largest;
		// the steps that are taken at their word are no longer than the diameter.
		if falls <= Share*2*largest*2*diameter {
			continue
		}
		refused++
		for L := 1e3 * curved; L > 1e-18*curved; L /= 10 {
			failed := Verify(document(x, L), p).Failures()
			if !slices.ContainsFunc(failed, func(c Check) bool { return strings.HasPrefix(c.Claim, "solved: gradient mapping") }) {
				t.Errorf("%s: F falls by %g of %g from %v, which passes for stationary with L = %g, the curvature being %g", name, falls, largest*diameter, x, L, curved)
				break
			}
		}
	}
	if refused < 100 || honest < 10 {
		t.Errorf("only %d points are far from stationary, %d nearly so beside a vertex", refused, honest)
	}
}
