package bind

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"bilevelc/ir/expr"
	"bilevelc/ir/facts"
)

// Followers by name bind to what one lower level says that has their sum as its
// objective and their rows as families.
func TestFollowersAreOneLevel(t *testing.T) {
	head := `model joint
set firms = {"a", "b", "c"}
set road(from, to) within firms * firms = {("a", "b"), ("b", "c"), ("a", "c")}
set near within road = {("b", "c"), ("a", "c")}
set far = {(k, l) in road if cost[k] < 2}
data cost: [firms] = [1, 2, 3]
data need: [firms, 2] = [[1, 2], [3, 4], [5, 6]]
data low: vector[2] = [-1, -2]
let top = [4, 5]
upper {
  var price: real in box(0, 10)
  minimize price + sum(q) + p + sum(w) + sum(u) + sum(v) + top[1]
}
`
	apart := head + `lower firm[i in firms] {
  var q: real in box(0, 2 * cost[i])
  var w: vector[2] in simplex(3)
  var u: vector[2] in box(low, 2 * cost[i])
  var v: vector[2] in box(-1 - cost[i], need[i, :])
  var s: vector[2] in box([-1, -2], top)
  var d: vector[2] in box([-cost[i], -5], need[i, :]')
  var flow: [road] in box(-5, 5)
  var part: [near, 2] in box(-5, 5)
  var rest: [far] in box(-5, 5)
  let gain = price * q - cost[i] * q^2
  let miss = w - need[i, :]'
  maximize gain - sumsq(miss) - sumsq(q + s + d) - sumsq(u) - sumsq(v - price) - q * sum(u + v) - sum(i2 in 1..2: w[i2] * q) - sum((k, l) in road: (flow[k, l] - cost[l])^2) - sum((k, l) in near: (part[k, l, 1] - q * flow[k, l])^2) - sum(r in near: (part[r, 2] - flow[r])^2) - sumsq(rest) - sum((k, l) in far: q * rest[k, l])
  subject to
    own: q + w[1] <= 3 + cost[i]
    each: forall k in 1..2 if k > 1: w[k] >= 0.1 * q
    kept: forall f in firms: sum((k, l) in road if k == f: flow[k, l]) <= 4
}
lower operator {
  var p: real
  minimize (p - price)^2
  subject to low: p >= 1
}
`
	joint := head + `lower {
  var q: [firms] in box(0, 2 * cost)
  var w: [firms, 2] in nonneg
  var u: [firms, 2] in box([[-1, -2], [-1, -2], [-1, -2]], [[2, 2], [4, 4], [6, 6]])
  var v: [firms, 2] in box([[-2, -2], [-3, -3], [-4, -4]], need)
  var s: [firms, 2] in box([[-1, -2], [-1, -2], [-1, -2]], [[4, 5], [4, 5], [4, 5]])
  var d: [firms, 2] in box([[-1, -5], [-2, -5], [-3, -5]], need)
  var flow: [firms, road] in box(-5, 5)
  var part: [firms, near, 2] in box(-5, 5)
  var rest: [firms, far] in box(-5, 5)
  var p: real
  minimize -(sum(i in firms: price * q[i] - cost[i] * q[i]^2 - sumsq(w[i, :]' - need[i, :]') - sumsq(q[i] + s[i, :] + d[i, :]) - sumsq(u[i, :]) - sumsq(v[i, :] - price) - q[i] * sum(u[i, :] + v[i, :]) - sum(i2 in 1..2: w[i, i2] * q[i]) - sum((k, l) in road: (flow[i, k, l] - cost[l])^2) - sum((k, l) in near: (part[i, k, l, 1] - q[i] * flow[i, k, l])^2) - sum(r in near: (part[i, r, 2] - flow[i, r])^2) - sum((k, l) in far: rest[i, k, l]^2 + q[i] * rest[i, k, l]))) + (p - price)^2
  subject to
    simplex: forall i in firms: sum(w[i, :]) == 3
    own: forall i in firms: q[i] + w[i, 1] <= 3 + cost[i]
    each: forall i in firms, k in 1..2 if k > 1: w[i, k] >= 0.1 * q[i]
    kept: forall i in firms, f in firms: sum((k, l) in road if k == f: flow[i, k, l]) <= 4
    low: p >= 1
}
`
	a, b := mustBind(t, compile(t, "apart", apart), nil), mustBind(t, compile(t, "joint", joint), nil)
	rng := rand.New(rand.NewPCG(4, 4))
	for range 20 {
		x, y := []float64{rng.Float64() * 5}, make([]float64, a.Lower.Dim)
		for i := range y {
			y[i] = rng.NormFloat64()
		}
		f, err := expr.Scalar(a.Lower.Objective, x, y)
		if err != nil {
			t.Fatal(err)
		}
		g, err := expr.Scalar(b.Lower.Objective, x, y)
		if err != nil {
			t.Fatal(err)
		}
		if d := f - g; d > 1e-12*(1+f*f) || -d > 1e-12*(1+f*f) { // the order of the sums differs
			t.Errorf("%v, the joint level has %v", f, g)
		}
	}
	set := func(rows []string) map[string]bool {
		out := map[string]bool{}
		for _, r := range rows {
			out[r] = true
		}
		return out
	}
	rowsOf := func(names string) map[string]bool {
		return set(strings.Fields(strings.NewReplacer("w.simplex", "simplex", ", ", ",").Replace(names)))
	}
	if got, want := rowsOf(names(a.Rows)), rowsOf(names(b.Rows)); !reflect.DeepEqual(got, want) {
		t.Errorf("rows %v\nwant %v", got, want)
	}
	// The bounds of a part of an array, of data or a list that all share and of a number are those of each follower's entries.
	rhs := map[string]float64{}
	for k, r := range b.Rows {
		rhs[r.Name] = b.Rhs[k]
	}
	for k, r := range a.Rows {
		if strings.HasPrefix(r.Name, "u.") || strings.HasPrefix(r.Name, "v.") || strings.HasPrefix(r.Name, "s.") || strings.HasPrefix(r.Name, "d.") {
			if want := rhs[r.Name]; a.Rhs[k] != want {
				t.Errorf("%s: %v, want %v", r.Name, a.Rhs[k], want)
			}
		}
	}
	// One block of entries a firm, and one for the operator.
	if blocks := facts.Blocks(a); len(blocks) != 4 {
		t.Errorf("%d blocks: %v", len(blocks), blocks)
	}
	parts := ""
	for _, f := range a.Followers {
		parts += fmt.Sprint(f.Name, f.Maximize, f.Vars, f.Objective.Node.Shape, len(f.Families), " ")
	}
	if parts != "firmtrue [q w u v s d flow part rest] vector[3] 21 operatorfalse [p] scalar 1 " {
		t.Errorf("followers %q", parts)
	}
}
