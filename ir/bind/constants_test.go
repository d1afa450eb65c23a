package bind

import (
	"math"
	"testing"

	"bilevelc/ir/data"
)

// `pi` is a number, and a name like any other where the model declares it.
func TestPi(t *testing.T) {
	const body = `
data twice: real = 2 * pi
upper {
  var x: real in box(0, twice)
  minimize sin(pi * x) + y^2
}
lower {
  var y: real
  minimize (y - x)^2
}
`
	for head, want := range map[string]float64{"model circle": math.Pi, "model circle\nlet pi = 3": 3} {
		p := mustBind(t, compile(t, "circle", head+body), &data.Set{})
		if got := p.X.Hi[0]; got != 2*want {
			t.Errorf("%s: x is at most %v, not %v", head, got, 2*want)
		}
	}
}
