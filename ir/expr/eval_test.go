package expr

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
)

// at returns entry (i, j) of m or its transpose.
func entryAt(m []float64, cols, i, j int, trans bool) float64 {
	if trans {
		i, j = j, i
	}
	return m[i*cols+j]
}

func random(rng *rand.Rand, n int) []float64 {
	return each.Below(n, func(int) float64 { return rng.NormFloat64() })
}

// TestProducts compares every transposition of the products, dense and
// sparse, with the defining sums.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for trial := range 200 {
		r, k, c := 1+rng.IntN(5), 1+rng.IntN(5), 1+rng.IntN(5)
		ta, tb := trial&1 != 0, trial&2 != 0
		ash, bsh := MatrixShape(r, k), MatrixShape(k, c)
		if ta {
			ash = MatrixShape(k, r)
		}
		if tb {
			bsh = MatrixShape(c, k)
		}
		av, bv, v := random(rng, r*k), random(rng, k*c), random(rng, k)
		for _, z := range [][]float64{av, bv} {
			for i := range z {
				if rng.IntN(2) == 0 {
					z[i] = 0
				}
			}
		}
		m := newMaker(t)
		wrap := func(s Shape, z []float64, sp bool) *Node {
			if sp {
				return m.Const("", data.SparseMatrix(sparse.FromDense(s.Rows, s.Cols, z)), nowhere)
			}
			return m.Const("named", data.Matrix(s.Rows, s.Cols, z), nowhere)
		}
		a, b := wrap(ash, av, trial&4 != 0), wrap(bsh, bv, trial&8 != 0)
		got, err := Eval(m.MatMul(a, ta, b, tb, nowhere), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if (got.Sparse != nil) != (trial&4 != 0 && trial&8 != 0) {
			t.Errorf("the product of sparse %v and sparse %v is sparse: %v", trial&4 != 0, trial&8 != 0, got.Sparse != nil)
		}
		g := got.Values()
		mv, err := Eval(m.MatVec(a, ta, m.x(k), nowhere), v, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range r {
			dot := 0.0
			for l := range k {
				dot += entryAt(av, ash.Cols, i, l, ta) * v[l]
			}
			near(t, "M v", mv.Dense[i], dot)
			for j := range c {
				want := 0.0
				for l := range k {
					want += entryAt(av, ash.Cols, i, l, ta) * entryAt(bv, bsh.Cols, l, j, tb)
				}
				near(t, "M N", g[i*c+j], want)
			}
		}
	}
}

// near allows for the rounding of a few reordered additions.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-13*(1+math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// TestGramIsSymmetric: L' L and L L' are symmetric to the last bit, also
// across blocks, and right.
func TestGramIsSymmetric(t *testing.T) {
	const n, k = 549, 40
	rng := rand.New(rand.NewPCG(2, 2))
	l := random(rng, k*n)
	m := newMaker(t)
	tall := m.Const("L", data.Matrix(k, n, l), nowhere)
	wide, err := Eval(m.Transpose(tall, nowhere), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := m.Const("R", wide, nowhere)
	for name, node := range map[string]*Node{
		"L' L": m.MatMul(tall, true, tall, false, nowhere),
		"R R'": m.MatMul(r, false, r, true, nowhere),
	} {
		v, err := Eval(node, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < n; i += 13 {
			for j := range n {
				if v.Dense[i*n+j] != v.Dense[j*n+i] {
					t.Fatalf("%s is not symmetric at %d, %d", name, i, j)
				}
				if j%29 != 0 {
					continue
				}
				want := 0.0
				for q := range k {
					want += l[q*n+i] * l[q*n+j]
				}
				near(t, name, v.Dense[i*n+j], want)
			}
		}
	}
}

// TestSparseElementwise: sparse operands give the same values as dense ones,
// and stay sparse where zeros stay zeros.
func TestSparseElementwise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const r, c = 4, 5
	dense := func() []float64 {
		z := random(rng, r*c)
		for i := range z {
			if rng.IntN(3) > 0 {
				z[i] = 0
			}
		}
		return z
	}
	for range 50 {
		av, bv := dense(), dense()
		m := newMaker(t)
		da, db := m.Const("a", data.Matrix(r, c, av), nowhere), m.Const("b", data.Matrix(r, c, bv), nowhere)
		sa := m.Const("sa", data.SparseMatrix(sparse.FromDense(r, c, av)), nowhere)
		sb := m.Const("sb", data.SparseMatrix(sparse.FromDense(r, c, bv)), nowhere)
		two := m.Number(2)
		index := each.Below(6, func(int) int { return rng.IntN(r*c+1) - 1 })
		pairs := []struct {
			name          string
			sparse, dense *Node
			stays         bool
		}{
			{"a + b", m.op2(Add, sa, sb), m.op2(Add, da, db), true},
			{"a - b", m.op2(Sub, sa, sb), m.op2(Sub, da, db), true},
			{"a + dense", m.op2(Add, sa, db), m.op2(Add, da, db), false},
			{"a .* b", m.op2(Mul, sa, sb), m.op2(Mul, da, db), true},
			{"a .* dense", m.op2(Mul, sa, db), m.op2(Mul, da, db), true},
			{"dense .* b", m.op2(Mul, da, sb), m.op2(Mul, da, db), true},
			{"2 a", m.op2(Mul, two, sa), m.op2(Mul, two, da), true},
			{"a / 2", m.op2(Div, sa, two), m.op2(Div, da, two), true},
			{"a .^ 2", m.op2(Pow, sa, two), m.op2(Pow, da, two), true},
			{"a + 2", m.op2(Add, sa, two), m.op2(Add, da, two), false},
			{"exp(a)", m.op1(Exp, sa), m.op1(Exp, da), false},
			{"tanh(a)", m.op1(Tanh, sa), m.op1(Tanh, da), true},
			{"a'", m.Transpose(sa, nowhere), m.Transpose(da, nowhere), true},
			{"part", m.Gather(sa, index, MatrixShape(2, 3), nowhere), m.Gather(da, index, MatrixShape(2, 3), nowhere), true},
			{"entries", m.Gather(sa, index, VectorShape(6), nowhere), m.Gather(da, index, VectorShape(6), nowhere), false},
			{"sum", m.Reduce(Sum, sa, nowhere), m.Reduce(Sum, da, nowhere), false},
			{"max", m.Reduce(MaxAll, sa, nowhere), m.Reduce(MaxAll, da, nowhere), false},
		}
		for _, p := range pairs {
			s, err := Eval(p.sparse, nil, nil)
			d, err2 := Eval(p.dense, nil, nil)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if (s.Sparse != nil) != p.stays {
				t.Errorf("%s: sparse = %v", p.name, s.Sparse != nil)
			}
			sv, dv := s.Values(), d.Values()
			for k := range dv {
				near(t, p.name, sv[k], dv[k])
			}
		}
	}
}

// TestStableFunctions: no overflow, and full precision in the tails.
func TestStableFunctions(t *testing.T) {
	m := newMaker(t)
	check := func(what string, n *Node, want float64) {
		v, err := Scalar(n, nil, nil)
		if err != nil || math.Abs(v-want) > 4e-16*math.Abs(want) {
			t.Errorf("%s = %v, want %v (%v)", what, v, want, err)
		}
	}
	check("log1pexp(1000)", m.op1(Log1pExp, m.Number(1000)), 1000)
	check("log1pexp(-800)", m.op1(Log1pExp, m.Number(-800)), 0)
	check("log1pexp(-40)", m.op1(Log1pExp, m.Number(-40)), math.Exp(-40))
	check("log1pexp(33)", m.op1(Log1pExp, m.Number(33)), 33+math.Exp(-33))
	check("sigmoid(-700)", m.op1(Sigmoid, m.Number(-700)), math.Exp(-700))
	check("sigmoid(800)", m.op1(Sigmoid, m.Number(800)), 1)
	check("logsumexp", m.Reduce(LogSumExp, m.vector(1000, 1000), nowhere), 1000+math.Ln2)
	check("logsumexp low", m.Reduce(LogSumExp, m.vector(-1000, -2000), nowhere), -1000)
}

// TestDomains: an elementwise operation is finite exactly where its table
// entry says it is defined.
func TestDomains(t *testing.T) {
	samples := []float64{-2.5, -2, -1, -0.5, 0, 0.5, 1, 2, 2.5}
	for op := range Primitives {
		p := Primitives[op]
		if p.Symbol == "" || p.Doc == "" {
			t.Errorf("operation %d has no symbol or doc", op)
		}
		for _, u := range samples {
			for _, v := range samples {
				var r float64
				switch p.Class {
				case Elementwise1:
					r = p.Eval1(u)
				case Elementwise2:
					r = p.Eval2(u, v)
				default:
					continue
				}
				inside := p.Inside == nil || p.Inside(u, v)
				if finite := !math.IsNaN(r) && !math.IsInf(r, 0); finite != inside {
					t.Errorf("%s of %v, %v is %v, but Inside says %v", p.Symbol, u, v, r, inside)
				}
			}
		}
	}
}

func TestValueNeedsData(t *testing.T) {
	m := newMaker(t)
	n := m.op1(Exp, m.Opaque("c", VectorShape(2), nowhere))
	if !n.Opaque || n.Deps != 0 {
		t.Error("exp(c) is opaque and depends on no variable")
	}
	if _, err := m.Value(n); err == nil || !strings.Contains(err.Error(), "c") {
		t.Errorf("err = %v", err)
	}
	if _, err := m.Value(m.x(2)); err == nil {
		t.Error("a variable has no value")
	}
	if _, err := Eval(m.op2(Add, n, m.x(2)), []float64{1, 2}, nil); err == nil {
		t.Error("Eval without data gives no error")
	}
	if _, err := Eval(m.x(3), []float64{1, 2}, nil); err == nil {
		t.Error("Eval with too short an x gives no error")
	}
}

func TestTrace(t *testing.T) {
	m := newMaker(t)
	y, x := m.y(4), m.x(2)
	shifted := m.op2(Sub, y, m.Number(1))
	low := m.Reduce(Sum, m.op1(Log, shifted), nowhere)
	for _, c := range []struct {
		node *Node
		x, y []float64
		want string
	}{
		{low, nil, []float64{2, 2, 0.8, 2}, "log of -0.2, where y[3] = 0.8"},
		{low, nil, []float64{2, 2, 1, 2}, "log of 0, where y[3] = 1"},
		{m.op2(Div, m.Number(1), m.Dot(x, x, nowhere)), []float64{0, 0}, nil, "division of 1 by 0, where x[1] = 0, x[2] = 0"},
		{m.op2(Pow, x, m.Number(0.5)), []float64{1, -3}, nil, "power 0.5 of -3, where x[2] = -3"},
		{m.op1(Exp, y), nil, []float64{0, 800, 0, 0}, "exp of 800 overflows, where y[2] = 800"},
		{m.op1(Sqrt, y), nil, []float64{0, math.NaN(), 0, 0}, "y[2] is NaN"},
		{m.op1(Sqrt, m.Gather(m.MatVec(m.matrix(2, 4, 0, 0, 0, -1, 1, 0, 0, 0), false, y, nowhere), []int{0}, ScalarShape(), nowhere)), nil,
			[]float64{1, 2, 3, 4}, "sqrt of -4, where y[1] = 1, y[2] = 2, y[3] = 3, ..."},
		{m.op2(Mul, m.op1(Log, m.Number(-1)), y), nil, []float64{1, 1, 1, 1}, "log of -1"},
	} {
		f := Trace(c.node, c.x, c.y)
		if f == nil {
			t.Errorf("no fault, want %s", c.want)
			continue
		}
		if got := f.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if f := Trace(low, nil, []float64{2, 2, 2, 2}); f != nil {
		t.Errorf("a fault where all is finite: %v", f)
	}
	root := m.Reduce(Sum, m.op1(Sqrt, y), nowhere)
	if f := TraceSlope(root, nil, []float64{1, 0, 1, 1}); f == nil || f.Error() != "sqrt of 0 has no finite derivative, where y[2] = 0" {
		t.Errorf("slope: %v", f)
	}
	if f := TraceSlope(root, nil, []float64{1, 2, 1, 1}); f != nil {
		t.Errorf("slope: %v", f)
	}
	// Values that are longer than those they are made of, before the fault and after it.
	long := m.Gather(y, []int{0, 1, 0, 2, 3, 1, 0, 3, 2}, VectorShape(9), nowhere)
	for _, n := range []*Node{m.Reduce(Sum, m.op1(Sqrt, long), nowhere), m.Reduce(Sum, m.op2(Pow, long, m.Number(0.5)), nowhere)} {
		if f := TraceSlope(n, nil, []float64{1, 1, 1, 0}); f == nil || !strings.Contains(f.Error(), "has no finite derivative, where y[4] = 0") {
			t.Errorf("slope: %v", f)
		}
		if f := TraceSlope(n, nil, []float64{1, 2, 1, 1}); f != nil {
			t.Errorf("slope: %v", f)
		}
	}
}
