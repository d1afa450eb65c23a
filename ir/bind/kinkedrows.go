package bind

import (
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// kinkedRows are the rows of a relation of the lower level with kinks: they have their
// places from the start, and coefficients once the kinks are restated.
type kinkedRows struct {
	of    relation
	first int   // of the rows
	kept  []int // their entries of h
}

// placeKinked keeps places for the rows of a relation. Those of infinite bounds are left out.
func (r *rows) placeKinked(rel relation) {
	p := r.prob
	rows := &kinkedRows{of: rel, first: len(p.Rows)}
	k := 0
	for _, h := range rel.values {
		at0, err := expr.Eval(h, make([]float64, r.b.dx), make([]float64, r.b.dy))
		if err != nil { // data was not supplied: which rows there are is not known
			p.Unbound = append(p.Unbound, rel.family)
			return
		}
		for _, v := range at0.Values() {
			if !math.IsInf(v, -1) {
				if math.IsNaN(v) || math.IsInf(v, 1) {
					r.b.errorf(diag.BindNotFinite, rel.at, "a part of `%s` is not finite", rel.family.EntryName(k))
					return
				}
				rows.kept = append(rows.kept, k)
				r.endRow(ir.Row{Equal: rel.equal, Family: rel.family, Index: k, Name: rel.family.EntryName(k)}, 0)
			}
			k++
		}
	}
	r.kinked = append(r.kinked, rows)
}

// coefficients gives the rows with kinks their coefficients, with the hidden variables in
// the place of the kinks.
func (s *restater) coefficients() {
	if len(s.kinked) == 0 {
		return
	}
	p, dx := s.prob, s.b.dx
	affine := s.b.affine(s.dim)
	forms, entry := make([]*form, len(p.Rows)), make([]int, len(p.Rows))
	for _, rows := range s.kinked {
		whole, bad := affine.all(rows.of.values)
		if bad != nil { // the values were known when the rows were placed
			s.b.unchecked(rows.of.at)
			return
		}
		for i, k := range rows.kept {
			forms[rows.first+i], entry[rows.first+i] = whole, k
			if !whole.finite(k) {
				s.b.errorf(diag.BindNotFinite, rows.of.at, "`%s` has a coefficient that is not finite", rows.of.family.EntryName(k))
				return
			}
		}
	}
	a, b := sparse.Empty(dx), sparse.Empty(s.dim)
	for i := range p.Rows {
		if f := forms[i]; f != nil {
			split(a, b, f.varying(entry[i]), 1)
			p.Rhs[i] = 0 - f.rest(entry[i]).val
		} else {
			a.AppendAll(p.A.Row(i))
			b.AppendAll(p.B.Row(i))
		}
		a.EndRow()
		b.EndRow()
	}
	p.A, p.B = a, b
}
