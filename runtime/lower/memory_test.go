package lower

import (
	"bytes"
	"context"
	"encoding/gob"
	"math"
	"testing"
)

// moves solves the experiment at points that move away from the first one,
// each from the solution before, and compares with a cold solve that recycles
// nothing. It returns the gradients of each solve.
func moves(t *testing.T, name string, through func(*Solution) *Solution) []int64 {
	t.Helper()
	p, x := experiment(3, 50, 100, 20)
	spec, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	solver, err := spec.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	settings := defaultALM()
	settings.Recycle = false
	var warm *Solution
	var gradients []int64
	for step := 0; step < 6; step++ {
		counted := p.Counted()
		s := solver.Solve(context.Background(), counted, G(counted, x), x, warm)
		want := newALM(settings).Solve(context.Background(), p, G(p, x), x, nil)
		gradients = append(gradients, counted.Calls().GradG)
		// The condition number is some 400.
		if s.Status != Solved || distance(s.Y, want.Y) > 1e-12 || distance(s.Lambda, want.Lambda) > 1e-12 {
			t.Errorf("%s, step %d: %v, y differs by %g, multipliers by %g", name, step, s.Status,
				distance(s.Y, want.Y), distance(s.Lambda, want.Lambda))
		}
		if warm = s; through != nil {
			warm = through(s)
		}
		for j := range x {
			x[j] += 0.3 * math.Sin(float64(j*(step+1))) // the active rows change
		}
	}
	return gradients
}

func TestMemorySavesGradients(t *testing.T) {
	for _, name := range []string{"alm", "quadratic"} {
		gradients := moves(t, name, nil)
		t.Logf("%s: %v gradients", name, gradients)
		// All of H, the start, and steps that remove rounding: with one or two
		// faces to correct, fewer than ten.
		if gradients[0] > 100+20 {
			t.Errorf("%s: %d gradients cold, in dimension 100", name, gradients[0])
		}
		for step, g := range gradients[2:] {
			if g > 10 {
				t.Errorf("%s: solve %d takes %d gradients", name, step+3, g)
			}
		}
	}
	without := moves(t, "alm", func(s *Solution) *Solution {
		forgetful := *s
		forgetful.Memory = nil
		return &forgetful
	})
	if without[5] < 50 {
		t.Errorf("%d gradients without a memory: the comparison means nothing", without[5])
	}
}

// TestMemoryEncodes sends each warm start through bytes and expects the same
// results to the last bit.
func TestMemoryEncodes(t *testing.T) {
	for _, name := range []string{"alm", "quadratic"} {
		record := func(through func(*Solution) *Solution) (bits []uint64) {
			moves(t, name, func(s *Solution) *Solution {
				for _, v := range s.Y {
					bits = append(bits, math.Float64bits(v))
				}
				return through(s)
			})
			return bits
		}
		want := record(func(s *Solution) *Solution { return s })
		got := record(func(s *Solution) *Solution {
			var b bytes.Buffer
			written := *s
			written.Memory = s.Memory.Written()
			if err := gob.NewEncoder(&b).Encode(&written); err != nil {
				t.Fatal(err)
			}
			back := &Solution{}
			if err := gob.NewDecoder(&b).Decode(back); err != nil {
				t.Fatal(err)
			}
			return back
		})
		for k := range want {
			if want[k] != got[k] {
				t.Fatalf("%s: entry %d differs after encoding", name, k)
			}
		}
	}
}

// TestMemoryOfAnotherHessian solves from a memory that does not belong to the
// problem: the answer is the same, at the price of measuring anew.
func TestMemoryOfAnotherHessian(t *testing.T) {
	other, x := experiment(4, 50, 100, 20)
	p, _ := experiment(3, 50, 100, 20)
	for _, name := range []string{"alm", "quadratic"} {
		spec, _ := Lookup(name)
		solver, err := spec.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		first := solver.Solve(context.Background(), other, G(other, x), x, nil)
		if first.Memory == nil {
			t.Fatalf("%s remembers nothing", name)
		}
		want := solver.Solve(context.Background(), p, G(p, x), x, nil)
		got := solver.Solve(context.Background(), p, G(p, x), x, &Solution{Memory: first.Memory})
		if got.Status != Solved || distance(got.Y, want.Y) > 1e-11 {
			t.Errorf("%s: %v (%s), y differs by %g", name, got.Status, got.Reason, distance(got.Y, want.Y))
		}
	}
}

// Where H is known, the solution on a face with a linear function more is known from the one without it: one gradient
// is asked for, which checks it.
func TestTiltedSolveAsksOnce(t *testing.T) {
	p, x := experiment(3, 50, 100, 20)
	s := newALM(defaultALM()).Solve(context.Background(), p, G(p, x), x, nil)
	slope := make([]float64, p.Dy)
	for j := range slope {
		slope[j] = math.Sin(float64(j))
	}
	counted := p.Counted()
	got := OnFace(context.Background(), counted, &Tilted{G(counted, x), slope}, x, s.Active, s)
	want := OnFace(context.Background(), p, &Tilted{G(p, x), slope}, x, s.Active, nil)
	if g := counted.Calls().GradG; g != 1 {
		t.Errorf("%d gradients", g)
	}
	if got.Status != Solved || distance(got.Y, want.Y) > 1e-12 || distance(got.Lambda, want.Lambda) > 1e-12 || distance(want.Y, s.Y) < 1e-2 {
		t.Errorf("%v, y differs by %g, multipliers by %g", got.Status, distance(got.Y, want.Y), distance(got.Lambda, want.Lambda))
	}
}
