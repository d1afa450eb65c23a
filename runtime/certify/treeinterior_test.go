package certify

import (
	"math"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Points of systems that are made around them, with followers that are curved, flat and neither, lie within the boxes that any statement of an interior leads to, whether it is inside or not. Numbers are
// whole or halves, so that points are exact.
func TestInteriorsHoldPoints(t *testing.T) {
	rng := members.Rand(t, 77)
	bounded, reached, narrowed := 0, 0.0, 0
	for k := range members.Count(4000) * 200 {
		nx, ny, m := 1+rng.IntN(2), 1+rng.IntN(3), 1+rng.IntN(4)
		number := func() float64 { return float64(rng.IntN(9)-4) / 2 }
		vector := func(n int) []float64 {
			v := make([]float64, n)
			for j := range v {
				v[j] = number()
			}
			return v
		}
		n := nx + ny
		g := &kkttest.Quadratic{Nx: nx, Ny: ny, M: make([]float64, n*n), C: make([]float64, n)}
		h := func(i, j int) *float64 { return &g.M[(nx+i)*n+nx+j] }
		kind := rng.IntN(4) // linear, semidefinite, definite, not convex
		for r := range kind {
			v, sign := vector(ny), 1.0
			if kind == 3 && r == 0 {
				sign = -1
			}
			for i := range ny {
				for j := range ny {
					*h(i, j) += sign * v[i] * v[j]
				}
				if kind == 2 && r == 0 {
					*h(i, i)++
				}
			}
		}
		for c := range nx {
			for j, v := range vector(ny) {
				g.M[c*n+nx+j], g.M[(nx+j)*n+c] = v, v
			}
		}
		x, y, lambda := vector(nx), vector(ny), make([]float64, m)
		rows := &problem.Rows{}
		a, b := make([]float64, 0, m*nx), make([]float64, 0, m*ny)
		for i := range m {
			ai, bi := vector(nx), vector(ny)
			if rng.IntN(3) == 0 { // a bound of an entry
				clear(ai)
				clear(bi)
				bi[rng.IntN(ny)] = []float64{-1, 1}[rng.IntN(2)]
			}
			slack := 0.0
			rows.Kind = append(rows.Kind, problem.AtMost)
			switch rng.IntN(5) {
			case 0:
				rows.Kind[i], lambda[i] = problem.Equal, number()
			case 1, 2:
				lambda[i] = math.Abs(number())
			default:
				slack = math.Abs(number())
			}
			rows.Rhs = append(rows.Rhs, slack-dot(bi, y)+dot(ai, x))
			a, b = append(a, ai...), append(b, bi...)
			for j := range ny {
				g.C[nx+j] += bi[j] * lambda[i]
			}
		}
		rows.A, rows.B = sparse.FromDense(m, nx, a), sparse.FromDense(m, ny, b)
		force := make([]float64, ny) // stationarity: that of the quadratic part at the point, less what the multipliers push
		push := append([]float64(nil), g.C[nx:]...)
		clear(g.C)
		g.GradY(force, x, y)
		for j := range ny {
			g.C[nx+j] = push[j] - force[j]
		}
		set := &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx)}
		for c := range nx {
			set.Lo[c], set.Hi[c] = x[c]-float64(rng.IntN(2)), x[c]+float64(rng.IntN(2))
		}
		p := &problem.Problem{Dx: nx, Dy: ny, F: affine{make([]float64, nx), make([]float64, ny), 0}, G: g, Rows: rows, X: set, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 1}}
		model, err := newTreeModel(p)
		if err != nil {
			t.Fatal(err)
		}
		part, _ := model.part(model.h, rng.IntN(ny))
		statement := func() treeInterior {
			in := treeInterior{Answer: part[0], At: &sparseVector{}, Curvature: &sparseVector{}}
			for _, j := range part {
				in.Curvature.At, in.Curvature.Val = append(in.Curvature.At, j), append(in.Curvature.Val, []float64{0.5, 1, 2}[rng.IntN(3)])
				in.At.At, in.At.Val = append(in.At.At, j), append(in.At.Val, y[j]+number())
			}
			for c := range nx {
				if rng.IntN(3) == 0 {
					v := number() / 2
					in.By = append(in.By, treeSlope{c, &sparseVector{At: part[:1], Val: []float64{v}}})
					in.At.Val[0] -= v * x[c]
				}
			}
			return in
		}
		within, err := model.of(nil, false, []treeInterior{statement()}, nil, nil, &treeLift{})
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range append(append(append([]float64(nil), x...), y...), lambda...) {
			if v < within.lo[j] || v > within.hi[j] {
				t.Fatalf("case %d: column %d is %v, outside of [%v, %v]: g %v, x %v, y %v, multipliers %v", k, j, v, within.lo[j], within.hi[j], g, x, y, lambda)
			}
			if before := model.hi[j]; within.hi[j] < before && j >= nx+ny {
				bounded++
				if within.hi[j] > 0 {
					reached = math.Max(reached, v/within.hi[j])
				}
			} else if within.hi[j] < before {
				narrowed++
			}
		}
	}
	if bounded == 0 || narrowed == 0 || reached < 0.5 {
		t.Errorf("%d multipliers bounded, %d entries of y, up to %.2g of the bounds", bounded, narrowed, reached)
	}
	t.Logf("%d multipliers bounded, %d entries of y, up to %.2g of the bounds", bounded, narrowed, reached)
}

// What cannot be a statement is refused.
func TestInteriorsAreChecked(t *testing.T) {
	p := follower(problem.AtMost, 1, 1)
	for name, in := range map[string]treeInterior{
		"no such entry of y":  {Answer: 1},
		"no number":           {Curvature: &sparseVector{[]int{0}, []float64{math.NaN()}}},
		"another entry of y":  {At: &sparseVector{[]int{1}, []float64{1}}},
		"an infinite number":  {At: &sparseVector{[]int{0}, []float64{math.Inf(1)}}},
		"no such entry of x":  {By: []treeSlope{{Entry: 1}}},
		"an entry of x twice": {By: []treeSlope{{Entry: 0}, {Entry: 0}}},
	} {
		model, err := newTreeModel(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := model.of(nil, false, []treeInterior{in}, nil, nil, &treeLift{}); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}
