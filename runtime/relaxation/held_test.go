package relaxation

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// least is the smallest multiplier of a row among all lambda >= 0 with B'lambda = force in
// the plane: it is taken at a vertex, whose support is one row or two that are independent.
func least(rows [][2]float64, force [2]float64, row int) float64 {
	smallest := math.Inf(1)
	take := func(i, j int, a, b float64) {
		if a < -1e-12 || b < -1e-12 {
			return
		}
		v := 0.0
		if i == row {
			v = a
		}
		if j == row {
			v = b
		}
		smallest = math.Min(smallest, v)
	}
	for i, p := range rows {
		if cross := p[0]*force[1] - p[1]*force[0]; math.Abs(cross) < 1e-9*math.Hypot(p[0], p[1])*math.Hypot(force[0], force[1]) {
			take(i, -1, (p[0]*force[0]+p[1]*force[1])/(p[0]*p[0]+p[1]*p[1]), 0)
		}
		for j, q := range rows[:i] {
			det := p[0]*q[1] - p[1]*q[0]
			if math.Abs(det) < 1e-9 {
				continue
			}
			take(i, j, (force[0]*q[1]-force[1]*q[0])/det, (p[0]*force[1]-p[1]*force[0])/det)
		}
	}
	return smallest
}

// A row holds where no multipliers go without it, told by the vertices of their set; where
// it does not, what is given in its place are multipliers without it.
func TestHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	fast := [2]int{}
	for k := range 400 {
		n := 2 + rng.IntN(5)
		rows, dense := make([][2]float64, n), make([]float64, 2*n)
		lambda := make([]float64, n)
		scale := math.Exp(5 * rng.NormFloat64())
		for i := range rows {
			rows[i] = [2]float64{rng.NormFloat64(), rng.NormFloat64()}
			if i > 0 && rng.IntN(4) == 0 { // the same row once more
				rows[i] = [2]float64{2 * rows[i-1][0], 2 * rows[i-1][1]}
			}
			dense[2*i], dense[2*i+1] = rows[i][0], rows[i][1]
			lambda[i] = scale * float64(rng.IntN(3))
		}
		var force [2]float64
		near := make([]int, n)
		for i := range rows {
			near[i] = i
			force[0] += lambda[i] * rows[i][0]
			force[1] += lambda[i] * rows[i][1]
		}
		if math.Hypot(force[0], force[1]) < 1e-3*scale {
			continue
		}
		p := &problem.Problem{Dx: 1, Dy: 2, Rows: &problem.Rows{Kind: make([]problem.Kind, n), Rhs: make([]float64, n), Name: make([]string, n),
			A: sparse.FromDense(n, 1, make([]float64, n)), B: sparse.FromDense(n, 2, dense)}, X: &problem.Set{E: sparse.FromDense(0, 1, nil)}}
		for i := range n {
			p.Rows.Kind[i] = problem.AtMost
		}
		r := New(p)
		for row := range rows {
			truth := least(rows, force, row)
			if truth > 0 && truth < 1e-3*scale {
				continue // too near to call
			}
			h, ok := r.holds(context.Background(), near, lambda, row)
			if !ok || h.fast != (truth > 0) {
				t.Fatalf("%d: row %d of %v: %v %v, its least multiplier is %g", k, row, rows, h, ok, truth)
			}
			if h.fast {
				fast[0]++
				continue
			}
			fast[1]++
			left := force
			for i, l := range h.spared {
				left[0] -= l * rows[i][0]
				left[1] -= l * rows[i][1]
				if l < 0 {
					t.Fatalf("%d: multiplier %g", k, l)
				}
			}
			if h.spared[row] != 0 || math.Hypot(left[0], left[1]) > 2*certain*math.Hypot(force[0], force[1]) {
				t.Fatalf("%d: without row %d: %v leaves %v of %v", k, row, h.spared, left, force)
			}
		}
	}
	if fast[0] < 50 || fast[1] < 50 {
		t.Errorf("%v rows hold, or not", fast)
	}
}
