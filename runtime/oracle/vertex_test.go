package oracle

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
)

// priced is g = (c + x)'y + tau/2 |y|^2, with x and y of one length.
type priced struct {
	c   []float64
	tau float64
}

func (g *priced) Value(x, y []float64) float64 {
	return linalg.Dot(g.c, y) + linalg.Dot(x, y) + g.tau/2*linalg.Dot(y, y)
}
func (g *priced) GradX(dst, x, y []float64) { copy(dst, y) }
func (g *priced) GradY(dst, x, y []float64) {
	for j, c := range g.c {
		dst[j] = c + x[j] + g.tau*y[j]
	}
}
func (g *priced) ValueGradY(dst, x, y []float64) float64 { g.GradY(dst, x, y); return g.Value(x, y) }
func (g *priced) ValueGrad(dstX, dstY, x, y []float64) float64 {
	g.GradX(dstX, x, y)
	return g.ValueGradY(dstY, x, y)
}
func (g *priced) Clone() problem.Function { return g }

// A follower that rows hold at a vertex moves with them alone, y = B^-1 (A x - b), however flat g
// is and however large its forces: every oracle that differences has grad F = A'B^-T q, with an
// error that is not more than it says.
func TestGradientsAtAVertex(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 91))
	for trial := range 100 {
		n := 1 + rng.IntN(6)
		g := &priced{make([]float64, n), math.Pow(10, -2-6*rng.Float64())}
		f := &weighted{1, make([]float64, n)}
		a, b := make([]float64, n*n), make([]float64, n*n)
		rows := &problem.Rows{}
		for i := range n {
			g.c[i], f.q[i] = 20*rng.NormFloat64(), rng.NormFloat64()
			b[i*n+i] = 2
			for j := range n {
				a[i*n+j] = rng.NormFloat64()
				b[i*n+j] += rng.NormFloat64() / float64(n)
			}
			rows.Kind, rows.Rhs = append(rows.Kind, problem.Equal), append(rows.Rhs, rng.NormFloat64())
		}
		rows.A, rows.B = sparse.FromDense(n, n, a), sparse.FromDense(n, n, b)
		p := &problem.Problem{Dx: n, Dy: n, F: f, G: g, Rows: rows, X: &problem.Set{E: sparse.FromEntries(0, n, nil)},
			Facts: problem.Facts{StrongConvexity: g.tau, Smoothness: g.tau, QuadraticInY: true, FixedHessian: true}}
		x := make([]float64, n)
		for j := range n {
			p.X.Lo, p.X.Hi = append(p.X.Lo, -1), append(p.X.Hi, 1)
			x[j] = 2*rng.Float64() - 1
		}
		var w, truth mat.VecDense
		if w.SolveVec(mat.NewDense(n, n, b).T(), mat.NewVecDense(n, f.q)) != nil {
			continue
		}
		truth.MulVec(mat.NewDense(n, n, a).T(), &w)
		size := mat.Norm(&truth, 2)
		for _, o := range []Oracle{&Face{Settings: *DefaultFace()}, &Difference{Settings: *DefaultDifference()}, &Difference{Settings: DifferenceSettings{Reach: 1e-5}}} {
			solver, err := lower.New("alm", nil, p, 1)
			if err != nil {
				t.Fatal(err)
			}
			pt, err := New(p, solver, o).Gradient(context.Background(), x)
			if err != nil {
				t.Errorf("trial %d, tau %.1g, %T: %v", trial, g.tau, o, err)
				continue
			}
			if off := linalg.Distance(pt.Grad, truth.RawVector().Data); off > 3*pt.GradError+1e-9*size || pt.GradError > 1e-4*size {
				t.Errorf("trial %d, tau %.1g, %T: off by %.2g of %.2g, error claimed %.2g", trial, g.tau, o, off, size, pt.GradError)
			}
		}
	}
}
