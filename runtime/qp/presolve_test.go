package qp

import (
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
)

// TestPresolve compares what signs decide with the quadratic program that
// decides everything, over random small systems.
func TestPresolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	decided := 0
	for range 4000 {
		n, m := 1+rng.IntN(4), rng.IntN(6)
		var entries []sparse.Entry
		equal := make([]bool, m)
		side := make([]float64, m)
		for i := range m {
			equal[i] = rng.IntN(4) == 0
			if !equal[i] {
				side[i] = -1
			}
			for range 1 + rng.IntN(3) {
				entries = append(entries, sparse.Entry{Row: i, Col: rng.IntN(n), Val: float64(rng.IntN(5) - 2)})
			}
		}
		a := sparse.FromEntries(m, n, entries)
		kept, impossible := presolve(a, equal)
		if !impossible && len(kept) > 0 {
			continue
		}
		decided++
		s := Solve(&Problem{H: Identity(n), C: make([]float64, n), A: a, Equal: equal, B: side}, &Workspace{})
		if possible := s.Status == Solved; possible == impossible {
			t.Fatalf("presolve says impossible = %t, the quadratic program %v\n%v %v", impossible, s.Status, a.Dense(), equal)
		}
	}
	if decided < 1000 {
		t.Errorf("only %d systems were decided by signs", decided)
	}
}

// TestPresolveLarge decides what models have thousands of: one-sided bounds
// (always feasible), boxes and simplices (not always).
func TestPresolveLarge(t *testing.T) {
	const n = 5000
	var bounds, boxes, simplex []sparse.Entry
	equal := make([]bool, n+1)
	equal[n] = true
	for j := range n {
		bounds = append(bounds, sparse.Entry{Row: j, Col: j, Val: -1})
		boxes = append(boxes, sparse.Entry{Row: j, Col: j / 2, Val: float64(1 - 2*(j%2))})
		simplex = append(simplex, sparse.Entry{Row: j, Col: j, Val: -1}, sparse.Entry{Row: n, Col: j, Val: 1})
	}
	if kept, impossible := presolve(sparse.FromEntries(n, n, bounds), equal[:n]); impossible || len(kept) > 0 {
		t.Error("one-sided bounds are always feasible")
	}
	if _, impossible := presolve(sparse.FromEntries(n, n, boxes), equal[:n]); !impossible {
		t.Error("a box whose sides move is not always feasible")
	}
	if _, impossible := presolve(sparse.FromEntries(n+1, n, simplex), equal); !impossible {
		t.Error("a simplex whose size moves is not always feasible")
	}
}
