package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// An evaluation under one rule of ties whose answer is that of the other does not pass: all that it says of the follower is true, but F is not with the answer that the rule asks
// for. The follower is free in two entries of y, whose best and worst answers for the leader are the ends of a box; in the third its g and its gradient are the rounding of terms that cancel.
func TestAnswersOfTheOtherRuleAreRefused(t *testing.T) {
	for seed := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 21))
		a, b, c := 1+rng.Float64(), 1+rng.Float64(), rng.NormFloat64()
		text := func(rule string) string {
			return fmt.Sprintf(`model tied
upper {
  var x: real in box(-1, 1)
  minimize x^2 + %g * y[1] + %g * y[2] - %g * y[3]
}
lower {
  var y: vector[3] in box(-2, 2)
  minimize 0.5 * (y[1] - x)^2
}
solve { ties = %s }
`, c, a, b, rule)
		}
		x := rng.Float64()
		at := func(rule string) (*runtime.Problem, *runtime.Result) {
			p := bindText(t, text(rule))
			r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{x}}}, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if v, err := p.Verify(r); err != nil || !v.OK() {
				t.Fatalf("seed %d, %s: %v %v\n%s", seed, rule, err, v.Failures(), text(rule))
			}
			return p, r
		}
		p, best := at("optimistic")
		q, worst := at("pessimistic")
		if gap := float64(worst.Upper.Objective - best.Upper.Objective); gap < 4 {
			t.Fatalf("seed %d: best and worst are %g apart, not %g", seed, gap, 4*(a+b))
		}
		best.Lower.Ties.Rule, worst.Lower.Ties.Rule = worst.Lower.Ties.Rule, best.Lower.Ties.Rule
		for _, forged := range []struct {
			p *runtime.Problem
			r *runtime.Result
		}{{p, worst}, {q, best}} {
			v, err := forged.p.Verify(forged.r)
			if err != nil {
				t.Fatal(err)
			}
			told := false
			for _, f := range v.Failures() {
				told = told || strings.Contains(f.Claim, "the answer that the rule asks for")
			}
			if !told {
				t.Errorf("seed %d: the answer of another rule is accepted: %v", seed, v.Failures())
			}
		}
	}
}
