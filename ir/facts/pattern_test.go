package facts

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// size is the number of entries of y in the random objectives, of x as well.
const size = 9

// builder makes random objectives from sparse operations on vectors.
type builder struct {
	*rand.Rand
	b       *expr.Builder
	vectors []*expr.Node
	numbers []*expr.Node
}

func (g *builder) vector() *expr.Node { return g.vectors[g.IntN(len(g.vectors))] }
func (g *builder) number() *expr.Node { return g.numbers[g.IntN(len(g.numbers))] }

func (g *builder) keep(n *expr.Node) {
	switch {
	case n.Shape == expr.VectorShape(size):
		g.vectors = append(g.vectors, n)
	case n.Shape.Rank == 0:
		g.numbers = append(g.numbers, n)
	}
}

// band is a random matrix with few entries, dense or sparse.
func (g *builder) band() *expr.Node {
	vals := make([]float64, size*size)
	for i := range size {
		for range 1 + g.IntN(2) {
			vals[i*size+g.IntN(size)] = 1 + g.Float64()
		}
	}
	if g.IntN(2) == 0 {
		return g.b.Const("", data.SparseMatrix(sparse.FromDense(size, size, vals)), nowhere)
	}
	return g.b.Const("", data.Matrix(size, size, vals), nowhere)
}

func (g *builder) grow() {
	b := g.b
	switch g.IntN(14) {
	case 0:
		g.keep(b.Unary([]expr.Op{expr.Tanh, expr.Sin, expr.Sigmoid, expr.Neg}[g.IntN(4)], g.vector(), nowhere))
	case 1:
		g.keep(b.Unary([]expr.Op{expr.Tanh, expr.Cos, expr.Log1pExp}[g.IntN(3)], g.number(), nowhere))
	case 2:
		g.keep(b.Binary([]expr.Op{expr.Add, expr.Sub, expr.Mul}[g.IntN(3)], g.vector(), g.vector(), nowhere))
	case 3:
		g.keep(b.Binary([]expr.Op{expr.Add, expr.Mul}[g.IntN(2)], g.number(), g.number(), nowhere))
	case 4:
		g.keep(b.Binary(expr.Mul, g.number(), g.vector(), nowhere))
	case 5:
		g.keep(b.Binary(expr.Pow, g.vector(), b.Number(float64(g.IntN(4))), nowhere))
	case 6: // over something that is not 0
		square := b.Binary(expr.Mul, g.vectors[1], g.vectors[1], nowhere)
		below := b.Binary(expr.Add, square, b.Number(1), nowhere)
		g.keep(b.Binary(expr.Div, g.vector(), below, nowhere))
	case 7:
		g.keep(b.MatVec(g.band(), g.IntN(2) == 0, g.vector(), nowhere))
	case 8:
		g.keep(b.Dot(g.vector(), g.vector(), nowhere))
	case 9, 10:
		index := make([]int, size)
		for k := range index {
			index[k] = g.IntN(size+3) - 3
			if index[k] < 0 {
				index[k] = -1
			}
		}
		if g.IntN(2) == 0 {
			g.keep(b.Gather(g.vector(), index, expr.VectorShape(size), nowhere))
		} else {
			g.keep(b.ScatterAdd(g.vector(), index, expr.VectorShape(size), nowhere))
		}
	case 11:
		g.keep(b.Gather(g.vector(), []int{g.IntN(size)}, expr.ScalarShape(), nowhere))
	case 12: // u' (v w') u, a matrix that varies
		g.keep(b.MatVec(b.Outer(g.vector(), g.vector(), nowhere), g.IntN(2) == 0, g.vector(), nowhere))
	default:
		few := b.Gather(g.vector(), []int{g.IntN(size), g.IntN(size)}, expr.VectorShape(2), nowhere)
		g.keep(b.Reduce([]expr.Op{expr.LogSumExp, expr.Prod, expr.Sum}[g.IntN(3)], few, nowhere))
	}
}

// TestHessianPattern: second derivatives that differ from 0 by more than the
// error of a difference quotient lie in the pattern; and most of what random
// objectives leave out of it is found to be left out.
func TestHessianPattern(t *testing.T) {
	const models = 1500
	sparsePatterns, places, zeros, nonzeros := 0, 0, 0, 0
	for seed := range uint64(models) {
		g := &builder{Rand: rand.New(rand.NewPCG(41, seed)), b: expr.NewBuilder()}
		y := g.b.Var("y", true, 0, expr.VectorShape(size), nowhere)
		x := g.b.Var("x", false, 0, expr.VectorShape(size), nowhere)
		g.vectors, g.numbers = []*expr.Node{y, y, x}, []*expr.Node{g.b.Number(1.5)}
		for range 1 + g.IntN(9) {
			g.grow()
		}
		root := g.numbers[len(g.numbers)-1]
		for range 1 + g.IntN(2) {
			s := g.b.Dot(g.vectors[len(g.vectors)-1], g.vector(), nowhere)
			if g.IntN(2) == 0 {
				s = g.b.Unary(expr.Tanh, g.vector(), nowhere)
				s = g.b.Reduce(expr.Sum, s, nowhere)
			}
			root = g.b.Binary(expr.Add, root, s, nowhere)
		}
		m := HessianPattern(context.Background(), g.b, root, size)
		if m == nil {
			continue
		}
		sparsePatterns++
		valid(t, m)
		at := each.Below(2*size, func(int) float64 { return 0.3 + g.Float64() })
		value := func(i, j int, si, sj float64) float64 {
			z := slices.Clone(at[:size])
			z[i] += si
			z[j] += sj
			v, err := expr.Scalar(root, at[size:], z)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		const h = 1e-3
		for i := range size {
			for j := range i {
				second := (value(i, j, h, h) - value(i, j, h, -h) - value(i, j, -h, h) + value(i, j, -h, -h)) / (4 * h * h)
				// Rounding of g, over h^2; sums of some tens of terms.
				noise := 1e-13 * (1 + math.Abs(value(i, j, 0, 0))) / (h * h)
				places++
				if math.Abs(second) > 1e3*noise {
					nonzeros++
				}
				if m.At(i, j) == 0 {
					zeros++
					if math.Abs(second) > noise {
						t.Fatalf("seed %d: the second derivative in y[%d], y[%d] is %v, outside the pattern\n%s", seed, i, j, second, expr.Format(root))
					}
				}
			}
		}
	}
	t.Logf("%d of %d models have a sparse pattern; of their %d places %d are outside, and %d are not zero", sparsePatterns, models, places, zeros, nonzeros)
	if sparsePatterns < models/3 || nonzeros < places/30 || zeros < (places-nonzeros)*3/4 {
		t.Error("the models are too dense, or the patterns too coarse")
	}
}

// valid holds a pattern against what is promised of it.
func valid(t *testing.T, m *sparse.CSR) {
	t.Helper()
	for i := range m.Rows {
		cols, vals := m.Row(i)
		if !slices.IsSorted(cols) || len(slices.Compact(slices.Clone(cols))) != len(cols) || !slices.Contains(cols, i) {
			t.Fatalf("row %d: columns %v", i, cols)
		}
		for k, j := range cols {
			if vals[k] != 1 || m.At(j, i) != 1 {
				t.Fatalf("place (%d, %d) has no mirror", i, j)
			}
		}
	}
}

// TestPatternOfChains: the exact patterns of forms that models use, at a size
// at which anything but linear time would show.
func TestPatternOfChains(t *testing.T) {
	const n = 100_000
	b := expr.NewBuilder()
	y := b.Var("y", true, 0, expr.VectorShape(n), nowhere)
	var entries []sparse.Entry
	for i := range n {
		entries = append(entries, sparse.Entry{Row: i, Col: i, Val: 2})
		if i > 0 {
			entries = append(entries, sparse.Entry{Row: i, Col: i - 1, Val: -1}, sparse.Entry{Row: i - 1, Col: i, Val: -1})
		}
	}
	q := b.Const("Q", data.SparseMatrix(sparse.FromEntries(n, n, entries)), nowhere)
	form := func() *expr.Node {
		qy := b.MatVec(q, false, y, nowhere)
		v := b.Dot(y, qy, nowhere)
		return v
	}
	steps := func() *expr.Node { // sum over i of (y[i+1] - y[i])^2
		up, down := make([]int, n-1), make([]int, n-1)
		for i := range up {
			up[i], down[i] = i+1, i
		}
		u := b.Gather(y, up, expr.VectorShape(n-1), nowhere)
		v := b.Gather(y, down, expr.VectorShape(n-1), nowhere)
		d := b.Binary(expr.Sub, u, v, nowhere)
		s := b.Binary(expr.Pow, d, b.Number(2), nowhere)
		r := b.Reduce(expr.Sum, s, nowhere)
		return r
	}
	for name, root := range map[string]*expr.Node{"matrix": form(), "sum": steps()} {
		m := HessianPattern(context.Background(), b, root, n)
		if m == nil || m.NNZ() != 3*n-2 || m.At(4, 5) != 1 || m.At(4, 6) != 0 {
			t.Errorf("%s: not tridiagonal", name)
		}
	}
	total := b.Reduce(expr.Sum, y, nowhere)
	square := b.Binary(expr.Mul, total, total, nowhere)
	if HessianPattern(context.Background(), b, square, n) != nil {
		t.Error("the square of a sum has a dense Hessian")
	}
	if m := HessianPattern(context.Background(), b, total, n); m == nil || m.NNZ() != n {
		t.Error("a sum: the diagonal alone is stored")
	}
}
