package expr

import (
	"math"
	"strings"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/lang/diag"
)

var nowhere diag.Span

// maker builds nodes in tests, where every shape is right.
type maker struct {
	t testing.TB
	*Builder
}

func newMaker(t testing.TB) maker { return maker{t, NewBuilder()} }

func (m maker) vector(v ...float64) *Node { return m.Const("", data.Vector(v), nowhere) }
func (m maker) matrix(r, c int, v ...float64) *Node {
	return m.Const("", data.Matrix(r, c, v), nowhere)
}
func (m maker) x(n int) *Node { return m.Var("x", false, 0, VectorShape(n), nowhere) }
func (m maker) y(n int) *Node { return m.Var("y", true, 0, VectorShape(n), nowhere) }
func (m maker) op1(op Op, u *Node) *Node {
	m.t.Helper()
	return m.Unary(op, u, nowhere)
}
func (m maker) op2(op Op, u, v *Node) *Node {
	m.t.Helper()
	return m.Binary(op, u, v, nowhere)
}

func TestShapesAreChecked(t *testing.T) {
	m := newMaker(t)
	x, y, a := m.x(3), m.y(4), m.Var("Z", true, 4, MatrixShape(3, 4), nowhere)
	for name, make := range map[string]func(){
		"binary":   func() { m.Binary(Add, x, y, nowhere) },
		"dot":      func() { m.Dot(x, y, nowhere) },
		"dot rank": func() { m.Dot(a, a, nowhere) },
		"matvec":   func() { m.MatVec(a, false, x, nowhere) },
		"matvec'":  func() { m.MatVec(a, true, y, nowhere) },
		"matmul":   func() { m.MatMul(a, false, a, false, nowhere) },
		"outer":    func() { m.Outer(a, x, nowhere) },
		"transp":   func() { m.Transpose(x, nowhere) },
		"gather":   func() { m.Gather(x, []int{3}, ScalarShape(), nowhere) },
		"gather n": func() { m.Gather(x, []int{0, 1}, ScalarShape(), nowhere) },
		"scatter":  func() { m.ScatterAdd(x, []int{0, 1, 2}, VectorShape(2), nowhere) },
		"unary op": func() { m.Unary(Add, x, nowhere) },
		"max of 0": func() { m.Reduce(MaxAll, m.vector(), nowhere) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: made", name)
				}
			}()
			make()
		}()
	}
	if n := m.MatVec(a, true, x, nowhere); n.Shape != VectorShape(4) || n.Deps != DependsX|DependsY {
		t.Errorf("Z' x is %s, depends on %d", n.Shape, n.Deps)
	}
}

func TestSharing(t *testing.T) {
	m := newMaker(t)
	x := m.x(3)
	same := func(a, b *Node) bool { return a == b }
	if !same(m.op1(Exp, x), m.op1(Exp, m.x(3))) {
		t.Error("equal nodes are two")
	}
	if !same(m.Number(2), m.Number(2)) || !same(m.vector(1, 2), m.vector(1, 2)) {
		t.Error("equal constants are two")
	}
	if m.Number(0) == m.Number(math.Copysign(0, -1)) {
		t.Error("0 and -0 are one")
	}
	if m.Dot(x, m.y(3), nowhere) != m.Dot(m.y(3), x, nowhere) {
		t.Error("the inner product is symmetric")
	}
	g := func(i ...int) *Node { return m.Gather(x, i, VectorShape(2), nowhere) }
	if same(g(0, 1), g(1, 0)) || !same(g(0, 1), g(0, 1)) {
		t.Error("gathers differ by their index")
	}
	if m.Const("a", data.Vector([]float64{1}), nowhere) == m.Const("b", data.Vector([]float64{1}), nowhere) {
		t.Error("data of two names is one")
	}
	for i, n := range m.Nodes() {
		if n.ID != i {
			t.Fatalf("node %d has number %d", i, n.ID)
		}
		for _, a := range n.Args {
			if a.ID >= i {
				t.Fatal("an argument comes after its user")
			}
		}
	}
}

// TestIdentities: what the builder simplifies, and what it must not.
func TestIdentities(t *testing.T) {
	m := newMaker(t)
	x, zero, one := m.x(3), m.Number(0), m.Number(1)
	same := map[string][2]*Node{
		"x + 0":           {m.op2(Add, x, zero), x},
		"0 + x":           {m.op2(Add, zero, x), x},
		"x - 0":           {m.op2(Sub, x, zero), x},
		"1 * x":           {m.op2(Mul, one, x), x},
		"x / 1":           {m.op2(Div, x, one), x},
		"x ^ 1":           {m.op2(Pow, x, one), x},
		"--x":             {m.op1(Neg, m.op1(Neg, x)), x},
		"0 - x":           {m.op2(Sub, zero, x), m.op1(Neg, x)},
		"x - -x":          {m.op2(Sub, x, m.op1(Neg, x)), m.op2(Add, x, x)},
		"sum(x .* x)":     {m.Reduce(Sum, m.op2(Mul, x, x), nowhere), m.Dot(x, x, nowhere)},
		"sum(x .^ 2)":     {m.Reduce(Sum, m.op2(Pow, x, m.Number(2)), nowhere), m.Dot(x, x, nowhere)},
		"identity gather": {m.Gather(x, []int{0, 1, 2}, VectorShape(3), nowhere), x},
		"2 + 3":           {m.op2(Add, m.Number(2), m.Number(3)), m.Number(5)},
		"x ^ 0":           {m.op2(Pow, x, zero), m.vector(1, 1, 1)},
		"gather of gather": {m.Gather(m.Gather(x, []int{2, -1, 0}, VectorShape(3), nowhere), []int{2, 1}, VectorShape(2), nowhere),
			m.Gather(x, []int{0, -1}, VectorShape(2), nowhere)},
	}
	for name, pair := range same {
		if pair[0] != pair[1] {
			t.Errorf("%s is\n%s", name, Format(pair[0]))
		}
	}
	if n := m.op2(Mul, zero, m.op1(Log, x)); n.Deps == 0 {
		t.Error("0 * log(x) is dropped, though log(x) may be undefined")
	}
	if n := m.op2(Add, m.vector(1, 2), zero); n != m.vector(1, 2) {
		t.Error("constants are not folded")
	}
	// A scalar plus a vector of zeros is a vector: the broadcast must stay.
	s := m.Var("s", false, 3, ScalarShape(), nowhere)
	if n := m.op2(Add, s, m.vector(0, 0)); n.Shape != VectorShape(2) {
		t.Errorf("s + [0, 0] is %s", n.Shape)
	}
	if n := m.op1(Log, m.Number(-1)); n.Op != Log {
		t.Error("log(-1) is folded away")
	}
	if n := m.op2(Mul, m.Const("c", data.Vector([]float64{1, 2}), nowhere), m.Number(3)); n.Op != Mul {
		t.Error("named data loses its structure")
	}
}

func TestEmptyArrays(t *testing.T) {
	m := newMaker(t)
	none := m.Gather(m.x(3), nil, VectorShape(0), nowhere)
	if none.Deps != 0 {
		t.Error("an empty selection depends on x")
	}
	a := m.Const("A", data.Matrix(2, 0, nil), nowhere)
	n := m.MatVec(a, false, none, nowhere)
	v, err := Eval(n, nil, nil)
	if err != nil || len(v.Dense) != 2 || v.Dense[0] != 0 {
		t.Errorf("a product over nothing is %v, %v", v, err)
	}
	if s, _ := m.Reduce(Sum, none, nowhere).Number(); s != 0 {
		t.Error("the empty sum is not 0")
	}
	if s, _ := m.Reduce(Prod, none, nowhere).Number(); s != 1 {
		t.Error("the empty product is not 1")
	}
}

func TestFormat(t *testing.T) {
	m := newMaker(t)
	y := m.y(4)
	q := m.Const("Q", data.Matrix(4, 4, make([]float64, 16)), nowhere)
	n := m.Dot(y, m.MatVec(q, true, y, nowhere), nowhere)
	n = m.op2(Add, n, m.Reduce(Sum, m.Gather(y, []int{1, 2}, VectorShape(2), nowhere), nowhere))
	got := strings.Join(strings.Fields(Format(n)), " ")
	want := "%0 = var y = y[1..4] : vector[4] y %1 = data Q : matrix[4, 4] %2 = matvec %1' %0 : vector[4] y " +
		"%3 = dot %0 %2 : scalar y %4 = gather %0 by [2..3] : vector[2] y %5 = sum %4 : scalar y %6 = %3 + %5 : scalar y"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
