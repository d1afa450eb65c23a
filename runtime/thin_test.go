package runtime_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// TestThinSets solves models whose X is a point or a segment, written in each way that leaves a
// set no inside, with followers y = max(0, C x + d) some of whose rows are weakly active wherever
// x can go: no move of x decides them, and F has no kink on X for them. F along the segment is
// a parabola between the kinks of y, so that its minima are known but for rounding.
func TestThinSets(t *testing.T) {
	count := members.Count(60)
	ways, least := map[string]int{}, 0
	for k := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(k, 7))
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
		way := []string{"box", "ball", "equations", "inequalities", "sum", "slanted"}[rng.IntN(6)]
		if way == "ball" && segment {
			way = "box"
		}
		var normals [][]float64 // of a segment that is not along an axis
		if way == "slanted" {
			segment, free = true, -1
			for j := range u {
				u[j] = float64(1+rng.IntN(3)) / 4
			}
			for j := 1; j < n; j++ {
				v := make([]float64, n)
				v[0], v[j] = u[j], -u[0]
				normals = append(normals, v)
			}
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
		case "slanted":
			for _, v := range normals {
				rows = append(rows, fmt.Sprintf("%s' * x == %.17g", list(v), inner(v, p)))
			}
			rows = append(rows, fmt.Sprintf("%.17g <= x[1] <= %.17g", p[0], p[0]+u[0]))
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
				if normals == nil {
					for j := range c[i] {
						c[i][j] *= 1 - u[j]
					}
				} else {
					clear(c[i])
					for _, v := range normals {
						for j, share := 0, eighths(); j < n; j++ {
							c[i][j] += share * v[j]
						}
					}
				}
				d[i] = -inner(c[i], p)
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
		// F is a parabola between kinks of y, so that its minima are at the ends, at kinks,
		// and where the parabola through three points between two kinks is least.
		kinks := []float64{0, 1}
		for i := range c {
			if slope := inner(c[i], u); slope != 0 {
				if s := -(d[i] + inner(c[i], p)) / slope; s > 0 && s < 1 {
					kinks = append(kinks, s)
				}
			}
		}
		slices.Sort(kinks)
		places := slices.Clone(kinks)
		for k, hi := range kinks[1:] {
			lo, w := kinks[k], (hi-kinks[k])/2
			left, right := value(lo), value(hi)
			if bend := left - 2*value(lo+w) + right; bend > 0 {
				if s := lo + w + w*(left-right)/2/bend; s > lo && s < hi {
					places = append(places, s)
				}
			}
		}
		var minima []float64
		for _, s := range places {
			const beside = 1e-4
			if f := value(s); f <= value(max(0, s-beside)) && f <= value(min(1, s+beside)) {
				minima = append(minima, f)
			}
		}
		res := solveText(t, text, runtime.Options{Seed: 1})
		f := float64(res.Upper.Objective)
		at := func(v float64) bool { return math.Abs(f-v) <= 1e-6*(1+math.Abs(v)) }
		if res.Status != runtime.Solved || !slices.ContainsFunc(minima, at) {
			t.Errorf("model %d, %s: %s (%s), F %v, minima %v\n%s", k, way, res.Status, res.Reason, f, minima, text)
		}
		if at(slices.Min(minima)) {
			least++
		}
	}
	// A narrow minimum may lie beside all starts.
	if least < members.Least(count, 0.95) {
		t.Errorf("the least minimum is reached %d times of %d", least, count)
	}
	if members.Full() && len(ways) < 8 {
		t.Errorf("ways to be thin: %v", ways)
	}
}

func inner(a, b []float64) float64 {
	sum := 0.0
	for j, v := range a {
		sum += v * b[j]
	}
	return sum
}

// list is a vector as models write it.
func list(v []float64) string { return strings.Join(strings.Fields(fmt.Sprint(v)), ", ") }
