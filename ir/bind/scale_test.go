package bind

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"bilevelc/ir/data"
	"bilevelc/ir/expr"
	"bilevelc/lang"
)

const scaleModel = `model scale
param n: int = 10000
data c: vector[n] ~ normal(0, 1)
data w: vector[n] ~ uniform(0, 1)
data k: int = 40
data A: matrix[k, k] ~ normal(0, 1)
upper {
  var x: vector[n]
  var v: vector[k]
  minimize sumsq(x) + sumsq(v) + sum(y)
}
lower {
  var y: vector[n]
  var z: vector[k]
  minimize sum(i in 1..n: w[i] * (y[i] - c[i])^2 + 0.5 * y[i] * x[i]) + sum(i in 1..n-1: (y[i+1] - y[i])^2) +
           sum(i in 1..k, j in 1..k: A[i, j] * v[i] * z[j]) + sum(i in 1..k: z[i] * sum(j in 1..k: A[j, i] * z[j]))
  subject to
    cap: forall i in 1..n: y[i] <= x[i]
    mix: forall i in 1..k: sum(j in 1..k: A[i, j] * z[j]) <= 1
}
`

// TestScale: comprehensions become a few tensor operations, whatever their
// length.
func TestScale(t *testing.T) {
	p := compile(t, "scale.blv", scaleModel)
	prob := mustBind(t, p, nil)
	nodes := expr.Reachable(prob.Lower.Objective)
	if len(nodes) > 40 {
		t.Errorf("the objective has %d nodes", len(nodes))
	}
	ops := map[expr.Op]int{}
	for _, n := range nodes {
		ops[n.Op]++
		if n.Op == expr.Gather && n.Args[0].Deps == 0 {
			t.Errorf("data is gathered: %s", n.Span.Text())
		}
	}
	// y[i+1] and y[i]: the only gathers. The double sums are products with A.
	if ops[expr.Gather] != 2 || ops[expr.MatVec] != 2 || ops[expr.ScatterAdd] != 0 {
		t.Errorf("%d gathers, %d products, %d scatters:\n%s", ops[expr.Gather], ops[expr.MatVec], ops[expr.ScatterAdd],
			expr.Format(prob.Lower.Objective))
	}
	for _, n := range nodes {
		if n.Op == expr.MatVec && n.Args[0].Name != "A" {
			t.Errorf("a product with %q instead of the data A", n.Args[0].Name)
		}
	}
	if len(prob.Rows) != 10040 {
		t.Errorf("%d rows", len(prob.Rows))
	}
}

// TestGeneratorsDependOnSeedAndNameOnly: other declarations, their order and
// their sizes do not change the numbers.
func TestGeneratorsDependOnSeedAndNameOnly(t *testing.T) {
	model := func(decls string) string {
		return "model gen\n" + decls + `
upper {
  var x: real
  minimize x^2 + sum(a) * y
}
lower {
  var y: real
  minimize (y - x)^2
}
`
	}
	get := func(text string, seed uint64) map[string]*data.Array {
		prob, list := Bind(compile(t, "gen.blv", text), nil, Options{Seed: seed})
		if list.HasErrors() {
			t.Fatal(list)
		}
		out := map[string]*data.Array{}
		for _, d := range prob.Data {
			out[d.Name] = d.Array
		}
		return out
	}
	a, b := "data a: vector[2000] ~ normal(1, 2)\n", "data b: matrix[30, 40] ~ uniform(-3, 5)\n"
	one := get(model(a+b), 7)
	two := get(model("param q: int = 3\n"+b+a), 7)
	other := get(model(a+b), 8)
	for name, arr := range one {
		same, fresh := true, false
		for k, v := range arr.Dense {
			same = same && v == two[name].Dense[k]
			fresh = fresh || v != other[name].Dense[k]
		}
		if !same || !fresh {
			t.Errorf("%s: same with other declarations: %v; changed by the seed: %v", name, same, fresh)
		}
	}
	// Moments: 2000 normals have a mean within 5 standard errors, uniforms
	// stay in their range and fill it.
	sum, low, high := 0.0, 5.0, -3.0
	for _, v := range one["a"].Dense {
		sum += v
	}
	if mean := sum / 2000; mean < 1-5*2/44.7 || mean > 1+5*2/44.7 {
		t.Errorf("mean %v", mean)
	}
	for _, v := range one["b"].Dense {
		low, high = min(low, v), max(high, v)
	}
	if low < -3 || high > 5 || low > -2.9 || high < 4.9 {
		t.Errorf("uniform(-3, 5) gave %v to %v", low, high)
	}
	// The prefix of a longer array is the shorter array: sizes do not reseed.
	longer := get(model("data a: vector[3000] ~ normal(1, 2)\n"+b), 7)
	if fmt.Sprint(longer["a"].Dense[:5]) != fmt.Sprint(one["a"].Dense[:5]) {
		t.Error("the size changed the numbers")
	}
}

// TestWrittenOutSums: a sum written term by term becomes vector operations,
// with the value of the naive interpreter; a long written-out row is linear
// in memory.
func TestWrittenOutSums(t *testing.T) {
	const n = 2000
	var f, g, row strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&f, " + exp(%d.5 - x[%d]) * %d", i%3, n+1-i, i)
		fmt.Fprintf(&g, "%s (y[%d] - c[%d] * x[%d])^2", map[bool]string{true: " -", false: " +"}[i%5 == 0], i, (i+7)%n+1, i)
		fmt.Fprintf(&row, " + %d * y[%d]", i, i)
	}
	p := compile(t, "long.blv", fmt.Sprintf(`model long
param n: int = %d
data c: vector[n] ~ normal(0, 1)
upper {
  var x: vector[n]
  minimize 3%s + sum(y)
}
lower {
  var y: vector[n]
  minimize 0 %s + y[1] * y[2]
  subject to
    long: 0%s <= 1
}
`, n, f.String(), g.String(), row.String()))
	prob := mustBind(t, p, nil)
	x, y := normal(1, n), normal(2, n)
	in := interpreter(p, prob, x, y)
	for _, l := range []struct {
		got  *expr.Node
		want lang.Expr
	}{{prob.Upper.Objective, p.Upper.Objective.Value}, {prob.Lower.Objective, p.Lower.Objective.Value}} {
		want := in.eval(l.want, nenv{}).e[0]
		got, err := expr.Scalar(l.got, x, y)
		// A sum of 2000 terms in another order.
		if err != nil || math.Abs(got-want) > 1e-10*math.Abs(want) {
			t.Errorf("%v, want %v (%v)", got, want, err)
		}
		if k := len(expr.Reachable(l.got)); k > 40 {
			t.Errorf("%d nodes", k)
		}
	}
	if compareRows(t, p, prob, x, y) != 1 {
		t.Error("one row is expected")
	}
}
