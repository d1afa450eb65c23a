package lower

import (
	"context"
	"math"
	"slices"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/method"
)

// TestConformance solves every planted problem with every registered solver
// whose needs it meets.
func TestConformance(t *testing.T) {
	for _, spec := range All() {
		for _, c := range plans {
			made := c.build(7)
			p := made.problem.Counted()
			if spec.Needs.SparseHessian {
				p.Facts.HessianPattern = full(p.Dy)
			}
			if spec.Needs.Check(spec.Name, p) != nil || beyond(spec.Name, c) {
				continue
			}
			solver, err := spec.New(method.Values{})
			if err != nil {
				t.Fatal(err)
			}
			s := solver.Solve(context.Background(), p, G(p, made.x), made.x, nil)
			t.Logf("%s on %v: %v, %d gradients, y %.1e lambda %.1e bound %.1e", spec.Name, c, s.Status,
				p.Calls().GradG, distance(s.Y, made.y), distance(s.Lambda, made.lambda), s.ErrorBound)
			check(t, spec.Name+" on "+c.String(), c, made, s)
			if s.Sparse != spec.Needs.SparseHessian {
				t.Errorf("%s on %v: left to another solver", spec.Name, c)
			}
		}
	}
}

// beyond are the problems that a method reaches in theory only: plain
// accelerated and primal-dual gradients take steps in proportion to the root
// of the condition number, and to the condition number of g and of the rows.
func beyond(solver string, c plan) bool {
	switch solver {
	case "agd":
		return c.condition > 1e4
	case "pdg":
		return c.condition > 100 || c.active > 100
	}
	return false
}

// check compares a solution with the planted one.
func check(t *testing.T, what string, c plan, made *planted, s *Solution) {
	t.Helper()
	if s.Status != Solved {
		t.Errorf("%s: %v: %s", what, s.Status, s.Reason)
		return
	}
	off := distance(s.Y, made.y)
	// The data carry rounding that the condition number amplifies.
	rounding := 1e-14 * c.condition * math.Sqrt(float64(c.n))
	if off > s.ErrorBound+rounding {
		t.Errorf("%s: y is off by %g, certified are %g", what, off, s.ErrorBound)
	}
	if limit := 1e-9 + 1e-12*c.condition + rounding; off > limit {
		t.Errorf("%s: y is off by %g, allowed %g", what, off, limit)
	}
	if !made.unique {
		return
	}
	if d := distance(s.Lambda, made.lambda); d > 1e-7*math.Max(1, c.badScale)+1e-13*c.condition {
		t.Errorf("%s: multipliers are off by %g", what, d)
	}
	if !slices.Equal(s.Active, made.active) {
		t.Errorf("%s: active %v, want %v", what, s.Active, made.active)
	}
	if len(s.Weak) != c.weak {
		t.Errorf("%s: weak rows %v, want %d of them", what, s.Weak, c.weak)
	}
}

// full is the pattern of a dense Hessian.
func full(n int) *sparse.CSR {
	ones := make([]float64, n*n)
	for k := range ones {
		ones[k] = 1
	}
	return sparse.FromDense(n, n, ones)
}
