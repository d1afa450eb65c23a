package truth

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// drawn is a random program with bounds, rows and a term.
func drawn(rng *rand.Rand, kind int) *Model {
	number := func() *big.Rat { return Rat(int64(rng.IntN(13)-6), 4) }
	vector := func(n int) []*big.Rat {
		v := Zeros(n)
		for j := range v {
			v[j] = number()
		}
		return v
	}
	m := &Model{Dx: 1 + rng.IntN(3), Dy: 1 + rng.IntN(3)}
	m.XLo, m.XHi = make([]*big.Rat, m.Dx), make([]*big.Rat, m.Dx)
	m.YLo, m.YHi = make([]*big.Rat, m.Dy), make([]*big.Rat, m.Dy)
	m.F = Function{Lx: vector(m.Dx), Ly: vector(m.Dy)}
	m.G = Function{Lx: Zeros(m.Dx), Ly: vector(m.Dy), Xy: make([][]*big.Rat, m.Dx), Yy: make([][]*big.Rat, m.Dy)}
	for j := range m.Dx {
		m.XLo[j], m.XHi[j] = Rat(-2, 1), Rat(2, 1)
		m.G.Xy[j] = vector(m.Dy)
	}
	for j := range m.Dy {
		m.YLo[j] = Rat(0, 1)
		m.G.Yy[j] = Zeros(m.Dy)
		m.G.Yy[j][j] = Rat(int64(1+rng.IntN(4)), 2)
	}
	for range rng.IntN(3) {
		m.Rows = append(m.Rows, Row{A: vector(m.Dx), C: vector(m.Dy), Rhs: Rat(int64(1+rng.IntN(12)), 2)})
	}
	if kind > 0 {
		t := Term{Kind: Kind(kind - 1), Weight: Rat(1, 2), A: Zeros(m.Dx), C: Zeros(m.Dy), Const: new(big.Rat)}
		t.C[0] = Rat(1, 1)
		if t.Kind != Entropy {
			t.A = vector(m.Dx)
		}
		m.G.Terms = []Term{t}
	}
	return m
}

// TestAt holds y*(x) to the variational inequality at random feasible points,
// and the gradient of F to differences.
func TestAt(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	points, gradients, unknown := 0, 0, 0
	for k := range 300 {
		e := NewEvaluator(drawn(rng, k%5))
		x := make([]float64, e.Model.Dx)
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
			z := make([]float64, e.Model.Dy)
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
	number := func() *big.Rat { return Rat(int64(rng.IntN(2001)-1000), 700) }
	rounded := 0
	for k := range 300 {
		m := drawn(rng, 0)
		m.Dy, m.Rows = 2+rng.IntN(2), nil
		m.F = Function{Lx: Zeros(m.Dx), Ly: Zeros(m.Dy), Xy: make([][]*big.Rat, m.Dx)}
		m.G = Function{Lx: Zeros(m.Dx), Ly: Zeros(m.Dy), Yy: make([][]*big.Rat, m.Dy)}
		m.YLo, m.YHi = make([]*big.Rat, m.Dy), make([]*big.Rat, m.Dy)
		y, product := Zeros(m.Dy), func(a, y []*big.Rat) *big.Rat {
			sum := new(big.Rat)
			for j, v := range a {
				sum.Add(sum, new(big.Rat).Mul(v, y[j]))
			}
			return sum
		}
		for j := range y {
			y[j] = number()
			m.G.Yy[j] = Zeros(m.Dy)
			m.G.Yy[j][j] = Rat(1, 1)
		}
		for range m.Dy {
			row := Zeros(m.Dy)
			for j := range row {
				row[j] = number()
			}
			m.Rows = append(m.Rows, Row{A: Zeros(m.Dx), C: row, Rhs: product(row, y), Equal: true})
		}
		for i := range m.Dx {
			m.F.Xy[i] = Zeros(m.Dy)
			for j := range y {
				m.F.Xy[i][j] = number()
			}
			m.F.Lx[i].Neg(product(m.F.Xy[i], y))
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
	m := &Model{Dx: 2, Dy: 1, XLo: []*big.Rat{Rat(-1, 1), Rat(0, 1)}, XHi: []*big.Rat{Rat(1, 1), Rat(1, 1)},
		YLo: Zeros(1), YHi: []*big.Rat{nil},
		F: Function{Lx: []*big.Rat{Rat(-1, 1), Rat(1, 1)}, Ly: []*big.Rat{Rat(2, 1)}},
		G: Function{Lx: Zeros(2), Ly: Zeros(1), Xy: [][]*big.Rat{{Rat(-1, 1)}, {new(big.Rat)}}, Yy: [][]*big.Rat{{Rat(1, 1)}}}}
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
	one := func(v ...int64) (out []*big.Rat) {
		for _, k := range v {
			out = append(out, Rat(k, 1))
		}
		return out
	}
	box := func(rows ...Row) *Model {
		return &Model{Dx: 3, Dy: 1, XLo: one(0, 0, 0), XHi: one(1, 1, 1), YLo: one(0), YHi: one(1), Rows: rows}
	}
	row := func(equal bool, rhs int64, a ...int64) Row {
		return Row{A: one(a[:3]...), C: one(a[3:]...), Rhs: Rat(rhs, 1), Equal: equal}
	}
	for k, c := range []struct {
		m    *Model
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
		if got := c.m.Dimension(); got != c.want {
			t.Errorf("%d: dimension %d, not %d", k, got, c.want)
		}
	}
}

// The least curvature, of all directions and of those that equality rows leave, by hand: the diagonal
// 1, 4, 9, and rows that hold the first entry, tie the others, and leave nothing.
func TestLeastCurvature(t *testing.T) {
	row := func(c ...int64) Row {
		r := Row{A: Zeros(1), C: Zeros(3), Rhs: Rat(0, 1), Equal: true}
		for j, v := range c {
			r.C[j] = Rat(v, 1)
		}
		return r
	}
	for _, c := range []struct {
		rows  []Row
		along float64
	}{
		{[]Row{row(2)}, 4},
		{[]Row{row(2), row(0, 1, -1)}, 6.5},
		{[]Row{row(1), row(0, 1), row(0, 0, 3)}, math.Inf(1)},
	} {
		m := &Model{Dx: 1, Dy: 3, XLo: make([]*big.Rat, 1), XHi: make([]*big.Rat, 1), YLo: make([]*big.Rat, 3), YHi: make([]*big.Rat, 3), Rows: c.rows}
		m.F = Function{Lx: Zeros(1), Ly: Zeros(3)}
		m.G = Function{Lx: Zeros(1), Ly: Zeros(3), Xy: [][]*big.Rat{Zeros(3)}, Yy: [][]*big.Rat{Zeros(3), Zeros(3), Zeros(3)}}
		for j := range 3 {
			m.G.Yy[j][j] = Rat(int64((j+1)*(j+1)), 1)
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
