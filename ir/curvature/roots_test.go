package curvature

import (
	"fmt"
	"slices"
	"testing"

	"bilevelc/ir"
	"bilevelc/ir/bind"
)

// Roots of the distance of x from its bounds have slopes without end there, of the sign that f has in the root for all x and y; other roots are to be of what is above 0.
func TestRoots(t *testing.T) {
	rises := func(entry int, upper bool) ir.Steep { return ir.Steep{Entry: entry, Upper: upper, Rises: true} }
	falls := func(entry int, upper bool) ir.Steep { return ir.Steep{Entry: entry, Upper: upper} }
	for f, want := range map[string][]ir.Steep{
		"sqrt(x[1] + 1)":                                    {rises(0, false)},
		"3*(1 + x[2])^0.3 - 2*sqrt(4 - 2*x[3])":             {rises(1, false), falls(2, true)},
		"exp(sqrt(x[1] + 1)) + y[1]^2":                      {rises(0, false)},
		"sqrt(x[1] + 1)*(2 + sin(y[1]))":                    {rises(0, false)},
		"-sum(i in 1..3: i*sqrt(x[i] + 1))":                 {falls(0, false), falls(1, false), falls(2, false)},
		"sum(sqrt(x + 1))":                                  {rises(0, false), rises(1, false), rises(2, false)},
		"sqrt(x[1] + 1) + 2*(x[1] + 1)^0.7":                 {rises(0, false)},
		"sqrt(x[1] + 1) + sqrt(2 - x[1])":                   {rises(0, false), rises(0, true)},
		"sqrt(1 + x[1]^2) + (x[2] + 1.5)^0.5 + (x[1]+1)^2":  {},
		"sqrt(x[1] + 1) + sqrt(1 + sumsq(y))":               {rises(0, false)},
		"(x[1] + 1)^1.5 + y[1]":                             {},
		"sqrt(x[1] + 1) - sqrt(2*x[1] + 2)":                 nil, // the sign is that of the sum
		"y[1]*sqrt(x[1] + 1)":                               nil,
		"sqrt(x[1] + 1)*sqrt(x[2] + 1)":                     nil, // no slope without end where the other is 0
		"sqrt(x[1] + x[2] + 2)":                             nil,
		"sqrt(x[1] + x[2] + 1)":                             nil,
		"sqrt((x[1] + 1)^2 + y[1]^2)":                       nil,
		"sqrt(x[1] + 1 - y[1])":                             nil,
		"sqrt(x[1] + 0.5)":                                  nil, // defined on a part of X alone
		"sqrt(sqrt(x[1] + 1))":                              nil,
		"(sqrt(x[1] + 1) - 1)^2":                            nil,
		"sqrt(x[1] + 1)^2 + sumsq(y)":                       nil,
		"sqrt(x[1] + 1)*x[2]":                               nil,
		"sqrt(x[1] + 1)*(x[2] + 1)":                         nil, // 0 at x[2] = -1
		"sqrt(x[1] + 1)*(x[2] + 1.1)":                       {rises(0, false)},
		"log(1 + sqrt(x[1] + 1)) - 0.2*sqrt(2 - x[2])*2":    {rises(0, false), falls(1, true)},
		"tanh(-sqrt(x[3] + 1)) + sum(i in 1..3: x[i]*y[i])": {falls(2, false)},
	} {
		text := fmt.Sprintf("model m\nupper {\n  var x: vector[3] in box(-1, 2)\n  minimize %s\n}\nlower {\n  var y: vector[3]\n  minimize sumsq(y - x)\n}\n", f)
		p := bound(t, "m.blv", text, nil, bind.Options{})
		Prove(p, Defaults())
		found := p.Facts.Roots
		if (found == nil) != (want == nil) {
			t.Errorf("%s: roots are known: %v", f, found != nil)
			continue
		}
		if found == nil {
			continue
		}
		missing := slices.ContainsFunc(want, func(s ir.Steep) bool { return !slices.Contains(found.Steep, s) })
		if missing || len(found.Steep) != len(want) {
			t.Errorf("%s: %v, want %v", f, found.Steep, want)
		}
	}
}
