package bind

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"bilevelc/ir"
	"bilevelc/lang/diag"
)

// TestSegmentsTakeTheirSize: reductions within others allocate in proportion to the tuples, whether
// the inner ranges are alike or not; what is written out is counted as expressions are.
func TestSegmentsTakeTheirSize(t *testing.T) {
	text := func(n int, term string) string {
		return fmt.Sprintf("model m\nupper {\n var x: vector[%d] in box(0.5, 1)\n minimize sum(i in 1..%d: %s)\n}\nlower {\n var y: real\n minimize (y - x[1])^2\n}\n", n, n, term)
	}
	for _, term := range []string{
		"prod(j in 1..2: x[i] + j)", "max(j in 1..3: x[i] * j)", // alike
		"prod(j in 1..min(i, 2): x[i] + j)", // written out
	} {
		took := func(n int) (mb float64, p *ir.Problem, errs diag.List) {
			program := compile(t, "m.blv", text(n, term))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, errs = Bind(program, nil, Options{})
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc-before.TotalAlloc) / 1e6, p, errs
		}
		small, _, errs := took(1000)
		large, p, more := took(8000)
		if errs.HasErrors() || more.HasErrors() {
			t.Errorf("%s: %v %v", term, errs, more)
			continue
		}
		if large > 12*small+1 {
			t.Errorf("%s: %.1f MB for 1000 tuples, %.1f for 8000", term, small, large)
		}
		entries := 0 // of the values that the graph has
		for _, n := range p.Graph.Nodes() {
			entries += n.Shape.Len()
		}
		if entries > 8000*100 {
			t.Errorf("%s: the values of the graph have %d entries", term, entries)
		}
	}
	_, errs := Bind(compile(t, "m.blv", text(1<<17, "prod(j in 1..min(i, 2): x[i] + j)")), nil, Options{})
	if len(errs) != 1 || errs[0].Code != diag.BindTooLarge || !strings.Contains(errs[0].Summary, "expressions") {
		t.Errorf("131072 segments that are written out: %v", errs)
	}
}
