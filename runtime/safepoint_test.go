package runtime

import (
	"context"
	"strings"
	"testing"
)

// A safe point is in X: one outside of it is refused, whatever else of it is true.
func TestSafePointIsInX(t *testing.T) {
	model, err := Compile("safe.blv", `model safe
upper {
  var toll: real in box(0, 100)
  maximize toll * road
}
lower {
  var road: real in nonneg
  var path: real in nonneg
  minimize toll * road + 25 * path
  subject to
    all: road + path == 1
}
solve { ties = optimistic }
`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.Bind(nil, BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Solve(context.Background(), Options{})
	if err != nil || r.Lower.Ties == nil || r.Lower.Ties.Safe == nil {
		t.Fatalf("%v, %+v", err, r)
	}
	for toll, in := range map[float64]bool{0: true, -1: false} {
		safe := *r.Lower.Ties.Safe
		safe.Variables = Values{{Name: "toll", Data: []float64{toll}}}
		safe.Objective, safe.Distance = Number(toll), Number(25-toll)
		ties, forged := *r.Lower.Ties, *r
		ties.Safe = &safe
		forged.Lower.Ties = &ties
		report, err := p.Verify(&forged)
		if err != nil {
			t.Fatal(err)
		}
		refused := false
		for _, c := range report.Failures() {
			if strings.Contains(c.Claim, "safe point") {
				refused = true
			}
		}
		if refused == in {
			t.Errorf("toll %v, in X %v: %v", toll, in, report.Failures())
		}
	}
}
