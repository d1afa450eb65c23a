package problem

import (
	"testing"

	"bilevelc/internal/sparse"
)

// Each fact proves its own assumption and no other; an inequality row refutes what
// rests on equalities.
func TestAssumptions(t *testing.T) {
	all := []Assumption{StronglyConvexG, SmoothG, LipschitzF, SmoothF, EqualityRows, StrictComplementarity}
	row := func(k Kind) *Rows {
		return &Rows{Kind: []Kind{k}, A: sparse.FromDense(1, 1, []float64{0}), B: sparse.FromDense(1, 1, []float64{1}), Rhs: []float64{0}}
	}
	for _, c := range []struct {
		p    Problem
		want []bool
	}{
		{Problem{Rows: row(AtMost)}, []bool{false, false, false, false, false, false}},
		{Problem{Rows: row(Equal)}, []bool{false, false, false, false, true, true}},
		{Problem{Rows: row(AtMost), Facts: Facts{StrongConvexity: 1}}, []bool{true, false, false, false, false, false}},
		{Problem{Rows: row(AtMost), Facts: Facts{Smoothness: 1, LipschitzF: 2}}, []bool{false, true, true, false, false, false}},
		{Problem{Rows: row(Equal), Facts: Facts{SmoothnessF: 1}}, []bool{false, false, false, true, true, true}},
	} {
		for i, a := range all {
			if got := c.p.Proved(a); got != c.want[i] {
				t.Errorf("%+v: %v proved is %v", c.p.Facts, a, got)
			}
		}
	}
}
