package lower

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
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
		changed := s.Memory.Written().clone()
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

func (m *Memory) clone() *Memory {
	return &Memory{N: m.N, V: slices.Clone(m.V), HV: slices.Clone(m.HV), Packed: slices.Clone(m.Packed)}
}
