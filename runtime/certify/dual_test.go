package certify

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// program is min y'Qy/2 + c'y over rows B y >= -b (or =), with x of one entry that moves
// the right sides by a.
func program(q *mat.SymDense, c []float64, b [][]float64, rhs []float64, kind []problem.Kind) *problem.Problem {
	n := len(c)
	var entries, ofX []sparse.Entry
	for i, row := range b {
		for j, v := range row {
			if v != 0 {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: v})
			}
		}
	}
	g := formula(func(dx, dy, x, y []float64) float64 {
		clear(dx)
		var qy mat.VecDense
		qy.MulVec(q, mat.NewVecDense(n, y))
		v := 0.0
		for j := range dy {
			dy[j] = qy.AtVec(j) + c[j]
			v += y[j] * (qy.AtVec(j)/2 + c[j])
		}
		return v
	})
	return &problem.Problem{Name: "program", Dx: 1, Dy: n, F: average{}, G: g, Start: []float64{1},
		Rows:  &problem.Rows{Kind: kind, A: sparse.FromEntries(len(b), 1, ofX), B: sparse.FromEntries(len(b), n, entries), Rhs: rhs},
		X:     &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
		Facts: problem.Facts{QuadraticInY: true, FixedHessian: true}}
}

// enumerated is the minimum by all sets of at most n rows, apart from what is tested;
// false where no y satisfies the rows.
func enumerated(p *problem.Problem, q *mat.SymDense, c []float64) ([]float64, bool) {
	n, m := p.Dy, p.Rows.Len()
	for set := range 1 << m {
		k := bits.OnesCount(uint(set))
		if k > n {
			continue
		}
		var in []int
		for i := range m {
			if set>>i&1 == 1 {
				in = append(in, i)
			}
		}
		kkt, right := mat.NewDense(n+k, n+k, nil), mat.NewVecDense(n+k, nil)
		for i := range n {
			right.SetVec(i, -c[i])
			for j := range n {
				kkt.Set(i, j, q.At(i, j))
			}
		}
		for r, i := range in {
			for j := range n {
				kkt.Set(j, n+r, -p.Rows.B.At(i, j))
				kkt.Set(n+r, j, p.Rows.B.At(i, j))
			}
			right.SetVec(n+r, -p.Rows.Rhs[i])
		}
		var z mat.VecDense
		if z.SolveVec(kkt, right) != nil {
			continue
		}
		y, good := z.RawVector().Data[:n], true
		for r, i := range in {
			good = good && (p.Rows.Kind[i] == problem.Equal || z.AtVec(n+r) > -1e-9)
		}
		for i := range m {
			h := -p.Rows.Rhs[i] - p.Rows.B.RowDot(i, y)
			good = good && h < 1e-9 && (p.Rows.Kind[i] == problem.AtMost || h > -1e-9)
		}
		if good {
			return y, true
		}
	}
	return nil, false
}

// Programs whose vertices have more rows than entries, with rows twice, as multiples and
// as sums of others, are solved from any start and any face.
func TestDualMethod(t *testing.T) {
	solved := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 11))
		n := 1 + rng.IntN(4)
		q := mat.NewSymDense(n, nil)
		for j := range n {
			q.SetSym(j, j, 1+rng.Float64())
		}
		if n > 1 && rng.IntN(2) == 0 {
			q.SetSym(0, 1, 0.5)
		}
		vertex := make([]float64, n) // most rows pass through it
		for j := range vertex {
			vertex[j] = float64(rng.IntN(3) - 1)
		}
		var b [][]float64
		var rhs []float64
		var kind []problem.Kind
		for i := 0; len(b) < 2+rng.IntN(2*n+3); i++ {
			row := make([]float64, n)
			switch {
			case i > 1 && rng.IntN(4) == 0: // a multiple of another
				for j, v := range b[rng.IntN(len(b))] {
					row[j] = v * []float64{1, 2, 100}[rng.IntN(3)]
				}
			case i > 1 && rng.IntN(4) == 0: // a sum
				r, s := b[rng.IntN(len(b))], b[rng.IntN(len(b))]
				for j := range row {
					row[j] = r[j] + s[j]
				}
			default:
				for j := range row {
					row[j] = float64(rng.IntN(5) - 2)
				}
			}
			at, k := floats.Dot(row, vertex), problem.AtMost
			switch rng.IntN(8) {
			case 0:
				at -= rng.Float64()
			case 1:
				k = problem.Equal
			}
			b, rhs, kind = append(b, row), append(rhs, -at), append(kind, k)
		}
		c := make([]float64, n)
		for j := range c {
			c[j] = 3 * rng.NormFloat64()
		}
		p := program(q, c, b, rhs, kind)
		want, ok := enumerated(p, q, c)
		if !ok {
			t.Fatalf("seed %d: the vertex is feasible", seed)
		}
		start := make([]float64, n)
		var face []int
		for j := range start {
			start[j] = rng.NormFloat64()
		}
		for i := range b {
			if rng.IntN(2) == 0 {
				face = append(face, i)
			}
		}
		lambda := make([]float64, len(b))
		d := newDeriver(p, []float64{0}, start, lambda)
		at, err := d.lower([]float64{0}, start, face)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		if distance(at.y, want) > 1e-8 {
			t.Errorf("seed %d: y = %v, by enumeration %v", seed, at.y, want)
		}
		for i, l := range at.lambda {
			if kind[i] == problem.AtMost && l < -1e-8 {
				t.Errorf("seed %d: row %d has the multiplier %g", seed, i, l)
			}
		}
		solved++
	}
	t.Logf("%d programs", solved)
}

// network is a random digraph's transport at least cost plus half a hundredth of squares,
// with the balance of every node, of which one follows from the others, and arcs at
// their bounds around many nodes.
func network(rng *rand.Rand, nodes, arcs int) (p *problem.Problem, cost []float64) {
	var b [][]float64
	var rhs []float64
	var kind []problem.Kind
	capacity := make([]float64, arcs)
	cost = make([]float64, arcs)
	balance := make([][]float64, nodes)
	for i := range balance {
		balance[i] = make([]float64, arcs)
	}
	for a := range arcs {
		low := make([]float64, arcs)
		low[a] = 1
		capacity[a], cost[a] = 50+float64(rng.IntN(950)), 5+25*rng.Float64()
		b, rhs, kind = append(b, low), append(rhs, 0), append(kind, problem.AtMost)
		b, rhs, kind = append(b, scaled(low, -1)), append(rhs, capacity[a]), append(kind, problem.AtMost)
		from, to := a%nodes, (a+1)%nodes
		if a >= nodes {
			from, to = rng.IntN(nodes), rng.IntN(nodes-1)
			if to >= from {
				to++
			}
		}
		balance[from][a], balance[to][a] = -1, 1
	}
	for i, row := range balance {
		supply := map[int]float64{0: -30, nodes / 2: 30}[i]
		b, rhs, kind = append(b, row), append(rhs, -supply), append(kind, problem.Equal)
	}
	diagonal := mat.NewSymDense(arcs, nil)
	var places []sparse.Entry
	for a := range arcs {
		diagonal.SetSym(a, a, 0.01)
		places = append(places, sparse.Entry{Row: a, Col: a, Val: 1})
	}
	p = program(diagonal, cost, b, rhs, kind)
	p.Facts.StrongConvexity = 0.01
	p.Facts.HessianPattern = sparse.FromEntries(arcs, arcs, places)
	return p, cost
}

// Networks are solved by a sparse factorization and by a dense one, from a face that is
// wrong; the KKT conditions, which are enough, are what the answer is held against.
func TestNetworks(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 12))
		p, cost := network(rng, 20+rng.IntN(20), 210)
		var ys [2][]float64
		var face []int
		for k, pattern := range []*sparse.CSR{p.Facts.HessianPattern, nil} {
			p.Facts.HessianPattern = pattern
			y, lambda := make([]float64, p.Dy), make([]float64, p.Rows.Len())
			d := newDeriver(p, []float64{0}, y, lambda)
			for i := range p.Rows.Len() { // some rows more, of the answer where it is known
				if rng.IntN(3) == 0 && (k == 0 || rng.IntN(20) == 0) {
					face = append(face, i)
				}
			}
			slices.Sort(face)
			at, err := d.lower([]float64{0}, y, slices.Compact(face))
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			face = at.face
			if h, err := d.curvature([]float64{0}, at.y, false); err != nil || (h.sparse != nil) != (pattern != nil) {
				t.Errorf("seed %d: pattern %v, sparse %v, %v", seed, pattern != nil, h.sparse != nil, err)
			}
			force := make([]float64, p.Dy)
			p.Rows.B.AddMulVecT(force, -1, at.lambda)
			for j := range force {
				if force[j] += 0.01*at.y[j] + cost[j]; math.Abs(force[j]) > 1e-9 {
					t.Fatalf("seed %d: a force of %g is left on arc %d", seed, force[j], j)
				}
			}
			for i, kind := range p.Rows.Kind {
				h, l := -p.Rows.Rhs[i]-p.Rows.B.RowDot(i, at.y), at.lambda[i]
				if math.Abs(math.Max(h, 0)) > 1e-8 || kind == problem.Equal && h < -1e-8 || kind == problem.AtMost && (l < -1e-8 || l*h < -1e-6) {
					t.Fatalf("seed %d: row %d has %g and the multiplier %g", seed, i, h, l)
				}
			}
			ys[k] = at.y
		}
		if distance(ys[0], ys[1]) > 1e-7 {
			t.Errorf("seed %d: %g apart", seed, distance(ys[0], ys[1]))
		}
	}
}

// A pattern that leaves out a place of the Hessian is not believed.
func TestFalsePattern(t *testing.T) {
	p, _ := network(rand.New(rand.NewPCG(1, 13)), 20, 250)
	g := p.G
	p.G = formula(func(dx, dy, x, y []float64) float64 {
		v := g.ValueGrad(dx, dy, x, y)
		dy[0] += 0.001 * y[7]
		dy[7] += 0.001 * y[0]
		return v + 0.001*y[0]*y[7]
	})
	y, lambda := make([]float64, p.Dy), make([]float64, p.Rows.Len())
	d := newDeriver(p, []float64{0}, y, lambda)
	h, err := d.curvature([]float64{0}, y, false)
	if err != nil || h.sparse != nil {
		t.Errorf("a pattern without a place was used: %v", err)
	}
}

// Sizes are those of the terms at the point: where g or f grow as exp does over X, a
// changed gradient is still refused.
func TestSizesNearTheirPoint(t *testing.T) {
	for _, width := range []float64{1, 30, 100} {
		g := formula(func(dx, dy, x, y []float64) float64 {
			r := y[0] - math.Exp(x[0])
			dx[0], dy[0] = -r*math.Exp(x[0]), r
			return r * r / 2
		})
		p := &problem.Problem{Name: "exp", Dx: 1, Dy: 1, F: average{}, G: g, Start: []float64{0},
			Rows: &problem.Rows{Kind: []problem.Kind{problem.AtMost}, A: sparse.FromEntries(1, 1, nil),
				B: sparse.FromEntries(1, 1, []sparse.Entry{{Row: 0, Col: 0, Val: -1}}), Rhs: []float64{1000}},
			X:     &problem.Set{Lo: []float64{-width}, Hi: []float64{width}, E: sparse.FromEntries(0, 1, nil)},
			Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
		x, y, lambda := []float64{0}, []float64{1}, []float64{0}
		doc := &Document{X: x, Y: y, Lambda: lambda, Upper: p.F.Value(x, y), Lower: 0, Hypergradient: []float64{1},
			Certificate: &Certificate{Lower: lowerOf(p, x, y, lambda, []int{})}, Strict: true}
		requireOK(t, "exp", Verify(doc, p))
		doc.Hypergradient = []float64{1.01}
		if Verify(doc, p).OK() {
			t.Errorf("X = [-%g, %g]: a gradient that is off by a hundredth passed", width, width)
		}
		doc.Hypergradient, doc.Y = []float64{1}, []float64{1.01}
		doc.Upper, doc.Lower = p.F.Value(x, doc.Y), p.G.Value(x, doc.Y)
		if Verify(doc, p).OK() {
			t.Errorf("X = [-%g, %g]: a y that is off by a hundredth passed", width, width)
		}
	}
}
