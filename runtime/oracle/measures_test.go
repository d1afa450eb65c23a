package oracle

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
)

// bowls is 1/2 sum c_j (y_j - x_j)^2: curvatures c.
type bowls struct{ c []float64 }

func (g bowls) Value(x, y []float64) float64 {
	s := 0.0
	for j, c := range g.c {
		s += c * (y[j] - x[j]) * (y[j] - x[j]) / 2
	}
	return s
}
func (g bowls) GradX(dst, x, y []float64) {
	for j, c := range g.c {
		dst[j] = c * (x[j] - y[j])
	}
}
func (g bowls) GradY(dst, x, y []float64) {
	for j, c := range g.c {
		dst[j] = c * (y[j] - x[j])
	}
}
func (g bowls) ValueGradY(dst, x, y []float64) float64 { g.GradY(dst, x, y); return g.Value(x, y) }
func (g bowls) ValueGrad(dstX, dstY, x, y []float64) float64 {
	g.GradX(dstX, x, y)
	return g.ValueGradY(dstY, x, y)
}
func (g bowls) Clone() problem.Function { return g }

// bowlsProblem has n of them over a box of x of the given half widths, and one row
// a'x - y_1 <= b.
func bowlsProblem(rng *rand.Rand, c, widths []float64) *problem.Problem {
	n := len(c)
	p := &problem.Problem{Dx: n, Dy: n, G: bowls{c}, X: &problem.Set{E: sparse.FromEntries(0, n, nil)}}
	a, b := make([]float64, n), make([]float64, n)
	for j, w := range widths {
		p.X.Lo, p.X.Hi = append(p.X.Lo, -w), append(p.X.Hi, w)
		a[j] = rng.NormFloat64()
	}
	b[0] = 1
	p.Rows = &problem.Rows{Kind: []problem.Kind{problem.AtMost}, Rhs: []float64{0}, A: sparse.FromDense(1, n, a), B: sparse.FromDense(1, n, b)}
	return p
}

// Where no largest curvature of g is proved, or no least one, one that g has is measured:
// errors of y and of multipliers are not told from the other alone.
func TestCurvatureIsMeasured(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 41))
	for trial := range 100 {
		n := 1 + rng.IntN(5)
		c, widths := make([]float64, n), make([]float64, n)
		least, largest := math.Inf(1), 0.0
		unit := math.Pow(10, float64(rng.IntN(13)-6))
		for j := range c {
			c[j], widths[j] = unit*math.Pow(10, 4*rng.Float64()), 1
			least, largest = math.Min(least, c[j]), math.Max(largest, c[j])
		}
		p := bowlsProblem(rng, c, widths)
		x, y := make([]float64, n), make([]float64, n)
		for j := range x {
			x[j], y[j] = rng.Float64(), rng.NormFloat64()
		}
		for _, facts := range []problem.Facts{{StrongConvexity: least}, {}} {
			p.Facts = facts
			// Along a direction without a pattern: of rounding in the differences.
			if k := measure(p, x, y).Curvature; k < least*(1-1e-6) || k > largest*(1+1e-6) {
				t.Errorf("trial %d, %+v: curvature %g, those of g are %g to %g", trial, facts, k, least, largest)
			}
		}
	}
}

// A row is strictly slack where its slack is well above what the rounding of x over X makes
// of it, and undecided where it is below. Other errors are left out here.
func TestSlackAboveItsRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 51))
	for trial := range 200 {
		n := 1 + rng.IntN(4)
		c, widths := make([]float64, n), make([]float64, n)
		for j := range c {
			c[j], widths[j] = 1, math.Pow(10, 4*rng.Float64())
		}
		p := bowlsProblem(rng, c, widths)
		p.Facts = problem.Facts{StrongConvexity: 1, Smoothness: 1}
		// A rounding of each term of a'x.
		rounding := 0.0
		_, a := p.Rows.A.Row(0)
		for j, w := range widths {
			rounding += 0x1p-53 * math.Abs(a[j]) * w
		}
		for _, of := range []struct {
			roundings float64
			strict    bool
		}{{0.5, false}, {2, false}, {2e3, true}, {1e6, true}} {
			y := make([]float64, n)
			y[0] = of.roundings * rounding // at x = 0 its slack
			s := &lower.Solution{Y: y, Lambda: []float64{0}}
			_, undecided := verdict(judge(p, make([]float64, n), s, nil, 1, 0, &terms{}))
			if strict := len(undecided) == 0; strict != of.strict {
				t.Errorf("trial %d: a slack of %g roundings: strict is %v", trial, of.roundings, strict)
			}
		}
	}
}

// The estimate of a difference's error covers what rounding of g's gradient makes of it at the end of a way of y that is longer than the steepest curvature lets it be: it grows with that, and
// not with a condition number that the way has no part in.
func TestNoiseOfLongWays(t *testing.T) {
	v := []float64{3, -4}
	p := &problem.Problem{Facts: problem.Facts{StrongConvexity: 2, Smoothness: 2e12}}
	for _, longer := range []float64{1, 1e2, 1e6, 1e12} {
		d := &differences{at: &At{Problem: p}, slope: 3, moved: derivative{y: []float64{0, longer * 3 / 2e12}}}
		least := linalg.Norm(v) * longer * 0x1p-53
		if got := d.noise(linalg.Norm(v)); got < least || got > 100*least {
			t.Errorf("a way %g times as long: noise %g, a rounding makes %g", longer, got, least)
		}
	}
}

// Rows that y does not meet leave it as far from y* as they are off, over their angle: the
// error of y says so, and says nothing where the row depends on others.
func TestErrorOfRowsThatAreOff(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 61))
	for trial := range 100 {
		n := 1 + rng.IntN(4)
		c, widths := make([]float64, n), make([]float64, n)
		least, largest := math.Inf(1), 0.0
		for j := range c {
			c[j], widths[j] = math.Pow(10, 2*rng.Float64()), 1
			least, largest = math.Min(least, c[j]), math.Max(largest, c[j])
		}
		p := bowlsProblem(rng, c, widths)
		p.Facts = problem.Facts{StrongConvexity: least, Smoothness: largest}
		if trial%2 == 0 {
			p.Rows.Kind[0] = problem.Equal
		}
		x := make([]float64, n)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		p.Rows.Rhs[0] = p.Rows.A.RowDot(0, x) - x[0] - 1 // a'x - y_1 <= b holds from y_1 = x_1 + 1 on
		off := math.Pow(10, -2-8*rng.Float64())
		s := &lower.Solution{Y: append([]float64(nil), x...), Lambda: []float64{c[0] * (1 - off)}, Active: []int{0}}
		s.Y[0] += 1 - off // y* is at a distance of off
		pt := &Point{X: x, Lower: s}
		if e := ErrorOfY(p, pt); !(e >= off && e <= 100*off) {
			t.Errorf("trial %d: off by %g, error %g", trial, off, e)
		}
		s.Dependent = []int{0}
		if e := ErrorOfY(p, pt); !math.IsInf(e, 1) {
			t.Errorf("trial %d: a dependent row off by %g, error %g", trial, off, e)
		}
	}
}

// A row that follows from others is off by what rounding leaves of them, where its own terms are
// next to nothing too: the balance at the last node of a network, whose arcs are all closed.
func TestErrorOfARowWithoutTerms(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 62))
	for trial := range 50 {
		p := bowlsProblem(rng, []float64{1, 2}, []float64{1, 1})
		p.Facts = problem.Facts{StrongConvexity: 1, Smoothness: 2}
		// y_1 = 5 and y_2 = 0.
		p.Rows = &problem.Rows{Kind: []problem.Kind{problem.Equal, problem.Equal}, A: sparse.FromEntries(2, 2, nil),
			B: sparse.FromDense(2, 2, []float64{1, 0, 0, 1}), Rhs: []float64{-5, 0}}
		s := &lower.Solution{Y: []float64{5, 1e-17 * rng.NormFloat64()}, Lambda: []float64{0, 0}, Active: []int{0, 1}, Dependent: []int{1}}
		if e := ErrorOfY(p, &Point{X: make([]float64, 2), Lower: s}); !(e < 1e-10) {
			t.Errorf("trial %d: error %g", trial, e)
		}
	}
}
