package check_test

import (
	"strings"
	"testing"
)

// What a message says to write instead is in the model's own words, and cures it where it is written.
func TestFixesInTheModelsWords(t *testing.T) {
	for _, c := range []struct{ bad, fix, good string }{
		{"model m\nupper {\n  var x: real in box(1, 0)\n  minimize y\n}\nlower {\n  var y: real in nonneg\n  minimize (y - x)^2\n}\n", "`box(0, 1)`",
			"model m\nupper {\n  var x: real in box(0, 1)\n  minimize y\n}\nlower {\n  var y: real in nonneg\n  minimize (y - x)^2\n}\n"},
		{"model m\nupper {\n  var x: real in box(0, 1)\n  minimize y\n}\nlower {\n  var y: real in box(0, x)\n  minimize (y - 2)^2\n}\n", "`subject to y <= x`",
			"model m\nupper {\n  var x: real in box(0, 1)\n  minimize y\n}\nlower {\n  var y: real in box(0, inf)\n  minimize (y - 2)^2\n  subject to y <= x\n}\n"},
		{"model m\nupper {\n  var x: real in box(0, 1)\n  minimize y + z\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\nlower {\n  var z: real\n  minimize (z - x)^2\n}\n", "`lower first { ... }`",
			"model m\nupper {\n  var x: real in box(0, 1)\n  minimize y + z\n}\nlower first {\n  var y: real\n  minimize (y - x)^2\n}\nlower second {\n  var z: real\n  minimize (z - x)^2\n}\n"},
	} {
		if _, diags := checkText(t, "bad.blv", c.bad); len(diags) != 1 || !strings.Contains(diags[0].Fix, c.fix) {
			t.Errorf("%v, and no fix with %s:\n%s", diags, c.fix, c.bad)
		}
		if _, diags := checkText(t, "good.blv", c.good); len(diags) != 0 {
			t.Errorf("%v:\n%s", diags, c.good)
		}
	}
}
