package codegen

import (
	"testing"

	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// formOf builds a small form by hand: variables W (2 x 3, in x), u (2) and v
// (3, in y).
func formOf(rest ...val) *form {
	f := &form{dx: 6, dy: 5, vals: []val{
		{op: opVar, shape: expr.MatrixShape(2, 3)},
		{op: opVar, shape: expr.VectorShape(2), lower: true},
		{op: opVar, shape: expr.VectorShape(3), lower: true, offset: 2},
	}}
	f.vals = append(f.vals, rest...)
	f.setStages()
	return f
}

// TestTransposes: transposes in front of products become their flags.
func TestTransposes(t *testing.T) {
	turned := val{op: opTranspose, args: []int{0}, shape: expr.MatrixShape(3, 2)}
	f := formOf(turned,
		val{op: opMatVec, args: []int{3, 1}, alpha: 1, shape: expr.VectorShape(3)},
		val{op: opMatVec, args: []int{3, 2}, alpha: 1, transA: true, shape: expr.VectorShape(2)},
		val{op: opMatMul, args: []int{3, 3}, transB: true, shape: expr.MatrixShape(3, 3)},
		val{op: opTranspose, args: []int{6}, shape: expr.MatrixShape(3, 3)},
		val{op: opSum, args: []int{7}},
		val{op: opDot, args: []int{4, 2}},
		val{op: opDot, args: []int{5, 1}},
		val{op: opLin, args: []int{8, 9, 10}, coef: []float64{1, 1, 1}})
	for i := 8; i < 12; i++ {
		f.vals[i].shape = expr.ScalarShape()
	}
	f.outs = []output{{to: toValue, v: 11}}
	g := transposes(f)
	if err := g.verify(); err != nil {
		t.Fatal(err)
	}
	var got []val
	for _, v := range g.vals {
		if v.op == opTranspose {
			t.Error("a transpose is left")
		}
		if v.op == opMatVec || v.op == opMatMul {
			got = append(got, v)
		}
	}
	// W' u, (W')' v, and W' (W')' ', which is its own transpose.
	want := []struct{ a, b bool }{{true, false}, {false, false}, {true, false}}
	if len(got) != 3 {
		t.Fatalf("%d products", len(got))
	}
	for k, w := range want {
		if got[k].transA != w.a || got[k].transB != w.b || got[k].args[0] != 0 {
			t.Errorf("product %d: flags %v %v, want %v", k, got[k].transA, got[k].transB, w)
		}
	}
}

// TestReassociation: x' P y with x in the earlier stage multiplies P' x there,
// whichever way it was written, and a product matrix is not formed for a
// vector.
func TestReassociation(t *testing.T) {
	P := data.Matrix(4, 3, make([]float64, 12))
	f := &form{dx: 4, dy: 3, vals: []val{
		{op: opVar, shape: expr.VectorShape(4)},
		{op: opVar, shape: expr.VectorShape(3), lower: true},
		{op: opConst, array: P, shape: expr.MatrixShape(4, 3)},
		{op: opMatVec, args: []int{2, 1}, alpha: 1, shape: expr.VectorShape(4)},
		{op: opDot, args: []int{0, 3}, shape: expr.ScalarShape()},
	}, outs: []output{{to: toValue, v: 4}}}
	f.setStages()
	g := reassociate(f)
	if err := g.verify(); err != nil {
		t.Fatal(err)
	}
	for i := range g.vals {
		if v := &g.vals[i]; v.op == opMatVec && (v.stage != xStage || !v.transA) {
			t.Errorf("the product is in stage %s, transposed %v", v.stage, v.transA)
		}
	}
	h := formOf(
		val{op: opMatMul, args: []int{0, 0}, transA: true, shape: expr.MatrixShape(3, 3)},
		val{op: opMatVec, args: []int{3, 2}, alpha: 1, shape: expr.VectorShape(3)},
		val{op: opSum, args: []int{4}, shape: expr.ScalarShape()})
	h.vals[0].lower = true // W varies in the inner loop
	h.setStages()
	h.outs = []output{{to: toValue, v: 5}}
	k := reassociate(h)
	if err := k.verify(); err != nil {
		t.Fatal(err)
	}
	for i := range k.vals {
		if k.vals[i].op == opMatMul {
			t.Error("W' W is formed for one product with a vector")
		}
	}
}
