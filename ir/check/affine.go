package check

import (
	"slices"

	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// degreeOf applies the composition rules of structural degree to a binary
// expression whose operands have been joined into v.
func (c *checker) degreeOf(e *lang.Binary, v, x, y value) value {
	here := site{at: e.Span(), what: e.Op.String()}
	switch e.Op {
	case lang.Mul, lang.ElemMul:
		if x.deps != 0 && y.deps != 0 {
			return v.curve(here)
		}
	case lang.Div, lang.ElemDiv:
		if y.deps != 0 {
			return v.curve(here)
		}
	case lang.Pow, lang.ElemPow:
		if y.deps != 0 || y.num == nil || *y.num != 1 {
			return v.curve(here)
		}
	}
	return v
}

// affineRelation reports the terms of a constraint of the lower level that are not affine
// in the variables. Convex kinks of affine expressions are restated by rows; which of
// them are convex is decided when coefficients are known, but no equality is.
func (c *checker) affineRelation(r *lang.Constraint, terms []value) {
	for i, v := range terms {
		if v.degree < curved || len(v.curving) == 0 {
			continue
		}
		if v.onlyKinks() {
			if slices.Contains(r.Ops, lang.Equal) {
				b := v.curving[0]
				d := c.errorf(c.global, diag.NotAffine, b.at, "%s is an equality with a kink, `%s`", constraintText(r), elab.QuoteSpan(b.at))
				d.Detail = "the points at which it holds are not convex: functions with kinks are restated in inequalities only"
				d.Context, d.Related = r.Terms[i].Span(), b.related
			}
			continue
		}
		places := slices.DeleteFunc(slices.Clone(v.curving), func(s site) bool { return restatable[s.what] })
		b := places[0]
		d := c.errorf(c.global, diag.NotAffine, b.at, "%s is not affine: `%s`", constraintText(r), elab.QuoteSpan(b.at))
		d.Detail = curvedReason(b.what)
		d.Context = r.Terms[i].Span()
		d.Related = b.related
		for _, other := range places[1:] {
			d.Related = append(d.Related, relatedSite(other, "this part is not affine either"))
		}
	}
}

// curvedReason explains why an operation on variables is not affine.
func curvedReason(what string) string {
	switch what {
	case "*", ".*":
		return "both factors depend on variables; a constraint may multiply variables by data only"
	case "/", "./":
		return "the divisor depends on variables; a constraint may divide by data only"
	case "^", ".^":
		return "a power of a variable is not affine"
	}
	return "`" + what + "` of a variable is not affine; constraints are linear in the variables plus a constant"
}
