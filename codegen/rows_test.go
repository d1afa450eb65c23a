package codegen

import (
	"fmt"
	"strings"
	"testing"

	"bilevelc/autodiff"
	"bilevelc/internal/each"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// regression is sum(log1pexp(t .* (X w))) + sumsq(X w - t) with a large X, in
// w = y.
func regression(m, k int) (*generator, *expr.Node) {
	g := &generator{b: expr.NewBuilder(), r: newGenerator(1).r, dx: 1, dy: k}
	at := diag.Span{}
	vals := func(n int) []float64 {
		return each.Below(n, func(int) float64 { return g.r.NormFloat64() / 8 })
	}
	x := g.b.Var("x", false, 0, expr.ScalarShape(), at)
	w := g.b.Var("w", true, 0, expr.VectorShape(k), at)
	X := g.b.Const("X", data.Matrix(m, k, vals(m*k)), at)
	t := g.b.Const("t", data.Vector(vals(m)), at)
	margin := g.b.MatVec(X, false, w, at)
	loss := g.b.Reduce(expr.Sum, g.b.Unary(expr.Log1pExp, g.b.Binary(expr.Mul, t, margin, at), at), at)
	r := g.b.Binary(expr.Sub, margin, g.b.Binary(expr.Mul, x, t, at), at)
	root := g.b.Binary(expr.Add, loss, g.b.Dot(r, r, at), at)
	return g, root
}

// TestByRows: value and gradient of a regression read the large matrix once,
// in one loop along its rows, with the same result as two products, the same
// bits on any number of threads, and no allocation; rows of any length that a core's cache can hold four of.
func TestByRows(t *testing.T) {
	for _, shape := range [][2]int{{20011, 37}, {403, 20011}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) { byRowsOf(t, shape[0], shape[1]) })
	}
}

func byRowsOf(t *testing.T, m, k int) {
	g, root := regression(m, k)
	graph, err := autodiff.Differentiate(g.b, root, g.dx, g.dy)
	if err != nil {
		t.Fatal(err)
	}
	var results []outputs
	x, y := g.point()
	for _, opts := range []Options{{Threads: 1}, {Threads: 4}, {off: rowFusionPass}, {off: fusionPass}} {
		p, err := Compile(graph, opts)
		if err != nil {
			t.Fatal(err)
		}
		var dump strings.Builder
		if err := p.Dump(&dump); err != nil {
			t.Fatal(err)
		}
		_, sweep, _ := strings.Cut(dump.String(), "\nValueGradY\n")
		sweep, _, _ = strings.Cut(sweep, "\nValueGrad\n")
		products := 0 // products that are instructions of their own
		for line := range strings.Lines(sweep) {
			if strings.HasPrefix(line, "  y  ") && strings.Contains(line, "= matvec") {
				products++
			}
		}
		if want := map[passSet]int{0: 0, rowFusionPass: 2}; opts.off != fusionPass && products != want[opts.off] {
			t.Errorf("off %b: %d products outside the loop\n%s", opts.off, products, sweep)
		}
		e := p.NewEvaluator()
		results = append(results, evaluate(t, e, g.dx, g.dy, x, y))
		gy := make([]float64, g.dy)
		if n := testing.AllocsPerRun(5, func() { e.ValueGradY(gy, x, y) }); n != 0 {
			t.Errorf("off %b: %v allocations", opts.off, n)
		}
	}
	if results[0].value != results[1].value || !same(results[0].gy, results[1].gy) {
		t.Error("results depend on the number of threads")
	}
	for _, o := range results[2:] {
		near(t, "value", o.value, results[0].value, rounding)
		for i := range o.gy {
			near(t, "dy", o.gy[i], results[0].gy[i], rounding)
		}
	}
	difference(t, "dy", root, x, y, y, 5, results[0].gy)
	difference(t, "dx", root, x, y, x, 0, results[0].gx)
}
