package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/runtime"
)

// TestThinSets solves models whose X is a point or a segment, written in each way that leaves a
// set no inside, with followers y = max(0, C x + d) some of whose rows are weakly active wherever
// x can go: no move of x decides them, and F has no kink on X for them. F is least on X by a
// search along the segment; nearly all are solved.
func TestThinSets(t *testing.T) {
	count := 60
	if testing.Short() {
		count = 20
	}
	rng := rand.New(rand.NewPCG(29, 7))
	ways, solved := map[string]int{}, 0
	for k := range count {
		n, dy := 2+rng.IntN(2), 2+rng.IntN(3)
		eighths := func() float64 { return math.Round(8*rng.NormFloat64()) / 8 }
		p, u := make([]float64, n), make([]float64, n) // X is p + s u, 0 <= s <= 1
		for j := range p {
			p[j] = eighths()
		}
		segment := rng.IntN(2) == 0
		if segment {
			u[rng.IntN(n)] = 1
		}
		free := -1
		for j := range u {
			if u[j] != 0 {
				free = j
			}
		}
		way := []string{"box", "ball", "equations", "inequalities", "sum"}[rng.IntN(5)]
		if way == "ball" && segment {
			way = "box"
		}
		set, rows := "box(-9, 9)", []string{}
		hold := func(j int) {
			switch way {
			case "equations":
				rows = append(rows, fmt.Sprintf("x[%d] == %.17g", j+1, p[j]))
			case "inequalities":
				rows = append(rows, fmt.Sprintf("x[%d] >= %.17g", j+1, p[j]), fmt.Sprintf("x[%d] <= %.17g", j+1, p[j]))
			}
		}
		switch way {
		case "box":
			hi := make([]float64, n)
			for j := range p {
				hi[j] = p[j] + u[j]
			}
			set = fmt.Sprintf("box(%s, %s)", list(p), list(hi))
		case "ball":
			p = make([]float64, n)
			set = "ball(0)"
		case "sum": // both bounds below hold with equality alone
			set = fmt.Sprintf("box(%s, 99)", list(p))
			total := 0.0
			var names []string
			for j := range p {
				if j != free {
					total += p[j]
					names = append(names, fmt.Sprintf("x[%d]", j+1))
				}
			}
			rows = append(rows, fmt.Sprintf("%s <= %.17g", strings.Join(names, " + "), total))
		default:
			for j := range p {
				if j != free {
					hold(j)
				}
			}
		}
		if free >= 0 && way != "box" {
			rows = append(rows, fmt.Sprintf("%.17g <= x[%d] <= %.17g", p[free], free+1, p[free]+1))
		}
		ways[fmt.Sprint(way, segment)]++
		c, d, target := make([][]float64, dy), make([]float64, dy), make([]float64, dy)
		var g []string
		for i := range c {
			c[i] = make([]float64, n)
			for j := range c[i] {
				c[i][j] = eighths()
			}
			target[i], d[i] = eighths(), eighths()
			if i == 0 || rng.IntN(2) == 0 { // weak all over X
				d[i] = 0
				for j := range c[i] {
					if c[i][j] *= 1 - math.Abs(u[j]); true {
						d[i] -= c[i][j] * p[j]
					}
				}
			}
			g = append(g, fmt.Sprintf("(y[%d] - %s' * x - %.17g)^2", i+1, list(c[i]), d[i]))
		}
		constraints := ""
		if len(rows) > 0 {
			constraints = "  subject to\n    " + strings.Join(rows, "\n    ") + "\n"
		}
		text := fmt.Sprintf("model thin\nupper {\n  var x: vector[%d] in %s\n  minimize sumsq(y - %s) + 0.1 * sumsq(x)\n%s}\nlower {\n  var y: vector[%d] in nonneg\n  minimize %s\n}\n",
			n, set, list(target), constraints, dy, strings.Join(g, " + "))
		value := func(s float64) float64 {
			f := 0.0
			x := make([]float64, n)
			for j := range x {
				x[j] = p[j] + s*u[j]
				f += 0.1 * x[j] * x[j]
			}
			for i := range c {
				y := d[i]
				for j := range x {
					y += c[i][j] * x[j]
				}
				f += math.Pow(max(y, 0)-target[i], 2)
			}
			return f
		}
		least := math.Inf(1)
		for s := 0; s <= 2000; s++ {
			least = min(least, value(float64(s)/2000))
		}
		res := solveText(t, text, runtime.Options{Seed: 1})
		if res.Status == runtime.Solved {
			solved++
		}
		if f := float64(res.Upper.Objective); f > least+1e-6*(1+math.Abs(least)) || f < least-1e-5*(1+math.Abs(least)) {
			t.Errorf("model %d, %s: %s (%s), F %v, least %v\n%s", k, way, res.Status, res.Reason, f, least, text)
		}
	}
	// A row that only entries without room decide may leave the run on a face that F has on
	// neither side: such a gradient does not pass verification.
	t.Logf("%d of %d solved", solved, count)
	if 10*solved < 9*count {
		t.Errorf("%d of %d solved", solved, count)
	}
	if len(ways) < 8 {
		t.Errorf("ways to be thin: %v", ways)
	}
}

// list is a vector as models write it.
func list(v []float64) string { return strings.Join(strings.Fields(fmt.Sprint(v)), ", ") }
