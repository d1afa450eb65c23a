package runtime_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Slopes of F with the best or the worst answer of a follower whose costs are 0, cross 0 at x or do not, entry by entry over a box, are those of the answers in closed form: where F does not jump as no cost
// crosses 0, there are slopes on both sides, also where answers are many, and where it jumps there is none.
func TestSlopesOfTheWorstAnswer(t *testing.T) {
	rng := members.Rand(t, 91)
	free, jumps, apart, gradients := 0, 0, 0, 0
	for k := range 3 * members.Count(100) {
		n := 1 + rng.IntN(3)
		whole := func(m int) float64 { return float64(rng.IntN(2*m+1) - m) }
		a, b, e, cost, rate := whole(4), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		maximize, pessimistic := rng.IntN(2) == 0, rng.IntN(3) > 0
		f, g := []string{fmt.Sprintf("%v * x", a)}, []string{"0 * x"}
		for j := range n {
			b[j], e[j] = whole(3), whole(3)
			switch rng.IntN(3) {
			case 0:
				rate[j] = whole(2)
			case 1:
				cost[j], rate[j] = whole(2), whole(1)
			}
			if cost[j] == 0 && rate[j] == 0 && rng.IntN(2) == 0 { // f takes one answer at x
				b[j] = -e[j]
			}
			f = append(f, fmt.Sprintf("(%v + %v * x) * y[%d]", b[j], e[j], j+1))
			g = append(g, fmt.Sprintf("(%v + %v * (x - 1)) * y[%d]", cost[j], rate[j], j+1))
		}
		sense, ties, worst := "minimize", "optimistic", -1.0
		if maximize {
			sense, worst = "maximize", 1
		}
		if pessimistic {
			ties, worst = "pessimistic", -worst
		}
		text := fmt.Sprintf("model slopes\nupper {\n  var x: real in box(0, 2)\n  %s %s\n}\nlower {\n  var y: vector[%d] in box(0, 1)\n  minimize %s\n}\nsolve { ties = %s }\n",
			sense, strings.Join(f, " + "), n, strings.Join(g, " + "), ties)
		r, err := bindText(t, text).Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{1}}}, runtime.Options{Sensitivity: true})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		at := r.Sensitivity[0]
		left := at.Left
		if left == nil {
			left = at.Right
		}
		for _, side := range []struct {
			by  float64
			got *runtime.Rates
		}{{1, at.Right}, {-1, left}} {
			slope, jump, open := a, false, false
			for j := range n {
				w := b[j] + e[j]
				take, chosen := 0.0, 0.0 // of y_j at x, and next to it
				if w*worst > 0 {
					take = 1
				}
				switch c := rate[j] * side.by; {
				case cost[j] == 0 && c == 0:
					open, chosen = open || w != 0, take
					if w == 0 && e[j]*side.by*worst > 0 { // f tells the answers apart next to x alone
						chosen, apart = 1, apart+1
					}
				case cost[j] == 0:
					if c < 0 {
						chosen = 1
					}
					jump = jump || w != 0 && take != chosen
				case cost[j] < 0:
					chosen = 1
				}
				slope += e[j] * chosen
			}
			if h := r.Upper.Hypergradient; len(h) > 0 {
				if gradients++; jump || math.Abs(h[0].Data[0]-slope) > 1e-9*(1+math.Abs(slope)) {
					t.Errorf("case %d, side %v: the gradient %v, the slope %v, a jump %v\n%s", k, side.by, h[0].Data[0], slope, jump, text)
				}
			}
			v := float64(side.got.Objective)
			switch {
			case jump:
				if jumps++; side.got.Reason == "" {
					t.Errorf("case %d, side %v: the slope %v, and F jumps\n%s", k, side.by, v, text)
				}
			case side.got.Reason == "" && !(math.Abs(v-slope) <= 1e-9*(1+math.Abs(slope))), side.got.Reason != "":
				t.Errorf("case %d, side %v: the slope %v, %s, and it is %v\n%s", k, side.by, v, side.got.Reason, slope, text)
			case open && pessimistic:
				free++
			}
		}
	}
	if free < 10 || jumps < 5 || apart < 5 || gradients < 2 {
		t.Errorf("%d slopes with answers that are free, %d of which f tells apart next to x alone, %d jumps, %d gradients", free, apart, jumps, gradients)
	}
}
