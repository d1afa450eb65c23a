package curvature

import (
	"testing"

	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// The sums that (y1 + 2 y2 - 1) exp((2 y1 + 4 y2)/5) + y3^3 + x (y4 + y5) + y5 is curved in are multiples of y1 + 2 y2; it is so in y3 alone, and linear in the others.
func TestSums(t *testing.T) {
	b := expr.NewBuilder()
	v := func(j int) *expr.Node { return b.Var("y", true, j, expr.ScalarShape(), diag.Span{}) }
	x := b.Var("x", false, 0, expr.ScalarShape(), diag.Span{})
	add := func(u, w *expr.Node) *expr.Node { return b.Binary(expr.Add, u, w, diag.Span{}) }
	mul := func(u, w *expr.Node) *expr.Node { return b.Binary(expr.Mul, u, w, diag.Span{}) }
	first := add(add(v(0), mul(b.Number(2), v(1))), b.Number(-1))
	second := b.Binary(expr.Div, add(mul(b.Number(2), v(0)), mul(b.Number(4), v(1))), b.Number(5), diag.Span{})
	cube := b.Binary(expr.Pow, v(2), b.Number(3), diag.Span{})
	g := add(add(add(mul(first, b.Unary(expr.Exp, second, diag.Span{})), cube), mul(x, add(v(3), v(4)))), v(4))
	n, alone := Sums(b, g, 1, 5)
	if n == nil || n.Rows != 1 || n.At(0, 1) != 2*n.At(0, 0) || n.At(0, 0) == 0 || n.NNZ() != 2 {
		t.Errorf("sums %+v", n)
	}
	for j, is := range alone {
		if is != (j == 2) {
			t.Errorf("entry %d alone: %v", j, is)
		}
	}
}
