package runtime

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime/system"
)

// At x = 0 and y = 0 nothing but the gradients has a size: multipliers of bounds that are not there, and of biactive rows with the sign of a descent direction, are refused there, too, as is what multipliers leave of grad f. F is u times
// an entry of y, which is x, or max(x, 0), so that it falls from 0 by u for each unit of x.
func TestSignsAtTheOrigin(t *testing.T) {
	for k := range members.Seeds(t, 40) {
		rng := rand.New(rand.NewPCG(k, 44))
		unit, size := math.Pow(10, float64(rng.IntN(13)-6)), math.Pow(10, float64(rng.IntN(7)-3))
		for _, c := range []struct {
			name, sense, y, limit string
			// of F = y at 0, for H = 2, G = -2
			adjoint, bound, slack, coupled, residual float64
		}{
			{"a bound", "minimize", "", "", 0.5, 1, 0, 0, 0},
			{"a bound of a maximum", "maximize", "", "", -0.5, -1, 0, 0, 0},
			{"a biactive row", "maximize", " in nonneg", "", 0, 0, -1, 0, 0},
			{"a constraint of the wrong sign", "maximize", "", "limit: -y <= 0", 0, 0, 0, -1, 0},
			{"a residual of all of grad f", "minimize", "", "", 0, 0, 0, 0, 1},
			{"a residual of a part of it", "minimize", "", "", 0.5, 1 - 1e-4, 0, 0, 1e-4},
		} {
			p := mustBind(t, fmt.Sprintf("model origin\nupper {\n  var x: real in box(-%[1]g, %[1]g)\n  %[2]s %[3]g * y\n%[5]s}\nlower {\n  var y: real%[4]s\n  minimize (y - x)^2\n}\n",
				size, c.sense, unit, c.y, map[bool]string{true: "  subject to\n    " + c.limit + "\n"}[c.limit != ""]))
			r, err := p.Solve(t.Context(), Options{})
			if err != nil || r.Status != Solved || r.Certificate.Strong == nil {
				t.Fatalf("member %d: %s: %v, %s (%s)", k, c.name, err, r.Status, r.Reason)
			}
			at, err := p.Eval(t.Context(), Values{{Name: "x", Data: []float64{0}}}, Options{})
			if err != nil || at.Status != Solved {
				t.Fatalf("member %d: %s: %v, %+v", k, c.name, err, at)
			}
			s := *r.Certificate.Strong
			s.Leaves, s.Biactive, s.Residual, s.Adjoint, s.Bound = nil, nil, c.residual, []float64{unit * c.adjoint}, []float64{unit * c.bound}
			if c.slack != 0 {
				s.Slack, s.Multiplier, s.Biactive = []float64{unit * c.slack}, []float64{0}, []int{0}
			}
			if c.limit != "" {
				s.Coupled = []float64{unit * c.coupled}
				r.Upper.Multipliers[0].Data = []float64{unit * c.coupled}
			}
			multipliers, penalty := r.Upper.Multipliers, r.Upper.Penalty
			r.Upper, r.Lower, r.Residuals, r.Report, r.Global = at.Upper, at.Lower, at.Residuals, at.Report, nil
			r.Lower.Solver, r.Lower.Curvature = system.Solver, ""
			r.Upper.Hypergradient, r.Upper.Multipliers, r.Upper.Penalty = nil, multipliers, penalty
			r.Certificate.Lower, r.Certificate.Strong = at.Certificate.Lower, &s
			r.Stationarity.Value, r.Stationarity.GradientError, r.Stationarity.Strict = Number(c.residual), at.Stationarity.GradientError, at.Stationarity.Strict
			report, err := p.Verify(r)
			if err == nil && report.OK() {
				t.Errorf("member %d: %s: x = 0 passes, F times %g", k, c.name, unit)
			} else if k%7 == 0 {
				t.Logf("%s: %v %v", c.name, err, report.Failures())
			}
		}
	}
}
