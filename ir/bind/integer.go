package bind

import (
	"math"

	"bilevelc/ir"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// ends takes as bounds what the set of a variable of whole numbers says of single entries beside a box: 0 and 1 of a
// binary one, the sum of a simplex, the radius of a ball.
func (r *rows) ends(decl *lang.Var, k int) {
	v := r.prob.Upper.Vars[k]
	if !v.Integer {
		return
	}
	between := func(lo, hi float64, at diag.Span) {
		for j := range v.Shape.Len() {
			from := origin{at: at, terms: math.Max(math.Abs(lo), math.Abs(hi))}
			r.bound(v.Offset+j, -1, lo, false, from)
			r.bound(v.Offset+j, 1, -hi, false, from)
		}
	}
	if decl.Kind == lang.BinaryVar {
		between(0, 1, decl.Word)
		return
	}
	if decl.Set == nil || len(decl.Set.Args) != 1 {
		return
	}
	size, known, _ := r.b.fixedNumber(decl.Set.Args[0], "the size of a set")
	switch at := decl.Set.Span(); {
	case !known: // reported where the set is bound
	case decl.Set.Name.Name == "simplex":
		between(0, size, at)
	case decl.Set.Name.Name == "ball":
		between(-size, size, at)
	}
}

// whole moves the bounds of integer variables to the whole numbers between them, which are all that the variables can
// take. A bound that misses one by no more than its terms decide, as 3 * 0.1 * 10 does, is that number.
func (r *rows) whole(decl *ir.LevelDecl) {
	x := &r.prob.X
	for k, v := range r.prob.Upper.Vars {
		if !v.Integer {
			continue
		}
		for i := range v.Shape.Len() {
			j := v.Offset + i
			if math.IsInf(x.Lo[j], 0) || math.IsInf(x.Hi[j], 0) {
				if len(r.prob.Unbound) == 0 { // else its bounds may be among the data that are not there
					r.endless(decl.Vars[k], v, i)
				}
				break
			}
			lo := math.Ceil(x.Lo[j] - constantTolerance*r.lo[j].terms)
			hi := math.Floor(x.Hi[j] + constantTolerance*r.hi[j].terms)
			switch {
			case x.Lo[j] > x.Hi[j]: // reported
			case lo > hi:
				r.noneBetween("whole number", j)
			case math.Max(-lo, hi) > exactInt:
				r.b.errorf(diag.BindIntegerEnds, r.lo[j].at, "the bounds of the integer variable `%s` are beyond 2^53", v.EntryName(i)).Detail =
					"Not every whole number there is a double."
			default:
				x.Lo[j], x.Hi[j] = lo+0, hi+0
			}
		}
	}
}

// endless reports an integer variable whose entry i lacks a bound.
func (r *rows) endless(decl *lang.Var, v ir.Variable, i int) {
	at := decl.Word
	if decl.Set != nil {
		at = decl.Set.Span()
	}
	x := &r.prob.X
	what := "lower and no upper bound"
	switch j := v.Offset + i; {
	case !math.IsInf(x.Lo[j], 0):
		what = "upper bound"
	case !math.IsInf(x.Hi[j], 0):
		what = "lower bound"
	}
	d := r.b.errorf(diag.BindIntegerEnds, at, "the integer variable `%s` has no %s", v.EntryName(i), what)
	d.Detail = "The search for the best whole numbers goes through those between two bounds."
	d.Fix = "write `in box(lo, hi)` with finite bounds"
}
