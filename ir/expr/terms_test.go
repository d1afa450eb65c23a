package expr

import (
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
	"bilevelc/ir/expr/exprtest"
	"bilevelc/lang/diag"
)

// TestTermsAreNeeded: the program does not start when an operation lacks its terms.
func TestTermsAreNeeded(t *testing.T) { exprtest.Needed(t, terms, requireTerms) }

// TestTerms adds up the terms of every operation that is a sum of them, with each argument
// known data, sparse or dense, or not known, and holds the sums against the value.
func TestTerms(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 7))
	at := diag.Span{}
	seen := map[Op]int{}
	for range 600 {
		b := NewBuilder()
		var x []float64
		argument := func(s Shape) *Node {
			vals := make([]float64, s.Len())
			for k := range vals {
				if r.IntN(3) > 0 {
					vals[k] = r.NormFloat64()
				}
			}
			switch r.IntN(3) {
			case 0:
				if s.Rank == 2 {
					return b.Const("M", data.SparseMatrix(sparse.FromDense(s.Rows, s.Cols, vals)), at)
				}
				return b.Const("c", NewArray(s, vals), at)
			case 1:
				return b.Const("c", NewArray(s, vals), at)
			}
			n := b.Var("x", false, len(x), s, at)
			x = append(x, vals...)
			return n
		}
		m, k, l := 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(3)
		shape := []Shape{ScalarShape(), VectorShape(m), MatrixShape(m, k)}[r.IntN(3)]
		index := func(n, of int) []int {
			return each.Below(n, func(int) int { return r.IntN(of+1) - 1 })
		}
		turned := func(m, n int) (Shape, bool) {
			if r.IntN(2) == 0 {
				return MatrixShape(n, m), true
			}
			return MatrixShape(m, n), false
		}
		var n *Node
		switch r.IntN(9) {
		case 0:
			n = b.Unary(Neg, argument(shape), at)
		case 1, 2:
			u, v := argument(shape), argument([]Shape{shape, ScalarShape()}[r.IntN(2)])
			if r.IntN(2) == 0 {
				u, v = v, u
			}
			n = b.Binary([]Op{Add, Sub, Mul}[r.IntN(3)], u, v, at)
		case 3:
			n = b.Dot(argument(VectorShape(m)), argument(VectorShape(m)), at)
		case 4:
			s, trans := turned(m, k)
			n = b.MatVec(argument(s), trans, argument(VectorShape(k)), at)
		case 5:
			s, trans := turned(m, k)
			q, other := turned(k, l)
			n = b.MatMul(argument(s), trans, argument(q), other, at)
		case 6:
			n = b.Outer(argument(VectorShape(m)), argument(VectorShape(k)), at)
		case 7:
			if shape.Rank == 2 {
				n = b.Transpose(argument(shape), at)
			} else {
				n = b.Reduce(Sum, argument(VectorShape(m)), at)
			}
		default:
			u := argument(shape)
			if r.IntN(2) == 0 {
				n = b.Gather(u, index(l, u.Shape.Len()), VectorShape(l), at)
			} else {
				n = b.ScatterAdd(u, index(u.Shape.Len(), l), VectorShape(l), at)
			}
		}
		if info := n.Op.Info(); n.Deps == 0 || !info.Linear && !info.Bilinear {
			continue
		}
		seen[n.Op]++
		want, err := Eval(n, x, nil)
		if err != nil {
			t.Fatal(err)
		}
		terms := b.Terms(n)
		part := func(i, k int) float64 {
			v, err := Eval(n.Args[i], x, nil)
			if err != nil {
				t.Fatal(err)
			}
			return v.Values()[k]
		}
		for e, w := range want.Values() {
			sum := 0.0
			terms.Each(e, func(s Summand) bool {
				v := s.A
				if s.P >= 0 && !terms.Data[0] {
					v *= part(0, s.P)
				}
				if s.Q >= 0 && !terms.Data[1] {
					v *= part(1, s.Q)
				}
				sum += v
				return true
			})
			if math.Abs(sum-w) > 1e-14*(1+math.Abs(w)) {
				t.Fatalf("%s: entry %d is %v, its terms add up to %v\n%s", n.Op, e, w, sum, Format(n))
			}
		}
	}
	for op := range Primitives {
		if p := &Primitives[op]; (p.Linear || p.Bilinear) && seen[p.Op] < 5 {
			t.Errorf("%s is seen %d times", p.Symbol, seen[p.Op])
		}
	}
}
