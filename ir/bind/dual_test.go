package bind

import (
	"slices"
	"testing"

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
