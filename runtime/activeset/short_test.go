package activeset

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
)

// The least value of a sum of squares, 0, is attained on a face with a known point of some tens of units, which reaches as far as the bounds do.
func TestShorterSolutions(t *testing.T) {
	shortened := 0
	seeds := members.Seeds(t, 400)
	count := 0
	for seed := range seeds {
		count++
		r := rand.New(rand.NewPCG(seed, 71))
		n, m := 2+r.IntN(5), 1+r.IntN(2)
		if m >= n {
			m = n - 1
		}
		width := math.Pow(10, float64(5+r.IntN(5)))
		z := make([]float64, n)
		for j := range z {
			z[j] = float64(r.IntN(81) - 40)
		}
		// sum over rows (p'x - p'z)^2/2
		q, c, constant := make([]float64, n*n), make([]float64, n), 0.0
		for range m {
			p, at := make([]float64, n), 0.0
			for j := range p {
				p[j] = float64(r.IntN(17)-8) / 4
				at += p[j] * z[j]
			}
			for i := range p {
				c[i] -= at * p[i]
				for j := range p {
					q[i*n+j] += p[i] * p[j]
				}
			}
			constant += at * at / 2
		}
		program := &Program{N: n, Q: sparse.FromDense(n, n, q), C: c, Bounds: Bounds{Lo: make([]float64, n), Hi: make([]float64, n)}}
		for j := range n {
			program.Lo[j], program.Hi[j] = -width, width*float64(1+r.IntN(9))/10
		}
		s, err := New(program)
		if err != nil {
			t.Fatal(err)
		}
		b := &program.Bounds
		far := s.Solve(t.Context(), b, nil, Options{})
		if far.Status != Optimal {
			t.Fatalf("seed %d: %v", seed, far.Status)
		}
		short, work := Shorter(t.Context(), s, b, far, constant)
		size := 0.0
		for _, v := range short.Z {
			size = math.Max(size, math.Abs(v))
		}
		f := constant
		for i, v := range short.Z {
			f += v*c[i] + v*program.Q.RowDot(i, short.Z)/2
		}
		if short == far {
			continue
		}
		shortened++
		if size > 8*40 || math.Abs(f) > 1e-9*(1+constant) || work < short.Work {
			t.Errorf("seed %d: a solution of size %v with %v, where 0 is attained at one of size 40", seed, size, f)
		}
	}
	if shortened < count/4 {
		t.Errorf("%d of %d solutions are at far ends", shortened, count)
	}
}
