package truth

import (
	"bilevelc/internal/each"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// plain is a program of dx and dy entries without rows, with x in a box and f and g of 0.
func plain(dx, dy int, lo, hi float64) *System {
	return &System{Dx: dx, Dy: dy, Lo: slices.Repeat([]float64{lo}, dx), Hi: slices.Repeat([]float64{hi}, dx),
		Q: square(dy), P: square(max(dx, dy))[:dx], Linear: make([]float64, dy), F: Quadratic{C: make([]float64, dx+dy), H: square(dx + dy)}}
}

func square(n int) [][]float64 {
	return each.Below(n, func(int) []float64 { return make([]float64, n) })
}

// bound adds sign * y_j <= b.
func (s *System) bound(j int, sign, b float64) {
	r := Linear{A: make([]float64, s.Dx), C: make([]float64, s.Dy), Rhs: b}
	r.C[j] = sign
	s.Rows = append(s.Rows, r)
}

// drawn is a random program with bounds, rows and a term.
func drawn(rng *rand.Rand, kind int) *System {
	number := func() float64 { return float64(rng.IntN(13)-6) / 4 }
	vector := func(n int) []float64 { return each.Below(n, func(int) float64 { return number() }) }
	s := plain(1+rng.IntN(3), 1+rng.IntN(3), -2, 2)
	s.F.C, s.Linear = vector(s.Dx+s.Dy), vector(s.Dy)
	for j := range s.Dx {
		s.P[j] = vector(s.Dy)
	}
	for j := range s.Dy {
		s.Q[j][j] = float64(1+rng.IntN(4)) / 2
	}
	for range rng.IntN(3) {
		s.Rows = append(s.Rows, Linear{A: vector(s.Dx), C: vector(s.Dy), Rhs: float64(1+rng.IntN(12)) / 2})
	}
	for j := range s.Dy {
		s.bound(j, -1, 0)
	}
	if kind > 0 {
		t := Term{Kind: Kind(kind - 1), Weight: 0.5, A: make([]float64, s.Dx), C: make([]float64, s.Dy)}
		t.C[0] = 1
		if t.Kind != Entropy {
			t.A = vector(s.Dx)
		}
		s.LowerTerms = []Term{t}
	}
	return s
}

// TestAt holds y*(x) to the variational inequality at random feasible points,
// and the gradient of F to differences.
func TestAt(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	points, gradients, unknown := 0, 0, 0
	for k := range 300 {
		e := NewEvaluator(drawn(rng, k%5))
		x := make([]float64, e.s.Dx)
		for j := range x {
			x[j] = 4*rng.Float64() - 2
		}
		p, ok := e.At(x)
		if !ok {
			unknown++ // an entropy very near 0
			continue
		}
		if p.Violation > 1e-6 {
			if e.Infeasibility(x) == 0 {
				t.Fatalf("model %d: called infeasible at %v", k, x)
			}
			continue
		}
		points++
		if e.Infeasibility(x) > 1e-12 {
			t.Fatalf("model %d: called feasible at %v", k, x)
		}
		_, gy := e.LowerGradient(x, p.Y)
		for range 300 {
			z := make([]float64, e.s.Dy)
			for j := range z {
				z[j] = 4 * rng.Float64()
			}
			inside := true
			for i := range e.rows {
				inside = inside && e.Slack(i, x, z) >= 0
			}
			toward := dot(gy, z) - dot(gy, p.Y)
			if inside && toward < -1e-9*(1+math.Abs(dot(gy, z))) {
				t.Fatalf("model %d: g falls by %v from y = %v to %v", k, toward, p.Y, z)
			}
		}
		if p.Margin < 1e-2 {
			continue
		}
		gradients++
		for j := range x {
			const h = 1e-5
			up, down := append([]float64(nil), x...), append([]float64(nil), x...)
			up[j] += h
			down[j] -= h
			a, okA := e.At(up)
			b, okB := e.At(down)
			if !okA || !okB {
				continue
			}
			if math.Abs((a.F-b.F)/(2*h)-p.Grad[j]) > 1e-6*(1+math.Abs(p.Grad[j])) {
				t.Fatalf("model %d: gradient %v, difference %v", k, p.Grad[j], (a.F-b.F)/(2*h))
			}
		}
	}
	if unknown > 1 {
		t.Fatalf("nothing known at %d points of 300", unknown)
	}
	if points < 200 || gradients < 100 {
		t.Fatalf("%d points and %d gradients: the test does not see enough", points, gradients)
	}
}

// Where equations hold y at one point and F = x c'(y - y*), F is 0: what its gradient has is the rounding of y, which Pull allows for.
func TestPull(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	number := func() float64 { return float64(rng.IntN(2001)-1000) / 700 }
	rounded := 0
	for k := range 300 {
		m := plain(drawn(rng, 0).Dx, 2+rng.IntN(2), -2, 2)
		y := each.Below(m.Dy, func(int) float64 { return number() })
		for j := range y {
			m.Q[j][j] = 1
			row := each.Below(m.Dy, func(int) float64 { return number() })
			m.Rows = append(m.Rows, Linear{A: make([]float64, m.Dx), C: row, Rhs: dot(row, y), Equal: true})
		}
		for i := range m.Dx {
			for j := range y {
				v := number()
				m.F.H[i][m.Dx+j], m.F.H[m.Dx+j][i] = v, v
				m.F.C[i] -= v * y[j]
			}
		}
		e := NewEvaluator(m)
		p, ok := e.At(make([]float64, m.Dx))
		if !ok || p.Violation > 1e-12 {
			continue
		}
		size := math.Sqrt(dot(p.Grad, p.Grad))
		if size > 1e-12*e.Pull(p) {
			t.Errorf("model %d: a gradient of %g, of which %g is rounding", k, size, 1e-12*e.Pull(p))
		}
		if size > 0 {
			rounded++
		}
	}
	if rounded < 100 {
		t.Errorf("%d gradients of 300 are rounding", rounded)
	}
}

// TestDescent: F = |x1| + x2 on a box, whose follower has y = max(x1, 0). The
// distance of 0 from the subdifferential plus the normal cone is known.
func TestDescent(t *testing.T) {
	m := plain(2, 1, -1, 1)
	m.Lo[1], m.F.C, m.P[0][0], m.Q[0][0] = 0, []float64{-1, 1, 2}, -1, 1
	m.bound(0, -1, 0)
	e := NewEvaluator(m)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{0, 0}, 0},      // the minimum
		{[]float64{1e-7, 0}, 0},   // within delta of it
		{[]float64{0, 0.5}, 1},    // x2 falls
		{[]float64{0.5, 0}, 1},    // x1 falls
		{[]float64{-0.5, 0.5}, 2}, // both: the 1-norm
		{[]float64{-1, 0}, 1},     // at a corner
	} {
		const delta = 1e-6
		p, ok := e.At(c.x)
		if !ok {
			t.Fatal("nothing known")
		}
		g := e.Gradients(c.x, delta, nil, 200, rng)
		if v := e.Descent(p, 2*delta, g); math.Abs(v-c.want) > 1e-6 {
			t.Errorf("at %v: %v with %v, want %v", c.x, v, g, c.want)
		}
	}
}

// The dimension of sets of which it is known.
func TestDimension(t *testing.T) {
	box := func(rows ...Linear) *System {
		m := plain(3, 1, 0, 1)
		m.Q[0][0], m.Rows = 1, rows
		m.bound(0, -1, 0)
		m.bound(0, 1, 1)
		return m
	}
	row := func(equal bool, rhs float64, a ...float64) Linear {
		return Linear{A: a[:3], C: a[3:], Rhs: rhs, Equal: equal}
	}
	for k, c := range []struct {
		m    *System
		want int
	}{
		{box(), 3},
		{box(row(true, 1, 1, 1, 0, 0)), 2},
		{box(row(false, 0, 1, 1, 0, 0)), 1},                          // forces two entries to their bounds
		{box(row(true, 3, 1, 1, 1, 0)), 0},                           // a corner
		{box(row(true, 1, 1, 1, 1, 1)), 3},                           // y takes up what is left
		{box(row(true, 2, 1, 1, 0, 0), row(true, 2, 0, 1, 1, 1)), 1}, // x1 = x2 = 1
		{box(row(true, 5, 1, 1, 1, 1)), -1},
	} {
		if got := NewEvaluator(c.m).Dimension(); got != c.want {
			t.Errorf("%d: dimension %d, not %d", k, got, c.want)
		}
	}
}

// The least curvature, of all directions and of those that equality rows leave, by hand: the diagonal
// 1, 4, 9, and rows that hold the first entry, tie the others, and leave nothing.
func TestLeastCurvature(t *testing.T) {
	row := func(c ...float64) Linear {
		return Linear{A: make([]float64, 1), C: append(c, 0, 0)[:3], Equal: true}
	}
	for _, c := range []struct {
		rows  []Linear
		along float64
	}{
		{[]Linear{row(2)}, 4},
		{[]Linear{row(2), row(0, 1, -1)}, 6.5},
		{[]Linear{row(1), row(0, 1), row(0, 0, 3)}, math.Inf(1)},
	} {
		m := plain(1, 3, math.Inf(-1), math.Inf(1))
		m.Rows = c.rows
		for j := range 3 {
			m.Q[j][j] = float64((j + 1) * (j + 1))
		}
		e := NewEvaluator(m)
		p, ok := e.At([]float64{0})
		if !ok {
			t.Fatal("no y")
		}
		if all, along := e.LeastCurvature(p, false), e.LeastCurvature(p, true); math.Abs(all-1) > 1e-9 || !(math.Abs(along-c.along) <= 1e-9 || along == c.along) {
			t.Errorf("%v in all, %v along the rows; truly 1 and %v", all, along, c.along)
		}
	}
}
