package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestFixedPricesAreNumbers compares programs in which a leader sets some prices of a linear follower, while others are variables that a row or bounds fix, as roads without a toll are
// written, with the same programs in which these are numbers. Revenue from free prices alone is a price times an amount; the follower's cost has a product with each price. Both are to be
// proved, with the same F, and the proofs are to be accepted.
func TestFixedPricesAreNumbers(t *testing.T) {
	proved, runs := 0, members.Count(60)
	for trial := range members.Seeds(t, 60) {
		r := rand.New(rand.NewPCG(trial, 82))
		n, m := 3+r.IntN(4), 1+r.IntN(2)
		number := func() float64 { return math.Round(8*r.Float64()) / 4 }
		fixed, value, share := make([]bool, n), make([]float64, n), make([]float64, n)
		for j := range fixed {
			if j > 0 && r.IntN(2) == 0 {
				fixed[j] = true
				if r.IntN(2) == 0 {
					value[j] = number()
				}
				if r.IntN(3) == 0 { // what the leader gets of it is linear in the answer
					share[j] = number()
				}
			} else {
				share[j] = 1
			}
		}
		var written, numbers, cost, costNumbers, rows, lo, hi []string
		for j := range n {
			at := fmt.Sprintf("x[%d]", j+1)
			is := at
			low, high := "0", "4"
			if fixed[j] {
				is = fmt.Sprint(value[j])
				if r.IntN(2) == 0 {
					rows = append(rows, fmt.Sprintf("    %v * %s == %v", 2, at, 2*value[j]))
				} else {
					low, high = is, is
				}
			}
			lo, hi = append(lo, low), append(hi, high)
			base := number()
			if share[j] != 0 {
				written = append(written, fmt.Sprintf("%v * %s * y[%d]", share[j], at, j+1))
				numbers = append(numbers, fmt.Sprintf("%v * %s * y[%d]", share[j], is, j+1))
			}
			cost = append(cost, fmt.Sprintf("(%v + %s) * y[%d]", base, at, j+1))
			costNumbers = append(costNumbers, fmt.Sprintf("(%v + %s) * y[%d]", base, is, j+1))
		}
		var needs []string
		for i := range m {
			var sum []string
			for j := range n {
				if w := number(); w > 0 {
					sum = append(sum, fmt.Sprintf("%v * y[%d]", w, j+1))
				}
			}
			needs = append(needs, fmt.Sprintf("    need%d: %s >= 1", i, strings.Join(append(sum, "0.25 * sum(y)"), " + ")))
		}
		text := func(f, g []string, rows []string) string {
			if len(rows) > 0 {
				rows = append([]string{"  subject to"}, rows...)
			}
			return fmt.Sprintf(`model m
upper {
  var x: vector[%d] in box([%s], [%s])
  maximize %s
%s
}
lower {
  var y: vector[%d] in box(0, 1)
  minimize %s
  subject to
%s
}
solve { ties = optimistic }
`, n, strings.Join(lo, ", "), strings.Join(hi, ", "), strings.Join(f, " + "), strings.Join(rows, "\n"), n, strings.Join(g, " + "), strings.Join(needs, "\n"))
		}
		solve := func(model string) *runtime.Result {
			p := bindText(t, model)
			res, err := p.Solve(context.Background(), runtime.Options{})
			if err != nil {
				t.Fatalf("trial %d: %v\n%s", trial, err, model)
			}
			if !res.Global.Proved {
				return res
			}
			var proof bytes.Buffer
			if err := res.WriteProof(context.Background(), &proof); err != nil {
				t.Errorf("trial %d: no proof: %v\n%s", trial, err, model)
				return res
			}
			if report, err := p.VerifyProof(res, "proof", &proof); err != nil || !report.OK() {
				t.Errorf("trial %d: the proof is refused: %v %v\n%s", trial, err, report.Failures(), model)
			}
			return res
		}
		a, b := solve(text(written, cost, rows)), solve(text(numbers, costNumbers, nil))
		if !a.Global.Proved {
			t.Logf("trial %d: %s (%s), %s\n%s", trial, a.Status, a.Reason, a.Global.Why, text(written, cost, rows))
		}
		if !a.Global.Proved || !b.Global.Proved {
			continue
		}
		proved++
		if f, other := float64(a.Upper.Objective), float64(b.Upper.Objective); math.Abs(f-other) > 3e-6*math.Max(1, math.Abs(f)) {
			t.Errorf("trial %d: F is %v, and %v with numbers in the place of fixed prices\n%s", trial, f, other, text(written, cost, rows))
		}
	}
	if proved < members.Least(runs, 0.95) {
		t.Errorf("%d of %d proved", proved, runs)
	}
}
