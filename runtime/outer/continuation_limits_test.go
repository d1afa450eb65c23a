package outer

import (
	"strings"
	"testing"

	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/status"
)

// A limit does not take back what has been reached: from the first limit on at which a run
// is solved it is, and that the continuation found no lower point is said only where it has
// come to its end.
func TestLimitsInsideTheContinuation(t *testing.T) {
	const cut, whole = "a limit ended the continuation", "found no lower one"
	for _, c := range []oracletest.Case{oracletest.Quota(), oracletest.Toll(), oracletest.Bolib()[5], oracletest.Bolib()[7]} {
		r := solve(t, c.Problem, "bundle", nil, Options{Seed: 1})
		all := r.Evaluations
		if r.Status != status.Solved || !strings.Contains(r.Reason, whole) {
			t.Fatalf("%s: %v (%s)", c.Name, r.Status, r.Reason)
		}
		solved, cuts := false, 0
		for k := 1; k <= all; k += 1 + all/40 {
			r := solve(t, c.Problem, "bundle", nil, Options{Seed: 1, Limits: Limits{Evaluations: k}})
			if solved && r.Status != status.Solved {
				t.Errorf("%s: a limit of %d: %v (%s), with fewer it was solved", c.Name, k, r.Status, r.Reason)
			}
			solved = solved || r.Status == status.Solved
			if strings.Contains(r.Reason, cut) {
				cuts++
			}
			if k < all && strings.Contains(r.Reason, whole) {
				t.Errorf("%s: a limit of %d, the run takes %d: %s", c.Name, k, all, r.Reason)
			}
		}
		if cuts == 0 {
			t.Errorf("%s: no limit ended the continuation", c.Name)
		}
	}
}
