package codegen

import (
	"math"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// Powers that are taken apart into products and roots have the value and the slope of the
// power, in scalars and in vectors of different entries.
func TestPowers(t *testing.T) {
	at := diag.Span{}
	for _, p := range []float64{0, 1, 2, 3, 4, 0.5, -1, -2, 2.5, -0.5} {
		for _, shape := range []expr.Shape{expr.ScalarShape(), expr.VectorShape(3)} {
			b := expr.NewBuilder()
			n := shape.Len()
			y := b.Var("y", true, 0, shape, at)
			// A number that is known when the program is compiled, and not before.
			exponent := b.Binary(expr.Sub, b.Const("p", &data.Array{Dense: []float64{p + 1}}, at), b.Number(1), at)
			power := b.Binary(expr.Pow, y, exponent, at)
			// Weighed by the entries themselves, so that an entry at another's place shows.
			root := b.Reduce(expr.Sum, b.Binary(expr.Mul, power, y, at), at)
			program := compile(t, b, root, 0, n, Options{})
			v := []float64{0.7, 1.9, 3.3}[:n]
			grad, want := make([]float64, n), 0.0
			got := program.NewEvaluator().ValueGradY(grad, nil, v)
			for j, u := range v {
				want += math.Pow(u, p+1)
				if slope := (p + 1) * math.Pow(u, p); math.Abs(grad[j]-slope) > 1e-14*math.Abs(slope)+1e-15 {
					t.Errorf("power %v over %v: slope %v of entry %d, want %v", p, shape, grad[j], j, slope)
				}
			}
			if math.Abs(got-want) > 1e-14*want {
				t.Errorf("power %v over %v: %v, want %v", p, shape, got, want)
			}
		}
	}
}

// The data that a program reads count once, however often they are read.
func TestDataBytes(t *testing.T) {
	at := diag.Span{}
	b := expr.NewBuilder()
	y := b.Var("y", true, 0, expr.VectorShape(3), at)
	m := b.Const("M", data.SparseMatrix(sparse.FromEntries(3, 3, []sparse.Entry{{Row: 0, Col: 1, Val: 2}, {Row: 2, Col: 0, Val: 5}})), at)
	one := b.MatVec(m, false, y, at)
	two := b.MatVec(m, false, one, at)
	root := b.Reduce(expr.Sum, b.Binary(expr.Add, one, two, at), at)
	program := compile(t, b, root, 0, 3, Options{})
	// 2 entries and their columns, and 4 starts of rows, beside less of other numbers.
	if got, matrix := program.DataBytes(), 8*(2+2+4); got < matrix || got >= 2*matrix {
		t.Errorf("%d bytes, the matrix has %d", got, matrix)
	}
}
