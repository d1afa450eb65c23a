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
)

// Arcs of a network are cut within a budget, to leave the least flow: of each cut the largest capacities, so that the truth is known from the cuts (Wood 1993). Multipliers of a network may be taken to be basic, 0 or 1,
// and with that bound the relaxation says nearly as much: without it each of these takes tens of nodes.
func TestInterdictionOfNetworks(t *testing.T) {
	rng := members.Rand(t, 7)
	nodes, count := int64(0), members.Of(12, 100)
	for k := range count {
		inner, budget := 6+rng.IntN(3), 2+rng.IntN(3)
		type arc struct{ from, to int } // 0 is the source, inner+1 the sink
		var arcs []arc
		var capacity []float64
		for from := range inner + 1 {
			for to := 1; to <= inner+1; to++ {
				if from != to && rng.IntN(5) < 2 {
					arcs, capacity = append(arcs, arc{from, to}), append(capacity, float64(1+rng.IntN(9)))
				}
			}
		}
		want := math.Inf(1)
		for set := range 1 << inner { // nodes beside the source
			side := set<<1 | 1
			var cut []float64
			for e, a := range arcs {
				if side>>a.from&1 == 1 && side>>a.to&1 == 0 {
					cut = append(cut, capacity[e])
				}
			}
			slices.Sort(cut)
			left := 0.0
			for _, v := range cut[:max(0, len(cut)-budget)] {
				left += v
			}
			want = min(want, left)
		}
		m := len(arcs)
		f, g := newQuadratic(m, m), newQuadratic(m, m)
		rows := &problem.Rows{A: sparse.Empty(m), B: sparse.Empty(m)}
		end := func(kind problem.Kind, rhs float64) {
			rows.A.EndRow()
			rows.B.EndRow()
			rows.Kind, rows.Rhs = append(rows.Kind, kind), append(rows.Rhs, rhs)
		}
		p := &problem.Problem{Name: "network", Dx: m, Dy: m, F: f, G: g, Rows: rows, Integer: slices.Repeat([]bool{true}, m),
			X:     &problem.Set{Lo: make([]float64, m), Hi: slices.Repeat([]float64{1}, m), E: sparse.Empty(m), Kind: []problem.Kind{problem.AtMost}, Rhs: []float64{float64(budget)}},
			Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 1, Convex: true}}
		for e, a := range arcs {
			if a.to == inner+1 {
				f.l[m+e], g.l[m+e] = 1, -1
			}
			p.X.E.Append(e, 1)
			rows.B.Append(e, 1)
			end(problem.AtMost, 0)
			rows.B.Append(e, -1)
			rows.A.Append(e, capacity[e])
			end(problem.AtMost, capacity[e])
		}
		p.X.E.EndRow()
		for v := 1; v <= inner; v++ {
			for e, a := range arcs {
				if a.from == v {
					rows.B.Append(e, -1)
				} else if a.to == v {
					rows.B.Append(e, 1)
				}
			}
			end(problem.Equal, 0)
		}
		sys, err := kkt.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Solve(context.Background(), sys, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if nodes += r.Nodes; !r.Proved || math.Abs(r.Best.F-want) > 1e-6 {
			t.Errorf("case %d: %v, %g, and the best cut leaves %g", k, r.Outcome, r.Best.F, want)
			continue
		}
		if report, err := certify.VerifyTree(p, bytes.NewReader(proofOf(t, sys, r)), ""); err != nil || report.Bound < r.Claim() || report.Bound > want+1e-6 {
			t.Errorf("case %d: %v, %+v", k, err, report)
		}
	}
	if nodes > 10*int64(count) {
		t.Errorf("%d nodes for %d networks", nodes, count)
	}
}
