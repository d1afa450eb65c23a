package check

import (
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
			return v.bend(here)
		}
	case lang.Div, lang.ElemDiv:
		if y.deps != 0 {
			return v.bend(here)
		}
	case lang.Pow, lang.ElemPow:
		if y.deps != 0 || y.num == nil || *y.num != 1 {
			return v.bend(here)
		}
	}
	return v
}

// affineRelation reports the terms of a constraint that are not affine in the
// variables.
func (c *checker) affineRelation(r *lang.Constraint, terms []value) {
	for i, v := range terms {
		if v.degree < curved || len(v.bends) == 0 {
			continue
		}
		b := v.bends[0]
		d := c.errorf(c.global, diag.NotAffine, b.at, "%s is not affine: `%s`", constraintText(r), quoteSpan(b.at))
		d.Detail = bendReason(b.what)
		d.Fix = bendFix(b.what)
		d.Context = r.Terms[i].Span()
		d.Related = b.related
		for _, other := range v.bends[1:] {
			d.Related = append(d.Related, relatedSite(other, "this part is not affine either"))
		}
	}
}

// bendReason explains why an operation on variables is not affine.
func bendReason(what string) string {
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

// bendFix says how such a constraint is written with affine ones, where that
// is a matter of form.
func bendFix(what string) string {
	switch what {
	case "abs":
		return "write `-t <= e <= t` for `abs(e) <= t`"
	case "max":
		return "write one constraint for each argument: `a <= t`, `b <= t` for `max(a, b) <= t`"
	case "min":
		return "write one constraint for each argument: `a >= t`, `b >= t` for `min(a, b) >= t`"
	}
	return ""
}
