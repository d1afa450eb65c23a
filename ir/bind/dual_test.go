package bind

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// TestDualOfConditionedFamily reads by label the multipliers of families over index sets
// whose conditions leave rows out: those are 0. The multipliers are given as 1, 2, ... in
// the order of the rows.
func TestDualOfConditionedFamily(t *testing.T) {
	const model = `model conditioned
set city = {"Rome", "Oslo", "Riga"}
set hour = 0..2
set road(from, to) within city * city = {("Rome", "Oslo"), ("Oslo", "Riga"), ("Riga", "Rome")}
set way within city * city = {("Riga", "Oslo"), ("Rome", "Riga"), ("Riga", "Rome"), ("Oslo", "Riga")}
upper {
  var x: real in box(1, 2)
  minimize x^2 + sum(dual(cap)) + sum(dual(tie)) + sum(dual(lane)) + sum(dual(cube))
}
lower {
  var y: [city, hour]
  var flow: [road]
  var load: [way]
  var w: [2, 2, 2]
  minimize sumsq(y - x) + sumsq(flow) + sumsq(load) + sumsq(w)
  subject to
    cap: forall c in city, h in hour if h > 0 and c != "Oslo": y[c, h] <= 0
    tie: forall (i, j) in road if i != "Rome": flow[i, j] <= 0
    lane: forall (i, j) in way if i != "Rome": load[i, j] <= 0
    cube: forall i in 1..2, j in 1..2, k in 1..2: w[i, j, k] <= i * j * k
}
report {
  all = dual(cap)
  one = dual(cap)["Riga", 1]
  out = dual(cap)["Oslo", 2]
  road = dual(tie)["Riga", "Rome"]
  ties = [dual(tie)["Rome", "Oslo"], dual(tie)["Oslo", "Riga"]]
  lanes = dual(lane)
  corner = dual(cube)[2, 1, 2]
  late = sum(c in city, h in hour if h > 0: h * dual(cap)[c, h])
}
`
	p := mustBind(t, compile(t, "conditioned", model), &data.Set{})
	y := make([]float64, p.Lower.Dim+len(p.Duals))
	for k := range p.Duals {
		y[p.Lower.Dim+k] = float64(k + 1)
	}
	want := map[string][]float64{"all": {0, 1, 2, 0, 0, 0, 0, 3, 4}, "one": {3}, "out": {0}, "road": {6}, "ties": {0, 5}, "lanes": {7, 0, 8, 9}, "corner": {9 + 6}, "late": {1 + 2*2 + 3 + 2*4}}
	for _, item := range p.Report {
		a, err := expr.Eval(item.Node, []float64{1}, y)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Values(); !slices.Equal(got, want[item.Name]) {
			t.Errorf("%s is %v, not %v", item.Name, got, want[item.Name])
		}
	}
}

// TestDualsOfRandomFamilies: what dual gives at a label is the multiplier of the row of
// that name, and 0 where there is none; families are over random sets and ranges, with and
// without conditions.
func TestDualsOfRandomFamilies(t *testing.T) {
	binders := []struct{ text, cond string }{
		{"c in city", `c != "Oslo"`}, {"h in hour", "h > 4"}, {"k in 1..3", "k != 2"}, {"r in way", "ord(r) > 2"},
		{"(i, j) in way", `i != "Rome"`}, {"(p, q) in duty", "q < 5"}, {"(l) in late", `l == "Riga"`}, {"g in 1..card(city)", "g == 1"},
	}
	rng := rand.New(rand.NewPCG(21, 4))
	placed := 0
	for range 300 {
		order := rng.Perm(len(binders))[:1+rng.IntN(3)]
		var over, conds []string
		for _, k := range order {
			over = append(over, binders[k].text)
			if rng.IntN(3) == 0 {
				conds = append(conds, binders[k].cond)
			}
		}
		family := "forall " + strings.Join(over, ", ")
		if len(conds) > 0 {
			family += " if " + strings.Join(conds, " and ")
		}
		p := mustBind(t, compile(t, "random", `model random
set city = {"Rome", "Oslo", "Riga"}
set late within city = {"Riga", "Oslo"}
set hour = 3..5
set way within city * city = {("Riga", "Oslo"), ("Rome", "Riga"), ("Riga", "Rome"), ("Oslo", "Riga")}
set duty within city * hour = {("Oslo", 5), ("Rome", 3), ("Oslo", 4)}
upper {
  var x: real in box(1, 2)
  minimize x^2 + sum(dual(cap))
}
lower {
  var y: real
  minimize (y - x)^2
  subject to
    cap: `+family+`: y <= 3
}
report {
  all = dual(cap)
}
`), &data.Set{})
		z := make([]float64, p.Lower.Dim+len(p.Duals))
		of := map[string]float64{}
		for k, i := range p.Duals {
			z[p.Lower.Dim+k] = float64(k + 1)
			of[p.Rows[i].Name] = float64(k + 1)
		}
		item := p.Report[0]
		a, err := expr.Eval(item.Node, []float64{1}, z)
		if err != nil {
			t.Fatal(err)
		}
		if item.Axes == nil {
			continue
		}
		for k, v := range a.Values() {
			name := "cap[" + ir.Place(item.Axes, k) + "]"
			if placed++; v != of[name] {
				t.Fatalf("%s: %s is %v, its row has %v", family, name, v, of[name])
			}
		}
	}
	if placed < 1000 {
		t.Errorf("%d places: the families have no labels", placed)
	}
}

// A family whose rows are written out tuple by tuple has multipliers as others have.
func TestDualOfUnrolledFamily(t *testing.T) {
	prob := mustBind(t, compile(t, "unrolled.blv", `model unrolled
param n: int = 3
upper {
  var x: real in box(0, 2)
  minimize x^2 + sum(dual(cap))
}
lower {
  var y: vector[n] in nonneg
  minimize sumsq(y - x)
  subject to
    cap: forall t in 1..n: sum(y[1..t]) <= t
}
report {
  all = dual(cap)
  last = dual(cap)[n]
}
`), nil)
	if all, last := prob.Report[0].Node.Shape, prob.Report[1].Node.Shape; all != expr.VectorShape(3) || last != expr.ScalarShape() {
		t.Errorf("dual(cap) is a %s, an entry of it a %s", all, last)
	}
	rows := each.WhereBelow(len(prob.Rows), func(i int) bool { return prob.Rows[i].Family.Name == "cap" })
	if len(rows) != 3 || !slices.Equal(prob.Duals, rows) {
		t.Errorf("the rows of `cap` are %v, its multipliers those of %v", rows, prob.Duals)
	}
}
