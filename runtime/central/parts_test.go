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

// sideBySide are followers that share nothing as one problem, the objectives of g in their own units.
func sideBySide(ps []*problem.Problem, units []float64) *problem.Problem {
	nx, ny := 0, 0
	for _, p := range ps {
		nx, ny = nx+p.Dx, ny+p.Dy
	}
	g := &quadratic{q: make([]float64, ny*ny), p: make([]float64, nx*ny), c: make([]float64, ny), nx: nx, ny: ny}
	f := *g
	f.q, f.p, f.c = make([]float64, ny*ny), make([]float64, nx*ny), make([]float64, ny)
	rows := &problem.Rows{}
	var a, b, pattern []sparse.Entry
	x0, y0 := 0, 0
	for k, p := range ps {
		for of, q := range map[*quadratic]*quadratic{g: p.G.(*quadratic), &f: p.F.(*quadratic)} {
			unit := 1.0
			if of == g {
				unit = units[k]
			}
			for i := range p.Dy {
				of.c[y0+i] = unit * q.c[i]
				for j := range p.Dy {
					of.q[(y0+i)*ny+y0+j] = unit * q.q[i*p.Dy+j]
				}
				for j := range p.Dx {
					of.p[(x0+j)*ny+y0+i] = unit * q.p[j*p.Dy+i]
				}
			}
		}
		for i := range p.Dy {
			for j := range p.Dy {
				pattern = append(pattern, sparse.Entry{Row: y0 + i, Col: y0 + j, Val: 1})
			}
		}
		for i := range p.Rows.Len() {
			cols, vals := p.Rows.A.Row(i)
			for t, j := range cols {
				a = append(a, sparse.Entry{Row: rows.Len(), Col: x0 + j, Val: vals[t]})
			}
			cols, vals = p.Rows.B.Row(i)
			for t, j := range cols {
				b = append(b, sparse.Entry{Row: rows.Len(), Col: y0 + j, Val: vals[t]})
			}
			rows.Kind, rows.Rhs, rows.Name = append(rows.Kind, p.Rows.Kind[i]), append(rows.Rhs, p.Rows.Rhs[i]), append(rows.Name, "")
		}
		x0, y0 = x0+p.Dx, y0+p.Dy
	}
	rows.A, rows.B = sparse.FromEntries(rows.Len(), nx, a), sparse.FromEntries(rows.Len(), ny, b)
	return &problem.Problem{Dx: nx, Dy: ny, F: &f, G: g, Rows: rows,
		Facts: problem.Facts{StrongConvexity: 1e-6, QuadraticInY: true, FixedHessian: true, HessianPattern: sparse.FromEntries(ny, ny, pattern)}}
}

// Followers that share nothing are at the points that each has by itself, and take together no more gradients than the
// one of them that takes most: no follower's rows shorten another's steps, and where x moves far for one of them the
// others go on from where they are.
func TestParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 10))
	asked, needed := 0, 0
	for k := range 8 {
		var ps []*problem.Problem
		var units, x []float64
		for range 40 {
			p, at := random(rng, false)
			p.F.(*quadratic).quartic = 0
			ps, x = append(ps, p), append(x, at...)
			units = append(units, math.Pow(10, 3*rng.Float64()-1.5))
		}
		whole := sideBySide(ps, units)
		counted := &counting{Function: whole.G}
		whole.G = counted
		c := New(whole, nil)
		if c.parts.count != len(ps) {
			t.Fatalf("problem %d: %d parts", k, c.parts.count)
		}
		c.Begin(make([]float64, whole.Dy), Barrier{})
		single := make([]*Path, len(ps))
		counts := make([]*counting, len(ps))
		for i, p := range ps {
			one := sideBySide([]*problem.Problem{p}, units[i:i+1])
			counts[i] = &counting{Function: one.G}
			one.G = counts[i]
			single[i] = New(one, nil)
			single[i].Begin(make([]float64, p.Dy), Barrier{})
		}
		for _, mu := range []float64{1, 1e-2, 1e-4, 1e-6} {
			for _, far := range []float64{0, 1e-3, 0.1} {
				z, first := append([]float64(nil), x...), rng.IntN(len(ps))
				for j := 3 * first; j < 3*first+3; j++ { // one leader moves far, the others little
					z[j] += far * rng.NormFloat64()
				}
				counted.calls = 0
				grad := make([]float64, whole.Dx)
				f, err := c.Evaluate(context.Background(), grad, z, mu)
				if err != nil {
					t.Fatalf("problem %d, mu %g: %v", k, mu, err)
				}
				sum, most, y := 0.0, 0, 0
				for i := range ps {
					counts[i].calls = 0
					own := make([]float64, 3)
					v, err := single[i].Evaluate(context.Background(), own, z[3*i:3*i+3], mu)
					if err != nil {
						t.Fatalf("problem %d, mu %g, part %d: %v", k, mu, i, err)
					}
					sum, most = sum+v, max(most, counts[i].calls)
					if off := linalg.Distance(c.Y()[y:y+ps[i].Dy], single[i].Y()); off > 1e-5*(1+linalg.Norm(single[i].Y())) {
						t.Errorf("problem %d, mu %g: part %d is %g off", k, mu, i, off)
					}
					if off := linalg.Distance(grad[3*i:3*i+3], own); off > 1e-4*(1+linalg.Norm(own)) {
						t.Errorf("problem %d, mu %g: the gradient of part %d is %g off", k, mu, i, off)
					}
					y += ps[i].Dy
				}
				if math.Abs(f-sum) > 1e-6*(1+math.Abs(sum)) {
					t.Errorf("problem %d, mu %g: %g, and %g by parts", k, mu, f, sum)
				}
				asked, needed = asked+counted.calls, needed+most
				if counted.calls > most+1 { // rounding of the largest forces, which all compare with
					t.Errorf("problem %d, mu %g, far %g: %d gradients, at most %d by parts", k, mu, far, counted.calls, most)
				}
			}
		}
	}
	if asked > needed+5 {
		t.Errorf("%d gradients, %d by parts", asked, needed)
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
