package runtime

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
)

// A constraint of the leader that holds with slack has no multiplier, in whatever units the objective and the constraint are: the solution of a problem whose constraint is tighter, with its
// multipliers, does not pass for one of the problem itself. F = u (x - 2)^2 falls up to the edge of the constraint, which is known.
func TestSlackConstraintsHaveNoMultiplier(t *testing.T) {
	tried := 0
	for k := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(k, 43))
		unit, size := math.Pow(10, float64(rng.IntN(19)-9)), math.Pow(10, float64(rng.IntN(13)-6))
		edge := 0.5 + rng.Float64()
		tight := edge * (1 - math.Pow(10, -1-3*rng.Float64()))
		row := []string{"limit: %[2]g * y <= %[3]v", "limit: %[2]g * (y + y^2) <= %[3]v", "limit: %[2]g * exp(y) <= %[3]v"}[k%3]
		value := func(v float64) float64 { return size * []float64{v, v + v*v, math.Exp(v)}[k%3] }
		bind := func(limit float64) *Problem {
			return mustBind(t, fmt.Sprintf(`model slack
upper {
  var x: real in box(-1, 3)
  minimize %[1]g * (x - 2)^2
  subject to
    `+row+`
}
lower {
  var y: real
  minimize (y - x)^2
}
`, unit, size, value(limit)))
		}
		p, other := bind(edge), bind(tight)
		r, err := other.Solve(t.Context(), Options{})
		if err == nil && r.Status == Solved && r.Certificate.Strong == nil {
			continue // small units may send a run to other methods
		}
		if err != nil || r.Status != Solved {
			t.Fatalf("member %d: %v, %s (%s): objective times %g, constraint times %g, row %d, tight %v", k, err, r.Status, r.Reason, unit, size, k%3, tight)
		}
		if report, err := other.Verify(r); err != nil || !report.OK() {
			t.Fatalf("member %d: untouched: %v, %v", k, err, report.Failures())
		}
		tried++
		r.Digest, r.Global = p.Digest(), nil
		v := &r.Upper.Residuals[0]
		v.Data = []float64{v.Data[0] + value(tight) - value(edge)}
		if report, err := p.Verify(r); err == nil && report.OK() {
			t.Errorf("member %d: objective times %g, constraint times %g: x = %v passes, where F falls up to %v", k, unit, size, tight, edge)
		}
	}
	if tried < members.Count(60)/2 {
		t.Errorf("only %d members", tried)
	}
}
