package pieces

import (
	"math"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
)

// A point that is off its branch by a little is moved back onto the branch's equations, to the rounding of their terms.
func TestRefinedPointsKeepTheirEquations(t *testing.T) {
	rng := members.Rand(t, 5)
	moved := 0
	for k := range 100 {
		s, err := kkt.New(kkttest.Random(rng, 3, 3, 2, k%2 == 0, k%3 == 0))
		if err != nil {
			t.Fatal(err)
		}
		v, err := New(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		z, status := v.follower.Solve(t.Context(), []float64{4*rng.Float64() - 2, 4*rng.Float64() - 2, 4*rng.Float64() - 2})
		if status != activeset.Optimal {
			continue
		}
		branch, _ := s.BranchAt(z)
		s.Bounds(&v.bounds, branch)
		off := func(z []float64) (worst float64) {
			at := v.s.Scaled(z)
			for i, lo := range v.bounds.RowLo {
				if lo != v.bounds.RowHi[i] {
					continue
				}
				cols, vals := s.Relaxation.A.Row(i)
				sum, terms := -lo, math.Abs(lo)
				for t, j := range cols {
					sum, terms = sum+vals[t]*at[j], terms+math.Abs(vals[t]*at[j])
				}
				if terms > 0 {
					worst = math.Max(worst, math.Abs(sum)/terms)
				}
			}
			return worst
		}
		near := slices.Clone(z)
		for j := range near {
			if at := v.s.Scaled(z); at[j] > v.bounds.Lo[j] && at[j] < v.bounds.Hi[j] {
				near[j] *= 1 + 1e-10*rng.NormFloat64()
			} else if k%4 > 1 { // a solver lets entries beyond their bounds by its tolerance
				near[j] -= 1e-10 * rng.Float64() * s.ColScale[j] * sign(at[j] == v.bounds.Lo[j])
			}
		}
		if before := off(near); before > 1e-12 {
			moved++
			after := v.refine(near)
			if after := off(after); after > 1e-14 {
				t.Errorf("case %d: off by %g before, and by %g after", k, before, after)
			}
			for j, t0 := range v.s.Scaled(after) {
				if t0 < v.bounds.Lo[j] || t0 > v.bounds.Hi[j] {
					t.Errorf("case %d: entry %d is %g, beyond its bounds of %g and %g", k, j, t0, v.bounds.Lo[j], v.bounds.Hi[j])
				}
			}
		}
	}
	if moved < 50 {
		t.Errorf("%d of 100 points", moved)
	}
}

func sign(positive bool) float64 {
	if positive {
		return 1
	}
	return -1
}

// Inside of a branch every side that it leaves open is positive, and every side that it holds is zero.
func TestInsideOfABranch(t *testing.T) {
	rng := members.Rand(t, 6)
	inside := 0
	for k := range 200 {
		p := kkttest.Random(rng, 3, 3, 2, k%2 == 0, k%3 == 0)
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		v, err := New(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		point, err := v.From(t.Context(), make([]float64, s.Nx))
		if err != nil {
			continue
		}
		fix := slices.Clone(point.Branch)
		for _, at := range point.Biactive {
			fix[at] = kkt.SlackZero + kkt.Fix(rng.IntN(2))
		}
		z, _ := v.interior(t.Context(), point, fix)
		if z == nil {
			continue
		}
		inside++
		h := make([]float64, s.M)
		p.Rows.Residual(h, s.X(z), s.Y(z))
		for i, pair := range s.Pairs {
			open, held := -h[pair.Row], s.Lambda(z)[pair.Row]
			if fix[i] == kkt.SlackZero {
				open, held = held, open
			}
			if !(open > 1e-10) || !(math.Abs(held) <= 1e-8) {
				t.Errorf("case %d, pair %d: %v is to be positive, and %v to be 0", k, i, open, held)
			}
		}
	}
	if inside < 50 {
		t.Errorf("%d of 200 points", inside)
	}
}
