package runtime_test

import (
	"testing"

	"bilevelc/runtime"
)

// Across a cliff of F, where the follower changes his mind, a constraint of the leader that holds on the upper side has a multiplier in gradients from there, however near that is: a point on the lower side, where it has slack, is
// not stationary by it. At x = 0.14477, a third of a millionth from the tie, F still falls. A root whose slope has no end at 0 makes the size of gradients anything: beside it the rest of F is not at a minimum as it is small for that.
func TestCliffsAndRoots(t *testing.T) {
	for name, text := range map[string]string{
		"cliff": `model m
upper {
  var x: vector[1] in box(-0.58, 1.72)
  minimize 0.27 - 1.42*exp(x[1]) - 1.59*x[1]*y[2]
  subject to
    c1: 0.49 - 1.34*x[1] - 2*y[2] + 0.3*y[1]^2 >= -0.215
}
lower {
  var y: vector[2] in box(0, 1)
  minimize y[1]*(x[1]^2 - 1.25*x[1] + 0.16) + y[2]*(2*(x[1]^2 - 1.25*x[1] + 0.16))
  subject to
    r1: sum(y) <= 1
}
solve { ties = optimistic }
`,
		"root": `model m
upper {
  var x: vector[3] in box(0, 2.69)
  maximize 0.06 + 1.3*y[1]*y[1] + 0.5*y[1]*y[1] + 0.1*x[1]^2 + 1.87*exp(x[3]) - 1.47*(x[1] - 0.88)^2 - 1.4*sqrt(x[1])
  subject to
    c1: 0.7 + 0.97*x[1] + 1.02*y[1] + 1.36*y[1] + 1.21*y[1]^2 <= 10.899
}
lower {
  var y: vector[1] in box(0.05, 2.7)
  maximize -(1.05*y[1]*log(y[1]) - (0.89 - 0.18*x[1] + 1.28*x[2] - 0.4*x[3])*y[1])
}
`} {
		p := bindText(t, text)
		r, err := p.Solve(t.Context(), runtime.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != runtime.Solved {
			continue
		}
		for i, m := range r.Upper.Multipliers {
			if m.Data[0] > 1e-3 && r.Upper.Residuals[i].Data[0] < -1e-3 {
				t.Errorf("%s: solved (%s) with the multiplier %v of a constraint of slack %v", name, r.Reason, m.Data[0], -r.Upper.Residuals[i].Data[0])
			}
		}
		if s := r.Stationarity; float64(s.Value)*float64(s.Delta) > 1e-5 {
			t.Errorf("%s: solved with a measure of %v within %v", name, s.Value, s.Delta)
		}
	}
}
