package check

import (
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// smoothObjective reports every place where an objective applies a function
// that is not continuously differentiable to something that depends on
// variables.
func (c *checker) smoothObjective(level string, o *lang.Objective, v value) {
	for _, k := range v.kinks {
		d := c.errorf(c.global, diag.NonsmoothFunction, k.at, "the %s objective is not smooth: `%s`", level, quoteSpan(k.at))
		d.Detail = "`" + k.what + "` is not differentiable everywhere, and here it depends on variables; " +
			"it may be used in data, in lets over data, and in the report"
		d.Fix = smoothChoice(k.what)
		if level == "lower" && restatable[k.what] {
			d.Detail += ". Restated by rows, as a hidden variable that is at least each of its arguments, it would be linear in " +
				"that variable: the lower objective would have no curvature in it, and its solution need not be unique"
		}
		d.Related = append(d.Related, k.related...)
		if !within(k.at, o.Value.Span()) {
			d.Related = append(d.Related, diag.Related{Span: o.Value.Span(), Message: "used in this objective"})
		}
	}
}

// restatable are the functions that rows and a hidden variable could restate
// where they are convex.
var restatable = map[string]bool{"abs": true, "max": true, "norm1": true, "norminf": true}

// smoothChoice names the smooth function that is meant to stand in.
func smoothChoice(what string) string {
	switch what {
	case "abs":
		return "use `smoothabs(u, eps)`, which is sqrt(u^2 + eps^2), or `huber(u, delta)`"
	case "norm1":
		return "use `sum(sqrt(v .^ 2 + eps^2))`"
	case "max":
		return "use `softplus(u)` for max(u, 0), `smoothmax(u, v, eps)` for two arguments, " +
			"`logsumexp(v)` for the largest entry"
	case "min":
		return "use `smoothmin(u, v, eps)` for two arguments, `-logsumexp(-v)` for the smallest entry"
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

func relatedSite(s site, message string) diag.Related {
	return diag.Related{Span: s.at, Message: message}
}
