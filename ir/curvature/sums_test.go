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

// The coefficients of a sum are those that the model writes: 2.27 and 0.98 for exp(1.3 + 2.27 y1 + 0.98 y2), of which differences of values know
// 0.98 as 0.98 + 2e-16 only.
func TestSumsAreExact(t *testing.T) {
	b := expr.NewBuilder()
	times := func(c float64, j int) *expr.Node {
		return b.Binary(expr.Mul, b.Number(c), b.Var("y", true, j, expr.ScalarShape(), diag.Span{}), diag.Span{})
	}
	sum := b.Binary(expr.Add, b.Binary(expr.Add, b.Number(1.3), times(2.27, 0), diag.Span{}), times(0.98, 1), diag.Span{})
	n, _ := Sums(b, b.Unary(expr.Exp, sum, diag.Span{}), 0, 2)
	if n == nil || n.At(0, 0) != 2.27 || n.At(0, 1) != 0.98 {
		t.Errorf("sums %+v", n)
	}
}
