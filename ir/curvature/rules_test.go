package curvature

import (
	"math"
	"reflect"
	"testing"

	"bilevelc/ir/bind"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// TestRulesAreNeeded deletes each part of each rule: the program does not start
// without it.
func TestRulesAreNeeded(t *testing.T) {
	starts := func() (ok bool) {
		defer func() { ok = recover() == nil }()
		require()
		return
	}
	if !starts() {
		t.Fatal("the rules are not whole")
	}
	deleted := 0
	for op := range rules {
		kept := rules[op]
		for k := range reflect.TypeFor[rule]().NumField() {
			part := reflect.ValueOf(&kept).Elem().Field(k)
			if part.IsNil() {
				continue
			}
			deleted++
			without := kept
			switch k {
			case 0:
				without.jet = nil
			case 1:
				without.pair = nil
			case 2:
				without.fold = nil
			case 3:
				without.slopes = nil
			case 4:
				without.curve = nil
			case 5:
				without.edge = nil
			default:
				t.Fatalf("part %d is not tried", k)
			}
			if rules[op] = without; starts() {
				t.Errorf("%s does without part %d of its rule", expr.Op(op), k)
			}
			rules[op] = kept
		}
	}
	if deleted < 35 {
		t.Errorf("only %d parts were deleted", deleted)
	}
}

// TestNothingIsNoProof: what a rule returns that is no range counts as the whole
// line, in ranges, weights and what is proved from them.
func TestNothingIsNoProof(t *testing.T) {
	nan := func(v Interval) bool { return v.Lo != v.Lo || v.Hi != v.Hi || v.Lo > v.Hi }
	for op := range expr.Op(len(expr.Primitives)) {
		if rules[op].jet == nil {
			continue
		}
		kept := rules[op].jet
		for _, nothing := range []Interval{{math.NaN(), math.NaN()}, {math.NaN(), 1}, {2, 1}} {
			rules[op].jet = func(Interval) jet { return jet{nothing, nothing, nothing} }
			b := expr.NewBuilder()
			y := b.Var("y", true, 0, expr.VectorShape(2), diag.Span{})
			u := b.Unary(op, y, diag.Span{})
			// Twice, so that the second reads what the first has said.
			v := b.Unary(op, u, diag.Span{})
			root := b.Reduce(expr.Sum, v, diag.Span{})
			s := newStudy(b, root, expr.DependsY, domain{y: []Interval{{0.5, 1}, {1, 2}}}, &budget{left: 1e9})
			for _, r := range s.rangeOf(root) {
				if nan(r) {
					t.Errorf("%s, %v: a range of %v", op, nothing, r)
				}
			}
			out := s.differentiate(true)
			for _, g := range out.gradient {
				if nan(g) {
					t.Errorf("%s, %v: a slope of %v", op, nothing, g)
				}
			}
			for _, term := range out.terms {
				for _, w := range term.w {
					if nan(w) || w.Lo >= 0 {
						t.Errorf("%s, %v: a weight of %v", op, nothing, w)
					}
				}
			}
		}
		rules[op].jet = kept
	}
}

// TestNothingOfKinks: of an operation that is not smooth, applied to y, nothing is proved, whatever stands beside it.
func TestNothingOfKinks(t *testing.T) {
	for op := range expr.Op(len(expr.Primitives)) {
		info := op.Info()
		if info.Smooth {
			continue
		}
		p := bound(t, "m.blv", "model m\nupper {\nvar x: real in box(0, 1)\nminimize x\n}\nlower {\nvar y: vector[2] in box(1, 2)\nminimize sumsq(y)\n}", nil, bind.Options{})
		b, y := p.Graph, p.Graph.Var("y", true, 0, expr.VectorShape(2), diag.Span{})
		var n *expr.Node
		switch info.Class {
		case expr.Elementwise1:
			n = b.Reduce(expr.Sum, b.Unary(op, y, diag.Span{}), diag.Span{})
		case expr.Elementwise2:
			n = b.Reduce(expr.Sum, b.Binary(op, y, b.Number(1.5), diag.Span{}), diag.Span{})
		default:
			n = b.Reduce(op, y, diag.Span{})
		}
		p.Lower.Objective = b.Binary(expr.Add, b.Binary(expr.Mul, b.Number(100), p.Lower.Objective, diag.Span{}), n, diag.Span{})
		p.Upper.Objective = b.Unary(expr.Neg, n, diag.Span{})
		proof := Prove(p, Defaults())
		if proof.SmoothF.Outcome != unknown || proof.SmoothG.Outcome != unknown || proof.Convexity.Outcome != unknown || proof.Convexity.Convex && info.Class != expr.Reduction ||
			proof.SmoothnessF.Known || proof.SmoothnessG.Known || proof.LipschitzF.Known {
			t.Errorf("%s: %s", op, proof.Text(false))
		}
	}
}
