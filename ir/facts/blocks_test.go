package facts

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

var nowhere diag.Span

// generator makes random scalar objectives of x (3 entries) and y (6 entries,
// in two variables) that often fall apart.
type generator struct {
	*rand.Rand
	b     *expr.Builder
	pools map[expr.Shape][]*expr.Node
}

func (g *generator) add(n *expr.Node) {
	if n.Shape.Len() > 0 {
		g.pools[n.Shape] = append(g.pools[n.Shape], n)
	}
}

func (g *generator) of(s expr.Shape) *expr.Node {
	pool := g.pools[s]
	// Recent nodes are taken more often, so that operations pile up.
	return pool[len(pool)-1-min(g.IntN(len(pool)), g.IntN(len(pool)))]
}

// constant has many zeros, in diagonal blocks where it is a matrix.
func (g *generator) constant(s expr.Shape) *expr.Node {
	vals := make([]float64, s.Len())
	for i := range vals {
		if g.IntN(3) == 0 || s.Rank < 2 && g.IntN(2) == 0 {
			vals[i] = math.Round(8*g.Float64()-4)/4 + 0.125
		}
		if s.Rank == 2 && i/s.Cols == i%s.Cols {
			vals[i] = 1 + g.Float64()
		}
	}
	switch s.Rank {
	case 0:
		return g.b.Number(vals[0])
	case 1:
		return g.b.Const("", data.Vector(vals), nowhere)
	}
	if g.IntN(2) == 0 {
		return g.b.Const("", data.SparseMatrix(sparse.FromDense(s.Rows, s.Cols, vals)), nowhere)
	}
	return g.b.Const("", data.Matrix(s.Rows, s.Cols, vals), nowhere)
}

func (g *generator) grow() {
	b := g.b
	vec, mat, num := expr.VectorShape(3), expr.MatrixShape(3, 3), expr.ScalarShape()
	shape := []expr.Shape{vec, vec, mat, num}[g.IntN(4)]
	u, v := g.of(shape), g.of(shape)
	smooth := []expr.Op{expr.Tanh, expr.Sin, expr.Cos, expr.Sigmoid, expr.Log1pExp, expr.Neg, expr.Neg}
	switch g.IntN(16) {
	case 0, 1:
		g.add(b.Unary(smooth[g.IntN(len(smooth))], u, nowhere))
	case 2, 3:
		g.add(b.Binary([]expr.Op{expr.Add, expr.Sub, expr.Mul}[g.IntN(3)], u, v, nowhere))
	case 4:
		g.add(b.Binary(expr.Mul, u, g.constant(shape), nowhere))
	case 5:
		g.add(b.Binary([]expr.Op{expr.Add, expr.Mul}[g.IntN(2)], g.of(num), u, nowhere))
	case 6:
		sq := b.Binary(expr.Mul, v, v, nowhere)
		den := b.Binary(expr.Add, b.Number(2), sq, nowhere)
		if g.IntN(2) == 0 {
			den = g.b.Fill(1.5, shape, nowhere)
		}
		g.add(b.Binary(expr.Div, u, den, nowhere))
	case 7:
		g.add(b.Binary(expr.Pow, u, b.Number(2), nowhere))
	case 8:
		g.add(b.Reduce([]expr.Op{expr.Sum, expr.Sum, expr.LogSumExp, expr.Prod}[g.IntN(4)], u, nowhere))
	case 9:
		g.add(b.Dot(g.of(vec), g.of(vec), nowhere))
	case 10:
		m := g.of(mat)
		if g.IntN(3) > 0 {
			m = g.constant(mat)
		}
		g.add(b.MatVec(m, g.IntN(2) == 0, g.of(vec), nowhere))
	case 11:
		m, c := g.of(mat), g.of(mat)
		if g.IntN(3) > 0 {
			m = g.constant(mat)
		}
		if g.IntN(2) == 0 {
			m, c = c, m
		}
		g.add(b.MatMul(m, g.IntN(2) == 0, c, g.IntN(2) == 0, nowhere))
	case 12:
		g.add(b.Outer(g.of(vec), g.of(vec), nowhere))
	case 13:
		g.add(b.Transpose(g.of(mat), nowhere))
	case 14:
		to := []expr.Shape{vec, mat, num}[g.IntN(3)]
		index := each.Below(to.Len(), func(int) int { return g.IntN(u.Shape.Len()+1) - 1 })
		g.add(b.Gather(u, index, to, nowhere))
	default:
		to := []expr.Shape{vec, mat, num}[g.IntN(3)]
		index := each.Below(u.Shape.Len(), func(int) int { return g.IntN(to.Len()+1) - 1 })
		g.add(b.ScatterAdd(u, index, to, nowhere))
	}
}

const dx, dy = 3, 12

func randomProblem(r *rand.Rand) *ir.Problem {
	b := expr.NewBuilder()
	g := &generator{Rand: r, b: b, pools: map[expr.Shape][]*expr.Node{}}
	vec, mat := expr.VectorShape(3), expr.MatrixShape(3, 3)
	x := b.Var("x", false, 0, vec, nowhere)
	y, z := b.Var("y", true, 0, vec, nowhere), b.Var("Z", true, 3, mat, nowhere)
	for _, n := range []*expr.Node{x, y, z} {
		g.add(n)
	}
	g.add(g.constant(mat))
	for k := range 3 {
		g.add(b.Gather(y, []int{k}, expr.ScalarShape(), nowhere))
	}
	for range 6 + r.IntN(20) {
		g.grow()
	}
	total := b.Number(0)
	for range 2 + r.IntN(8) {
		s := []expr.Shape{vec, mat, expr.ScalarShape()}[r.IntN(3)]
		total = b.Binary(expr.Add, total, b.Reduce(expr.Sum, g.of(s), nowhere), nowhere)
	}
	p := &ir.Problem{Graph: b, Name: "random", Lower: ir.Level{Dim: dy, Objective: total}, Upper: ir.Level{Dim: dx}}
	var entries []sparse.Entry
	rows := r.IntN(3)
	for i := range rows {
		for range 1 + r.IntN(2) {
			entries = append(entries, sparse.Entry{Row: i, Col: r.IntN(dy), Val: 1})
		}
	}
	p.B = sparse.FromEntries(rows, dy, entries)
	return p
}

func value(t *testing.T, n *expr.Node, x, y []float64) float64 {
	t.Helper()
	v, err := expr.Eval(n, x, y)
	if err != nil {
		t.Fatal(err)
	}
	return v.Dense[0]
}

// TestBlocksOfRandomModels holds the blocks of random models against mixed second
// differences of the reference evaluator, which vanish between entries that g
// takes apart and nowhere else; and the parts of Split against g.
func TestBlocksOfRandomModels(t *testing.T) {
	r := members.Rand(t, 9)
	count := members.Of(500, 3000)
	apart, idle, coupled, several := 0, 0, 0, 0
	for k := range count {
		p := randomProblem(r)
		g := p.Lower.Objective
		blocks := Blocks(p)
		owner := make([]int, dy)
		for b, entries := range blocks {
			for _, j := range entries {
				owner[j] = b
			}
		}
		if blocks != nil {
			several++
			checkRows(t, p, owner)
		}
		x, y := draw(r, dx), draw(r, dy)
		at := func(i int, di float64, j int, dj float64) float64 {
			w := slices.Clone(y)
			w[i] += di
			w[j] += dj
			return value(t, g, x, w)
		}
		const up, down = 0.7, -0.9
		base := value(t, g, x, y)
		first, second := make([]float64, dy), make([]float64, dy)
		for i := range dy {
			first[i], second[i] = at(i, up, i, 0), at(i, down, i, 0)
		}
		needed := sparse.NewClasses(dy) // what rows and mixed differences join, and what is not known
		for i := range p.B.Rows {
			cols, _ := p.B.Row(i)
			for _, j := range cols {
				needed.Join(cols[0], j)
			}
		}
		for i := range dy {
			for j := range i {
				both := at(i, up, j, down)
				mixed := both - first[i] - second[j] + base
				size := math.Abs(both) + math.Abs(first[i]) + math.Abs(second[j]) + math.Abs(base)
				if math.IsNaN(size) || math.IsInf(size, 0) || size > 1e6 {
					needed.Join(i, j)
					continue
				}
				// The values are sums of some dozens of rounded terms.
				together := math.Abs(mixed) > 1e-11*(1+size)
				switch {
				case owner[i] != owner[j] && together:
					t.Fatalf("model %d takes y[%d] and y[%d] apart, but their mixed difference is %g\n%s", k, i, j, mixed, expr.Format(g))
				case owner[i] != owner[j]:
					apart++
				case together:
					coupled++
					needed.Join(i, j)
				}
			}
		}
		for i := range dy {
			for j := range i {
				if owner[i] == owner[j] && needed.Of(i) != needed.Of(j) {
					idle++
				}
			}
		}
	}
	t.Logf("%d models, %d with several blocks; pairs: %d apart, %d coupled, %d together that nothing seen couples", count, several, apart, coupled, idle)
	if several < count/4 || coupled < 2*count || 2*idle > coupled {
		t.Error("too few models of one kind: the test does not see it")
	}
}

func draw(r *rand.Rand, n int) []float64 {
	return each.Below(n, func(int) float64 { return 2*r.Float64() - 1 })
}

func checkRows(t *testing.T, p *ir.Problem, owner []int) {
	t.Helper()
	for i := range p.B.Rows {
		cols, _ := p.B.Row(i)
		for _, j := range cols {
			if owner[j] != owner[cols[0]] {
				t.Fatalf("row %d touches two blocks", i)
			}
		}
	}
}
