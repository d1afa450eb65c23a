package central

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// few is a problem with fewer rows than entries of y: bounds, general inequalities and
// equality rows, one of them twice where repeated is true, with curvatures and rows of
// several sizes.
func few(rng *rand.Rand, repeated bool) (*problem.Problem, []float64) {
	nx, ny := 4, 14
	x, inside := vector(rng, nx), vector(rng, ny)
	g := &quadratic{q: make([]float64, ny*ny), p: vector(rng, nx*ny), c: vector(rng, ny), nx: nx, ny: ny}
	unit := make([]float64, ny)
	for j := range unit {
		unit[j] = math.Pow(10, float64(rng.IntN(4)))
	}
	for range 2 * ny {
		v := vector(rng, ny)
		for i := range ny {
			for j := range ny {
				g.q[i*ny+j] += v[i] * v[j] * unit[i] * unit[j]
			}
		}
	}
	f := &quadratic{q: make([]float64, ny*ny), p: vector(rng, nx*ny), c: vector(rng, ny), nx: nx, ny: ny, bend: 0.1}
	var a, b []sparse.Entry
	rows := &problem.Rows{}
	add := func(kind problem.Kind, reads, coef []float64, room float64) {
		i, rhs := rows.Len(), room
		for j, v := range coef {
			if v != 0 {
				b = append(b, sparse.Entry{Row: i, Col: j, Val: v})
				rhs -= v * inside[j]
			}
		}
		for j, v := range reads {
			a = append(a, sparse.Entry{Row: i, Col: j, Val: v})
			rhs += v * x[j]
		}
		// A x - B y - b = -room at (x, inside).
		rows.Kind, rows.Rhs, rows.Name = append(rows.Kind, kind), append(rows.Rhs, rhs), append(rows.Name, "")
	}
	for j := range 3 {
		e := make([]float64, ny)
		e[j] = -2
		add(problem.AtMost, nil, e, 0.1+rng.Float64())
	}
	for range 6 {
		v := vector(rng, ny)
		size := math.Pow(10, float64(rng.IntN(3)))
		for j := range v {
			v[j] *= size
		}
		add(problem.AtMost, vector(rng, nx), v, size*(0.1+rng.Float64()))
	}
	coef, reads := vector(rng, ny), vector(rng, nx)
	add(problem.Equal, reads, coef, 0)
	if repeated {
		add(problem.Equal, reads, coef, 0)
	}
	rows.A, rows.B = sparse.FromEntries(rows.Len(), nx, a), sparse.FromEntries(rows.Len(), ny, b)
	return &problem.Problem{Dx: nx, Dy: ny, F: f, G: g, Rows: rows,
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}, x
}

// Condensed or not the path, its gradients and second derivatives are the same, from point to
// point near by and far away; the former takes fewer gradients.
func TestCondensed(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	found := 0
	for k := range 60 {
		p, x := few(rng, k%3 == 0)
		counted := p.G.(*quadratic)
		whole, small := New(p, nil), New(p, counted.q)
		if small.condensed == nil || whole.condensed != nil {
			t.Fatal("condensed is not where it should be")
		}
		for _, c := range []*Path{whole, small} {
			c.Begin(make([]float64, p.Dy), Barrier{})
		}
		for _, mu := range []float64{3, 1e-1, 1e-3, 1e-5} {
			for _, far := range []float64{0, 1e-3, 0.1, 0.5} {
				z := append([]float64(nil), x...)
				for j := range z {
					z[j] += far * rng.NormFloat64() / 4
				}
				want, got := make([]float64, p.Dx), make([]float64, p.Dx)
				f, err := whole.Evaluate(context.Background(), want, z, mu)
				v, other := small.Evaluate(context.Background(), got, z, mu)
				if err != nil || other != nil {
					if (err == nil) != (other == nil) {
						t.Errorf("problem %d, mu %g: %v with the whole matrix, %v condensed", k, mu, err, other)
					}
					continue
				}
				found++
				// Points are taken where s lambda is mu to a part of 1e-3 at worst (roughly).
				if math.Abs(f-v) > 1e-4*(1+math.Abs(f)) || linalg.Distance(got, want) > 1e-4*(1+linalg.Norm(want)) {
					t.Errorf("problem %d, mu %g, far %g: F %g and %g, gradients %g apart of %g", k, mu, far, f, v, linalg.Distance(got, want), linalg.Norm(want))
				}
				d := vector(rng, p.Dx)
				whole.Second(z).Apply(want, d)
				small.Second(z).Apply(got, d)
				// Differences of gradients next to rows.
				if linalg.Distance(got, want) > 1e-2*(1+linalg.Norm(want)) {
					t.Errorf("problem %d, mu %g, far %g: second derivatives %g apart of %g", k, mu, far, linalg.Distance(got, want), linalg.Norm(want))
				}
			}
		}
	}
	if found < 700 {
		t.Errorf("only %d of 960 points were found", found)
	}
}

// From one point of the condensed path to the next Newton's method asks for no gradients but
// two of g in y, of which the second shows that it has arrived.
func TestCondensedGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for k := range 20 {
		p, x := few(rng, false)
		count := &counting{Function: p.G}
		p.G = count
		c := New(p, count.Function.(*quadratic).q)
		c.Begin(make([]float64, p.Dy), Barrier{})
		if c.At(context.Background(), x, 1e-2) != nil {
			continue
		}
		x[0] += 1e-3
		count.calls = 0
		if err := c.At(context.Background(), x, 1e-3); err != nil || count.calls != 2 {
			t.Errorf("problem %d: %d gradients (%v)", k, count.calls, err)
		}
	}
}

type counting struct {
	problem.Function
	calls int
}

func (c *counting) GradY(dst, x, y []float64) {
	c.calls++
	c.Function.GradY(dst, x, y)
}
