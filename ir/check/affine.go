package check

import (
	"slices"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/ir/expr"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// applied is the value of an operation, of type t: what its operands contribute, curved and with
// a kink where the operation makes it so.
func applied(t ir.Type, p *expr.Primitive, here site, operands ...value) value {
	v := join(t, operands...)
	if curves(p, operands) {
		v = v.curve(here)
	}
	if !p.Smooth && v.deps != 0 {
		v.kinks = merge(v.kinks, []site{here})
	}
	return v
}

// curves reports an operation that is not affine in what varies of its operands.
func curves(p *expr.Primitive, operands []value) bool {
	switch {
	case p.Linear:
		return false
	case p.Bilinear:
		return operands[0].deps != 0 && operands[1].deps != 0
	case p.Op == expr.Div:
		return operands[1].deps != 0
	case p.Op == expr.Pow:
		exponent := operands[1]
		return exponent.deps != 0 || exponent.num == nil || *exponent.num != 1
	}
	return true
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
			d.Related = append(d.Related, diag.Related{Span: other.at, Message: "this part is not affine either"})
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
