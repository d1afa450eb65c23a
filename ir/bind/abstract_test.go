package bind

import (
	"slices"
	"strings"
	"testing"

	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// TestAbstractUnknowns: what hangs on data that was not supplied is unknown in
// the graph, and is never decided one way.
func TestAbstractUnknowns(t *testing.T) {
	p := compile(t, "abstract.blv", `model abstract
param n: int
param k: int = n / 5
param rho: real
data c: vector[n]
data next: vector[n]
data A: matrix[k, n]
data lo: vector[n]
upper {
  var x: vector[n]
  minimize sum(i in 1..n if c[i] > 0: x[i]) + sum(y)
}
lower {
  var y: vector[n] in box(lo, 5)
  minimize sumsq(y - x) + sum(i in 1..n: y[next[i]]^2) + (if rho > 0 then 1 else 2) * sum(y)
  subject to
    rows: A * y <= 1
    cap: y <= x
    odd: forall i in 1..n if c[i] > 0: y[i] <= 3
}
report {
  m = max(i in 1..n if c[i] > 0: i)
}
`)
	prob, list := Bind(p, nil, Options{Abstract: true})
	if list.HasErrors() {
		t.Fatal(list)
	}
	if prob.Lower.Dim%5 != 0 {
		t.Errorf("n = %d does not suit k = n / 5", prob.Lower.Dim)
	}
	var unbound []string
	for _, f := range prob.Unbound {
		unbound = append(unbound, f.Name)
	}
	if got := strings.Join(unbound, " "); got != "y.lower rows odd" {
		t.Errorf("unbound are %q", got)
	}
	if len(prob.Rows) != 2*prob.Lower.Dim { // y.upper and cap
		t.Errorf("%d rows", len(prob.Rows))
	}
	opaque := func(root *expr.Node, part string) bool {
		return slices.ContainsFunc(expr.Reachable(root), func(n *expr.Node) bool { return n.Op == expr.Const && n.Opaque && strings.Contains(n.Name, part) })
	}
	if !opaque(prob.Upper.Objective, "condition") {
		t.Error("the filter on c is decided without c")
	}
	if !opaque(prob.Lower.Objective, "selection") {
		t.Error("y[next[i]] is chosen without next")
	}
	if !opaque(prob.Lower.Objective, "condition") {
		t.Error("rho > 0 is decided without rho")
	}
	if m := prob.Report[0].Node; !m.Opaque {
		t.Error("the maximum over an unknown part is known")
	}
	// With some of the data supplied, the rest stays unknown.
	if _, list = Bind(p, supply("c", vec(1, -1, 1, -1, 1), "rho", vec(2)), Options{Abstract: true}); !list.HasErrors() {
		t.Error("a vector is no scalar, also abstractly")
	}
	prob, list = Bind(p, supply("c", vec(1, -1, 1, -1, 1)), Options{Abstract: true})
	if list.HasErrors() {
		t.Fatal(list)
	}
	if prob.Lower.Dim != 5 || opaque(prob.Upper.Objective, "condition") {
		t.Errorf("with c, n is %d and the filter unknown: %v", prob.Lower.Dim, opaque(prob.Upper.Objective, "condition"))
	}
	if got := countFamily(prob, "odd"); got != 3 {
		t.Errorf("odd has %d rows", got)
	}
}

func countFamily(p *ir.Problem, name string) int {
	n := 0
	for _, r := range p.Rows {
		if r.Family.Name == name {
			n++
		}
	}
	return n
}

// TestAbstractIndexOfNothing: an array without entries has none, whatever the index will be.
func TestAbstractIndexOfNothing(t *testing.T) {
	p := compile(t, "nothing.blv", `model nothing
data c: vector[0]
data k: int
upper {
  var x: real
  minimize x^2 + c[k]
}
lower {
  var y: real
  minimize (y - x)^2
}
`)
	if _, list := Bind(p, nil, Options{Abstract: true}); !list.HasErrors() || list[0].Code != diag.BindIndex {
		t.Errorf("an entry of nothing: %v", list)
	}
}
