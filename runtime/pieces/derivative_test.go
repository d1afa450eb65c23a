package pieces_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
)

// countdown is a context that ends as it is asked for the n-th time.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Inside a branch the derivative is the slope of F between followers' answers at points next to x. A run that is stopped has none, wherever it is stopped.
func TestDerivative(t *testing.T) {
	rng := members.Rand(t, 9)
	known, stopped := 0, 0
	for k := range members.Of(60, 600) {
		p := kkttest.Random(rng, 3, 3, 2, true, k%3 == 0)
		s, v := solverOf(t, p)
		x := make([]float64, s.Nx)
		for j := range x {
			x[j] = 5*rng.Float64() - 2.5
		}
		z, status := v.Follower().Solve(t.Context(), x)
		if status != activeset.Optimal {
			continue
		}
		branch, biactive := s.BranchAt(z)
		point := &kkt.Point{Z: z, F: s.Value(z), Branch: branch, Biactive: biactive}
		m, err := v.Derivative(t.Context(), point)
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			continue
		}
		const h = 1e-5
		for j := range x {
			var f [2]float64
			inside := true
			for side := range f {
				to := append([]float64(nil), x...)
				to[j] += h * float64(1-2*side)
				near, status := v.Follower().Solve(t.Context(), to)
				_, others := s.BranchAt(near)
				inside = inside && status == activeset.Optimal && len(others) == 0
				f[side] = s.Value(near)
			}
			if inside {
				known++
				if slope := (f[0] - f[1]) / (2 * h); math.Abs(slope-m.Bound[j]) > 1e-4*(1+math.Abs(slope)) {
					t.Errorf("case %d: F has the slope %v in x[%d], not %v", k, slope, j, m.Bound[j])
				}
			}
		}
		for n := 0; ; n++ {
			ctx := &countdown{t.Context(), n}
			early, err := v.Derivative(ctx, point)
			if err == nil {
				if ctx.left < 0 || early == nil {
					t.Errorf("case %d: a run that was stopped has the derivative %v", k, early)
				}
				break
			}
			if stopped++; early != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("case %d: stopped with %v and %v", k, early, err)
			}
		}
	}
	if known < 30 || stopped < 30 {
		t.Errorf("%d slopes, %d runs that were stopped", known, stopped)
	}
}
