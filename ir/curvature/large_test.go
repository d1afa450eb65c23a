package curvature

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/ir/bind"
	"bilevelc/ir/data"
)

// TestLarge proves about lower levels of thousands of variables, whose
// Hessians must not be assembled whole; each of these takes a fraction of a
// second, where a dense eigenvalue problem of that order would take minutes.
func TestLarge(t *testing.T) {
	for _, c := range []struct {
		n         int
		objective string
		outcome   Outcome
		modulus   float64
		most      float64 // C_g may be at most this
	}{
		{10000, "sum(i in 1..n: (y[i] - x[i])^2 + exp(y[i]))", proved, 2, 2 + math.E*(1+1e-12)},
		{10000, "sumsq(y - x) + sum(i in 1..n-1: (y[i] - y[i+1])^2)", proved, 2, 10},
		{3000, "sumsq(y - x) + (sum(y) - 4)^2", proved, 2, 2 + 2*3000},
		{3000, "sumsq(y[2..n] - x[2..n]) + y[1]*y[2]", refuted, 0, 3},
		{3000, "sumsq(y[2..n] - x[2..n])", refuted, 0, 2},
	} {
		text := fmt.Sprintf(`model large
param n: int = %d
upper {
  var x: vector[n] in box(-1, 1)
  minimize sumsq(x)
}
lower {
  var y: vector[n] in box(0, 1)
  minimize %s
}
`, c.n, c.objective)
		proof := Prove(bound(t, "large.blv", text, nil, bind.Options{}), Defaults())
		if g := proof.Convexity; g.Outcome != c.outcome || g.Modulus > c.modulus || g.Modulus < c.modulus*(1-1e-9) {
			t.Errorf("%s: %s", c.objective, g.text())
		}
		if b := proof.SmoothnessG; !b.Known || b.Value > c.most {
			t.Errorf("%s: C_g %s", c.objective, b.text())
		}
		if q := proof.Qualification; q.Standing != everyActive || q.Rank != c.n {
			t.Errorf("%s: %s", c.objective, q.text())
		}
	}
}

// TestDense takes the paper's problem at an order where eigenvalues are
// estimated by Lanczos's method, and with no work allowed.
func TestDense(t *testing.T) {
	const dy, dx, dh = 220, 10, 5
	s, set := source{rand.New(rand.NewPCG(9, 9))}, &data.Set{}
	for name, v := range map[string]float64{"dx": dx, "dy": dy, "dh": dh} {
		set.Add(name, data.Scalar(v), name)
	}
	set.Add("c", s.vector(dy), "c")
	set.Add("P", s.matrix(dx, dy), "P")
	set.Add("A", s.matrix(dh, dy), "A")
	set.Add("b", s.vector(dh), "b")
	l := s.matrix(dy, dy)
	for i := range dy { // well above 1, so that the spectrum says more than the structure
		l.Dense[i*dy+i] += 60
	}
	set.Add("L", l, "L")
	want := eigenvalues(dy, dy, l.Dense, 1, 1)
	p := reference(t, "toy.blv", set)
	proof := Prove(p, Defaults())
	if g := proof.Convexity; g.Outcome != proved || g.Modulus > want[0]*(1+1e-12) || g.Modulus < want[0]*(1-1e-6) {
		t.Errorf("mu = %v, want %v", g.Modulus, want[0])
	}
	if b := proof.SmoothnessG; b.Value < want[dy-1]*(1-1e-12) || b.Value > want[dy-1]*(1+2*boundSlack) {
		t.Errorf("C_g = %v, want %v", b.Value, want[dy-1])
	}
	none := Defaults()
	none.MaxWork = 0
	if g := Prove(p, none).Convexity; g.Outcome != proved || g.Modulus > 1 || g.Modulus < 1-1e-9 {
		t.Errorf("without work: %s, the structure shows mu = 1", g.text())
	}
}

// TestDenseEnd bounds the least eigenvalue where many are close to it, as in the
// paper's experiment: an estimate by Lanczos's method is then far above it beside the
// eigenvalue itself.
func TestDenseEnd(t *testing.T) {
	for n, seed := range map[int]uint64{160: 1, 300: 2, 420: 3} {
		draw := rand.New(rand.NewPCG(seed, 5))
		l := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				l.Set(i, j, draw.NormFloat64())
			}
		}
		var q mat.SymDense
		q.SymOuterK(1, l)
		for i := range n {
			q.SetSym(i, i, q.At(i, i)+1)
		}
		var eig mat.EigenSym
		if !eig.Factorize(&q, false) {
			t.Fatal("no eigenvalues")
		}
		a, want := make([]float64, n*n), eig.Values(nil)[0]
		for i := range n {
			for j := range n {
				a[i*n+j] = q.At(i, j)
			}
		}
		got := leastEigenvalue(a, n, &budget{left: 2e10}, 0)
		if !(got.bound <= want*(1+1e-12)) || got.bound < want*(1-1e-3) {
			t.Errorf("order %d: %v, and it is %v", n, got.bound, want)
		}
	}
}

// Where there is work for one factorization it is of a shift above 0, from which alone a modulus follows, however far the recurrence's estimate lies above the end of a dense spectrum.
func TestModulusOfOneFactorization(t *testing.T) {
	const n = 400
	rng := rand.New(rand.NewPCG(7, 1))
	for k := range 3 {
		g, h := mat.NewDense(n, n, nil), mat.NewSymDense(n, nil)
		for i := range n {
			for j := range n {
				g.Set(i, j, rng.NormFloat64()/math.Sqrt(n))
			}
		}
		h.SymOuterK(1, g)
		for i := range n {
			h.SetSym(i, i, h.At(i, i)+0.001)
		}
		a := make([]float64, n*n)
		for i := range n {
			for j := range n {
				a[i*n+j] = h.At(i, j)
			}
		}
		work := 2*lanczosSteps*n*float64(n+2*lanczosSteps) + 0.5*n*n*n
		if e := leastEigenvalue(a, n, &budget{left: work}, 0); !(e.bound > 0) || e.bound > 1.01*0.001 {
			t.Errorf("matrix %d: the least eigenvalue, some 0.001, is at least %v; estimate %v", k, e.bound, e.estimate)
		}
	}
}
