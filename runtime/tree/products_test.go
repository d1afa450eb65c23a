package tree

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// withProducts is a random program with binary entries of x and one in a box, and a linear or quadratic follower, whose f has products: of binary entries with y, with each other, themselves and with the one in the box;
// or, with sold, the revenue of a price and binary entries at the sides of the follower's rows, whose products with multipliers strong duality leaves.
func withProducts(rng *rand.Rand, sold bool) *problem.Problem {
	nb, ny := 2+rng.IntN(2), 2+rng.IntN(2)
	nx := nb + 1
	whole := func(k int) float64 { return float64(rng.IntN(2*k+1) - k) }
	f, g := newQuadratic(nx, ny), newQuadratic(nx, ny)
	for i := range nx + ny {
		f.l[i] = whole(4)
	}
	for j := range ny {
		g.l[nx+j] = -float64(rng.IntN(9))
		if rng.IntN(4) == 0 {
			g.set(nx+j, nx+j, 1)
		}
	}
	if sold {
		for j := range ny {
			if rng.IntN(4) > 0 {
				f.set(nb, nx+j, -1)
				g.set(nb, nx+j, 1)
			}
		}
	} else {
		for c := range nb {
			f.set(c, nx+rng.IntN(ny), whole(5))
			f.set(c, rng.IntN(nx), whole(3))
			g.set(c, nx+rng.IntN(ny), whole(3))
		}
	}
	rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
	end := func(rhs float64) {
		rows.A.EndRow()
		rows.B.EndRow()
		rows.Kind, rows.Rhs = append(rows.Kind, problem.AtMost), append(rows.Rhs, rhs)
	}
	for j := range ny {
		if sold || rng.IntN(4) > 0 { // else an upper bound is all it has
			rows.B.Append(j, 1)
			end(0)
		}
		rows.B.Append(j, -1)
		if rng.IntN(2) == 0 { // 2 x_c is its upper bound
			rows.A.Append(rng.IntN(nb), -2)
			end(0)
		} else {
			end(-float64(1 + rng.IntN(3)))
			rows.Rhs[len(rows.Rhs)-1] *= -1
		}
	}
	for j := range ny {
		rows.B.Append(j, -float64(1+rng.IntN(2)))
	}
	if rng.IntN(2) == 0 {
		rows.A.Append(rng.IntN(nb), whole(2))
	}
	end(float64(2 + rng.IntN(3)))
	// A row is A x - B y - b <= 0.
	p := &problem.Problem{Name: "products", Dx: nx, Dy: ny, F: f, G: g, Rows: rows, Integer: make([]bool, nx), X: &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx)},
		Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2, Convex: true}}
	for c := range nx {
		p.X.Hi[c], p.Integer[c] = 1, c < nb
	}
	p.X.Lo[nb], p.X.Hi[nb] = whole(2), 4
	return p
}

// byBinaries is the least f over all branches, for each choice of the binary entries: fixed entries make products of f linear, and the rest is convex by itself or by strong duality.
func byBinaries(t *testing.T, p *problem.Problem) (best float64, ok bool) {
	t.Helper()
	best = math.Inf(1)
	for code := range 1 << (p.Dx - 1) {
		fixed, set := *p, *p.X
		set.Lo, set.Hi = append([]float64(nil), set.Lo...), append([]float64(nil), set.Hi...)
		fixed.X, fixed.Integer = &set, nil
		for c := range p.Dx - 1 {
			set.Lo[c], set.Hi[c] = float64(code>>c&1), float64(code>>c&1)
		}
		sys, err := kkt.New(&fixed)
		if err != nil {
			t.Fatal(err)
		}
		if !sys.Objective.Convex {
			return 0, false
		}
		best = min(best, enumerate(t, sys))
	}
	return best, true
}

// Products of binary entries are columns: the search finds the least of all branches without a split of f, and its proof is accepted, and none that is forged shows more.
func TestProductsOfBinariesAreProved(t *testing.T) {
	rng := members.Rand(t, 51)
	proved, infeasible, mixed, plain, nodes := 0, 0, 0, 0, int64(0)
	for k := range 80 {
		p := withProducts(rng, k%2 == 0)
		want, ok := byBinaries(t, p)
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		if !ok || sys.Objective.Convex {
			continue
		}
		s, _, err := newSearch(context.Background(), kkt.Part{System: sys}, units(sys), Options{Gap: tolerance.Target}, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case s.concave != nil:
			t.Errorf("case %d: f is split", k)
		case sys.Objective.Mixed != nil:
			mixed++
		default:
			plain++
		}
		r, err := Solve(context.Background(), sys, Options{Nodes: 5000})
		if err != nil {
			t.Fatal(err)
		}
		near := 1e-6 * (1 + math.Abs(want))
		nodes += r.Nodes
		switch {
		case math.IsInf(want, 1):
			if infeasible++; r.Outcome != Infeasible {
				t.Errorf("case %d: %v, and nothing is feasible", k, r.Outcome)
			}
		case math.IsInf(want, -1):
			if r.Outcome != Unbounded {
				t.Errorf("case %d: %v, and f has no least value", k, r.Outcome)
			}
		case r.Outcome != Proved || math.Abs(r.Best.F-want) > 2*near || r.Bound > want+near:
			t.Errorf("case %d: %v, %s, %v, bound %.12g, and the least is %.12g", k, r.Outcome, r.Why, r.Best, r.Bound, want)
		default:
			proved++
		}
		if r.Outcome != Proved && r.Outcome != Infeasible {
			continue
		}
		text := proofOf(t, sys, r)
		report, err := certify.VerifyTree(p, bytes.NewReader(text), "")
		if err != nil || report.Bound < r.Claim() || report.Bound > want+near {
			t.Errorf("case %d: %v, %+v, claimed %.12g, least %.12g", k, err, report, r.Claim(), want)
			continue
		}
		for range 20 {
			forged, how, never := forge(rng, text)
			if report, err := certify.VerifyTree(p, bytes.NewReader(forged), ""); err == nil && (never && !math.IsInf(want, 1) || report.Bound > want+near) {
				t.Fatalf("%s: proved %.17g, and the least value is %.17g:\n%s\nfrom\n%s", how, report.Bound, want, forged, text)
			}
		}
	}
	t.Logf("%d proved, %d infeasible, %d by strong duality, %d as they are, %d nodes", proved, infeasible, mixed, plain, nodes)
	if proved < 8 || mixed < 3 || plain < 3 {
		t.Errorf("%d proved, %d by strong duality, %d as they are", proved, mixed, plain)
	}
}
