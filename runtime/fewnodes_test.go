package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// A search that is given one node, of problems with constraints of the leader that read the answers y_j = min(max(a_j'x + b_j, 0), 1): it has a point, at which these hold, or has reached its limit. No point at which they hold has an F beyond
// its bound, and there is one.
func TestOneNode(t *testing.T) {
	t.Parallel()
	limits := 0
	for seed := range members.SeedsOf(t, 120, 400) {
		rng := rand.New(rand.NewPCG(seed, 0x10de))
		const n, m = 2, 4
		number := func() float64 { return math.Round(200*rng.Float64()-100) / 50 }
		row := func(k int) []float64 {
			out := make([]float64, k)
			for i := range out {
				out[i] = number()
			}
			return out
		}
		text := func(name string, row []float64) string {
			terms := make([]string, len(row))
			for i, v := range row {
				terms[i] = fmt.Sprintf("(%v)*%s[%d]", v, name, i+1)
			}
			return strings.Join(terms, " + ")
		}
		value := func(row, at []float64) (s float64) {
			for i, v := range row {
				s += v * at[i]
			}
			return s
		}
		var a [m][]float64
		b, g := row(m), "0"
		for j := range m {
			a[j] = row(n)
			g += fmt.Sprintf(" + 0.5*(y[%d] - (%s + (%v)))^2", j+1, text("x", a[j]), b[j])
		}
		fx, fy, cx, cy, dx, dy := row(n), row(m), row(n), row(m), row(n), row(m)
		room := number()
		model := fmt.Sprintf("model m\nupper {\n  var x: vector[2] in box(-1, 1)\n  minimize %s + %s\n  subject to\n    c: %s + %s <= %v\n    d: %s + %s <= %v\n}\nlower {\n  var y: vector[4] in box(0, 1)\n  minimize %s\n}\n",
			text("x", fx), text("y", fy), text("x", cx), text("y", cy), room-0.5, text("x", dx), text("y", dy), room, g)
		least := math.Inf(1)
		for i := range 201 {
			for k := range 201 {
				x, y := []float64{float64(i)/100 - 1, float64(k)/100 - 1}, make([]float64, m)
				for j := range y {
					y[j] = math.Min(math.Max(value(a[j], x)+b[j], 0), 1)
				}
				if value(cx, x)+value(cy, y) <= room-0.5 && value(dx, x)+value(dy, y) <= room {
					least = math.Min(least, value(fx, x)+value(fy, y))
				}
			}
		}
		p := bindText(t, model)
		r, err := p.Solve(t.Context(), runtime.Options{Seed: 1, Nodes: 1, Starts: 1})
		if err != nil {
			t.Fatalf("%d: %v\n%s", seed, err, model)
		}
		switch {
		case r.Status == runtime.Infeasible:
			if !math.IsInf(least, 1) {
				t.Errorf("%d: infeasible, and F = %v is attained\n%s", seed, least, model)
			}
			continue
		case r.Status == runtime.LimitReached:
			limits++
		case r.Status != runtime.Solved:
			t.Errorf("%d: %s (%s)\n%s", seed, r.Status, r.Reason, model)
			continue
		}
		if r.Global == nil || math.IsInf(float64(r.Global.Bound), 0) {
			t.Errorf("%d: %s without a bound\n%s", seed, r.Status, model)
		} else if float64(r.Global.Bound) > least+1e-6 {
			t.Errorf("%d: the bound is %v, and F = %v is attained\n%s", seed, r.Global.Bound, least, model)
		}
	}
	if members.Full() && limits == 0 {
		t.Error("no member reached its limit without a point")
	}
	t.Logf("%d reached the limit without a point", limits)
}
