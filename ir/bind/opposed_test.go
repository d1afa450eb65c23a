package bind

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestPairsOfOppositeRows: which inequalities become one equality is what comparing
// each row with all before it says, in whole numbers.
func TestPairsOfOppositeRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 5))
	paired := 0
	for range 200 {
		type row struct{ a, b, c, rhs int } // a y1 + b y2 + c x <= rhs
		var rows []row
		var text strings.Builder
		for k := range 2 + rng.IntN(40) {
			r := row{rng.IntN(7) - 3, rng.IntN(3) - 1, rng.IntN(2), rng.IntN(4) - 1}
			if rng.IntN(2) == 0 {
				r.b, r.c = 0, 0
			}
			if r.a == 0 && r.b == 0 {
				r.a = 1
			}
			rows = append(rows, r)
			s := []string{"1", "0.1", "0.3", "0.7"}[rng.IntN(4)] // whose multiples are rounded
			fmt.Fprintf(&text, "  r%d: %d * %s * y1 + %d * %s * y2 + %d * %s * x <= %d * %s\n", k, r.a, s, r.b, s, r.c, s, r.rhs, s)
		}
		opposite := func(u, v row) bool { // v is u times a negative number
			s, w := []int{u.a, u.b, u.c, u.rhs}, []int{v.a, v.b, v.c, v.rhs}
			dot := u.a*v.a + u.b*v.b
			for i := range s {
				for j := range s {
					if s[i]*w[j] != s[j]*w[i] {
						return false
					}
				}
			}
			return dot < 0
		}
		partner, gone := slices.Repeat([]int{-1}, len(rows)), make([]bool, len(rows))
		for k, v := range rows {
			for i, u := range rows[:k] {
				if !gone[i] && partner[i] < 0 && opposite(u, v) {
					partner[i], gone[k] = k, true
					break
				}
			}
		}
		p := compile(t, "m.blv", "model m\nupper {\n var x: real in box(0, 1)\n minimize x\n}\nlower {\n var y1: real\n var y2: real\n"+
			" minimize y1^2 + y2^2\n subject to\n"+text.String()+"}\n")
		prob := mustBind(t, p, nil)
		n := 0
		for k := range rows {
			if gone[k] {
				continue
			}
			got := -1
			if o := prob.Rows[n].Opposite; o != nil {
				fmt.Sscanf(o.Family.Name, "r%d", &got)
				paired++
			}
			if got != partner[k] || prob.Rows[n].Equal != (got >= 0) {
				t.Fatalf("r%d is paired with r%d, want r%d\n%s", k, got, partner[k], text.String())
			}
			n++
		}
		if n != len(prob.Rows) {
			t.Fatalf("%d rows, want %d\n%s", len(prob.Rows), n, text.String())
		}
	}
	if paired < 200 {
		t.Errorf("only %d pairs", paired)
	}
}

// Rows that cross by less than is told in data say by how much: h_k = By - Ratio h_i at every point.
func TestRowsThatCrossSayByHowMuch(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 6))
	for range 100 {
		a, b, c, rhs, k := float64(1+rng.IntN(9)), float64(rng.IntN(9)-4), float64(rng.IntN(3)), float64(1+rng.IntN(99)), float64(1+rng.IntN(9))
		off := rhs * k * math.Ldexp(1+rng.Float64(), -32-rng.IntN(8))
		model := fmt.Sprintf("model m\nupper {\n var x: real in box(0, 1)\n minimize x\n}\nlower {\n var y1: real\n var y2: real\n minimize y1^2 + y2^2\n subject to\n"+
			"  %v * y1 + %v * y2 + %v * x <= %v\n  %v * y1 + %v * y2 + %v * x >= %.17g\n}\n", a, b, c, rhs, k*a, k*b, k*c, k*rhs+off)
		prob := mustBind(t, compile(t, "m.blv", model), nil)
		if len(prob.Rows) != 1 || !prob.Rows[0].Equal || prob.Rows[0].Opposite == nil {
			t.Fatalf("%d rows\n%s", len(prob.Rows), model)
		}
		for range 5 {
			y1, y2, x := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			h := a*y1 + b*y2 + c*x - rhs
			want := k*rhs + off - k*a*y1 - k*b*y2 - k*c*x
			if o := prob.Rows[0].Opposite; !(math.Abs(o.By-o.Ratio*h-want) <= 1e-13*k*(rhs+20)) || o.By <= 0 {
				t.Fatalf("h = %v: the other is %v, and not %v - %v h\n%s", h, want, o.By, o.Ratio, model)
			}
		}
	}
}

// TestManyBoundsOnOneEntry is a family whose rows all have the same pattern:
// comparing each with each would not end.
func TestManyBoundsOnOneEntry(t *testing.T) {
	p := compile(t, "m.blv", `model m
upper {
  var x: real in box(0, 1)
  minimize x
}
lower {
  var y: real
  minimize (y - x)^2
  subject to
    cap: forall i in 1..500000: y <= i
    floor: forall i in 1..1000: y >= -i
}
`)
	if prob := mustBind(t, p, nil); len(prob.Rows) != 501_000 {
		t.Errorf("%d rows", len(prob.Rows))
	}
}
