package autodiff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// builder wraps an expr.Builder for tests.
type builder struct {
	*expr.Builder
	t *testing.T
}

func (b builder) un(op expr.Op, x *expr.Node) *expr.Node {
	return b.Unary(op, x, diag.Span{})
}

func (b builder) bin(op expr.Op, x, y *expr.Node) *expr.Node {
	return b.Binary(op, x, y, diag.Span{})
}

func (b builder) red(op expr.Op, x *expr.Node) *expr.Node {
	return b.Reduce(op, x, diag.Span{})
}

func randoms(r *rand.Rand, n int) []float64 {
	return each.Below(n, func(int) float64 { return r.NormFloat64() })
}

// eval evaluates the gradient graph by expr's primitives, one node at a time.
func eval(t *testing.T, g *Graph, x, y []float64) (value float64, dx, dy []float64) {
	t.Helper()
	vals := make([][]float64, len(g.Nodes))
	b := expr.NewBuilder()
	for i, n := range g.Nodes {
		switch n.Op {
		case Number:
			vals[i] = []float64{n.Number}
			continue
		case Data:
			a, err := g.Builder().Value(n.Data)
			if err != nil {
				t.Fatal(err)
			}
			vals[i] = a.Values()
			continue
		case Op(expr.Var):
			from := x
			if n.Lower {
				from = y
			}
			vals[i] = from[n.Offset : n.Offset+n.Shape.Len()]
			continue
		case Broadcast, ProdExcept:
			vals[i] = make([]float64, n.Shape.Len())
			(&rule{op: n.Op, out: n.Shape}).eval(vals[i], [][]float64{vals[n.Args[0]]})
			continue
		}
		args := each.Of(n.Args, func(a int) *expr.Node { return b.Const("", array(g.Nodes[a].Shape, vals[a]), diag.Span{}) })
		var made *expr.Node
		switch op := expr.Op(n.Op); op.Info().Class {
		case expr.Elementwise1:
			made = b.Unary(op, args[0], diag.Span{})
		case expr.Elementwise2:
			made = b.Binary(op, args[0], args[1], diag.Span{})
		case expr.Reduction:
			made = b.Reduce(op, args[0], diag.Span{})
		default:
			switch op {
			case expr.Dot:
				made = b.Dot(args[0], args[1], diag.Span{})
			case expr.MatVec:
				made = b.MatVec(args[0], n.TransA, args[1], diag.Span{})
			case expr.MatMul:
				made = b.MatMul(args[0], n.TransA, args[1], n.TransB, diag.Span{})
			case expr.Outer:
				made = b.Outer(args[0], args[1], diag.Span{})
			case expr.Transpose:
				made = b.Transpose(args[0], diag.Span{})
			case expr.Gather:
				made = b.Gather(args[0], n.Index, n.Shape, diag.Span{})
			case expr.ScatterAdd:
				made = b.ScatterAdd(args[0], n.Index, n.Shape, diag.Span{})
			}
		}
		if made.Shape != n.Shape {
			t.Fatalf("%s has shape %s", &n, made.Shape)
		}
		a, err := b.Value(made)
		if err != nil {
			t.Fatal(err)
		}
		vals[i] = a.Values()
	}
	dx, dy = make([]float64, g.Dx), make([]float64, g.Dy)
	for _, p := range g.DX {
		copy(dx[p.Offset:p.Offset+p.Len], vals[p.Node])
	}
	for _, p := range g.DY {
		copy(dy[p.Offset:p.Offset+p.Len], vals[p.Node])
	}
	return vals[g.Value][0], dx, dy
}

func array(s expr.Shape, v []float64) *data.Array {
	switch s.Rank {
	case 0:
		return data.Scalar(v[0])
	case 1:
		return data.Vector(v)
	}
	return data.Matrix(s.Rows, s.Cols, v)
}

// models are roots over x (vector 3) and y (vector 4), each exercising some of
// the rules.
func models(t *testing.T) (builder, map[string]*expr.Node) {
	b := builder{expr.NewBuilder(), t}
	at := diag.Span{}
	r := rand.New(rand.NewPCG(1, 2))
	x := b.Var("x", false, 0, expr.VectorShape(3), at)
	y := b.Var("y", true, 0, expr.VectorShape(4), at)
	z := b.Var("z", true, 4, expr.VectorShape(1), at)
	s := b.Var("s", true, 5, expr.ScalarShape(), at)
	w := b.Var("w", true, 6, expr.MatrixShape(2, 3), at)
	mat := func(m, n int) *expr.Node { return b.Const("M", data.Matrix(m, n, randoms(r, m*n)), at) }
	q := mat(4, 4)
	p := mat(3, 4)
	quad := b.bin(expr.Mul, b.Number(0.5), b.Dot(b.MatVec(q, true, y, at), y, at))
	pxy := b.Dot(b.MatVec(p, true, x, at), y, at)
	smooth := b.un(expr.Tanh, b.un(expr.Sin, y))
	pos := b.bin(expr.Add, b.Number(1.5), b.un(expr.Sigmoid, y))
	roots := map[string]*expr.Node{
		"quadratic":  b.bin(expr.Add, quad, pxy),
		"unaries":    b.red(expr.Sum, b.bin(expr.Add, smooth, b.bin(expr.Mul, b.un(expr.Exp, y), b.un(expr.Cos, y)))),
		"positive":   b.red(expr.Sum, b.bin(expr.Div, b.un(expr.Log, pos), b.un(expr.Sqrt, pos))),
		"power":      b.red(expr.Sum, b.bin(expr.Pow, y, b.Number(3))),
		"powers":     b.red(expr.Sum, b.bin(expr.Pow, pos, b.un(expr.Neg, y))),
		"log1pexp":   b.red(expr.Sum, b.un(expr.Log1pExp, b.MatVec(p, false, y, at))),
		"logsumexp":  b.red(expr.LogSumExp, b.bin(expr.Mul, s, y)),
		"product":    b.red(expr.Prod, y),
		"one":        b.red(expr.Sum, b.bin(expr.Mul, s, b.bin(expr.Mul, z, z))),
		"broadcast":  b.bin(expr.Mul, s, b.red(expr.Sum, b.bin(expr.Sub, s, b.bin(expr.Div, y, b.un(expr.Exp, s))))),
		"matrices":   b.red(expr.Sum, b.bin(expr.Mul, b.MatMul(w, true, w, false, at), mat(3, 3))),
		"outer":      b.red(expr.Sum, b.bin(expr.Mul, b.un(expr.Sin, b.Outer(x, y, at)), p)),
		"transposes": b.red(expr.Sum, b.un(expr.Exp, b.MatVec(b.Transpose(w, at), true, x, at))),
		"slices":     b.red(expr.Sum, b.un(expr.Exp, b.Gather(y, []int{2, -1, 2, 0}, expr.MatrixShape(2, 2), at))),
		"scatter":    b.red(expr.LogSumExp, b.ScatterAdd(y, []int{1, 0, 1, -1}, expr.VectorShape(3), at)),
		"linear":     b.red(expr.Sum, y),
	}
	// Each smooth function of the table, of a vector and of a scalar.
	for op := range expr.Op(len(expr.Primitives)) {
		if p := op.Info(); p.Class == expr.Elementwise1 && p.Smooth {
			u, v := y, s
			if p.Inside != nil {
				u, v = pos, b.bin(expr.Add, b.Number(1.5), b.un(expr.Sigmoid, s))
			}
			roots["function "+p.Symbol] = b.bin(expr.Mul, b.un(op, v), b.Dot(b.un(op, u), y, at))
		}
	}
	return b, roots
}

// TestGradients compares the gradient graph, evaluated by expr's primitives,
// with central differences of expr.Eval and with Gorgonia's machine.
func TestGradients(t *testing.T) {
	b, roots := models(t)
	const dx, dy = 3, 12
	for name, root := range roots {
		t.Run(name, func(t *testing.T) {
			g, err := Differentiate(b.Builder, root, dx, dy)
			if err != nil {
				t.Fatal(err)
			}
			ref, err := NewReference(b.Builder, root)
			if err != nil {
				t.Fatal(err)
			}
			defer ref.Close()
			r := rand.New(rand.NewPCG(3, 4))
			for range 3 {
				x, y := randoms(r, dx), randoms(r, dy)
				value, gx, gy := eval(t, g, x, y)
				want, err := expr.Scalar(root, x, y)
				if err != nil {
					t.Fatal(err)
				}
				near(t, "value", value, want, 1e-12)
				difference := func(what string, at []float64, i int, got float64) {
					// Central differences: error h^2 f'''/6 + eps |f|/h, about
					// 1e-9 for h = 1e-5 and third derivatives of order 100.
					const h = 1e-5
					keep := at[i]
					at[i] = keep + h
					up, _ := expr.Scalar(root, x, y)
					at[i] = keep - h
					down, _ := expr.Scalar(root, x, y)
					at[i] = keep
					near(t, what, got, (up-down)/(2*h), 1e-6)
				}
				for i := range x {
					difference("dx", x, i, gx[i])
				}
				for i := range y {
					difference("dy", y, i, gy[i])
				}
				rx, ry := make([]float64, dx), make([]float64, dy)
				rv, err := ref.ValueGrad(rx, ry, x, y)
				if err != nil {
					t.Fatal(err)
				}
				near(t, "machine value", rv, want, 1e-12)
				for i := range rx {
					near(t, "machine dx", rx[i], gx[i], 1e-12)
				}
				for i := range ry {
					near(t, "machine dy", ry[i], gy[i], 1e-12)
				}
			}
		})
	}
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*(1+math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestOneVariable: an objective may be a variable and nothing else.
func TestOneVariable(t *testing.T) {
	b := expr.NewBuilder()
	for _, lower := range []bool{false, true} {
		g, err := Differentiate(b, b.Var(fmt.Sprint("v", lower), lower, 1, expr.ScalarShape(), diag.Span{}), 3, 3)
		if err != nil {
			t.Fatal(err)
		}
		x, y := []float64{1, 2, 3}, []float64{4, 5, 6}
		value, gx, gy := eval(t, g, x, y)
		want, other := gx, gy
		near(t, "value", value, map[bool]float64{false: 2, true: 5}[lower], 0)
		if lower {
			want, other = gy, gx
		}
		if !slices.Equal(want, []float64{0, 1, 0}) || !slices.Equal(other, []float64{0, 0, 0}) {
			t.Errorf("lower %v: gradients %v and %v", lower, gx, gy)
		}
	}
}

// TestReadingsAreToldApart: a reading of a gradient equals another one of the same
// root, and none that differs in a node, its arguments or entries, or in what is read
// off: two that agree by chance in what is compared would hide a wrong gradient.
func TestReadingsAreToldApart(t *testing.T) {
	b, roots := models(t)
	for name, root := range roots {
		g, err := Differentiate(b.Builder, root, 3, 12)
		if err != nil {
			t.Fatal(err)
		}
		read := func() *Graph {
			c := *g
			c.Nodes, c.DX, c.DY = slices.Clone(g.Nodes), slices.Clone(g.DX), slices.Clone(g.DY)
			for i := range c.Nodes {
				c.Nodes[i].Args, c.Nodes[i].Index = slices.Clone(c.Nodes[i].Args), slices.Clone(c.Nodes[i].Index)
			}
			return &c
		}
		if !equalGraphs(g, read()) {
			t.Fatalf("%s: a copy differs", name)
		}
		last := len(g.Nodes) - 1
		changes := map[string]func(c *Graph){
			"a node more": func(c *Graph) { c.Nodes = append(c.Nodes, Node{}) },
			"a node less": func(c *Graph) { c.Nodes = c.Nodes[:last] },
			"the value":   func(c *Graph) { c.Value++ },
			"op":          func(c *Graph) { c.Nodes[last].Op++ },
			"shape":       func(c *Graph) { c.Nodes[last].Shape.Rows++ },
			"number":      func(c *Graph) { c.Nodes[last].Number++ },
			"data":        func(c *Graph) { c.Nodes[last].Data = &expr.Node{} },
			"level":       func(c *Graph) { c.Nodes[last].Lower = !c.Nodes[last].Lower },
			"offset":      func(c *Graph) { c.Nodes[last].Offset++ },
			"TransA":      func(c *Graph) { c.Nodes[last].TransA = !c.Nodes[last].TransA },
			"TransB":      func(c *Graph) { c.Nodes[last].TransB = !c.Nodes[last].TransB },
			"arguments":   func(c *Graph) { c.Nodes[last].Args = append(c.Nodes[last].Args, 0) },
			"entries":     func(c *Graph) { c.Nodes[last].Index = append(c.Nodes[last].Index, 0) },
		}
		for i := range g.DX {
			changes[fmt.Sprint("DX ", i)] = func(c *Graph) { c.DX[i].Node++ }
		}
		for i := range g.DY {
			changes[fmt.Sprint("DY ", i)] = func(c *Graph) { c.DY[i].Node++ }
		}
		for what, change := range changes {
			c := read()
			change(c)
			if equalGraphs(g, c) || equalGraphs(c, g) {
				t.Errorf("%s: a reading with another %s passes for the same", name, what)
			}
		}
	}
}
