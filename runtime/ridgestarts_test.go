package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// A ridge regression with one penalty has w = (X'X + lam)^-1 X'y: the validation loss on a grid, refined around its least value, is the truth. All starts come to a solution: those from far end where
// Newton's steps do, with the curvature that these have seen.
func TestStartsOfARidge(t *testing.T) {
	t.Parallel()
	starts, failed := 0, 0
	for seed := range members.SeedsOf(t, 8, 30) {
		rng := rand.New(rand.NewPCG(seed, 8275))
		n, p, m := 15+rng.IntN(10), 5, 20
		draw := func(rows int) [][]float64 {
			out := make([][]float64, rows)
			for i := range out {
				for range p {
					out[i] = append(out[i], math.Round(100*rng.NormFloat64())/100)
				}
			}
			return out
		}
		x, xv, w := draw(n), draw(m), draw(1)[0]
		w[0], w[1] = 0, 0 // what a penalty is good for
		answers := func(x [][]float64) (y []float64) {
			for _, row := range x {
				sum := 1.5 * rng.NormFloat64()
				for j, v := range row {
					sum += v * w[j]
				}
				y = append(y, math.Round(100*sum)/100)
			}
			return y
		}
		y, yv := answers(x), answers(xv)
		loss := func(lam float64) (f float64) {
			a, b := mat.NewSymDense(p, nil), mat.NewVecDense(p, nil)
			for i, row := range x {
				for j := range p {
					b.SetVec(j, b.AtVec(j)+row[j]*y[i])
					for k := j; k < p; k++ {
						a.SetSym(j, k, a.At(j, k)+row[j]*row[k])
					}
				}
			}
			for j := range p {
				a.SetSym(j, j, a.At(j, j)+lam)
			}
			var of mat.VecDense
			if err := of.SolveVec(a, b); err != nil {
				t.Fatal(err)
			}
			for i, row := range xv {
				d := mat.Dot(mat.NewVecDense(p, row), &of) - yv[i]
				f += d * d / float64(m)
			}
			return f
		}
		truth, at, ratio := math.Inf(1), 1.0, math.Pow(10, 0.02)
		for lam := 1e-3; lam <= 1e3; lam *= ratio {
			if f := loss(lam); f < truth {
				truth, at = f, lam
			}
		}
		for range 8 {
			from := at / ratio
			step := math.Pow(ratio, 0.1)
			for k := range 21 {
				if lam := math.Min(1e3, math.Max(1e-3, from*math.Pow(step, float64(k)))); loss(lam) < truth {
					truth, at = loss(lam), lam
				}
			}
			ratio = step
		}
		text := fmt.Sprintf("model ridge\ndata X: matrix[%[1]d, %[2]d] = %[4]s\ndata y: vector[%[1]d] = %[5]s\ndata Xv: matrix[%[3]d, %[2]d] = %[6]s\ndata yv: vector[%[3]d] = %[7]s\nupper {\n  var lam: real in box(0.001, 1000)\n  minimize mean((Xv * w - yv) .^ 2)\n}\nlower {\n  var w: vector[%[2]d]\n  minimize sumsq(X * w - y) + lam * sumsq(w)\n}\n",
			n, p, m, text(x), text(y), text(xv), text(yv))
		r := solveText(t, text, runtime.Options{Seed: seed})
		if r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-truth) > 1e-7*truth {
			t.Errorf("%v (%s), F = %v, truly %v\n%s", r.Status, r.Reason, r.Upper.Objective, truth, text)
		}
		for _, s := range r.Starts {
			if starts++; s.Status != runtime.Solved {
				failed++
			}
		}
	}
	if 50*failed > starts {
		t.Errorf("%d of %d starts did not come to a solution", failed, starts)
	}
}
