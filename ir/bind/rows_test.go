package bind

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// affineGenerator writes random affine expressions in x (len m), y (len n), Z
// (m x n) and u, with indices in scope.
type affineGenerator struct{ generator }

func (g *affineGenerator) scalar(depth int) string {
	if depth <= 0 {
		return g.pick("u", "0.7", "rho", "y["+g.at("n")+"]", "x["+g.at("m")+"]", "Z["+g.at("m")+", "+g.at("n")+"]", "c["+g.at("n")+"]")
	}
	s := func() string { return g.scalar(depth - 1) }
	switch g.IntN(9) {
	case 0:
		return "(" + s() + g.pick(" + ", " - ") + s() + ")"
	case 1:
		return "(" + g.constant() + " * " + s() + ")"
	case 2:
		return "(" + s() + " / (2 + sin(" + g.constant() + ")))"
	case 3:
		return "(c + 1)' * " + g.vector("n", depth-1)
	case 4:
		return "sum(" + g.vector(g.pick("n", "m"), depth-1) + ")"
	case 5:
		return g.vector("m", depth-1) + "' * A * c"
	case 6:
		return "(if " + g.condition() + " then " + s() + " else " + s() + ")"
	case 7:
		return "-" + g.scalar(0)
	}
	before := len(g.indices)
	g.serial++
	i := index{fmt.Sprintf("i%d", g.serial), g.pick("n", "m")}
	g.indices = append(g.indices, i)
	text := fmt.Sprintf("sum(%s in 1..%s%s: %s)", i.name, i.size, g.pick("", "", " if "+i.name+" != 2"), s())
	g.indices = g.indices[:before]
	return text
}

func (g *affineGenerator) constant() string {
	list := []string{"2", "-0.5", "rho", "c[" + g.at("n") + "]", "A[" + g.at("m") + ", " + g.at("n") + "]"}
	for _, i := range g.indices {
		list = append(list, i.name)
	}
	return g.pick(list...)
}

func (g *affineGenerator) vector(size string, depth int) string {
	if depth <= 0 {
		if size == "n" {
			return g.pick("y", "c", "Z["+g.at("m")+", :]'", "x[2..m]", "(A' * x)", "(B * y)")
		}
		return g.pick("x", "d", "Z[:, "+g.at("n")+"]", "(Z * c)", "(A * y)", "(diag(d) * x)", "[1, u, y[1], x["+g.at("m")+"]]", "[u, 0, 2, y[1]]")
	}
	v := func() string { return g.vector(size, depth-1) }
	switch g.IntN(6) {
	case 0:
		return "(" + v() + g.pick(" + ", " - ") + v() + ")"
	case 1:
		return "(" + g.constant() + " * " + v() + ")"
	case 2:
		return "(" + map[string]string{"n": "c", "m": "d"}[size] + " .* " + v() + ")"
	case 3:
		if size == "n" {
			return "(" + g.pick("A", "(A + outer(d, c))") + "' * " + g.vector("m", depth-1) + ")"
		}
		return "(A * " + g.vector("n", depth-1) + ")"
	case 4:
		return "(" + v() + " + " + g.scalar(depth-1) + ")"
	}
	return "(if " + g.condition() + " then " + v() + " else " + v() + ")"
}

// TestRandomRows compares h = A x - B y - b of random affine constraints and
// families with the naive interpreter's lhs - rhs at random points.
func TestRandomRows(t *testing.T) {
	rows := 0
	for seed := range uint64(120) {
		g := &affineGenerator{generator{Rand: rand.New(rand.NewPCG(seed, 8))}}
		head, tail, _ := strings.Cut(randomHead, "}\nreport {\n")
		text := head + "  subject to\n"
		for k := range 8 {
			op := g.pick(" <= ", " >= ", " == ")
			name := fmt.Sprintf("    k%d: ", k)
			switch g.IntN(4) {
			case 0:
				text += name + g.vector("n", 2) + op + "y + " + g.scalar(1) + "\n"
			case 1:
				g.indices = []index{{"j", "n"}}
				text += name + "forall j in 1..n: y[j] + " + g.scalar(2) + op + g.scalar(1) + "\n"
			case 2:
				g.indices = []index{{"i", "m"}, {"j", "n"}}
				text += name + "forall i in 1..m, j in 1..n if " + g.condition() + ": Z[i, j] + " + g.scalar(2) + op + g.scalar(1) + "\n"
			case 3:
				g.indices = []index{{"i", "m"}}
				text += name + "forall i in 1..m: Z[i, :]' + " + g.vector("n", 1) + op + g.vector("n", 1) + "\n"
			}
			g.indices = nil
		}
		text += "}\n" + tail
		p := compile(t, "rows.blv", text)
		prob, list := Bind(p, nil, Options{Seed: seed})
		if list.HasErrors() {
			// A constraint whose variables cancel, or are filtered away, may
			// be violated by the random data.
			for _, d := range list {
				if d.Severity == diag.Error && d.Code != diag.BindNeverHolds {
					t.Fatalf("seed %d: %v\n%s", seed, list, text)
				}
			}
			continue
		}
		x, y := make([]float64, prob.Upper.Dim), make([]float64, prob.Lower.Dim)
		for _, z := range [][]float64{x, y} {
			for k := range z {
				z[k] = 2*g.Float64() - 1
			}
		}
		rows += compareRows(t, p, prob, x, y)
	}
	if rows < 2000 {
		t.Errorf("%d rows are too few", rows)
	}
}

// compareRows checks every row at a point against the syntax tree.
func compareRows(t *testing.T, p *ir.Program, prob *ir.Problem, x, y []float64) int {
	t.Helper()
	n := interpreter(p, prob, x, y)
	want := map[string][]float64{} // h by family
	for _, c := range p.Lower.Constraints {
		for k, op := range c.Ops {
			n.each(c.Binders, c.Cond, nenv{}, func(env nenv) {
				u, v := n.eval(c.Terms[k], env), n.eval(c.Terms[k+1], env)
				if op == lang.GreaterEq {
					u, v = v, u
				}
				want[c.Name.Name] = append(want[c.Name.Name], nzip(u, v, func(a, b float64) float64 { return a - b }).e...)
			})
		}
	}
	for i, r := range prob.Rows {
		h := prob.A.RowDot(i, x) - prob.B.RowDot(i, y) - prob.Rhs[i]
		w := want[r.Family.Name][r.Index]
		// Rounding of sums of a few dozen moderate terms.
		if math.Abs(h-w) > 1e-10*(1+math.Abs(w)) {
			t.Errorf("%s: row has %v, the model says %v", r.Name, h, w)
		}
	}
	return len(prob.Rows)
}

func interpreter(p *ir.Program, prob *ir.Problem, x, y []float64) *naive {
	n := &naive{prog: p, vals: map[string]nval{}}
	for _, d := range prob.Data {
		n.vals[d.Name] = nof(expr.ShapeOf(d.Array.Shape), d.Array.Values())
	}
	for _, v := range prob.Upper.Vars {
		n.vals[v.Name] = nof(v.Shape, x[v.Offset:v.Offset+v.Shape.Len()])
	}
	for _, v := range prob.Lower.Vars {
		n.vals[v.Name] = nof(v.Shape, y[v.Offset:v.Offset+v.Shape.Len()])
	}
	return n
}

const rowsHead = `model rows
param n: int = 4
data w: vector[n] = [1, 2, 3, 4]
upper {
  var x: vector[n] in box(0, 5)
  minimize sumsq(x) + sum(y)
`
const rowsLower = `}
lower {
  var y: vector[n]
  minimize sumsq(y - x)
`

func bindText(t *testing.T, text string) *ir.Problem {
	t.Helper()
	return mustBind(t, compile(t, "rows.blv", text), nil)
}

func names(rows []ir.Row) string {
	return diag.Join(rows, " ", func(r ir.Row) string { return r.Name })
}

func TestNamesOfRows(t *testing.T) {
	p := bindText(t, rowsHead+rowsLower+`  subject to
    lim: -1 <= y <= 2
    rev: forall i in 1..n if i != 2: 3 >= y[i] >= 0
    pair: forall i in 1..2, j in i..2: y[i] + y[j] <= 9
    grid: forall i in 1..2, j in 3..4: y[i] + y[j] <= 9
    forall i in 1..2: y[i] <= x[i]; y[1] == 1
    y[3] <= 1
}
`)
	want := "lim.lower[1] lim.lower[2] lim.lower[3] lim.lower[4] lim.upper[1] lim.upper[2] lim.upper[3] lim.upper[4] " +
		"rev.upper[1] rev.upper[3] rev.upper[4] rev.lower[1] rev.lower[3] rev.lower[4] " +
		"pair[1, 1] pair[1, 2] pair[2, 2] grid[1, 3] grid[1, 4] grid[2, 3] grid[2, 4] " +
		"line 16:5[1] line 16:5[2] line 16:37 line 17"
	if got := names(p.Rows); got != want {
		t.Errorf("rows are\n%s, want\n%s", got, want)
	}
	for _, r := range p.Rows {
		switch r.Name {
		case "lim.lower[1]", "rev.lower[1]":
			if r.Family.Sign != map[string]float64{"lim.lower[1]": 1, "rev.lower[1]": -1}[r.Name] || !r.Family.Named {
				t.Errorf("%s: %+v", r.Name, r.Family)
			}
		case "grid[1, 3]":
			if r.Family.Shape.String() != "vector[4]" { // its columns are 3 and 4, not 1 and 2
				t.Errorf("grid is %s", r.Family.Shape)
			}
		case "pair[1, 1]":
			if r.Family.Shape.String() != "vector[3]" {
				t.Errorf("pair is %s", r.Family.Shape)
			}
		case "line 17":
			if r.Family.Named {
				t.Error("a line is not a name")
			}
		}
	}
}

func TestUpperSet(t *testing.T) {
	p := bindText(t, rowsHead+`  subject to
    tight: x[1] <= 3
    twice: 2*x[2] >= 1
    fixed: x[3] == 2
    both: sum(x) <= 9
    loose: x <= 100
`+rowsLower+"}\n")
	inf := math.Inf(1)
	lo, hi := []float64{0, 0.5, 2, 0}, []float64{3, 5, 2, 5}
	for j := range lo {
		if p.X.Lo[j] != lo[j] || p.X.Hi[j] != hi[j] {
			t.Errorf("x[%d] in [%v, %v], want [%v, %v]", j+1, p.X.Lo[j], p.X.Hi[j], lo[j], hi[j])
		}
	}
	if names(p.X.Rows) != "both" || p.X.Rhs[0] != 9 || p.X.E.NNZ() != 4 {
		t.Errorf("rows %s, %v", names(p.X.Rows), p.X.Rhs)
	}
	p = bindText(t, `model balls
upper {
  var x: vector[2] in ball(2)
  var z: vector[3] in simplex(4)
  var free_one: real
  minimize sumsq(x) + sum(y) + sum(z) + free_one^2
}
lower {
  var y: vector[2] in simplex(3)
  var v: real in box(-1, 1/2)
  minimize sumsq(y - x) + v^2
}
`)
	point := bindText(t, "model point\nupper {\n var u: vector[2]\n var x: vector[2] in ball(0)\n var z: real\n minimize sum(u) + sum(x) + z\n}\nlower {\n var y: real\n minimize (y - z)^2\n}\n")
	for j := range 5 {
		if at, end := j == 2 || j == 3, [2]float64{point.X.Lo[j], point.X.Hi[j]}; at != (end == [2]float64{}) || !at && end != [2]float64{-inf, inf} {
			t.Errorf("a ball of radius 0 around entries 2 and 3 has entry %d in %v", j, end)
		}
	}
	if len(p.X.Balls) != 1 || p.X.Balls[0].Radius != 2 || p.X.Balls[0].Var != 0 {
		t.Errorf("balls %v", p.X.Balls)
	}
	if names(p.X.Rows) != "z.simplex" || !p.X.Rows[0].Equal || p.X.Rhs[0] != 4 || p.X.Lo[2] != 0 || p.X.Lo[0] != -inf || p.X.Lo[5] != -inf {
		t.Errorf("X = %+v", p.X)
	}
	if got := names(p.Rows); got != "y.nonneg[1] y.nonneg[2] y.simplex v.lower v.upper" {
		t.Errorf("rows %s", got)
	}
	if p.Rhs[2] != 3 || p.Rhs[3] != 1 || p.Rhs[4] != 0.5 { // -1 - v <= 0, v - 1/2 <= 0
		t.Errorf("b = %v", p.Rhs)
	}
}

// TestVaryingRanges: parts whose size changes with the index are elaborated
// tuple by tuple; the naive interpreter agrees.
func TestVaryingRanges(t *testing.T) {
	p := compile(t, "rows.blv", rowsHead+rowsLower+`  subject to
    stock: forall t in 1..n: sum(y[1..t]) >= w[t] - x[t]
    tail: forall t in 2..n, s in 1..t: w[s..t]' * y[s..t] <= 7
}
report {
  a = sum(i in 1..n: sumsq(y[1..i]) * w[i])
  b = prod(i in 1..n: 1 + sum(j in i..n: sum(y[i..j])))
  c = max(i in 1..n: mean(y[i..n])) + sum(i in 1..n: y[i])
}
`)
	prob := mustBind(t, p, nil)
	x, y := []float64{1, 2, -1, 0.5}, []float64{0.3, -0.7, 1.1, 0.9}
	if compareRows(t, p, prob, x, y) != 4+9 {
		t.Errorf("rows %s", names(prob.Rows))
	}
	if prob.Rows[4].Name != "tail[2, 1]" || prob.Rows[0].Family.Shape.String() != "vector[4]" {
		t.Errorf("%s, %s", prob.Rows[4].Name, prob.Rows[0].Family.Shape)
	}
	n := interpreter(p, prob, x, y)
	for k, item := range p.Report.Items {
		want := n.eval(item.Value, nenv{})
		got := evalReport(t, prob, k, x, y)
		if !agree(got, want.e) {
			t.Errorf("%s = %v, want %v", item.Name.Name, got, want.e)
		}
	}
}

// TestIdleConstraints: the checker warns of a constraint without variables;
// the binder does of those whose variables only the numbers take away.
func TestIdleConstraints(t *testing.T) {
	p, list := Bind(compile(t, "rows.blv", rowsHead+rowsLower+`  subject to
    idle: forall i in 1..n: w[i] <= 4
    gone: 0 * y <= 1
}
`), nil, Options{})
	if len(list) != 1 || list[0].Code != diag.BindAlwaysHolds || !strings.Contains(list[0].Summary, "gone") {
		t.Fatalf("%v", list)
	}
	if len(p.Rows) != 0 {
		t.Errorf("rows %s", names(p.Rows))
	}
}

// TestCancelledCoefficients: what rounding leaves of coefficients that cancel
// is no coefficient, in whatever form the model writes the sum; small
// coefficients and right-hand sides that nothing cancelled in stay.
func TestCancelledCoefficients(t *testing.T) {
	head := `model cancelled
data c: vector[3] = [0.1, 0.2, -0.3]
data A: matrix[2, 3] = [[0.1, 0.2, 0.3], [1, 1, 1]]
upper {
  var x: real in box(0, 5)
  minimize x^2 + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
  subject to
    one: `
	for _, text := range []string{
		"0.1 * y[1] + 0.2 * y[1] - 0.3 * y[1] == 0",
		"2 * (0.1 * y + 0.2 * y - 0.3 * y) <= 0.5",
		"0.1 * y[1] + 0.2 * y[1] == 0.3 * y[1]",
		"sum(k in 1..3: c[k] * y[1]) == 0",
		"forall i in 1..3: sum(k in 1..3: c[k] * y[i]) == 0",
		"c' * [y[1], y[1], y[1]] == 0",
		"sum(c .* [y[2], y[2], y[2]]) == 0",
		"A * [y[1], y[1], -y[1]] <= [1, 1] + [0, 1] .* y[1]",
		"0.1 * x + 0.2 * x - 0.3 * x == 0",
	} {
		p, list := Bind(compile(t, "cancelled.blv", head+text+"\n}\n"), nil, Options{})
		if len(list) != 1 || list[0].Code != diag.BindAlwaysHolds || len(p.Rows) != 0 {
			t.Errorf("%s: %v", text, list)
		}
	}
	p := bindText(t, head+`1e-17 * y[1] + y[2] + 0.1 - 0.3 + 0.2 <= 0
    two: y[1] - (1 - 1e-14) * y[1] >= 1e-300
    three: 1e-200 * y[1] == 0
}
`)
	if b := p.B.Dense(); b[0] != -1e-17 || b[1] != -1 || p.Rhs[0] != 0 {
		t.Errorf("one: %v, %v", b[:3], p.Rhs[0])
	}
	near := 1 - 1e-14 // a double: the difference from 1 is exact
	exactly := 1 - near
	if b := p.B.Dense(); b[3] != exactly || p.Rhs[1] != -1e-300 || b[6] != -1e-200 {
		t.Errorf("two, three: %v, %v", b[3:], p.Rhs)
	}
	_, list := Bind(compile(t, "cancelled.blv", head+"0.1 * y[1] + 0.2 * y[1] - 0.3 * y[1] == 1\n}\n"), nil, Options{})
	if len(list) != 1 || list[0].Code != diag.BindNeverHolds {
		t.Errorf("0 == 1: %v", list)
	}
}
