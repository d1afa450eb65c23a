package problem_test

import (
	"math"
	"slices"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Units are what bounds, balls, rows and curvature leave of entries, and 1 where these leave more: x[0] in [1.5, 2], x[1] is 3, x[2] in a ball of 1e-3; y[0] in [x[0], 4 - x[0]], y[1] >= 0 with 1e4 y[1] <= y[0] + 5, y[2] balanced by its curvature, y[3] in
// a row with y[1], and y[4] free.
func TestUnits(t *testing.T) {
	inf := math.Inf(1)
	p := &problem.Problem{Dx: 3, Dy: 5, X: &problem.Set{Lo: []float64{1.5, 3, -inf}, Hi: []float64{2, 3, inf}, E: sparse.Empty(3), Balls: []problem.Ball{{Start: 2, End: 3, Radius: 1e-3}}},
		Rows: &problem.Rows{A: sparse.Empty(3), B: sparse.Empty(5)}}
	add := func(a, b map[int]float64, rhs float64) { // A x - B y <= rhs
		for j := range 3 {
			if v := a[j]; v != 0 {
				p.Rows.A.Append(j, v)
			}
		}
		p.Rows.A.EndRow()
		for j := range 5 {
			if v := b[j]; v != 0 {
				p.Rows.B.Append(j, v)
			}
		}
		p.Rows.B.EndRow()
		p.Rows.Kind, p.Rows.Rhs = append(p.Rows.Kind, problem.AtMost), append(p.Rows.Rhs, rhs)
	}
	add(map[int]float64{0: 1}, map[int]float64{0: 1}, 0)  // y[0] >= x[0]
	add(map[int]float64{0: 1}, map[int]float64{0: -1}, 4) // y[0] <= 4 - x[0]
	add(nil, map[int]float64{1: 1}, 0)                    // y[1] >= 0
	add(nil, map[int]float64{0: 1, 1: -1e4}, 5)           // 1e4 y[1] <= y[0] + 5
	add(nil, map[int]float64{1: 1, 3: 1e6}, 2)            // 1e6 y[3] >= -y[1] - 2
	x, y, rest := p.Units(func([]float64) []float64 { return []float64{0, 0, 1e-5, 1e-9, 0} })
	if !near(x, []float64{0.5, 1, 2e-3}) {
		t.Errorf("x: %v", x)
	}
	// y[0] is 2.5 at the most; y[1] has (2.5 + 5)/1e4; y[3] what balances 2 and y[1].
	if !near(y, []float64{1, 7.5e-4, 1e-5, (2 + 7.5e-4) / 1e6, 1}) {
		t.Errorf("y: %v", y)
	}
	// Of x[0], x[1] and y[0] the width or the value; nothing is known of y[4].
	if s := 0x1p-48 / 1e-9; !near(rest, []float64{s / 2, 3 * s, 2e-3 * s, s, 7.5e-4 * s, 1e-5 * s, (2 + 7.5e-4) / 1e6 * s, 0}) {
		t.Errorf("rest: %v", rest)
	}
	if x, y, _ := p.Units(nil); !near(x, []float64{0.5, 1, 2e-3}) || y[2] != 1 {
		t.Errorf("without curvature: %v, %v", x, y)
	}
}

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) })
}
