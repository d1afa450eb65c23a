package reduced_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/reduced"
)

// storage is a tariff, an hour each, for a household that buys, stores and uses, and whose use is ramped: y is what it buys in all hours, then what it stores, what it uses, and by how much the use changes.
func storage(rng *rand.Rand, hours int, sparsely bool) *problem.Problem {
	nx, ny := hours, 4*hours-1
	n := nx + ny
	buy, store, use, ramp := 0, hours, 2*hours, 3*hours
	f, g := kkttest.Quadratic{Nx: nx, Ny: ny, M: make([]float64, n*n), C: make([]float64, n)}, kkttest.Quadratic{Nx: nx, Ny: ny, M: make([]float64, n*n), C: make([]float64, n)}
	rows, pattern := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}, make([]float64, ny*ny)
	square := func(q *kkttest.Quadratic, v int, by float64) { q.M[(nx+v)*n+nx+v] = by }
	atLeast := func(columns []int, values []float64, least float64) {
		kkttest.AddRow(rows, problem.AtMost, nil, columns, values, -least)
	}
	for t := range hours {
		f.M[t*n+nx+buy+t], f.M[(nx+buy+t)*n+t] = -1, -1 // the leader's revenue, less what the hour costs it
		f.C[nx+buy+t] = 1 + rng.Float64()
		square(&f, buy+t, 0.1)
		g.M[t*n+nx+buy+t], g.M[(nx+buy+t)*n+t] = 1, 1
		square(&g, buy+t, 0.02)
		square(&g, store+t, 0.01)
		square(&g, use+t, 1)
		g.C[nx+use+t] = -5 - 1 - 3*rng.Float64()
		for _, v := range []int{buy + t, store + t, use + t} {
			atLeast([]int{v}, []float64{1}, 0)
		}
		atLeast([]int{buy + t}, []float64{-1}, -6)
		atLeast([]int{store + t}, []float64{-1}, -5)
		columns, values := []int{buy + t, store + t, use + t}, []float64{-1, 1, 1}
		if t > 0 {
			columns, values = []int{buy + t, store + t - 1, store + t, use + t}, []float64{-1, -0.95, 1, 1}
		}
		kkttest.AddRow(rows, problem.Equal, nil, columns, values, 0)
		if t > 0 {
			square(&g, ramp+t-1, 0.01)
			atLeast([]int{use + t - 1, use + t, ramp + t - 1}, []float64{1, -1, 1}, 0)
			atLeast([]int{use + t - 1, use + t, ramp + t - 1}, []float64{-1, 1, 1}, 0)
			atLeast([]int{ramp + t - 1}, []float64{-1}, -1.5)
		}
	}
	x := &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx), E: sparse.Empty(nx), Kind: []problem.Kind{problem.AtMost}, Rhs: []float64{4 * float64(hours)}}
	for t := range hours {
		x.Lo[t], x.Hi[t] = 1, 8
		x.E.Append(t, 1)
	}
	x.E.EndRow()
	p := &problem.Problem{Dx: nx, Dy: ny, F: &f, G: &g, Rows: rows, X: x, Facts: problem.Facts{StrongConvexity: 0.01, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true, DegreeF: 2}}
	if sparsely {
		for j := range ny {
			pattern[j*ny+j] = 1
		}
		p.Facts.HessianPattern = sparse.FromDense(ny, ny, pattern)
	}
	return p
}

// A descent of a storage's tariff crosses kinks with others held, which curve its way from piece to piece: it ends where F falls nowhere, not between two pieces on which F falls up to one kink.
func TestStorage(t *testing.T) {
	rng := members.Rand(t, 71)
	all := members.Of(4, 24)
	for k := range all {
		p := storage(rng, 44+rng.IntN(8), k%2 == 0)
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		u, start := newTruth(t, s), make([]float64, p.Dx)
		for j := range start {
			start[j] = 1 + 6*rng.Float64()
		}
		r, err := reduced.Solve(t.Context(), s, start, reduced.Options{NoPath: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != reduced.Stationary {
			t.Errorf("tariff %d: %v, left %g, least %g", k, r.Status, r.Left, r.Least)
			continue
		}
		x := s.X(r.Point.Z)
		if _, value, ok := u.at(x); !ok || math.Abs(value-r.Point.F) > 1e-8*(1+math.Abs(value)) {
			t.Errorf("tariff %d: F is %v, not %v", k, value, r.Point.F)
		}
		for range 8 { // F falls nowhere to first order: by no more than curvature makes of the distance
			d, w := math.Pow(10, -4-rng.Float64()), append([]float64{}, x...)
			for j := range w {
				w[j] = math.Max(p.X.Lo[j], math.Min(p.X.Hi[j], w[j]+d*rng.NormFloat64()))
			}
			if _, v, ok := u.at(w); ok && inX(p, w, 0) && v < r.Point.F-1e3*d*d-1e-8*(1+math.Abs(v)) {
				t.Errorf("tariff %d: F falls by %g at the distance %g", k, r.Point.F-v, d)
			}
		}
	}
}
