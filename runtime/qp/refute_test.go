package qp

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// x - y <= 0 twice over: y >= x and y <= x - gap, in all units. The weights (1, 1)
// prove it empty where the gap is one that the data decide.
func TestRefutedNeedsAGapThatTheDataDecide(t *testing.T) {
	for _, unit := range []float64{1e-200, 1e-8, 1, 1e8, 1e200} {
		for _, c := range []struct {
			x, gap float64
			want   bool
		}{
			{0, 1, true}, {1, 1, true}, {1, 1e-6, true}, {1, 1e-16, false}, {1, 1e-12, false},
			{1, -1, false}, {1e6, 1e-9, false}, {0, 0, false}, {3, 1e-7, true}, {3, 1e-9, false},
		} {
			rows := rowsOf(1, 1, []float64{1, -1}, []float64{1, -1}, []float64{0, -c.gap * unit})
			if got := Refuted(rows, []float64{c.x * unit}, []float64{2, 2}); got != c.want {
				t.Errorf("unit %g, x %g, gap %g: refuted %v", unit, c.x, c.gap, got)
			}
			if Refuted(rows, []float64{c.x * unit}, []float64{2, -2}) || Refuted(rows, []float64{c.x * unit}, []float64{2, 1.9}) ||
				Refuted(rows, []float64{c.x * unit}, []float64{math.NaN(), 2}) || Refuted(rows, []float64{c.x * unit}, []float64{0, 0}) {
				t.Errorf("unit %g, x %g, gap %g: weights that prove nothing are accepted", unit, c.x, c.gap)
			}
		}
	}
}

// Rows that are nearly parallel meet far away: y2 >= y1 and y2 <= (1 - t) y1 - 1 do
// at y1 = -1/t, so that (1, 1) is a proof only where that is out of reach.
func TestRefutedMindsFarPoints(t *testing.T) {
	for _, c := range []struct {
		t    float64
		want bool
	}{{0, true}, {1e-3, false}, {1e-5, false}, {1e-14, true}} {
		rows := &problem.Rows{Kind: make([]problem.Kind, 2), A: sparse.FromDense(2, 0, nil),
			B: sparse.FromDense(2, 2, []float64{-1, 1, 1 - c.t, -1}), Rhs: []float64{0, -1}}
		if got := Refuted(rows, nil, []float64{1, 1}); got != c.want {
			t.Errorf("t = %g: refuted %v", c.t, got)
		}
	}
}

// A system that has a point is never called infeasible, whatever cancels: rows
// with decimal data through a known point, many of them on the edge of the set
// and dependent, sides that are differences of larger numbers, all in any unit.
func TestSolveAtTheEdge(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 77))
	decimal := func() float64 { return float64(rng.IntN(21)-10) / 10 }
	count := map[Status]int{}
	for trial := 0; trial < 4000; trial++ {
		n := 1 + rng.IntN(5)
		z := make([]float64, n)
		for j := range z {
			z[j] = decimal()
		}
		unit := math.Pow(10, float64(rng.IntN(17)-8))
		m := 1 + rng.IntN(10)
		p := &Problem{H: Identity(n), C: make([]float64, n), Equal: make([]bool, m), B: make([]float64, m), Terms: make([]float64, m)}
		var rows [][]float64
		for i := range m {
			row := make([]float64, n)
			for j := range row {
				row[j] = decimal()
			}
			if i > 1 && rng.IntN(3) == 0 { // a combination of two others
				u, v := decimal(), decimal()
				for j := range row {
					row[j] = u*rows[i-1][j] + v*rows[i-2][j]
				}
			}
			rows = append(rows, row)
			for j, c := range row {
				p.B[i] += c * z[j]
				p.Terms[i] += math.Abs(c * z[j])
			}
			p.Equal[i] = rng.IntN(3) == 0
			p.B[i] *= unit
			p.Terms[i] *= unit
		}
		var flat []float64
		for _, row := range rows {
			flat = append(flat, row...)
		}
		p.A = sparse.FromDense(m, n, flat)
		if rng.IntN(2) == 0 { // the point's own box
			p.Lo, p.Hi = make([]float64, n), make([]float64, n)
			for j := range z {
				p.Lo[j], p.Hi[j] = z[j]*unit, z[j]*unit
				if rng.IntN(2) == 0 {
					p.Hi[j] += unit
				}
			}
		}
		for j := range p.C {
			p.C[j] = decimal() * unit
		}
		s := Solve(p, nil)
		count[s.Status]++
		if s.Status != Solved {
			t.Errorf("trial %d: %v", trial, s.Status)
			continue
		}
		for i, row := range rows {
			if h := linalg.Dot(row, s.Z) - p.B[i]; h > 1e-11*unit || (p.Equal[i] && h < -1e-11*unit) {
				t.Errorf("trial %d: row %d is off by %g", trial, i, h)
			}
		}
	}
	t.Log(count)
}

// Of random rows, the last of which is a combination of the others, no weights refute those that a y satisfies that is known, whatever their signs; where the weights of
// inequalities are positive and the sides are moved until they contradict, they are a proof. A weight of an equation has any sign.
func TestRefutedNeedsSigns(t *testing.T) {
	wrong, proofs := 0, 0
	for seed := range members.Seeds(t, 400) {
		rng := rand.New(rand.NewPCG(seed, 11))
		n := 2 + rng.IntN(5)
		m := 2 + rng.IntN(n-1) // rows 1 to m-1 are independent, as random ones are
		u := make([]float64, m)
		rows := &problem.Rows{Kind: make([]problem.Kind, m), A: sparse.FromDense(m, 0, nil), Rhs: make([]float64, m)}
		b, y := make([]float64, m*n), make([]float64, n)
		for j := range y {
			y[j] = rng.NormFloat64()
		}
		signed := true
		for i := range u {
			u[i] = (0.5 + rng.Float64()) * float64(1-2*rng.IntN(2))
			rows.Kind[i] = problem.AtMost
			if rng.IntN(3) == 0 {
				rows.Kind[i] = problem.Equal
			}
			signed = signed && (u[i] > 0 || rows.Kind[i] == problem.Equal)
			for j := range n {
				if i < m-1 {
					b[i*n+j] = rng.NormFloat64()
					b[(m-1)*n+j] -= u[i] * b[i*n+j]
				}
			}
		}
		u[m-1] = math.Copysign(1, u[m-1])
		weighted := 0.0
		for i := range u {
			for j := range n {
				if i == m-1 {
					b[i*n+j] *= u[i]
				}
				rows.Rhs[i] -= b[i*n+j] * y[j] // the row is -B y - b <= 0, tight at y
			}
			if rows.Kind[i] == problem.AtMost {
				rows.Rhs[i] += rng.ExpFloat64()
			}
			weighted -= u[i] * rows.Rhs[i]
		}
		rows.B = sparse.FromDense(m, n, b)
		if Refuted(rows, nil, u) {
			t.Errorf("seed %d: refuted at a point that satisfies them: kinds %v, weights %v", seed, rows.Kind, u)
		}
		if !signed && weighted > 0.1 {
			wrong++
		}
		if !signed {
			continue
		}
		proofs++
		rows.Rhs[0] -= (1 - weighted) / u[0] // their weighted sum is 1
		if !Refuted(rows, nil, u) {
			t.Errorf("seed %d: weights that prove a contradiction are refused: kinds %v, weights %v", seed, rows.Kind, u)
		}
	}
	if wrong == 0 || proofs == 0 {
		t.Errorf("%d weights that only their signs tell apart, and %d proofs", wrong, proofs)
	}
}
