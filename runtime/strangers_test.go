package runtime_test

import (
	"testing"

	"bilevelc/runtime"
)

// TestProvedAnswersPassTheirVerification: models of others whose solutions were right and failed their own verification. A constraint of the leader reads an entry of y that is 0 but for rounding of the others; at a B-stationary
// point, where gradients of rows depend on each other, no multipliers are those of a strongly stationary one.
func TestProvedAnswersPassTheirVerification(t *testing.T) {
	for _, text := range []string{`model z
upper {
  var x: vector[2] in box([-0.03, -0.02], [-0.02, 0])
  minimize x[1] + x[2]
  subject to
    u1: y[1] == 0
}
lower {
  var y: vector[3] in box([-0.01, 0, 0], [0.02, 0.02, 0.02])
  minimize 60000 * y[1]^2 - 60000 * y[1] * y[2] + 40000 * y[1] * y[3] + 25000 * y[2]^2 + 20000 * y[3]^2 + (10000 * x[2] + 800) * y[1] + (-1300) * y[2] + (-20000 * x[1] - 1200) * y[3]
}
`, `model m
solve { ties = optimistic }
upper {
  var x: vector[3] in box([-2, 0, -3], [4, 5, -3])
  maximize 3 * x[1] - 2 * x[2] + 2 * x[3] + 3 * y[1] + y[2] + 4 * y[3] + y[4] + 2 * dual(r1)
  subject to
    u1: x[3] <= -3
    u2: -2 * x[1] + 2 * x[2] - x[3] - 2 * y[1] + 2 * y[2] - 2 * y[3] + 2 * y[4] == 5
}
lower {
  var y: vector[4] in box([-3, -3, -2, -3], [0, -2, 4, -2])
  minimize 4 * y[1]^2 - 4 * y[1] * y[2] + y[1] * y[3] + 4 * y[1] * y[4] + 6.5 * y[2]^2 - 8 * y[2] * y[3] + 5 * y[3]^2 - 4 * y[3] * y[4] + 4.5 * y[4]^2 + (x[1] + 2) * y[1] + (2 * x[2] + 19) * y[2] + (x[1] - 14) * y[3] + (21) * y[4]
  subject to
    r1: 2 * y[1] + 2 * y[2] + 2 * y[3] + y[4] <= -13
}
`, `model m
solve { ties = optimistic }
upper {
  var x: vector[3] in box([0, -0.25, -0.0234375], [0, 0.375, 0])
  minimize 640 * x[1]^2 + 384 * x[1] * x[2] + 4096 * x[1] * x[3] + 512 * x[1] * y[2] + 0.1875 * x[1] * y[3] - 0.25 * x[1] * y[4] + 160 * x[2]^2 + 2048 * x[2] * x[3] + 1024 * x[2] * y[1] + 512 * x[2] * y[2] + 0.09375 * x[2] * y[3] - 0.125 * x[2] * y[4] + 49152 * x[3]^2 + 16384 * x[3] * y[2] + 0.5 * x[3] * y[3] + 10240 * y[1]^2 + 2048 * y[2]^2 + 3.0517578125e-05 * y[3]^2 - 6.103515625e-05 * y[3] * y[4] + 0.00048828125 * y[4]^2 + 32 * x[1] + 512 * x[3] + 128 * y[1] + 0.015625 * y[3] - 0.046875 * y[4]
  subject to
    u1: -128 * y[1] - 0.0078125 * y[3] == -4
    u2: -16 * x[1] - 128 * y[1] - 32 * y[2] + 0.03125 * y[4] <= -3
}
lower {
  var y: vector[4] in box([-0.015625, 0, 0, -64], [0.0625, 0.125, 256, 192])
  minimize 12288 * y[1]^2 - 12288 * y[1] * y[2] + 0.25 * y[1] * y[3] + y[1] * y[4] + 4096 * y[2]^2 + 0.25 * y[2] * y[3] - 2 * y[2] * y[4] + 5.340576171875e-05 * y[3]^2 - 0.000244140625 * y[3] * y[4] + 0.0008544921875 * y[4]^2 + (-1024 * x[2] + 64) * y[1] + (-1024 * x[1] + 4096 * x[3] - 224) * y[2] + (-0.0625 * x[1] + 0.0625 * x[2]) * y[3] + (-0.25 * x[2] - 0.015625) * y[4]
}
`} {
		p := bindText(t, text)
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil || r.Status != runtime.Solved || !r.Global.Proved || !verified(p, r) {
			t.Errorf("%s, %s, %v\n%s", r.Status, r.Reason, err, text)
		}
	}
}
