package lower

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/problem"
)

// enlarged is an objective times a factor, as a model in other units states it.
type enlarged struct {
	problem.Function
	factor float64
}

func (e *enlarged) Clone() problem.Function      { return &enlarged{e.Function.Clone(), e.factor} }
func (e *enlarged) Value(x, y []float64) float64 { return e.factor * e.Function.Value(x, y) }
func (e *enlarged) GradY(dst, x, y []float64)    { e.ValueGradY(dst, x, y) }
func (e *enlarged) ValueGradY(dst, x, y []float64) float64 {
	v := e.Function.ValueGradY(dst, x, y)
	for j := range dst {
		dst[j] *= e.factor
	}
	return e.factor * v
}

// A lower level and its copies in other units of y, of the rows and of g, near the
// ends of the range of double precision too, have one solution, for every solver;
// and every solve ends.
func TestUnitsDoNotMatter(t *testing.T) {
	for seed := uint64(0); seed < 40; seed++ {
		rng := rand.New(rand.NewPCG(seed, 53))
		c := draw(rng)
		c.condition, c.badScale = math.Min(c.condition, 100), 0
		made := c.build(seed)
		for _, unit := range []struct{ y, g float64 }{
			{1, 1}, {1e-8, 1}, {1e8, 1}, {1, 1e-8}, {1, 1e8}, {1e-8, 1e8}, {1e8, 1e-8}, {1, 1e160}, {1, 1e-170}, {1, 1e250}, {1e-8, 1e-200},
		} {
			p := *made.problem
			b := *p.Rows.B
			b.Val = append([]float64(nil), b.Val...)
			a := *p.Rows.A
			a.Val = append([]float64(nil), a.Val...)
			rows := *p.Rows
			rows.A, rows.B, rows.Rhs = &a, &b, append([]float64(nil), rows.Rhs...)
			for i := range rows.Rhs {
				u := math.Pow(10, float64(rng.IntN(17)-8))
				for k := b.Ptr[i]; k < b.Ptr[i+1]; k++ {
					b.Val[k] *= u / unit.y
				}
				for k := a.Ptr[i]; k < a.Ptr[i+1]; k++ {
					a.Val[k] *= u
				}
				rows.Rhs[i] *= u
			}
			p.Rows = &rows
			q := p.G.(*quadratic)
			n := len(q.c)
			scaled := newQuadratic(q.dx, q.n, make([]float64, n*n), append([]float64(nil), q.p...), make([]float64, n))
			if q.p == nil {
				scaled.p = nil
			}
			for k, v := range q.q {
				scaled.q[k] = v / (unit.y * unit.y)
			}
			for k, v := range scaled.p {
				scaled.p[k] = v / unit.y
			}
			for k, v := range q.c {
				scaled.c[k] = v / unit.y
			}
			p.G = &enlarged{scaled, unit.g}
			p.Facts.StrongConvexity *= unit.g / (unit.y * unit.y)
			p.Facts.Smoothness *= unit.g / (unit.y * unit.y)
			for _, name := range []string{"alm", "quadratic", "agd"} {
				if name == "agd" && (seed%8 > 0 || math.Abs(math.Log10(unit.g)) > 100) {
					continue
				}
				solver, err := New(name, nil, &p, 1)
				if err != nil {
					t.Fatal(err)
				}
				s := solver.Solve(context.Background(), &p, G(&p, made.x), made.x, nil)
				what := fmt.Sprintf("seed %d, %s, units %g, %v", seed, name, unit, c)
				if name == "agd" && s.Status == Inaccurate {
					continue // it says so: its multipliers are those of the rows that it ends on
				}
				if s.Status != Solved {
					t.Errorf("%s: %v: %s", what, s.Status, s.Reason)
					continue
				}
				for j := range s.Y {
					s.Y[j] /= unit.y
				}
				if d := distance(s.Y, made.y); d > 1e-7 {
					t.Errorf("%s: y is off by %g", what, d)
				}
			}
		}
	}
}
