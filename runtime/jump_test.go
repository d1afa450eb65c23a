package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// TestJumps solves markets in which a producer withholds or sells against rivals with
// steps of cost. Where one step is just full the price falls from the next step's to its
// own: F jumps there, and has its least upper bound from the side of the higher price.
// The heights of the jumps and the best value are computed from the steps alone. With a
// part of demand that gives way the price is unique, and nothing jumps.
func TestJumps(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	jumped := 0
	for range 6 {
		const steps = 3
		cost, room := make([]float64, steps), make([]float64, steps)
		at := 1.0
		for k := range steps {
			cost[k], room[k] = at, 0.5+r.Float64()
			at += 1 + 2*r.Float64()
		}
		total := 0.0
		for _, v := range room {
			total += v
		}
		demand := total - 0.2
		const slope = 0.1 // of the price within a step
		// below and above are the prices at a demand from rivals.
		price := func(load float64, above bool) float64 {
			for k := range steps {
				if load < room[k] || load == room[k] && !above {
					return cost[k] + slope*load
				}
				load -= room[k]
			}
			return math.Inf(1)
		}
		// Own sales, at which a step is just full, with the jump of F there.
		best, jumps := math.Inf(-1), map[float64]float64{}
		for load, k := room[0], 0; k < steps-1; k++ {
			own := demand - load
			hi, lo := own*(cost[k+1]-0.5), own*(cost[k]+slope*room[k]-0.5)
			jumps[own] = hi - lo
			best = math.Max(best, hi)
			load += room[k+1]
		}
		for i := range 20001 {
			own := demand * float64(i) / 20000
			best = math.Max(best, own*(price(demand-own, false)-0.5))
		}
		model := func(elastic string) string {
			shortage := ""
			if elastic != "" {
				shortage = "\n  var shortage: real"
			}
			term, part := "", ""
			if elastic != "" {
				term, part = " + "+elastic+" * shortage^2", " + shortage"
			}
			return fmt.Sprintf(`model steps
data room: vector[3] = %s
data cost: vector[3] = %s
upper {
  var own: real in box(0, %v)
  let price = dual(balance)
  maximize (price - 0.5) * own
}
lower {
  var p: vector[3] in box(0, room)%s
  minimize cost' * p + 0.05 * sumsq(p)%s
  subject to
    balance: %v - own == sum(p)%s
}
`, text(room), text(cost), demand, shortage, term, demand, part)
		}
		res := solveText(t, model(""), runtime.OffSystem(runtime.Options{}))
		for _, s := range res.Starts {
			_, said, found := strings.Cut(s.Reason, "F jumps by ")
			if !found {
				if s.Status != runtime.Solved {
					t.Errorf("%s without a jump: %s", s.Status, s.Reason)
				}
				continue
			}
			jumped++
			var height float64
			if _, err := fmt.Sscan(strings.Fields(said)[0], &height); err != nil {
				t.Fatal(err)
			}
			// It says three digits.
			if known := heightNear(jumps, float64(s.Objective), cost, demand); math.Abs(height-known) > 6e-3*known || !strings.Contains(s.Reason, "multipliers that it reads are not unique") {
				t.Errorf("a jump of %v where one of %v is: %s", height, known, s.Reason)
			}
		}
		if f := float64(res.Upper.Objective); math.Abs(f-best) > 1e-4*best {
			t.Errorf("%v, not %v: %s", f, best, res.Reason)
		}
		if res := solveText(t, model("2"), runtime.OffSystem(runtime.Options{})); res.Status != runtime.Solved || strings.Contains(res.Reason, "jumps") {
			t.Errorf("with elastic demand: %s: %s", res.Status, res.Reason)
		}
	}
	if jumped < 6 {
		t.Errorf("only %d runs ended at a jump", jumped)
	}
}

// TestContinuousAnswers has followers whose y is known to a part in a million only, as their curvature
// is of 1e-6 and 1e6: what their F reads is continuous, and nothing jumps.
func TestContinuousAnswers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	for range 5 {
		room := 0.3 + 0.4*r.Float64()
		res := solveText(t, fmt.Sprintf(`model narrow
upper { var x: real in box(-1, 1); minimize (y[1] - 1)^2 + x^2 * 0.01 }
lower {
  var y: vector[2]
  minimize 1e-6 * (y[1] - x)^2 + 1e6 * (y[2] - y[1])^2
  subject to
    a: y[1] + 1e-7 * y[2] <= %[1]v
    b: y[1] + 2e-7 * y[2] <= %[1]v
}
`, room), runtime.OffSystem(runtime.Options{}))
		said := res.Reason
		for _, s := range res.Starts {
			said += s.Reason
		}
		if strings.Contains(said, "jumps") {
			t.Errorf("room %v: %s", room, said)
		}
	}
}

// heightNear is the height of the jump at which F has the value f on its higher side.
func heightNear(jumps map[float64]float64, f float64, cost []float64, demand float64) float64 {
	height, near := math.NaN(), math.Inf(1)
	for own, h := range jumps {
		for _, c := range cost {
			if d := math.Abs(own*(c-0.5) - f); d < near {
				near, height = d, h
			}
		}
	}
	return height
}
