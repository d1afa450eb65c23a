package paper

import (
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/outer"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/status"
)

// Certificates on random degenerate followers say what is true: where a run ends as
// solved, 0 is as near to the hull of the true pieces of F, listed by enumeration of
// the faces, as the certificate's norm says, and every gradient in the certificate is
// that of a piece with an inside near its point.
func TestCertificatesAreTrue(t *testing.T) {
	spec, err := lower.Lookup(lower.Default)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	counts := map[string]int{}
	const problems = 70
	for number := range problems {
		p := randomFollower(rng)
		starts := [][]float64{make([]float64, p.dx), make([]float64, p.dx)}
		for j := range starts[1] {
			starts[1][j] = float64(rng.IntN(5)-2) / 2
		}
		for k, start := range starts {
			for _, name := range []string{"pgd", "goldstein"} {
				s, err := spec.New(nil)
				if err != nil {
					t.Fatal(err)
				}
				h := oracle.New(p.problem(), s, &oracle.Face{Settings: *oracle.DefaultFace()})
				m := made(t, name, nil)
				r, err := outer.Solve(context.Background(), h, name, m, outer.Options{Start: start, Seed: uint64(number), Limits: outer.Limits{Iterations: 2000}})
				if err != nil || r.Best == nil {
					t.Fatalf("problem %d, start %d, %s: %v %v", number, k, name, err, r)
				}
				counts[name+": "+r.Status.String()]++
				what := fmt.Sprintf("problem %d (%+v), %s from %v: %v (%s) at %v", number, p, name, start, r.Status, r.Reason, r.Best.X)
				if name == "goldstein" && r.Status != status.Solved {
					t.Errorf("%s", what)
				}
				if r.Status == status.Solved {
					p.check(t, what, r)
				}
			}
		}
	}
	t.Log(counts)
}

// check compares what a solved run says with the true pieces.
func (p *follower) check(t *testing.T, what string, r *outer.Result) {
	t.Helper()
	const near = 1e-6 // the certificates' radius, relative to 1 + |x|
	radius := near * (1 + linalg.Norm(r.Best.X))
	pieces, f := p.near(r.Best.X, radius)
	if math.Abs(f-r.Best.F) > 1e-9*(1+math.Abs(f)) {
		t.Errorf("%s: F is %.12g, not %.12g", what, f, r.Best.F)
	}
	largest := 1.0
	for _, piece := range pieces {
		largest = math.Max(largest, linalg.Norm(piece.grad))
	}
	// The default targets are 1e-5 of the gradients and 1e-7; pieces curve by radius.
	if d := leastElement(pieces, r.Best.X, radius); d > 1e-4*largest {
		t.Errorf("%s: 0 is %.3g away from the subdifferential of %+v", what, d, pieces)
	}
	c := r.Certificate
	if c == nil {
		return
	}
	for i, x := range c.Points {
		if linalg.Distance(x, r.Best.X) > c.Delta*(1+1e-9) {
			t.Errorf("%s: a point of the certificate is %.3g away", what, linalg.Distance(x, r.Best.X))
		}
		off := math.Inf(1)
		for _, piece := range pieces {
			off = math.Min(off, linalg.Distance(piece.grad, c.Gradients[i]))
		}
		if off > 1e-4*largest {
			t.Errorf("%s: the gradient %v in the certificate is of none of %+v", what, c.Gradients[i], pieces)
		}
	}
}

// Linear f over a quadratic follower makes F piecewise linear, and its curvature pure
// rounding. Runs end all the same, at a vertex of kinks and bounds, and soon: the bound
// on evaluations is ten times what the slowest of these takes.
func TestPiecewiseLinearEnds(t *testing.T) {
	spec, err := lower.Lookup(lower.Default)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 2))
	slowest, ended := 0, map[status.Status]int{}
	for k := range 150 {
		p := randomLarge(rng, k%2 == 0)
		s, err := spec.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		h := oracle.New(p.problem(), s, &oracle.Face{Settings: *oracle.DefaultFace()})
		const bound = 50000
		r, err := outer.Solve(context.Background(), h, "goldstein", made(t, "goldstein", nil),
			outer.Options{Start: make([]float64, p.dx), Seed: 1, Limits: outer.Limits{Evaluations: bound}})
		if err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, r.Evaluations)
		ended[r.Status]++
		if r.Status != status.Solved && r.Status != status.Infeasible {
			t.Errorf("problem %d: %v (%s) after %d evaluations", k, r.Status, r.Reason, r.Evaluations)
		}
	}
	t.Log(ended, "most evaluations", slowest)
}
