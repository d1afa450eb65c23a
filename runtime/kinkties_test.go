package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// sideText is an affine function of x and y, and what it is at a point.
type sideText struct {
	text  string
	value func(x, y []float64) float64
}

// TestKinksBesideTies compares programs with linear followers, which leave the leader a choice, and kinks in both levels with the same programs in which each kink is a variable above its
// sides, as a modeler would write them: of the leader for the leader's kinks, of the follower for the follower's. Both are to be proved, with the same F, which is also that of the kinks as
// they are written at the answer that is reported, and say the same of whether the follower has other answers.
func TestKinksBesideTies(t *testing.T) {
	proved, tied, flat := 0, 0, 0
	runs := members.Count(200)
	for trial := range members.Seeds(t, 200) {
		r := rand.New(rand.NewPCG(trial, 81))
		nx, ny := 2, 2+r.IntN(2)
		number := func() float64 { return math.Round(r.NormFloat64()*4) / 4 }
		affine := func(withX, withY bool) sideText {
			var parts []string
			a, b, c := make([]float64, nx), make([]float64, ny), number()
			for j := range a {
				if withX {
					a[j] = number()
					parts = append(parts, fmt.Sprintf("(%v) * x[%d]", a[j], j+1))
				}
			}
			for j := range b {
				if withY {
					b[j] = number()
					parts = append(parts, fmt.Sprintf("(%v) * y[%d]", b[j], j+1))
				}
			}
			parts = append(parts, fmt.Sprintf("(%v)", c))
			return sideText{strings.Join(parts, " + "), func(x, y []float64) float64 {
				s := c
				for j, v := range x {
					s += a[j] * v
				}
				for j, v := range y {
					s += b[j] * v
				}
				return s
			}}
		}
		sense := 1.0
		if trial%2 == 1 {
			sense = -1
		}
		// The leader's terms: as the model has them, as a variable u[k] with rows, and their values. Signs are those of what is minimized.
		var terms, byHand, rows []string
		var values []func(x, y []float64) float64
		variables := 0
		for range 1 + r.IntN(3) {
			w := 0.25 + math.Abs(number())
			u, v := affine(true, true), affine(r.IntN(2) == 0, r.IntN(3) > 0)
			variables++
			name := fmt.Sprintf("u[%d]", variables)
			above := func(sides ...string) {
				for _, s := range sides {
					rows = append(rows, fmt.Sprintf("    %s >= %s", name, s))
				}
			}
			var text string
			var value func(x, y []float64) float64
			linear := name
			switch r.IntN(4) {
			case 0:
				text, value = fmt.Sprintf("abs(%s)", u.text), func(x, y []float64) float64 { return math.Abs(u.value(x, y)) }
				above(u.text, "-("+u.text+")")
			case 1:
				text, value = fmt.Sprintf("max(%s, %s)", u.text, v.text), func(x, y []float64) float64 { return math.Max(u.value(x, y), v.value(x, y)) }
				above(u.text, v.text)
			case 2: // a kink within another
				text, value = fmt.Sprintf("max(abs(%s), %s)", u.text, v.text), func(x, y []float64) float64 { return math.Max(math.Abs(u.value(x, y)), v.value(x, y)) }
				above(u.text, "-("+u.text+")", v.text)
			case 3: // curved, and flat below the kink
				text, value = fmt.Sprintf("max(0, %s)^2", u.text), func(x, y []float64) float64 { return math.Pow(math.Max(0, u.value(x, y)), 2) }
				above(u.text, "0")
				linear = name + "^2"
			}
			if sense < 0 && r.IntN(2) == 0 && strings.HasPrefix(text, "max(") && !strings.Contains(text, "abs") && !strings.HasSuffix(text, "^2") {
				text = fmt.Sprintf("-min(-(%s), -(%s))", u.text, v.text)
			}
			terms, byHand = append(terms, fmt.Sprintf("%v * (%s)", w, text)), append(byHand, fmt.Sprintf("%v * %s", w, linear))
			values = append(values, func(x, y []float64) float64 { return w * value(x, y) })
		}
		smooth := affine(true, true)
		terms, byHand = append(terms, smooth.text), append(byHand, smooth.text)
		values = append(values, smooth.value)
		objective := func(terms []string) string {
			if sense < 0 {
				return "maximize -(" + strings.Join(terms, " + ") + ")"
			}
			return "minimize " + strings.Join(terms, " + ")
		}
		// The follower's: linear in y, its costs of x; every third with a kink of its own.
		var costs []string
		for j := range ny {
			costs = append(costs, fmt.Sprintf("((%v) * x[1] + (%v) * x[2] + (%v)) * y[%d]", number(), number(), number(), j+1))
		}
		g, gByHand, gVariable, gRows := strings.Join(costs, " + "), strings.Join(costs, " + "), "", ""
		if trial%3 == 0 {
			u := affine(true, true)
			g += fmt.Sprintf(" + 0.5 * abs(%s)", u.text)
			gByHand += " + 0.5 * s"
			gVariable = "  var s: real\n"
			gRows = fmt.Sprintf("    s >= %s\n    s >= -(%s)\n", u.text, u.text)
		}
		text := func(f, uppers, upperRows, g, lowers, lowerRows string) string {
			return fmt.Sprintf(`model m
upper {
  var x: vector[2] in box(-1, 1)
%s  %s
%s}
lower {
  var y: vector[%d] in box(0, 1)
%s  minimize %s
  subject to
    cap: sum(y) <= 1.5
%s}
solve { ties = optimistic }
`, uppers, f, upperRows, ny, lowers, g, lowerRows)
		}
		if trial%10 == 7 { // a kink that no row can hold a variable to: such a program is not restated as it stands
			u := affine(true, true)
			for !bothSigns(u.value, nx, ny) { // what has one sign has no kink
				u = affine(true, true)
			}
			terms, values = append(terms, fmt.Sprintf("(-0.75) * abs(%s)", u.text)), append(values, func(x, y []float64) float64 { return -0.75 * math.Abs(u.value(x, y)) })
		}
		written := text(objective(terms), "", "", g, "", "")
		byRows := text(objective(byHand), fmt.Sprintf("  var u: vector[%d] in box(-1000, 1000)\n", variables), "  subject to\n"+strings.Join(rows, "\n")+"\n", gByHand, gVariable, gRows)
		solve := func(model string) (*runtime.Result, *runtime.Problem) {
			p := bindText(t, model)
			res, err := p.Solve(context.Background(), runtime.Options{})
			if err != nil {
				t.Fatalf("trial %d: %v\n%s", trial, err, model)
			}
			if report, err := p.Verify(res); err != nil || !report.OK() {
				t.Errorf("trial %d: verify: %v %v\n%s", trial, err, report, model)
			}
			return res, p
		}
		if trial%10 == 7 {
			m, err := runtime.Compile("m.blv", written)
			if err == nil {
				_, err = m.Bind(nil, runtime.BindOptions{})
			}
			if err == nil || !strings.Contains(err.Error(), "E0704") {
				t.Errorf("trial %d: a kink that no row holds: %v\n%s", trial, err, written)
			}
			continue
		}
		a, again := solve(written)
		f := float64(a.Upper.Objective)
		size := 1 + math.Abs(f)
		x, y := entries(a, "x"), entries(a, "y")
		own := 0.0
		for _, v := range values {
			own += v(x, y)
		}
		if math.Abs(sense*own-f) > 1e-8*size && a.Status == runtime.Solved {
			t.Errorf("trial %d: F is %v, and at the answer that is reported %v\n%s", trial, f, sense*own, written)
		}
		b, _ := solve(byRows)
		if !a.Global.Proved || !b.Global.Proved {
			continue
		}
		proved++
		if other := float64(b.Upper.Objective); math.Abs(f-other) > 3e-6*size {
			t.Errorf("trial %d: F is %v, and with a variable above each kink %v\n%s", trial, f, other, written)
		}
		if at, err := again.Eval(context.Background(), a.Upper.Variables, runtime.Options{}); err != nil || math.Abs(float64(at.Upper.Objective)-f) > 1e-8*size {
			t.Errorf("trial %d: F is %v, and eval says %v (%v)\n%s", trial, f, at.Upper.Objective, err, written)
		}
		if a.Lower.Ties.Unique {
			flat++
		} else {
			tied++
		}
		if same := math.Hypot(x[0]-entries(b, "x")[0], x[1]-entries(b, "x")[1]) < 1e-9; same && trial%3 > 0 && a.Lower.Ties.Unique != b.Lower.Ties.Unique {
			t.Errorf("trial %d: unique is %v, and by hand %v\n%s", trial, a.Lower.Ties.Unique, b.Lower.Ties.Unique, written)
		}
	}
	if proved < members.Least(runs, 0.8) || tied == 0 || flat == 0 {
		t.Errorf("%d of %d proved, %d with ties and %d without", proved, runs, tied, flat)
	}
}

// bothSigns reports whether u has both among the vertices of x in [-1, 1]^nx and the y of which one entry at most is 1, and the others 0.
func bothSigns(u func(x, y []float64) float64, nx, ny int) bool {
	least, most := math.Inf(1), math.Inf(-1)
	for corner := range 1 << nx {
		x := make([]float64, nx)
		for j := range x {
			x[j] = float64(corner>>j&1*2 - 1)
		}
		for k := range ny + 1 {
			y := make([]float64, ny+1)
			y[k] = 1
			v := u(x, y[:ny])
			least, most = min(least, v), max(most, v)
		}
	}
	return least < 0 && most > 0
}

// entries are those of a variable of either level.
func entries(r *runtime.Result, name string) []float64 {
	if v, ok := r.Upper.Variables.Get(name); ok {
		return v.Data
	}
	v, _ := r.Lower.Variables.Get(name)
	return v.Data
}
