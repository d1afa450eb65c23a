package runtime_test

import (
	"context"
	"math"
	"testing"

	"bilevelc/runtime"
)

// TestClaimsBesideTheBound: a gap of nothing, or of less than there is, beside a bound that is not F, a point on the way that is beyond the
// bound, and a negative residual are no claims that pass, with or without a proof at hand.
func TestClaimsBesideTheBound(t *testing.T) {
	for _, name := range []string{"shop", "quota", "toll", "bard1988"} {
		p := bindFile(t, "../examples/"+name+"/"+name+".blv")
		for what, forge := range map[string]func(*runtime.Result){
			"":                 func(*runtime.Result) {},
			"a gap of 0":       func(r *runtime.Result) { r.Global.Gap = 0 },
			"a tenth of a gap": func(r *runtime.Result) { r.Global.Gap /= 10 },
			"a point beyond the bound": func(r *runtime.Result) {
				k := len(r.Global.Trace) - 1
				r.Global.Trace[k].Best += 2 * (r.Global.Bound - r.Global.Trace[k].Best)
			},
			"a gap to no bound": func(r *runtime.Result) {
				*r.Global = runtime.Global{Bound: runtime.Number(math.Inf(-1)), Gap: 0.5, Within: r.Global.Within, Why: "it ended"}
				if r.Upper.Sense == "maximize" {
					r.Global.Bound = runtime.Number(math.Inf(1))
				}
			},
			"a negative residual": func(r *runtime.Result) { r.Certificate.Lower.Residuals.Primal = -1e-18 },
		} {
			r, err := p.Solve(context.Background(), runtime.Options{Seed: 1})
			if err != nil || r.Global == nil || len(r.Global.Trace) == 0 || r.Global.Gap == 0 {
				t.Fatalf("%s: %v", name, err)
			}
			forge(r)
			if report, err := p.Verify(r); err != nil || report.OK() != (what == "") {
				t.Errorf("%s, %q: %v, passes %v", name, what, err, err == nil && report.OK())
			}
		}
	}
}
