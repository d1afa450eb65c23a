package tree

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// A gap is relative to f while its terms tell f from 0, in whatever units; beyond, the default gap times its scale is the accuracy of the terms.
func TestGapsInUnits(t *testing.T) {
	rng := members.Rand(t, 12)
	for range members.Of(200, 2000) {
		terms, share := math.Pow(10, 24*rng.Float64()-12), math.Pow(10, -6*rng.Float64())
		sign := float64(1 - 2*rng.IntN(2))
		if f := sign * terms * (2 * tolerance.Sign) / share; GapScale(f, terms) != math.Abs(f) {
			t.Errorf("the gap of %g, of terms of %g, is relative to %g", f, terms, GapScale(f, terms))
		}
		f := sign * terms * (0.5 * tolerance.Sign) * share
		if got, want := GapScale(f, terms)*tolerance.Target, tolerance.Sign*terms; math.Abs(got-want) > 1e-12*want {
			t.Errorf("a gap of %g counts for an f of %g, of terms of %g: they are accurate to %g", got, f, terms, want)
		}
	}
}

// Where f is 0 its gap is relative to its terms, with variables of the width of their boxes at least: the same in any units of them.
func TestGapsBesideZeroInUnits(t *testing.T) {
	rng := members.Rand(t, 13)
	for range 50 {
		c, width := math.Pow(10, 4*rng.Float64()-2), math.Pow(10, -4*rng.Float64())
		f, g := newQuadratic(1, 1), newQuadratic(1, 1)
		f.l[0], f.l[1] = c, c // F = c (x + y) at y = -x
		g.set(0, 1, 1)
		g.set(1, 1, 1)
		bounds := sparse.FromDense(2, 1, []float64{1, -1}) // -width <= y <= 0
		p := &problem.Problem{Name: "zero", Dx: 1, Dy: 1, F: f, G: g, X: &problem.Set{Lo: []float64{0}, Hi: []float64{width}},
			Rows:  &problem.Rows{Kind: make([]problem.Kind, 2), A: sparse.FromDense(2, 1, []float64{0, 0}), B: bounds, Rhs: []float64{width, 0}},
			Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 1, Convex: true, StrongConvexity: 1}}
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{Nodes: 100})
		if err != nil || r.Outcome != Proved {
			t.Fatalf("%v, %+v", err, r)
		}
		if want := 2 * c * width * tolerance.Sign / tolerance.Target; math.Abs(r.Scale-want) > 1e-9*want {
			t.Errorf("the gap of %g (x + y), x up to %g, is relative to %g, and not to %g", c, width, r.Scale, want)
		}
	}
}

// A toll of little on one of several roads that many take: its revenue is small beside the costs that strong duality has in f, and is proved to the gap all the same.
func TestSmallRevenuesAreProved(t *testing.T) {
	rng := members.Rand(t, 52)
	small := 0
	for k := range 300 {
		roads, most, demand := 2+rng.IntN(3), math.Pow(10, -float64(rng.IntN(7))), math.Pow(10, float64(rng.IntN(7)))
		f, g := newQuadratic(1, roads), newQuadratic(1, roads)
		f.set(0, 1, -1)
		g.set(0, 1, 1)
		rows := &problem.Rows{A: sparse.Empty(1), B: sparse.Empty(roads)}
		next := math.Inf(1)
		for j := range roads {
			g.l[1+j] = float64(1 + rng.IntN(9))
			if j > 0 {
				next = min(next, g.l[1+j])
			}
			rows.B.Append(j, 1)
			rows.B.EndRow()
		}
		for j := range roads {
			rows.B.Append(j, 1)
		}
		rows.B.EndRow()
		for range roads + 1 {
			rows.A.EndRow()
		}
		rows.Kind, rows.Rhs = append(slices.Repeat([]problem.Kind{problem.AtMost}, roads), problem.Equal), append(make([]float64, roads), -demand)
		want := -demand * max(0, min(most, next-g.l[1]))
		p := &problem.Problem{Name: "toll", Dx: 1, Dy: roads, F: f, G: g, Rows: rows, X: &problem.Set{Lo: []float64{0}, Hi: []float64{most}},
			Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2, Convex: true}}
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		follower, err := kkt.NewFollower(sys)
		if err != nil {
			t.Fatal(err)
		}
		z, _ := follower.Solve(context.Background(), []float64{0.5 * most})
		fix, _ := sys.BranchAt(z)
		r, err := Solve(context.Background(), sys, Options{Nodes: 1000, Incumbents: []*kkt.Point{{Z: z, Branch: fix}}})
		if err != nil {
			t.Fatal(err)
		}
		near := 1.1e-6 * math.Abs(want)
		if want > -4e-9*demand { // no more than what relaxations leave open of its terms
			near = 1e-8 * demand
		} else if want > -1e-4*demand {
			small++
		}
		report, err := certify.VerifyTree(p, bytes.NewReader(proofOf(t, sys, r)), "")
		if err != nil || r.Outcome != Proved || math.Abs(r.Best.F-want) > near || r.Bound > want+near || report.Bound < r.Claim() || report.Bound > want {
			t.Errorf("case %d: %v, %s, F %.12g, bound %.12g, proved %+v, %v, and the least is %.12g beside %g", k, r.Outcome, r.Why, r.Best.F, r.Bound, report, err, want, demand)
		}
	}
	if small < 5 {
		t.Errorf("only %d are small", small)
	}
}
