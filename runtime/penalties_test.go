package runtime

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/members"
)

const penalties = `model penalties
param n: int
param p: int
data X: matrix[n, p]
data t: vector[n]
data V: matrix[n, p]
data s: vector[n]
upper {
  var lam: vector[p] in box(-6, 4)
  minimize mean((V * w - s) .^ 2)
}
lower {
  var w: vector[p]
  minimize sumsq(X * w - t) / n + sum(exp(lam) .* (w .^ 2))
}
`

// A penalty for each coefficient of a regression. The fit solves linear equations, so that F and its gradient are known apart from any solver: no step down the
// gradient within the box lowers F at the end, F is what the equations say, and as F is smooth and its second derivative known the steps are few, where quasi-Newton ones are hundreds.
func TestPenaltiesOfARegression(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 3, 60) {
		rng := rand.New(rand.NewPCG(seed, 77))
		p := 20 + rng.IntN(20)
		n := p + rng.IntN(2*p)
		truth := make([]float64, p)
		for j := range truth {
			if rng.IntN(3) == 0 {
				truth[j] = 2 * rng.NormFloat64()
			}
		}
		draw := func() (*mat.Dense, *mat.VecDense) {
			a, b := mat.NewDense(n, p, nil), mat.NewVecDense(n, nil)
			for i := range n {
				for j := range p {
					a.Set(i, j, rng.NormFloat64())
				}
				b.SetVec(i, mat.Dot(a.RowView(i), mat.NewVecDense(p, truth))+rng.NormFloat64())
			}
			return a, b
		}
		x, target := draw()
		v, check := draw()
		model, err := Compile("penalties.blv", penalties)
		if err != nil {
			t.Fatal(err)
		}
		rows := func(a *mat.Dense) [][]float64 {
			out := make([][]float64, n)
			for i := range out {
				out[i] = a.RawRowView(i)
			}
			return out
		}
		bound, err := model.Bind(Data{"n": n, "p": p, "X": rows(x), "t": target.RawVector().Data, "V": rows(v), "s": check.RawVector().Data}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := bound.Solve(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != Solved {
			t.Errorf("seed %d, %d penalties: %s, %s", seed, p, r.Status, r.Reason)
			continue
		}
		// F and its gradient by the normal equations.
		gradient := make([]float64, p)
		lam := r.Upper.Variables[0].Data
		k := mat.NewDense(p, p, nil)
		k.Mul(x.T(), x)
		k.Scale(1/float64(n), k)
		for j := range p {
			k.Set(j, j, k.At(j, j)+math.Exp(lam[j]))
		}
		var right, w, residual, force, adjoint mat.VecDense
		right.MulVec(x.T(), target)
		right.ScaleVec(1/float64(n), &right)
		if err := w.SolveVec(k, &right); err != nil {
			t.Fatal(err)
		}
		residual.MulVec(v, &w)
		residual.SubVec(&residual, check)
		value := mat.Dot(&residual, &residual) / float64(n)
		force.MulVec(v.T(), &residual)
		force.ScaleVec(2/float64(n), &force)
		if err := adjoint.SolveVec(k, &force); err != nil {
			t.Fatal(err)
		}
		largest := 0.0
		for j := range gradient {
			gradient[j] = -adjoint.AtVec(j) * math.Exp(lam[j]) * w.AtVec(j)
			if step := math.Max(-6, math.Min(4, lam[j]-gradient[j])) - lam[j]; math.Abs(step) > largest {
				largest = math.Abs(step)
			}
		}
		if math.Abs(value-float64(r.Upper.Objective)) > 1e-9*value {
			t.Errorf("seed %d, %d penalties: F %v, by the normal equations %v", seed, p, r.Upper.Objective, value)
		}
		if largest > 1e-5*value {
			t.Errorf("seed %d, %d penalties: a step down the gradient of F %g moves by %g", seed, p, value, largest)
		}
		if r.Iterations > 150 {
			t.Errorf("seed %d, %d penalties: %d iterations", seed, p, r.Iterations)
		}
	}
}
