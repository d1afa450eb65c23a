package qp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/linalg"
)

// Optimality of a step: weights are convex and sit on the largest pieces, the
// stationarity condition holds, the step stays in the set.
func TestStepIsOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for trial := 0; trial < 200; trial++ {
		n, k := 1+rng.IntN(10), 1+rng.IntN(8)
		in := random(rng, n, 0, 0, math.Pow(10, 4*rng.Float64()), false)
		set := freeSet(n)
		x := make([]float64, n)
		if trial%2 == 0 {
			for j := range x {
				set.Lo[j], set.Hi[j] = -0.1*rng.Float64(), 0.1*rng.Float64()
			}
		}
		p := NewProjector(set, rowsOf(n, 1, nil, nil, nil), n, 1)
		pieces := make([]Affine, k)
		for i := range pieces {
			pieces[i] = Affine{Offset: -rng.Float64() * float64(i), Gradient: normals(rng, n)}
		}
		s, err := p.Step(x, &Model{H: factored(in.h), Pieces: pieces})
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		residual := append([]float64(nil), s.Normal...)
		var hd mat.VecDense
		hd.MulVec(in.h, mat.NewVecDense(n, s.D))
		size := mat.Norm(&hd, 2)
		for j := range residual {
			residual[j] += hd.AtVec(j)
		}
		largest := math.Inf(-1)
		for _, a := range pieces {
			largest = math.Max(largest, a.Offset+linalg.Dot(a.Gradient, s.D))
		}
		if math.Abs(largest-s.Value) > 1e-12 {
			t.Fatalf("trial %d: value %v, want %v", trial, s.Value, largest)
		}
		for i, a := range pieces {
			sum += s.Weights[i]
			linalg.Axpy(residual, s.Weights[i], a.Gradient)
			if v := a.Offset + linalg.Dot(a.Gradient, s.D); s.Weights[i] < 0 || s.Weights[i]*(largest-v) > 1e-10 {
				t.Fatalf("trial %d: weight %g on a piece %g below the largest", trial, s.Weights[i], largest-v)
			}
		}
		if math.Abs(sum-1) > 1e-12 || linalg.Norm(residual) > 1e-10*(1+size) {
			t.Fatalf("trial %d: sum of weights %v, residual %.2e", trial, sum, linalg.Norm(residual))
		}
		for j, d := range s.D {
			if d < set.Lo[j]-1e-14 || d > set.Hi[j]+1e-14 {
				t.Fatalf("trial %d: step %v leaves [%v, %v]", trial, s.D, set.Lo, set.Hi)
			}
		}
	}
}

// The smallest element of known hulls.
func TestMinNorm(t *testing.T) {
	free := NewProjector(freeSet(2), rowsOf(2, 1, nil, nil, nil), 2, 1)
	for _, c := range []struct {
		gradients [][]float64
		norm      float64
	}{
		{[][]float64{{3, 4}}, 5},
		{[][]float64{{1, 0}, {-1, 0}}, 0},
		{[][]float64{{1, 1}, {-1, 1}, {0, 5}}, 1},
		{[][]float64{{1e-7, 1}, {1e-7, -3}, {4, 4}}, 1e-7},
		{[][]float64{{1, 2}, {1, 2}, {1, 2}}, math.Sqrt(5)},
		{[][]float64{{0, 0}}, 0},
	} {
		h, err := free.MinNorm([]float64{0, 0}, c.gradients, 1e-4)
		if err != nil || math.Abs(h.Norm-c.norm) > 1e-13 {
			t.Errorf("hull of %v: norm %v (%v), want %v", c.gradients, h, err, c.norm)
		}
	}
	// x1 >= 0 takes up what pushes against it, and only near it.
	set := freeSet(2)
	set.Lo[0] = 0
	p := NewProjector(set, rowsOf(2, 1, nil, nil, nil), 2, 1)
	for _, c := range []struct{ x1, norm float64 }{{0, 1}, {1e-9, 1}, {1, math.Sqrt(10)}} {
		h, err := p.MinNorm([]float64{c.x1, 0}, [][]float64{{3, 1}}, 1e-4)
		if err != nil || math.Abs(h.Norm-c.norm) > 2e-4 {
			t.Errorf("at x1 = %g: norm %v (%v), want %v", c.x1, h, err, c.norm)
		}
	}
}

// TestMinNormOfGradientsApart: beside a gradient that is up to 1e-310 of the others the hull has weights all the same, and a
// norm no larger than the least gradient's.
func TestMinNormOfGradientsApart(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 45))
		n, k := 1+rng.IntN(4), 2+rng.IntN(3)
		p := NewProjector(freeSet(n), rowsOf(n, 1, nil, nil, nil), n, 1)
		gradients := make([][]float64, k)
		least := math.Inf(1)
		for i := range gradients {
			gradients[i] = make([]float64, n)
			size := 1e-5
			if i == 0 {
				size = math.Pow(10, -320*rng.Float64())
			}
			for j := range gradients[i] {
				gradients[i][j] = size * rng.NormFloat64()
			}
			least = math.Min(least, linalg.Norm(gradients[i]))
		}
		h, err := p.MinNorm(make([]float64, n), gradients, math.Pow(10, 6*rng.Float64()-6))
		if err != nil {
			t.Errorf("seed %d, %v: %v", seed, gradients, err)
			continue
		}
		sum := 0.0
		for _, w := range h.Weights {
			sum += w
		}
		if !(math.Abs(sum-1) < 1e-12) || !(h.Norm <= least+1e-15*1e-5) {
			t.Errorf("seed %d, %v: weights %v, norm %g, least %g", seed, gradients, h.Weights, h.Norm, least)
		}
	}
}

// Where bounds leave next to no room to the entries along which the pieces fall, and rounding is all that the gradients
// have along the others, the step goes to these bounds, and weights are convex.
func TestStepNextToBounds(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 46))
		n := 2 + rng.IntN(4)
		set, x, steep := freeSet(n), make([]float64, n), make([]bool, n)
		size, room := math.Pow(10, 6-12*rng.Float64()), math.Pow(10, -18*rng.Float64())
		base := make([]float64, n)
		for j := range x {
			steep[j] = j == 0 || j < n-1 && rng.IntN(2) == 0
			set.Lo[j], set.Hi[j] = -1, 1
			if x[j] = rng.Float64(); steep[j] {
				set.Hi[j], x[j] = room, 0
				base[j] = -size * (0.1 + rng.Float64())
			}
		}
		pieces := make([]Affine, 1+rng.IntN(3))
		for i := range pieces {
			pieces[i].Gradient = slices.Clone(base)
			for j := range base {
				pieces[i].Gradient[j] += 0x1p-52 * size * float64(rng.IntN(7)-3)
			}
		}
		p := NewProjector(set, rowsOf(n, 1, nil, nil, nil), n, 1)
		s, err := p.Step(x, &Model{H: Identity(n), Pieces: pieces})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		sum := 0.0
		for _, w := range s.Weights {
			sum += w
		}
		if !(math.Abs(sum-1) < 1e-12) {
			t.Errorf("seed %d: weights %v", seed, s.Weights)
		}
		for j, d := range s.D {
			if want := math.Min(room, -base[j]); steep[j] && math.Abs(d-want) > 1e-13*want {
				t.Errorf("seed %d: entry %d goes by %g, not %g", seed, j, d, want)
			} else if !steep[j] && math.Abs(d) > 1e-15*size {
				t.Errorf("seed %d: entry %d goes by %g", seed, j, d)
			}
		}
	}
}
