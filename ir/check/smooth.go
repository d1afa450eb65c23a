package check

import (
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// smoothObjective reports every place where an objective applies a function
// that jumps, or that has kinks which nothing can restate, to something that depends
// on variables. Whether the others can be restated is decided when numbers are known.
func (c *checker) smoothObjective(level string, o *lang.Objective, v value) {
	for _, k := range v.kinks {
		if restatable[k.what] {
			continue
		}
		d := c.errorf(c.global, diag.NonsmoothFunction, k.at, "the %s objective is not smooth: `%s`", level, elab.QuoteSpan(k.at))
		d.Detail = "`" + k.what + "` is not differentiable everywhere, and here it depends on variables; " +
			"it may be used in data, in lets over data, and in the report"
		d.Fix = smoothChoice(k.what)
		d.Related = append(d.Related, k.related...)
		if !within(k.at, o.Value.Span()) {
			d.Related = append(d.Related, diag.Related{Span: o.Value.Span(), Message: "used in this objective"})
		}
	}
}

// restatable are the functions that are restated by rows and hidden variables:
// those with kinks and without jumps, and those of the library that are made of them.
var restatable = map[string]bool{"abs": true, "max": true, "min": true, "norm1": true, "norminf": true}

// smoothChoice names the smooth function that is meant to stand in.
func smoothChoice(what string) string {
	switch what {
	case "sign":
		return "use `tanh(u / eps)`"
	case "floor":
		return "steps have no smooth stand-in; keep `floor` to data and the report"
	}
	return ""
}

func within(inner, outer diag.Span) bool {
	return inner.Source == outer.Source && inner.Start >= outer.Start && inner.End <= outer.End
}
