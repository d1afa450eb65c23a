package bind

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/lang/diag"
)

// Bounds of x, boxes and constraints on data that agree but for rounding are
// accepted in every unit; those that contradict each other by a millionth are not.
func TestContradictionsAreThoseOfTheData(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 14))
	for trial := 0; trial < 300; trial++ {
		unit := math.Pow(10, float64(rng.IntN(17)-8))
		k, d := 1+rng.IntN(9), 1+rng.IntN(99)
		v := float64(d) / 10 * unit
		for _, c := range []struct {
			off  float64
			want diag.Code
		}{{0, ""}, {1e-6, diag.BindEmptySet}} {
			for _, model := range []string{
				fmt.Sprintf("var x: real\nminimize x^2 + y\nsubject to\n%d * x == %d * %.17g\nx == %.17g", k, k, v, v*(1+c.off)),
				fmt.Sprintf("var x: real\nminimize x^2 + y\nsubject to\n%d * x - %.17g <= %d * %.17g - %.17g\n3 * x >= 3 * %.17g", k, 7*unit, k, v, 7*unit, v*(1+c.off)),
				fmt.Sprintf("var x: real in box(lo + %.17g, 2 * %.17g)\nminimize x^2 + y", v*(1+c.off), v),
			} {
				want := c.want
				_, list := Bind(compile(t, "edge.blv", fmt.Sprintf("model edge\ndata lo: real = %.17g\nupper {\n", v)+model+"\n}\nlower { var y: real\nminimize (y - x)^2 }\n"), nil, Options{})
				var got diag.Code
				for _, e := range list {
					if e.Severity == diag.Error {
						got = e.Code
					}
				}
				if got != want {
					t.Errorf("%s\ncode %q, want %q", model, got, want)
				}
			}
			data := fmt.Sprintf("model edge\ndata s: vector[3] = [%.17g, %.17g, %.17g]\nupper { var x: real in box(0, 1)\nminimize x + y }\nlower { var y: real\nminimize (y - x)^2\nsubject to\nsum(s) == %.17g\n}\n",
				v, v/3, -v, v/3*(1+1e4*c.off))
			_, list := Bind(compile(t, "data.blv", data), nil, Options{})
			if failed := list.Has(diag.BindNeverHolds); failed != (c.off > 0) {
				t.Errorf("%s\nrefused %v: %v", data, failed, list)
			}
		}
	}
}

// Rows of a family that is written out tuple by tuple, as ranges move with the index, are judged as those of another are: those
// on data that agree but for rounding hold, in the first row and below it, and those that a millionth sets apart do not.
func TestContradictionsOfUnrolledRows(t *testing.T) {
	for _, first := range []string{"0, 1", "1, 0"} { // the rows without a variable
		for off, want := range map[float64]bool{0: true, 1e-13: true, -1e-13: true, 1e-6: false, -1e-6: false} {
			for _, term := range []string{"sum(y[1..i])", "y[i]"} {
				text := fmt.Sprintf("model edge\ndata w: vector[2] = [%s]\nupper { var x: real in box(0, 1)\nminimize x }\nlower { var y: vector[2]\nminimize sumsq(y - x)\nsubject to\n"+
					"c: forall i in 1..2: w[i] * %s + 0.1 + 0.2 == %.17g + 0.4 * w[i]\n}\n", first, term, 0.3+off)
				p, list := Bind(compile(t, "edge.blv", text), nil, Options{})
				if held := !list.Has(diag.BindNeverHolds); held != want || held && len(p.Rows) != 1 {
					t.Errorf("%s\nheld %v: %v", text, held, list)
				}
			}
		}
	}
}
