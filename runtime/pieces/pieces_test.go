package pieces_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/kkttest"
	"bilevelc/internal/members"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/problem"
)

// draws is how many random problems a test makes.
const draws = 300

// least is the minimum of f over all branches that hold a pair of each list on either side, those of fixed on their own: by enumeration.
func least(t *testing.T, s *kkt.System, fixed []kkt.Fix, open []int) float64 {
	t.Helper()
	program := *s.Relaxation
	program.Q, program.C = s.ScaledObjective(s.Objective.Relaxed())
	solver, err := activeset.New(&program)
	if err != nil {
		t.Fatal(err)
	}
	best := math.Inf(1)
	for mask := range 1 << len(open) {
		fix := append([]kkt.Fix(nil), fixed...)
		for bit, k := range open {
			fix[k] = kkt.SlackZero
			if mask>>bit&1 == 1 {
				fix[k] = kkt.MultZero
			}
		}
		var b activeset.Bounds
		s.Bounds(&b, fix)
		solver.Forget()
		if sol := solver.Solve(t.Context(), &b, nil, activeset.Options{}); sol.Status == activeset.Optimal {
			best = math.Min(best, s.Value(s.Unscaled(sol.Z)))
		}
	}
	return best
}

// solverOf is the system of a problem, and the active-set method on it.
func solverOf(t *testing.T, p *problem.Problem) (*kkt.System, *pieces.Solver) {
	t.Helper()
	s, err := kkt.New(p)
	if err != nil {
		t.Fatal(err)
	}
	v, err := pieces.New(s, pieces.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, v
}

// A local solution is a minimum over all branches that meet at it, by enumeration of them; it is feasible, no higher than its start, and its multipliers make up
// the gradient of f with the signs of strong stationarity.
func TestLocalSolutions(t *testing.T) {
	rng := members.Rand(t, 1)
	solved, kinks := 0, 0
	for k := range draws {
		p := kkttest.Random(rng, 3, 3, 2, k%2 == 0, k%3 == 0)
		s, v := solverOf(t, p)
		x := make([]float64, s.Nx)
		for j := range x {
			x[j] = 6*rng.Float64() - 3
		}
		point, err := v.From(t.Context(), x)
		var none *pieces.FollowerError
		if errors.As(err, &none) {
			continue
		}
		if err != nil {
			t.Fatalf("case %d: %v", k, err)
		}
		solved++
		size := 1 + math.Abs(point.F)
		if start, _ := v.Follower().Solve(t.Context(), x); s.Value(start) < point.F-1e-8*size {
			t.Errorf("case %d: F %v, above the start's %v", k, point.F, s.Value(start))
		}
		if len(point.Biactive) > 0 && len(point.Biactive) < 12 {
			kinks++
			if best := least(t, s, point.Branch, point.Biactive); best < point.F-1e-7*size {
				t.Errorf("case %d: F %v, but %v on a branch that meets there", k, point.F, best)
			}
		}
		branch, _ := s.BranchAt(point.Z)
		slack := make([]float64, s.M)
		s.Slack(slack, nil, point.Z)
		for i, pair := range s.Pairs {
			if slack[pair.Row] < -1e-8 || s.Lambda(point.Z)[pair.Row] < -1e-8 || math.Min(slack[pair.Row], s.Lambda(point.Z)[pair.Row]) > 1e-8 {
				t.Errorf("case %d, pair %d on %v: slack %v, multiplier %v", k, i, branch[i], slack[pair.Row], s.Lambda(point.Z)[pair.Row])
			}
		}
		sets := []kkt.Leaf{{Multipliers: point.Multipliers}}
		if point.Multipliers == nil {
			sets = point.Leaves
		}
		for _, leaf := range sets {
			m := leaf.Multipliers
			if r, terms := s.Residual(m, point.Z); r > 1e-8*terms {
				t.Errorf("case %d: multipliers leave %v of terms of %v", k, r, terms)
			}
			for _, i := range point.Biactive {
				row := s.Pairs[i].Row
				free := kkt.Open
				if leaf.Fix != nil {
					free = leaf.Fix[i]
				}
				if m.Slack[row] < -1e-7 && free != kkt.SlackZero || m.Lambda[row] < -1e-7 && free != kkt.MultZero {
					t.Errorf("case %d, biactive row %d: multipliers %v and %v", k, row, m.Slack[row], m.Lambda[row])
				}
			}
		}
	}
	if solved < draws/3 || kinks < draws/10 {
		t.Errorf("%d of %d solved, %d of them at a kink: that says too little", solved, draws, kinks)
	}
}

// answer is f at x and at the follower's answer there, with the signs of its multipliers to rounding: package kkt decides them to tolerance.Sign of the forces, which is what f changes by over the
// lengths at which slopes are looked at.
func answer(t *testing.T, s *kkt.System, x []float64) (f float64, ok bool) {
	t.Helper()
	rows := s.P.Rows
	program := &activeset.Program{N: s.Ny, Q: s.H, C: make([]float64, s.Ny), A: rows.B}
	for j := range program.C {
		program.C[j] = s.Q[j] + s.G.RowDot(j, x)
		program.Lo, program.Hi = append(program.Lo, math.Inf(-1)), append(program.Hi, math.Inf(1))
	}
	for i, kind := range rows.Kind {
		lo, hi := rows.A.RowDot(i, x)-rows.Rhs[i], math.Inf(1)
		if kind == problem.Equal {
			hi = lo
		}
		program.RowLo, program.RowHi = append(program.RowLo, lo), append(program.RowHi, hi)
	}
	solver, err := activeset.New(program)
	if err != nil {
		t.Fatal(err)
	}
	sol := solver.Solve(t.Context(), nil, nil, activeset.Options{Sharp: true})
	if sol.Status != activeset.Optimal {
		return 0, false
	}
	z := make([]float64, s.N)
	copy(z, x)
	copy(s.Y(z), sol.Z)
	copy(s.Lambda(z), sol.Row)
	return s.Value(z), true
}

// No direction of x lowers F to first order at a local solution, by differences of F itself, and away from kinks the hypergradient is what these differences are.
func TestSlopesByDifferences(t *testing.T) {
	slopesByDifferences(t, members.Rand(t, 2))
	slopesByDifferences(t, rand.New(rand.NewPCG(786793883, 2))) // where Newton steps to one face and the next are of one length
}

func slopesByDifferences(t *testing.T, rng *rand.Rand) {
	const h = 1e-6
	looked, several, bent := 0, 0, 0
	for k := range draws {
		p := kkttest.Random(rng, 3, 3, 2, true, k%3 == 0)
		p.Facts.StrongConvexity = 1 // each entry of y curves g by at least that
		if k%4 == 1 {
			makeConcave(p, rng.IntN(3), float64(1+rng.IntN(3)))
		}
		if k%5 == 1 {
			p.Rows.Kind[p.Rows.Len()-1] = problem.Equal
		}
		s, v := solverOf(t, p)
		point, err := v.From(t.Context(), make([]float64, s.Nx))
		if err != nil {
			continue
		}
		if point.Vertices > 1 {
			several++ // dependent rows: stationary with each multiplier, or F would fall below
		}
		if len(point.Biactive) == 0 && !v.Smooth(point) {
			t.Errorf("case %d: the follower has other multipliers, and no row is said to be biactive", k)
		}
		if h := make([]float64, p.Rows.Len()); k%5 == 1 {
			if p.Rows.Residual(h, s.X(point.Z), s.Y(point.Z)); math.Abs(h[len(h)-1]) > 1e-8 {
				t.Errorf("case %d: an equation is violated by %v", k, h[len(h)-1])
			}
		}
		if k%4 == 1 {
			bent++
		}
		size := 1 + math.Abs(point.F)
		for range 6 {
			x := append([]float64(nil), s.X(point.Z)...)
			for j := range x {
				x[j] = math.Max(-3, math.Min(3, x[j]+h*rng.NormFloat64()))
			}
			f, ok := answer(t, s, x)
			if !ok {
				continue
			}
			looked++
			// To first order nothing is gained; the second order is h^2 times some curvature.
			if f < point.F-1e-3*h*size {
				t.Errorf("case %d: F falls by %v within %v of a local solution with %d vertices", k, point.F-f, h, point.Vertices)
			}
			if len(point.Biactive) == 0 && point.Multipliers != nil {
				slope := 0.0
				for j, g := range s.Hypergradient(point.Multipliers) {
					slope += g * (x[j] - s.X(point.Z)[j])
				}
				if change := f - point.F; math.Abs(change-slope) > 1e-3*h*size {
					t.Errorf("case %d: F changes by %v, the hypergradient says %v", k, change, slope)
				}
			}
		}
	}
	if looked < draws || several == 0 || bent < draws/10 {
		t.Errorf("%d looks, %d points with several multipliers, %d where f is not convex: that says too little", looked, several, bent)
	}
}

// A system like the last is solved from the working set that the last ended with, in less work than from none, to no higher F; Forget leaves what Load does.
func TestNextSystem(t *testing.T) {
	rng := members.Rand(t, 7)
	var fresh, next, forgotten int64
	for k := range draws {
		p := kkttest.Random(rng, 6, 6, 5, k%2 == 0, false)
		s, v := solverOf(t, p)
		point, err := v.From(t.Context(), make([]float64, s.Nx))
		if err != nil {
			continue
		}
		took := func(load func(*kkt.System) error) int64 {
			if err := load(s); err != nil {
				t.Fatal(err)
			}
			again, err := v.Improve(t.Context(), point.Z, point.Branch)
			if err != nil || again.F > point.F+1e-9*(1+math.Abs(point.F)) {
				t.Fatalf("case %d: F is %v, and was %v: %v", k, again, point.F, err)
			}
			return v.Work()
		}
		next += took(v.Next)
		fresh += took(v.Load)
		forgotten += took(func(s *kkt.System) error {
			err := v.Next(s)
			v.Forget()
			return err
		})
	}
	if !(float64(next) < 0.9*float64(fresh)) || forgotten != fresh {
		t.Errorf("the next system takes %d multiplications, a fresh one %d, one whose last is forgotten %d", next, fresh, forgotten)
	}
}

// counting counts the values that are asked of f.
type counting struct {
	*kkttest.Quadratic
	values *int
}

func (c counting) Value(x, y []float64) float64 { *c.values++; return c.Quadratic.Value(x, y) }
func (c counting) Clone() problem.Function      { return c }

// An f that curves down along entries of x that end at bounds, and up along the others, which it joins with them, is minimized in as many steps as bounds are met and some of Newton's.
func TestIndefiniteObjectivesTakeFewSteps(t *testing.T) {
	rng := members.Rand(t, 8)
	most := 0
	for k := range members.Of(60, 1000) {
		p := kkttest.Random(rng, 4, 1, 0, true, false)
		n := p.Dx + p.Dy
		f := &kkttest.Quadratic{Nx: p.Dx, Ny: p.Dy, M: make([]float64, n*n), C: make([]float64, n)}
		for i := range p.Dx {
			f.C[i] = rng.NormFloat64()
			for j := range i {
				f.M[i*n+j] = rng.NormFloat64()
				f.M[j*n+i] = f.M[i*n+j]
			}
			f.M[i*n+i] = []float64{3, -3}[i%2]
			p.X.Lo[i], p.X.Hi[i] = -1, 1
		}
		values := 0
		p.F = counting{f, &values}
		_, v := solverOf(t, p)
		point, err := v.From(t.Context(), make([]float64, p.Dx))
		if err != nil {
			t.Errorf("case %d: %v", k, err)
			continue
		}
		most = max(most, values)
		slope := make([]float64, p.Dx)
		f.GradX(slope, point.Z[:p.Dx], make([]float64, p.Dy))
		for j, x := range point.Z[:p.Dx] {
			if inside := math.Abs(x) < 1; inside && math.Abs(slope[j]) > 1e-9 || !inside && slope[j]*x > 1e-9 {
				t.Errorf("case %d: x[%d] = %v, where f has the slope %v", k, j, x, slope[j])
			}
		}
	}
	if t.Logf("%d values of f at most", most); most > 40 { // with steps that take no notice of bounds that stay 60 to 120
		t.Errorf("a solve takes %d values of f", most)
	}
}

// Where more of the follower's rows hold than he has variables, an f that does not read his multipliers does not tell them apart. Those of steps within a region stay the size that forces make them: at the region's
// edge they would move on with it, eight times as far with each step.
func TestMultipliersStayWhereFDoesNotReadThem(t *testing.T) {
	rng := members.Rand(t, 9)
	ends := 0
	for k := range members.Of(40, 1000) {
		p := kkttest.Random(rng, 10, 20, 30, true, false)
		n := p.Dx + p.Dy
		f := &kkttest.Quadratic{Nx: p.Dx, Ny: p.Dy, M: make([]float64, n*n), C: make([]float64, n)}
		for i := range n {
			f.C[i] = rng.NormFloat64()
			for j := range i + 1 {
				f.M[i*n+j] = rng.NormFloat64()
				f.M[j*n+i] = f.M[i*n+j]
			}
		}
		p.F = f
		_, v := solverOf(t, p)
		x := make([]float64, p.Dx)
		for j := range x {
			x[j] = p.X.Lo[j] + rng.Float64()*(p.X.Hi[j]-p.X.Lo[j])
		}
		point, err := v.From(t.Context(), x)
		if errors.As(err, new(*pieces.FollowerError)) {
			continue
		}
		if ends++; err != nil {
			t.Errorf("case %d: %v", k, err)
		} else if largest := linalg.NormInf(point.Z[n:]); largest > 1e6 {
			t.Errorf("case %d: a multiplier of %v, of integer data", k, largest)
		}
	}
	if ends < members.Few/4 {
		t.Errorf("%d solves", ends)
	}
}
