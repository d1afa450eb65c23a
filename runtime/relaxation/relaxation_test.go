package relaxation

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// bowl is f = (z - c)'Q(z - c)/2 + linear'z over z = (x, y).
type bowl struct {
	n, dx     int
	q         []float64
	c, linear []float64
}

func (b *bowl) both(x, y []float64) (v float64, g []float64) {
	z := append(append([]float64(nil), x...), y...)
	g = append([]float64(nil), b.linear...)
	v = linalg.Dot(b.linear, z)
	for i := range z {
		for j := range z {
			g[i] += b.q[i*b.n+j] * (z[j] - b.c[j])
			v += (z[i] - b.c[i]) * b.q[i*b.n+j] * (z[j] - b.c[j]) / 2
		}
	}
	return v, g
}

func (b *bowl) Value(x, y []float64) float64 { v, _ := b.both(x, y); return v }
func (b *bowl) GradX(dst, x, y []float64)    { _, g := b.both(x, y); copy(dst, g[:b.dx]) }
func (b *bowl) GradY(dst, x, y []float64)    { _, g := b.both(x, y); copy(dst, g[b.dx:]) }
func (b *bowl) Clone() problem.Function      { return b }
func (b *bowl) ValueGradY(dst, x, y []float64) float64 {
	v, g := b.both(x, y)
	copy(dst, g[b.dx:])
	return v
}
func (b *bowl) ValueGrad(dx, dy, x, y []float64) float64 {
	v, g := b.both(x, y)
	copy(dx, g[:b.dx])
	copy(dy, g[b.dx:])
	return v
}

// planted is a random convex problem over rows and bounds with a minimizer (x, y) that
// is known: grad f there is what rows and bounds that hold it pull with.
func planted(rng *rand.Rand) (p *problem.Problem, x, y []float64) {
	dx, dy, m := 2+rng.IntN(8), 1+rng.IntN(6), 2+rng.IntN(12)
	n := dx + dy
	z, g := make([]float64, n), make([]float64, n)
	for j := range z {
		z[j] = 2 * rng.NormFloat64()
	}
	rows := &problem.Rows{}
	var a, b []float64
	for i := 0; i < m; i++ {
		row, h := make([]float64, n), 0.0
		for j := range row {
			if rng.IntN(2) == 0 {
				row[j] = rng.NormFloat64()
			}
			h += row[j] * z[j]
		}
		kind, pull := problem.AtMost, 0.0
		switch rng.IntN(4) {
		case 0:
			h += rng.Float64()
		case 1:
			pull = 5 * rng.Float64()
		case 2: // tight, and without a pull
		case 3:
			if i < n/3 {
				kind, pull = problem.Equal, rng.NormFloat64()
			}
		}
		for j, v := range row {
			g[j] -= pull * v
		}
		rows.Kind, rows.Rhs, rows.Name = append(rows.Kind, kind), append(rows.Rhs, h), append(rows.Name, "")
		a = append(a, row[:dx]...)
		for _, v := range row[dx:] {
			b = append(b, -v)
		}
	}
	rows.A, rows.B = sparse.FromDense(m, dx, a), sparse.FromDense(m, dy, b)
	set := &problem.Set{Lo: make([]float64, dx), Hi: make([]float64, dx), E: sparse.FromDense(0, dx, nil)}
	for j := range set.Lo {
		set.Lo[j], set.Hi[j] = z[j]-rng.Float64(), z[j]+rng.Float64()
		switch rng.IntN(3) {
		case 0:
			set.Lo[j] = z[j]
			g[j] += 3 * rng.Float64()
		case 1:
			set.Hi[j] = z[j]
			g[j] -= 3 * rng.Float64()
		}
	}
	f := &bowl{n: n, dx: dx, q: make([]float64, n*n), c: z, linear: g}
	for range n {
		v := make([]float64, n)
		for j := range v {
			v[j] = rng.NormFloat64()
		}
		for i := range v {
			for j := range v {
				f.q[i*n+j] += v[i] * v[j] / float64(n)
			}
		}
	}
	return &problem.Problem{Dx: dx, Dy: dy, F: f, Rows: rows, X: set}, z[:dx], z[dx:]
}

// elsewhere moves from the minimizer to another point of the rows: the nearest one to a
// random one, by alternating projections, good enough for a start; nil for none.
func elsewhere(rng *rand.Rand, r *Relaxation, z []float64) []float64 {
	w := append([]float64(nil), z...)
	for j := range w {
		w[j] += rng.NormFloat64()
	}
	for range 20000 {
		worst := 0.0
		for j := range w {
			w[j] = math.Min(math.Max(w[j], r.lo[j]), r.hi[j])
		}
		for i := range r.side {
			_, vals := r.rows.Row(i)
			v := r.rows.RowDot(i, w) - r.side[i]
			if size := linalg.Dot(vals, vals); size > 0 && (v < 0 || r.equal[i]) {
				worst = math.Max(worst, math.Abs(v))
				r.rows.AddRow(w, i, -v/size)
			}
		}
		if worst < 1e-12 {
			return w
		}
	}
	return nil
}

func TestMinimizersOfPlantedProblems(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	tried := 0
	for k := range 200 {
		p, x, y := planted(rng)
		r := New(p)
		z := r.join(x, y)
		least := p.F.Value(x, y)
		start := elsewhere(rng, r, z)
		if start == nil {
			continue
		}
		tried++
		sx, shared := r.split(start)
		sy := append([]float64(nil), shared...)
		first := p.F.Value(sx, sy)
		pt, err := r.Minimize(context.Background(), sx, sy)
		if err != nil || pt == nil {
			t.Fatalf("%d: %v %v", k, pt, err)
		}
		if size := math.Max(1, math.Abs(first)); math.Abs(pt.F-least) > 1e-9*size {
			t.Errorf("%d: F %.12g, not %.12g", k, pt.F, least)
		}
		n := r.Normal(context.Background(), x, y, nil, 1e-6)
		// Rounding of slacks, in units of the radius, shows in it.
		if n == nil || n.Norm > 1e-7*n.Terms {
			t.Errorf("%d: at the minimizer the measure is %+v", k, n)
		}
		// And at a point that is not one f falls by what the measure says, or faster.
		if n = r.Normal(context.Background(), start[:p.Dx], sy, nil, 1e-6); first > least+1e-3 && (n == nil || n.Norm*apart(start, z) < (first-least)/2) {
			t.Errorf("%d: f may fall by %g over %g, and the measure is %+v", k, first-least, apart(start, z), n)
		}
	}
	if tried < 50 {
		t.Errorf("%d problems had another point", tried)
	}
}

func apart(a, b []float64) float64 {
	s := 0.0
	for j, v := range a {
		s = math.Hypot(s, v-b[j])
	}
	return s
}

// A saddle has two minimizers on the box; from its middle one of them is reached.
func TestNotConvex(t *testing.T) {
	f := &bowl{n: 2, dx: 1, q: []float64{0, 1, 1, 0}, c: []float64{0.1, 0}, linear: []float64{0, 0}}
	p := &problem.Problem{Dx: 1, Dy: 1, F: f,
		Rows: &problem.Rows{Kind: []problem.Kind{problem.AtMost, problem.AtMost}, Rhs: []float64{1, 1}, Name: []string{"", ""},
			A: sparse.FromDense(2, 1, []float64{0, 0}), B: sparse.FromDense(2, 1, []float64{1, -1})},
		X: &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.FromDense(0, 1, nil)}}
	pt, err := New(p).Minimize(context.Background(), []float64{0.3}, []float64{0.2})
	if err != nil || pt == nil {
		t.Fatal(pt, err)
	}
	if f.Value(pt.X, pt.Y) != pt.F || math.Min(math.Abs(pt.F+0.9), math.Abs(pt.F+1.1)) > 1e-9 {
		t.Errorf("%+v", pt)
	}
}
