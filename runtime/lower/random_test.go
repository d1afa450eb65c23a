package lower

import (
	"context"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/linalg"
)

// draw is a random plan: every kind of row, condition numbers to 1e8, rows
// scaled over twelve orders of magnitude.
func draw(rng *rand.Rand) plan {
	n := 2 + rng.IntN(40)
	c := plan{n: n, condition: []float64{1, 100, 1e4, 1e6, 1e8}[rng.IntN(5)]}
	c.equal = rng.IntN(1 + n/4)
	c.active = rng.IntN(1 + n/3)
	c.inactive = rng.IntN(n)
	c.weak = rng.IntN(1 + n/8)
	c.atBound = rng.IntN(1 + n/4)
	c.boxed = rng.IntN(2) == 0
	if c.active > 0 {
		c.duplicates = rng.IntN(3)
		c.redundant = rng.IntN(3)
	}
	c.badScale = []float64{0, 10, 1e3, 1e6}[rng.IntN(4)]
	return c
}

func TestRandomPlantedProblems(t *testing.T) {
	identifying := defaultALM()
	identifying.Corrections = 3
	for seed := uint64(0); seed < 60; seed++ {
		c := draw(rand.New(rand.NewPCG(seed, 19)))
		made := c.build(seed)
		p := made.problem
		for what, run := range map[string]func() *Solution{
			"alm": func() *Solution { return solve(newALM(defaultALM()), p, G(p, made.x)) },
			"alm that identifies by the augmented Lagrangian": func() *Solution { return solve(newALM(identifying), p, G(p, made.x)) },
			"alm on an objective of unknown curvature":        func() *Solution { return solve(newALM(defaultALM()), p, plain{G(p, made.x)}) },
			"sparse": func() *Solution {
				with := *p
				with.Facts.HessianPattern = full(p.Dy)
				return solve(newSparse(defaultSparse(), 1), &with, G(&with, made.x))
			},
			"quadratic": func() *Solution { return solve(newQuadraticSolver(defaultQuadratic()), p, G(p, made.x)) },
		} {
			s := run()
			if s.Sparse != (what == "sparse") {
				t.Errorf("seed %d, %s on %v: left to another solver", seed, what, c)
			}
			if s.Status != Solved {
				t.Errorf("seed %d, %s on %v: %v: %s, %+v", seed, what, c, s.Status, s.Reason, s.Residuals)
			}
			// The data carry rounding that the condition number amplifies.
			if d := distance(s.Y, made.y); d > 1e-9+1e-13*c.condition {
				t.Errorf("seed %d, %s on %v: y is off by %g", seed, what, c, d)
			}
		}
	}
}

// TestPerturbedSolvesShareCurvature solves g + delta f and g - delta f on one
// face, as the oracles do: after the first each costs a few gradients
// only, and agrees with a solver that starts afresh.
func TestPerturbedSolvesShareCurvature(t *testing.T) {
	p, x := experiment(5, 20, 60, 12)
	s := newALM(defaultALM()).Solve(context.Background(), p, G(p, x), x, nil)
	f := newQuadratic(20, 60, spectrum(rand.New(rand.NewPCG(1, 1)), 60, 10), nil, normal(rand.New(rand.NewPCG(2, 1)), 60))
	solver := NewFaceSolver()
	counted := p.Counted()
	calls := int64(0)
	for k, delta := range []float64{1e-3, -1e-3} {
		obj := &perturbed{AtX: G(counted, x), f: f, delta: delta, grad: make([]float64, 60)}
		got := solver.OnFace(context.Background(), p, obj, x, s.Active, s)
		want := OnFace(context.Background(), p, &perturbed{AtX: G(p, x), f: f, delta: delta, grad: make([]float64, 60)}, x, s.Active, nil)
		if got.Status != Solved || want.Status != Solved {
			t.Fatalf("delta %g: %v, afresh %v", delta, got.Status, want.Status)
		}
		if d := distance(got.Y, want.Y); d > 1e-12 {
			t.Errorf("delta %g: y differs by %g", delta, d)
		}
		if d := distance(got.Lambda, want.Lambda); d > 1e-10 {
			t.Errorf("delta %g: multipliers differ by %g", delta, d)
		}
		now := counted.Calls().GradG
		t.Logf("delta %g: %d gradients", delta, now-calls)
		if now-calls > []int64{65, 15}[k] {
			t.Errorf("solve %d takes %d gradients", k+1, now-calls)
		}
		calls = now
	}
}

// perturbed is g + delta f, quadratic in y.
type perturbed struct {
	*AtX
	f     *quadratic
	delta float64
	grad  []float64
}

func (o *perturbed) ValueGrad(dst, y []float64) float64 {
	value := o.AtX.ValueGrad(dst, y) + o.delta*o.f.ValueGradY(o.grad, o.X, y)
	linalg.Axpy(dst, o.delta, o.grad)
	return value
}

func (o *perturbed) Curvature() Curvature { return Curvature{Quadratic: true} }
