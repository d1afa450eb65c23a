package pieces

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
)

// A step keeps equations that are dependent to rounding to its tolerance only: the curvature along what they hold together is no less than f's, and along directions that
// keep all equations it is f's.
func TestCurvatureOffTheEquations(t *testing.T) {
	for seed := range members.Seeds(t, 200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 3 + rng.IntN(5)
		v := &Solver{s: &kkt.System{N: n}}
		vector := func() []float64 {
			d := make([]float64, n)
			for i := range d {
				d[i] = rng.NormFloat64()
			}
			return d
		}
		h := make([]float64, n*n)
		for i := range n {
			for j := range i + 1 {
				h[i*n+j] = rng.NormFloat64()
				h[j*n+i] = h[i*n+j]
			}
		}
		u, near := vector(), vector()
		var q linalg.QR
		q.Reset(n)
		span(&q, u)
		span(&q, linalg.Plus(u, 1e-8, near)) // which is u to rounding of the data
		a := v.split(sparse.FromDense(n, n, h), &q)
		form := func(m mat.Matrix, d []float64) float64 {
			x := mat.NewVecDense(n, d)
			return mat.Inner(x, m, x)
		}
		var eigen mat.EigenSym
		if !eigen.Factorize(a, true) {
			t.Fatal("no eigenvalues")
		}
		var vectors, turned mat.Dense
		eigen.VectorsTo(&vectors)
		values := eigen.Values(nil)
		for i := range values {
			values[i] = math.Abs(values[i])
		}
		turned.Product(&vectors, mat.NewDiagDense(n, values), vectors.T())
		full := mat.NewSymDense(n, h)
		both := inSpan(&q, near)
		if got, want := form(&turned, both), math.Abs(form(full, both)); got < want-1e-6*float64(n) {
			t.Errorf("%d: curvature %g off the equations, f's is %g", seed, got, want)
		}
		d := vector()
		project(&q, d)
		if got, want := form(a, d), form(full, d); math.Abs(got-want) > 1e-10*float64(n)*(1+math.Abs(want)) {
			t.Errorf("%d: curvature %g along the equations, f's is %g", seed, got, want)
		}
	}
}

// inSpan is the part of d that normals span.
func inSpan(q *linalg.QR, d []float64) []float64 {
	off := append([]float64(nil), d...)
	project(q, off)
	return linalg.Minus(d, off)
}
