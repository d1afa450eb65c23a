package lower

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime/problem"
)

// TestBoundOfViolatedRows: a y on a line that equations leave, beyond an inequality that meets the line at a small
// angle by as little as feasibility tolerates, is bounded by how far it is from there along the line.
func TestBoundOfViolatedRows(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 62))
		sine := math.Pow(10, -6*rng.Float64())
		// The line y_1 = 1; the inequality cos y_1 + sin y_0 >= side, met with equality at y_0 = c.
		c := rng.NormFloat64()
		cosine := math.Sqrt(1 - sine*sine)
		rows := rowsOf(0, 2, [][]float64{{0, 1}, {sine, cosine}}, []float64{1, cosine + sine*c}, map[int]bool{0: true})
		p := &problem.Problem{Dy: 2, F: zero{}, Rows: rows, X: unbounded(0)}
		var q polyhedron
		q.set(p, nil, nil)
		off := 1e-13 / sine
		s := &Solution{Y: []float64{c - off, 1}, Lambda: make([]float64, 2)}
		if bound := errorBound([]float64{0, 0}, slacksOf(s, &q), s, &q, 1); !(bound >= 0.9*off && bound <= 1.2*off) {
			t.Errorf("seed %d, sine %.1e: the bound is %.3g, y is off by %.3g", seed, sine, bound, off)
		}
		s.Y[0] = c + off
		if bound := errorBound([]float64{0, 0}, slacksOf(s, &q), s, &q, 1); bound > 1e-7*off+1e-15 {
			t.Errorf("seed %d: %.3g inside", seed, bound)
		}
	}
}

// TestBoundOfRowsOfXAlone: where the equation y = x holds an inequality y <= 1 is a condition on x alone, which no y meets at an x that is beyond it by
// rounding: y has nowhere to go.
func TestBoundOfRowsOfXAlone(t *testing.T) {
	rows := rowsOf(0, 1, [][]float64{{1}, {-1}}, []float64{1 + 0x1p-48, -1}, map[int]bool{0: true})
	p := &problem.Problem{Dy: 1, F: zero{}, Rows: rows, X: unbounded(0)}
	var q polyhedron
	q.set(p, nil, nil)
	s := &Solution{Y: []float64{1 + 0x1p-48}, Lambda: make([]float64, 2)}
	if slack := slacksOf(s, &q)[1]; !(-slack > q.rounding(1, s.Y)) {
		t.Fatalf("the inequality is not violated: slack %v", slack)
	}
	if bound := errorBound([]float64{0}, slacksOf(s, &q), s, &q, 1); bound != 0 {
		t.Errorf("y is said to be off by %v", bound)
	}
}

func slacksOf(s *Solution, q *polyhedron) []float64 {
	slacks := make([]float64, q.m)
	for i := range slacks {
		slacks[i] = q.slack(i, s.Y)
	}
	return slacks
}
