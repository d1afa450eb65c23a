package kkt_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// f reads as what it is, matrices are those of g, and strong duality adds nothing to f at the follower's answers.
func TestSystemIsThatOfTheProblem(t *testing.T) {
	rng := members.Rand(t, 1)
	answered := 0
	for k := range 60 {
		p := kkttest.Random(rng, 3, 4, 2, k%2 == 0, k%3 == 0)
		if k%4 == 0 {
			p.Rows.Kind[p.Rows.Len()-1] = problem.Equal
		}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		g, n := p.G.(*kkttest.Quadratic), p.Dx+p.Dy
		for i := range s.Ny {
			for j := range s.Ny {
				if s.H.At(i, j) != g.M[(s.Nx+i)*n+s.Nx+j] {
					t.Fatalf("H[%d, %d] is %v", i, j, s.H.At(i, j))
				}
			}
			for j := range s.Nx {
				if s.G.At(i, j) != g.M[(s.Nx+i)*n+j] {
					t.Fatalf("G[%d, %d] is %v", i, j, s.G.At(i, j))
				}
			}
		}
		if !s.Objective.Convex || (s.Objective.Dual != nil) != (k%3 == 0) {
			t.Fatalf("case %d: convex %v, strong duality %v", k, s.Objective.Convex, s.Objective.Dual != nil)
		}
		if k%3 == 0 { // concave in x besides: strong duality does not make it convex, and is left out
			bent := *p
			f := *p.F.(*kkttest.Quadratic)
			f.M = slices.Clone(f.M)
			f.M[0] -= 1
			bent.F = &f
			if concave, err := kkt.New(&bent); err != nil || concave.Objective.Convex || concave.Objective.Dual != nil {
				t.Fatalf("case %d: %v, an objective that is not convex: convex %v, strong duality %v", k, err, concave.Objective.Convex, concave.Objective.Dual != nil)
			}
		}
		follower, err := kkt.NewFollower(s)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, s.Nx)
		for j := range x {
			x[j] = 6*rng.Float64() - 3
		}
		z, status := follower.Solve(t.Context(), x)
		if status != activeset.Optimal {
			continue
		}
		answered++
		h := make([]float64, p.Rows.Len())
		p.Rows.Residual(h, x, s.Y(z))
		for i, kind := range p.Rows.Kind {
			if h[i] > 1e-8 || kind == problem.Equal && h[i] < -1e-8 {
				t.Errorf("case %d: row %d is violated by %v", k, i, h[i])
			}
		}
		want := p.F.Value(x, s.Y(z))
		if v := s.Value(z); v != want {
			t.Errorf("f is %v, not %v", v, want)
		}
		if v := s.Objective.Relaxed().Value(z); math.Abs(v-want) > 1e-9*(1+math.Abs(want)) {
			t.Errorf("case %d: with strong duality f is %v, not %v", k, v, want)
		}
		branch, biactive := s.BranchAt(z)
		slack := make([]float64, s.M)
		s.Slack(slack, nil, z)
		for i, fix := range branch {
			row := s.Pairs[i].Row
			if fix == kkt.SlackZero && math.Abs(slack[row]) > 1e-8 || fix == kkt.MultZero && s.Lambda(z)[row] > 1e-8 || fix == kkt.Open {
				t.Errorf("case %d, pair %d: slack %v, multiplier %v on %v (biactive %v)", k, i, slack[row], s.Lambda(z)[row], fix, biactive)
			}
		}
	}
	if answered < 20 {
		t.Errorf("%d of 60 followers answered", answered)
	}
}

// What keeps a problem out of the class is said.
func TestApplies(t *testing.T) {
	p := kkttest.Random(rand.New(rand.NewPCG(1, 1)), 2, 2, 1, true, false)
	if why := kkt.Applies(p); why != "" {
		t.Errorf("a quadratic problem: %s", why)
	}
	p.Facts.JointlyQuadratic = false
	if _, err := kkt.New(p); !errors.Is(err, kkt.ErrClass) {
		t.Errorf("a follower that is not quadratic: %v", err)
	}
}

// A branch problem's multipliers make up the gradient of f, strong duality taken out of them again, with the signs of each kind of row.
func TestMultipliersMakeUpTheGradient(t *testing.T) {
	rng := members.Rand(t, 2)
	solved := 0
	for k := range 60 {
		p := kkttest.Random(rng, 3, 4, 2, k%2 == 0, k%3 == 0)
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		follower, err := kkt.NewFollower(s)
		if err != nil {
			t.Fatal(err)
		}
		z, status := follower.Solve(t.Context(), make([]float64, s.Nx))
		if status != activeset.Optimal {
			continue
		}
		branch, _ := s.BranchAt(z)
		q := s.Objective.Relaxed()
		program := *s.Relaxation
		program.Q, program.C = s.ScaledObjective(q)
		solver, err := activeset.New(&program)
		if err != nil {
			t.Fatal(err)
		}
		var b activeset.Bounds
		s.Bounds(&b, branch)
		sol := solver.Solve(t.Context(), &b, nil, activeset.Options{})
		if sol.Status != activeset.Optimal {
			continue
		}
		solved++
		z = s.Unscaled(sol.Z)
		m := s.FromDuals(true, z, sol.Row, sol.Bound)
		if r, size := s.Residual(m, z); r > 1e-8*size {
			t.Errorf("case %d: residual %v of terms of size %v", k, r, size)
		}
		for j, v := range m.Bound {
			if v > 1e-8 && z[j] > -3+1e-8 || v < -1e-8 && z[j] < 3-1e-8 {
				t.Errorf("case %d: the bound of x[%d] = %v has the multiplier %v", k, j, z[j], v)
			}
		}
		for i, pair := range s.Pairs {
			slack := make([]float64, s.M)
			s.Slack(slack, nil, z)
			if math.Abs(m.Slack[pair.Row]) > 1e-8 && slack[pair.Row] > 1e-8 || math.Abs(m.Lambda[pair.Row]) > 1e-8 && s.Lambda(z)[pair.Row] > 1e-8 {
				t.Errorf("case %d, pair %d: slack %v with %v, lambda %v with %v", k, i, slack[pair.Row], m.Slack[pair.Row], s.Lambda(z)[pair.Row], m.Lambda[pair.Row])
			}
		}
		for _, o := range s.Origin {
			if o.Kind == kkt.Stationarity && o.Index >= s.Ny {
				t.Errorf("a stationarity row of entry %d", o.Index)
			}
		}
	}
	if solved < 20 {
		t.Errorf("%d of 60 branch problems were solved", solved)
	}
	if kkt.Holds == kkt.NotChecked || !(tolerance.Sign < 1e-6) {
		t.Error("signs are told apart by less than six digits, or nothing checked holds")
	}
}

// Multipliers of bounds at which x is not, or which there are not, are none.
func TestSettledMultipliersAreOfBoundsThatHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		p := kkttest.Random(rng, 3, 3, 1, true, false)
		z := make([]float64, p.Dx+p.Dy+p.Rows.Len())
		want := make([]float64, p.Dx)
		bound := make([]float64, p.Dx)
		for j := range bound {
			at := rng.IntN(4) // at the lower bound, at the upper one, inside, free
			z[j] = []float64{-3, 3, 1, 1}[at]
			if at == 3 {
				p.X.Lo[j], p.X.Hi[j] = math.Inf(-1), math.Inf(1)
			}
			bound[j] = float64(2*rng.IntN(2) - 1)
			if at == 0 && bound[j] > 0 || at == 1 && bound[j] < 0 {
				want[j] = bound[j]
			}
		}
		s, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		m := &kkt.Multipliers{Adjoint: make([]float64, s.Ny), Slack: make([]float64, s.M), Lambda: make([]float64, s.M), Bound: bound}
		if s.Settle(m, z); !slices.Equal(m.Bound, want) {
			t.Errorf("x %v within %v and %v: multipliers %v, not %v", z[:s.Nx], p.X.Lo, p.X.Hi, m.Bound, want)
		}
	}
}

// Both bounds of a variable cannot hold at once: a branch that has both slacks at zero is infeasible.
func TestBothBoundsHeldCross(t *testing.T) {
	s, err := kkt.New(kkttest.Random(rand.New(rand.NewPCG(1, 1)), 2, 3, 1, true, false))
	if err != nil {
		t.Fatal(err)
	}
	var b activeset.Bounds
	for _, order := range [2]bool{false, true} {
		fix := make([]kkt.Fix, len(s.Pairs))
		of := -1
		for k, p := range s.Pairs {
			if p.Slack.Var >= 0 && (of < 0 || p.Slack.Var == of) {
				fix[k], of = kkt.SlackZero, p.Slack.Var
			}
		}
		s.Bounds(&b, fix)
		if b.Lo[of] <= b.Hi[of] {
			t.Errorf("order %v: variable %d may be in [%g, %g]", order, of, b.Lo[of], b.Hi[of])
		}
		s.Pairs[0], s.Pairs[1] = s.Pairs[1], s.Pairs[0]
	}
}
