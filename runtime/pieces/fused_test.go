package pieces_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// fused is a signal that a follower smooths by penalties x on the absolute values of its differences d, of first and second order, and that the leader compares with the one it was before the noise.
// The rest of y are h = max(d, 0), |d| = 2h - d, with a curve times h (h - d), that is 0 at the answer: g is convex with one of 0.05, as second differences have squares of no more than 16.
func fused(rng *rand.Rand, n int, curve float64) *problem.Problem {
	nx, ny := 2, n+n-1+n-2
	all := nx + ny
	f, g := kkttest.Quadratic{Nx: nx, Ny: ny, M: make([]float64, all*all), C: make([]float64, all)}, kkttest.Quadratic{Nx: nx, Ny: ny, M: make([]float64, all*all), C: make([]float64, all)}
	rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
	level, slope := 0.0, 0.02*rng.NormFloat64()
	for i := range n {
		if i%(n/5) == 0 {
			level = 2.5 * rng.NormFloat64()
		}
		level += slope
		noisy := math.Round(1e3*(level+0.4*rng.NormFloat64())) / 1e3
		f.M[(nx+i)*all+nx+i], f.C[nx+i] = 2/float64(n), -2*level/float64(n)
		g.M[(nx+i)*all+nx+i], g.C[nx+i] = 1, -noisy
	}
	for order, first := range []int{n, 2*n - 1} {
		weights := [][]float64{{-1, 1}, {1, -2, 1}}[order]
		for i := range n - 1 - order {
			h, columns := first+i, []int{first + i}
			join := func(a, b int, by float64) {
				g.M[a*all+b] += by
				g.M[b*all+a] += by
			}
			join(order, nx+h, 2)
			join(nx+h, nx+h, curve)
			row := []float64{1}
			for k, w := range weights {
				columns, row = append(columns, i+k), append(row, -w)
				join(order, nx+i+k, -w)
				join(nx+h, nx+i+k, -curve*w)
			}
			kkttest.AddRow(rows, problem.AtMost, nil, columns, row, 0)
			kkttest.AddRow(rows, problem.AtMost, nil, columns[:1], row[:1], 0)
		}
	}
	return &problem.Problem{Name: "fused", Dx: nx, Dy: ny, F: &f, G: &g, Rows: rows, X: &problem.Set{Lo: []float64{0, 0}, Hi: []float64{10, 10}, E: sparse.Empty(nx)}, Facts: problem.Facts{Convex: true, JointlyQuadratic: true, DegreeF: 2}}
}

// Where a hundred rows are biactive for two entries of x a local solve does not look at the branches one by one: it ends within some seconds' work, where F falls nowhere.
func TestManyBiactiveRows(t *testing.T) {
	rng := members.Rand(t, 11)
	for k := range members.Of(4, 20) {
		p := fused(rng, 60, 0.05)
		s, v := solverOf(t, p)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var at *pieces.Solver
		at, err := pieces.New(s, pieces.Options{Working: func() {
			if at.Work() > 5*tolerance.Second {
				stop()
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		point, err := at.From(ctx, []float64{1 + 3*rng.Float64(), 0})
		if err != nil && !errors.Is(err, pieces.ErrStalled) { // with which a local minimum may end that is not strongly stationary
			t.Errorf("signal %d: %v", k, err)
			continue
		}
		for range 20 { // by no more than curvature makes of the distance
			d, x := math.Pow(10, -4-rng.Float64()), append([]float64{}, s.X(point.Z)...)
			for j := range x {
				x[j] = math.Max(p.X.Lo[j], x[j]+d*rng.NormFloat64())
			}
			if z, _ := v.Follower().Solve(t.Context(), x); s.Value(z) < point.F-100*d*d-1e-8 {
				t.Errorf("signal %d: F falls by %g at the distance %g of %v", k, point.F-s.Value(z), d, s.X(point.Z))
			}
		}
	}
}

// Slopes of F where a hundred rows are biactive take no more than a second's work: they are those of differences between the follower's answers.
func TestSlopesBesideManyBiactiveRows(t *testing.T) {
	rng := members.Rand(t, 12)
	known, met := 0, 0
	for k := range members.Of(6, 40) {
		p := fused(rng, 60, 0.05*float64(k%2))
		s, _ := solverOf(t, p)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var v *pieces.Solver
		v, err := pieces.New(s, pieces.Options{Working: func() {
			if v.Work() > tolerance.Second {
				stop()
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		x, dx := []float64{1 + 3*rng.Float64(), 0}, []float64{rng.NormFloat64(), float64(k/2%2) * rng.Float64()}
		f := func(x []float64) (*kkt.Point, float64) {
			z, status := v.Follower().Solve(t.Context(), x)
			if status != activeset.Optimal {
				t.Fatalf("signal %d: the follower's answer: %v", k, status)
			}
			branch, biactive := s.BranchAt(z)
			return &kkt.Point{Z: z, F: s.Value(z), Branch: branch, Biactive: biactive}, s.Value(z)
		}
		first := func(p *kkt.Point) (sides []kkt.Fix) { // of the rows of first differences
			for k, pair := range s.Pairs {
				if pair.Row < 2*59 {
					sides = append(sides, p.Branch[k])
				}
			}
			return sides
		}
		start, _ := f(x)
		for last := x[0] + 1; last-x[0] > 1e-14; { // to where differences become 0, or cease to be
			half := x[0] + (last-x[0])/2
			if there, _ := f([]float64{half, 0}); slices.Equal(first(there), first(start)) {
				x[0] = half
			} else {
				last = half
			}
		}
		at, here := f(x)
		slope, err := v.Slope(ctx, at, dx, 1)
		if err != nil || slope == nil {
			t.Errorf("signal %d: %v, %v with %d biactive rows", k, slope, err, len(at.Biactive))
			continue
		}
		if len(at.Biactive) > 50 {
			met++
		}
		const h = 1e-6
		var ahead [2]float64
		for i := range ahead {
			_, there := f([]float64{x[0] + float64(1+i)*h*dx[0], x[1] + float64(1+i)*h*dx[1]})
			ahead[i] = (there - here) / (float64(1+i) * h)
		}
		if math.Abs(ahead[0]-ahead[1]) > 1e-5*(1+math.Abs(ahead[0])) {
			continue // another kink is that near
		}
		if known++; math.Abs(slope.F-ahead[0]) > 1e-4*(1+math.Abs(ahead[0])) {
			t.Errorf("signal %d: the slope is %v, and of differences %v", k, slope.F, ahead[0])
		}
	}
	if known == 0 || met == 0 {
		t.Errorf("%d slopes known, %d points with many biactive rows", known, met)
	}
}
