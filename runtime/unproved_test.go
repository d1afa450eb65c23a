package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/lang/diag"
	"bilevelc/runtime"
)

// A search that found no x with which the leader's constraints hold shows nothing of other x: y is 0 where every x[j] is at most its price, which starts seldom leave, and is more than asked for at the corner of X, as the
// follower's equation exp(y) + 4 y^3 = x - price + 1 shows there. Where constraints of both levels contradict each other without the follower, too, it is infeasible, and that is verified.
func TestInfeasibleIsProved(t *testing.T) {
	t.Parallel()
	for trial := range members.SeedsOf(t, 5, 12) {
		rng := rand.New(rand.NewPCG(trial, 911))
		n, price := 3+rng.IntN(3), 2.4+0.2*rng.Float64()
		text := func(more string) string {
			return fmt.Sprintf("model far\nupper {\n  var x: vector[%d] in box(-4, 4)\n  minimize sumsq(x)\n  subject to\n    least: sum(y) >= %g\n%s}\nlower {\n  var y: vector[%[1]d] in nonneg\n"+
				"  minimize sum(exp(y)) + sum(y .^ 4) - (x - %[4]g)' * y\n}\n", n, 0.27*float64(n), more, price) // y = 0.27: exp(y) + 4 y^3 = 1.389, and the corner has 2.4 at the least
		}
		r := solveText(t, text(""), runtime.Options{Seed: trial})
		if r.Status == runtime.Infeasible {
			t.Errorf("trial %d: %s (%s), and the corner of X satisfies all\n%s", trial, r.Status, r.Reason, text(""))
		}
		if r.Status == runtime.NumericalFailure && (r.Diagnostics[0].Code != diag.RunNoPoint || !strings.Contains(r.Reason, "least is violated by")) {
			t.Errorf("trial %d: %s (%s), %v", trial, r.Status, r.Reason, r.Diagnostics)
		}
		if r.HasPoint() {
			forged := *r
			forged.Status = runtime.Infeasible
			if report, err := bindText(t, text("")).Verify(&forged); err == nil && report.OK() {
				t.Errorf("trial %d: infeasible passes beside a point", trial)
			}
		}
		none := text(fmt.Sprintf("    most: sum(y) + 0 * x[1] <= %g\n", 0.2*float64(n)))
		p := bindText(t, none)
		r, err := p.Solve(t.Context(), runtime.Options{Seed: trial})
		if err != nil || r.Status != runtime.Infeasible || !strings.Contains(r.Reason, "least") || !strings.Contains(r.Reason, "most") {
			t.Fatalf("trial %d: %v (%s), %v\n%s", trial, r.Status, r.Reason, err, none)
		}
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Errorf("trial %d: %v %v", trial, report, err)
		}
	}
}
