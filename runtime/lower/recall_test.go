package lower

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/runtime/problem"
)

// A memory holds for the problem that it is of, at any x and y, and for no other one: a
// single entry of the Hessian that differs by a part of 1e-10 of its size is noticed.
func TestMemoryHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for seed := range 20 {
		p, x := experiment(uint64(seed), 20, 30, 8)
		s := newALM(defaultALM()).Solve(context.Background(), p, G(p, x), x, nil)
		if s.Status != Solved || s.Memory == nil {
			t.Fatalf("%v without a memory", s.Status)
		}
		y := slices.Clone(s.Y)
		for j := range y {
			y[j] += rng.NormFloat64()
		}
		for j := range x {
			x[j] += rng.NormFloat64()
		}
		if !s.Memory.Holds(p, x, y) {
			t.Errorf("%d: the memory is not taken for what it is", seed)
		}
		changed := s.Memory.clone()
		if changed.Complete() {
			largest := slices.Max(changed.Packed)
			changed.Packed[rng.IntN(len(changed.Packed))] += 1e-10 * largest
		} else {
			changed.HV[rng.IntN(len(changed.HV))] += 1e-10 * slices.Max(changed.HV)
		}
		if changed.Holds(p, x, y) {
			t.Errorf("%d: a Hessian with another entry is taken for that of g", seed)
		}
	}
}

// TestLearn: what is learned is all of the Hessian, from nothing, from a part or from most of it, at the gradients that are missing.
func TestLearn(t *testing.T) {
	const n = 30
	p, x := experiment(7, 20, n, 8)
	p.G = problem.Count(p.G)
	s := newALM(defaultALM()).Solve(context.Background(), p, G(p, x), x, nil)
	whole := Learn(p, x, s.Y, nil)
	if !whole.Complete() || whole.Near || !whole.Holds(p, x, s.Y) {
		t.Fatal("what was learned from nothing is not the Hessian")
	}
	if again := Learn(p, x, s.Y, whole); again != whole {
		t.Error("what is known is learned again")
	}
	var c curvature
	c.reset(G(p, x), true, n)
	grad := make([]float64, n)
	p.G.GradY(grad, x, s.Y)
	c.move(s.Y, grad)
	rng := rand.New(rand.NewPCG(3, 2))
	for c.k < n-5 {
		v := make([]float64, n)
		for j := range v {
			v[j] = rng.NormFloat64()
		}
		if !c.apply(make([]float64, n), v) {
			t.Fatal("no product")
		}
		if c.k != 5 && c.k != n-5 {
			continue
		}
		part := c.learned().clone()
		before := p.Calls().GradG
		m := Learn(p, x, s.Y, part)
		if taken := p.Calls().GradG - before; !m.Complete() || !m.Holds(p, x, s.Y) || taken > n+2 || c.k > n/2 && taken > 6 {
			t.Errorf("from %d products: %d gradients", c.k, taken)
		}
	}
	near := whole.clone()
	near.Near = true
	near.Packed[3]++
	if m := Learn(p, x, s.Y, near); !m.Complete() || m.Near || !m.Holds(p, x, s.Y) {
		t.Error("a Hessian near by is taken for that of g")
	}
	x[0] = math.NaN()
	if m := Learn(p, x, s.Y, nil); m != nil {
		t.Error("something was learned where g is not finite")
	}
}

func (m *Memory) clone() *Memory {
	return &Memory{N: m.N, V: slices.Clone(m.V), HV: slices.Clone(m.HV), Packed: slices.Clone(m.Packed)}
}
