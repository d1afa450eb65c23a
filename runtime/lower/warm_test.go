package lower

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// experiment draws an instance of the paper's experiment: g = 1/2 y'(L'L + I)y
// + x'Py subject to A y <= b, everything standard normal. It has its own
// condition number, some 4 n.
func experiment(seed uint64, dx, n, rows int) (*problem.Problem, []float64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	l := normal(rng, n*n)
	q := make([]float64, n*n)
	for k := 0; k < n; k++ {
		row := l[k*n : (k+1)*n]
		for i, u := range row {
			linalg.Axpy(q[i*n:(i+1)*n], u, row)
		}
	}
	for i := 0; i < n; i++ {
		q[i*n+i]++
	}
	b := make([][]float64, rows)
	for i := range b {
		b[i] = normal(rng, n)
	}
	p := &problem.Problem{Dx: dx, Dy: n, F: zero{}, G: newQuadratic(dx, n, q, normal(rng, dx*n), nil),
		Rows: rowsOf(dx, n, b, normal(rng, rows), nil), X: unbounded(dx),
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
	return p, normal(rng, dx)
}

// TestWarmStartsSaveCalls moves x by 1 % and expects the same solution as
// from a cold start, with fewer changes of the working set.
func TestWarmStartsSaveCalls(t *testing.T) {
	p, x := experiment(3, 50, 100, 20)
	solver := newALM(defaultALM())
	before := solver.Solve(context.Background(), p, G(p, x), x, nil)
	moved := make([]float64, len(x))
	for j, v := range x {
		moved[j] = 1.01 * v
	}
	cold := newALM(defaultALM())
	want := cold.Solve(context.Background(), p, G(p, moved), moved, nil)
	counted := p.Counted()
	got := solver.Solve(context.Background(), counted, G(counted, moved), moved, before)
	t.Logf("changes: cold %d, warm %d; warm gradients %d", cold.active.changes, solver.active.changes, counted.Calls().GradG)
	if got.Status != Solved || want.Status != Solved {
		t.Fatalf("warm %v, cold %v", got.Status, want.Status)
	}
	if d := distance(got.Y, want.Y); d > 1e-11 {
		t.Errorf("y differs by %g", d)
	}
	if solver.active.changes > cold.active.changes/2 {
		t.Errorf("%d changes warm, %d cold", solver.active.changes, cold.active.changes)
	}
}

// TestSolvesRestart asserts that a solver gives bit for bit the same result
// whatever it solved before, and that its workspaces stop growing.
func TestSolvesRestart(t *testing.T) {
	p, x := experiment(3, 50, 60, 12)
	for _, spec := range All() {
		solver, err := spec.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		if spec.Name == "pdg" || spec.Name == "agd" {
			p, x = experiment(3, 5, 10, 3)
		} else {
			p, x = experiment(3, 50, 60, 12)
		}
		first := solver.Solve(context.Background(), p, G(p, x), x, nil)
		other, otherX := experiment(4, 5, 12, 6)
		solver.Solve(context.Background(), other, G(other, otherX), otherX, nil)
		again := solver.Solve(context.Background(), p, G(p, x), x, nil)
		for j := range first.Y {
			if math.Float64bits(first.Y[j]) != math.Float64bits(again.Y[j]) {
				t.Errorf("%s: a second solve differs: %v and %v", spec.Name, first.Y[j], again.Y[j])
				break
			}
		}
		obj := G(p, x)
		allocations := testing.AllocsPerRun(3, func() { solver.Solve(context.Background(), p, obj, x, nil) })
		// The solution and what its assessment and the programs return, not a
		// number that grows with the iterations.
		if allocations > 60+float64(2*p.Rows.Len()) && !raced() { // the race detector leaves pools empty
			t.Errorf("%s: %v allocations a solve", spec.Name, allocations)
		}
		t.Logf("%s: %v allocations a solve", spec.Name, allocations)
	}
}

// raced reports that the tests were built with the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
}

func BenchmarkALM(b *testing.B) {
	for _, bench := range []struct {
		name string
		warm bool
	}{{"cold", false}, {"warm", true}} {
		b.Run(bench.name, func(b *testing.B) {
			p, x := experiment(3, 100, 200, 40)
			p = p.Counted()
			solver := newALM(defaultALM())
			var warm *Solution
			if bench.warm {
				warm = solver.Solve(context.Background(), p, G(p, x), x, nil)
				for j := range x {
					x[j] *= 1.01
				}
			}
			before := p.Calls().GradG
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				solver.Solve(context.Background(), p, G(p, x), x, warm)
			}
			b.ReportMetric(float64(p.Calls().GradG-before)/float64(b.N), "gradients/op")
		})
	}
}
