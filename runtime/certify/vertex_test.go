package certify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// steep is sum_j exp(y_j - a x_k(j)) + c_j y_j, with k(j) = j mod dx.
type steep struct {
	a float64
	c []float64
}

func (f steep) ValueGrad(dx, dy, x, y []float64) float64 {
	clear(dx)
	v := 0.0
	for j := range y {
		k := j % len(x)
		e := math.Exp(y[j] - f.a*x[k])
		v += e + f.c[j]*y[j]
		dy[j] = e + f.c[j]
		dx[k] -= f.a * e
	}
	return v
}

// vertex is a problem of dy independent rows B y >= A x + b in small integers.
func vertex(rng *rand.Rand, dx, dy int) (p *problem.Problem, a, b *mat.Dense) {
	a, b = mat.NewDense(dy, dx, nil), mat.NewDense(dy, dy, nil)
	for {
		for i := range dy {
			for j := range dy {
				b.Set(i, j, 0)
				if i == j || rng.IntN(2) == 0 {
					b.Set(i, j, float64(rng.IntN(7)-3))
				}
			}
			for k := range dx {
				a.Set(i, k, float64(rng.IntN(5)-2))
			}
		}
		if math.Abs(mat.Det(b)) > 0.5 {
			break
		}
	}
	p = &problem.Problem{Name: "vertex", Dx: dx, Dy: dy, F: quadratic{a: ones(dy), c: ones(dx)},
		Rows: &problem.Rows{Kind: make([]problem.Kind, dy), Rhs: make([]float64, dy),
			A: sparse.FromDense(dy, dx, a.RawMatrix().Data), B: sparse.FromDense(dy, dy, b.RawMatrix().Data)},
		X: &problem.Set{Lo: make([]float64, dx), Hi: make([]float64, dx), E: sparse.FromEntries(0, dx, nil)}}
	for k := range dx {
		p.X.Lo[k], p.X.Hi[k] = -1, 1
	}
	return p, a, b
}

// TestCurvedVertices: where as many rows hold y as it has entries, its derivative is
// that of the rows alone, B^-1 A, whatever g is; the adjoint of f's pull is then a
// difference of terms of which nothing is left, and no digit of it can be refined.
func TestCurvedVertices(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 21))
	for trial := range 200 {
		dx, dy := 1+rng.IntN(2), 1+rng.IntN(4)
		p, a, b := vertex(rng, dx, dy)
		x, lambda := make([]float64, dx), make([]float64, dy)
		for k := range x {
			x[k] = float64(rng.IntN(3)-1) / 2
		}
		for i := range dy {
			p.Rows.Rhs[i], lambda[i] = float64(rng.IntN(5)-2), float64(1+rng.IntN(6))/2
		}
		rhs := make([]float64, dy)
		for i := range rhs {
			rhs[i] = p.Rows.A.RowDot(i, x) - p.Rows.Rhs[i]
		}
		var sol mat.VecDense
		if err := sol.SolveVec(b, mat.NewVecDense(dy, rhs)); err != nil {
			t.Fatal(err)
		}
		y := sol.RawVector().Data
		g := steep{a: float64(rng.IntN(3) - 1), c: make([]float64, dy)}
		p.G = formula(g.ValueGrad)
		pull, forces := make([]float64, dy), make([]float64, dy)
		p.G.GradY(forces, x, y)
		p.Rows.B.AddMulVecT(pull, 1, lambda)
		for j := range forces {
			g.c[j] = pull[j] - forces[j] // grad_y g = B' lambda
		}
		fx, fy := make([]float64, dx), make([]float64, dy)
		value := p.F.ValueGrad(fx, fy, x, y)
		var adjoint, grad mat.VecDense
		if err := adjoint.SolveVec(b.T(), mat.NewVecDense(dy, fy)); err != nil {
			t.Fatal(err)
		}
		grad.MulVec(a.T(), &adjoint)
		for k := range fx {
			fx[k] += grad.AtVec(k)
		}
		rows := make([]int, dy)
		for i := range rows {
			rows[i] = i
		}
		document := func() *Document {
			return &Document{X: x, Y: y, Lambda: lambda, Upper: value, Lower: p.G.Value(x, y), Strict: true, Hypergradient: append([]float64(nil), fx...),
				Certificate: &Certificate{Lower: lowerOf(p, x, y, lambda, rows)}}
		}
		name := fmt.Sprintf("trial %d, B = %v, y = %v", trial, b.RawMatrix().Data, y)
		requireOK(t, name, Verify(document(), p))
		wrong := document()
		wrong.Hypergradient[0] += 1e-2 * (1 + maxAbs(fx))
		if Verify(wrong, p).OK() {
			t.Errorf("%s: a wrong gradient passed", name)
		}
	}
}

// TestSizeOfRoundings: equality rows of which the terms cancel leave of y its rounding,
// at an x that cannot move. That is no size, and a bound on y is missed by it honestly.
func TestSizeOfRoundings(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 22))
	for trial := range 200 {
		dx, dy := 1+rng.IntN(2), 1+rng.IntN(4)
		p, a, b := vertex(rng, dx, dy)
		unit := math.Pow(10, float64(rng.IntN(9)-4))
		x := make([]float64, dx)
		for k := range x {
			x[k] = unit * (1 + rng.Float64())
			p.X.Lo[k], p.X.Hi[k] = x[k], x[k]
		}
		rest := mat.NewVecDense(dy, nil)
		terms := 0.0
		for i := range dy {
			p.Rows.Kind[i], p.Rows.Rhs[i] = problem.Equal, p.Rows.A.RowDot(i, x)
			if i == 0 && p.Rows.Rhs[i] == 0 {
				a.Set(0, 0, a.At(0, 0)+1)
				p.Rows.A = sparse.FromDense(dy, dx, a.RawMatrix().Data)
				p.Rows.Rhs[i] = p.Rows.A.RowDot(i, x)
			}
			terms = math.Max(terms, math.Abs(p.Rows.Rhs[i]))
			rest.SetVec(i, 2*math.Abs(p.Rows.Rhs[i])*0x1p-53*(2*rng.Float64()-1))
		}
		// And y <= 0, entry by entry.
		entries := make([]float64, dy*dy)
		for j := range dy {
			entries[j*dy+j] = -1
		}
		p.Rows.Kind = append(p.Rows.Kind, make([]problem.Kind, dy)...)
		p.Rows.Rhs = append(p.Rows.Rhs, make([]float64, dy)...)
		p.Rows.A = sparse.FromDense(2*dy, dx, append(append([]float64(nil), a.RawMatrix().Data...), make([]float64, dx*dy)...))
		p.Rows.B = sparse.FromDense(2*dy, dy, append(append([]float64(nil), b.RawMatrix().Data...), entries...))
		p.G = quadratic{a: ones(dy)}
		p.Facts = problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}
		var sol mat.VecDense
		if err := sol.SolveVec(b, rest); err != nil {
			t.Fatal(err)
		}
		y, lambda := sol.RawVector().Data, make([]float64, 2*dy)
		var forces mat.VecDense
		if err := forces.SolveVec(b.T(), &sol); err != nil {
			t.Fatal(err)
		}
		copy(lambda, forces.RawVector().Data)
		rows := make([]int, dy)
		for i := range rows {
			rows[i] = i
		}
		document := func(y []float64) *Document {
			return &Document{X: x, Y: y, Lambda: lambda, Upper: p.F.Value(x, y), Lower: p.G.Value(x, y),
				Certificate: &Certificate{Lower: lowerOf(p, x, y, lambda, rows)}}
		}
		name := fmt.Sprintf("trial %d, B = %v, terms of %g", trial, b.RawMatrix().Data, terms)
		requireOK(t, name, Verify(document(y), p))
		wrong := append([]float64(nil), y...)
		wrong[rng.IntN(dy)] += 1e-3 * terms
		if Verify(document(wrong), p).OK() {
			t.Errorf("%s: y off by %g passed", name, 1e-3*terms)
		}
	}
}
