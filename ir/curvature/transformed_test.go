package curvature

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/internal/members"
	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/data"
	"bilevelc/ir/expr"
)

// transformedText is a random follower in x, y and z, and whether a row holds y and z together.
func transformedText(r *rand.Rand) (text string, joined bool) {
	num := func() string { return fmt.Sprintf("%.2g", 0.2+2*r.Float64()) }
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	affine := func(over ...string) string {
		parts := each.Of(over, func(v string) string { return fmt.Sprintf("(%.2g) * %s", r.NormFloat64(), v) })
		return strings.Join(parts, " + ") + fmt.Sprintf(" + (%.2g)", r.NormFloat64())
	}
	var grow func(depth int, over ...string) string
	grow = func(depth int, over ...string) string {
		if depth == 0 {
			return pick(affine(over...), "-0.5 - "+over[0], "sumsq([y - x, z + 0.3 * x])", over[0]+" - x", over[0])
		}
		u := grow(depth-1, over...)
		return pick("("+u+")^"+pick("2", "3", "4", "5", "6", "2.5", "0.5", "(-1)", "(-2)"), "exp("+u+")", "log("+u+" + "+num()+")", "sqrt("+u+" + "+num()+")", "sqrt("+u+")", "tanh("+u+")",
			"atan("+u+")", "sin("+u+")", "1 / ("+u+" + "+num()+")", "("+u+") / (x + "+num()+")", "(x - 0.5) * ("+u+")", "(x + "+num()+") * ("+u+")", "-("+u+")",
			"("+u+") + x^2", num()+" - ("+u+")", "("+u+") * ("+u+")", "("+u+") * ("+u+") * ("+u+")", "log1pexp("+u+")", "("+u+") + "+grow(depth-1, over...))
	}
	objective := ""
	if joined = r.IntN(2) == 0; joined {
		objective = grow(1+r.IntN(3), "y", "z")
	} else { // the sum, the objective of two followers, may still be one
		objective = grow(1+r.IntN(2), "y") + " + " + pick("", "x * ", "2 * ") + "(" + grow(1+r.IntN(2), "z") + ")"
	}
	row := ""
	if joined || r.IntN(3) == 0 {
		row = "  subject to\n    y + 0.5 * z <= 9\n"
		joined = true
	}
	lo := func() string { return pick("-1", "0", "0.1", "0.5") }
	return fmt.Sprintf("model m\nupper {\n  var x: real in box(%s, 1.5)\n  minimize x + y + z\n}\nlower {\n  var y: real in box(%s, 2)\n  var z: real in box(%s, 2)\n  minimize %s\n%s}\n",
		lo(), lo(), lo(), objective, row), joined
}

// TestUntransformedKeepsTheOrder holds that the simpler objective orders all answers of a follower as the
// model's own does, and that its gradient times the slope is that of the model's own: values at random points, and differences.
func TestUntransformedKeepsTheOrder(t *testing.T) {
	found, apart := 0, 0
	count := members.Of(500, 30000)
	r := members.Rand(t, 7)
	for range count {
		text, joined := transformedText(r)
		p := boundOrNot(text)
		if p == nil {
			continue
		}
		ties := r.IntN(2) == 0
		q := simplest(p, ties, Defaults())
		if q == p {
			continue
		}
		found++
		if !joined {
			apart++
		}
		if fault := ordered(r, q, joined); fault != "" {
			t.Fatalf("%s\n%s\nin its place\n%s", fault, text, expr.Format(q.Lower.Objective))
		}
	}
	t.Logf("%d of %d objectives give way, %d of followers without a common row", found, count, apart)
	if found < count/20 || apart < count/100 {
		t.Errorf("the test does not see what it is about")
	}
}

// boundOrNot is a bound model, or nil where that has errors.
func boundOrNot(text string) *ir.Problem {
	prog := programOf(text)
	if prog == nil {
		return nil
	}
	p, list := bind.Bind(prog, nil, bind.Options{})
	if list.HasErrors() {
		return nil
	}
	return p
}

func ordered(r *rand.Rand, q *ir.Problem, joined bool) string {
	own, h := q.Transformed.Objective, q.Lower.Objective
	value := func(n *expr.Node, x, y []float64) float64 {
		v, err := expr.Scalar(n, x, y)
		if err != nil {
			return math.NaN()
		}
		return v
	}
	draw := func(i Interval) float64 { return i.Lo + (i.Hi-i.Lo)*r.Float64() }
	dom := newProver(q, Defaults()).feasible
	for range 40 {
		x := []float64{draw(dom.x[0])}
		a := []float64{draw(dom.y[0]), draw(dom.y[1])}
		ga, ha := value(own, x, a), value(h, x, a)
		outside := false
		for u := range q.Inside { // rows keep y where the model's own is defined
			outside = outside || value(u, x, a) < 0
		}
		if math.IsInf(ga, 0) || outside {
			continue
		}
		if math.IsNaN(ga) && math.IsNaN(ha) {
			continue // not defined there
		}
		if math.IsNaN(ga) || math.IsNaN(ha) {
			return fmt.Sprintf("at x = %v, y = %v the model's objective is %v, and the other one %v", x, a, ga, ha)
		}
		slopes, err := expr.Eval(q.Transformed.Slope, x, a)
		if err != nil {
			return err.Error()
		}
		for k := range 3 {
			b := []float64{a[0], a[1]}
			if k != 1 {
				b[0] = draw(dom.y[0])
			}
			if k != 0 {
				b[1] = draw(dom.y[1])
			}
			if k == 2 && !joined {
				continue // two followers
			}
			gb, hb := value(own, x, b), value(h, x, b)
			if math.IsNaN(gb) || math.IsInf(gb, 0) {
				continue
			}
			rounding := 1e-9 * (math.Abs(ga) + math.Abs(gb))
			apart := math.Abs(hb-ha) > 1e-9*(math.Abs(ha)+math.Abs(hb))
			if apart && (hb-ha > 0 && gb-ga < -rounding || hb-ha < 0 && gb-ga > rounding) {
				return fmt.Sprintf("x = %v: from y = %v to %v it goes by %v, and the model's objective by %v", x, a, b, hb-ha, gb-ga)
			}
		}
		for i := range q.Rows { // the gradient in the first entry of y that the row reads
			cols, _ := q.B.Row(i)
			j, step := cols[0], 1e-6
			at := func(n *expr.Node, t float64) float64 {
				b := []float64{a[0], a[1]}
				b[j] += t
				return value(n, x, b)
			}
			dg, dh, s := (at(own, step)-at(own, -step))/(2*step), (at(h, step)-at(h, -step))/(2*step), slopes.At(i)
			further := math.Abs(dg-(at(own, 2*step)-at(own, -2*step))/(4*step)) + math.Abs(s)*math.Abs(dh-(at(h, 2*step)-at(h, -2*step))/(4*step))
			error := 1e-4*math.Abs(dg) + 1e-9*(math.Abs(ga)+math.Abs(s*ha))/step + 10*further + 1e-150 // factors may leave the range of doubles
			if math.IsNaN(dg) || math.IsNaN(dh) || math.IsNaN(error) {
				continue
			}
			if !(s >= 0) || math.Abs(dg-s*dh) > error {
				return fmt.Sprintf("x = %v, y = %v: the model's objective has the slope %v, the other one %v times %v", x, a, dg, s, dh)
			}
		}
	}
	return ""
}

// TestUntransformed holds which objectives give way, and to what.
func TestUntransformed(t *testing.T) {
	for _, c := range []struct {
		objective, rows string
		ties, gives     bool
		quadratic       bool
	}{
		{"(y - x)^4 + z^2", "", false, true, true},
		{"(y - x)^4 + z^2", "y + z <= 1", false, false, false},
		{"(y - x)^4 + (y - 2)^4 + z^2", "", false, false, false},
		{"(y - x)^4 + (z - x)^6", "", false, true, true},
		{"sqrt((y - x)^2 + (z - x)^2)", "", false, true, true},
		{"sqrt((y - x)^2 + (z - x)^2)", "y + z <= 1", false, true, true},
		{"exp((y - x)^2 + 2 * (z - x)^2) + x^3", "y + z <= 1", false, true, true},
		{"(2 + x) * ((y - x)^2 + z^2)", "y + z <= 1", false, true, true},
		{"(x - 0.5) * ((y - x)^2 + z^2)", "y + z <= 1", true, false, false},
		{"(y + z - x)^4", "", false, false, false}, // many answers
		{"(y + z - x)^4", "", true, true, true},
		{"exp(y + 2 * z)", "", false, false, false},
		{"exp(y + 2 * z)", "", true, true, true},
		{"(y - 3)^(-1) + z^2", "", true, true, true},
		{"-(y - 3)^(-2) + z^2", "", true, true, true},
		{"-(-3 - y)^(-2) + (-3 - z)^3", "", true, true, true},
		{"log(2 + (y - x)^2 + z^2)", "", false, true, true},
		{"-1 / (2 + (y - x)^2 + z^2)", "", false, true, true},
		{"((y - x)^2 + (z - x)^2)^3", "", false, true, true},
		{"((y - x)^2 + (z - x)^2 - 1)^2", "", true, false, false},
		{"sqrt(x - 0.5) + (y - x)^4 + z^2", "", false, false, false}, // there may be no answer
		{"sin((y - x)^2 + z^2)", "", true, false, false},
		{"(y - x)^2 + z^2", "", true, false, true},
		{"3 * ((y - x)^2 + z^2) + x", "", true, false, true},
		{"exp(sum([y - x, z - x].^4))", "", false, true, true},
		{"sum([2, 3] .* [y - x, z - x].^4) + exp(x)", "", false, true, true},
	} {
		rows := ""
		if c.rows != "" {
			rows = "  subject to\n    " + c.rows + "\n"
		}
		text := "model m\nupper {\n  var x: real in box(-1, 1)\n  minimize x + y + z\n}\nlower {\n  var y: real in box(-2, 2)\n  var z: real in box(-2, 2)\n  minimize " + c.objective + "\n" + rows + "}\n"
		p := bound(t, "m.blv", text, nil, bind.Options{})
		q := Untransformed(p, c.ties, Defaults())
		proof := Prove(q, Defaults())
		if (q != p) != c.gives || proof.Quadratic.Jointly != c.quadratic {
			t.Errorf("%s, %s, ties %v: gives way %v, quadratic %v", c.objective, c.rows, c.ties, q != p, proof.Quadratic.Jointly)
		}
		if q != p {
			if fault := ordered(members.Rand(t, 7), q, c.rows != ""); fault != "" {
				t.Errorf("%s, %s: %s", c.objective, c.rows, fault)
			}
		}
	}
}

// Entries that are read by index keep their places where the followers that stand alone are as many as what they are read from.
func TestPickedEntriesKeepTheirPlaces(t *testing.T) {
	const n = 4200 // more than are computed while the graph is built
	r := rand.New(rand.NewPCG(3, 14))
	c, place, best := make([]float64, n-2), make([]float64, n), make([]float64, n)
	for k := range c {
		c[k] = 0.5 + r.Float64()/2
	}
	for i, k := range append([]int{0, 1}, r.Perm(n-2)...) {
		place[i], best[i] = float64(k+1), 1/c[k]
	}
	set := &data.Set{}
	set.Add("c", data.Vector(c), "test")
	set.Add("k", data.Vector(place), "test")
	p, list := bind.Bind(programOf(fmt.Sprintf(`model picked
data c: vector[%d]
data k: vector[%d]
upper {
  var x: real in box(0, 1)
  minimize x
}
lower {
  var y: vector[%d] in box(0, 3)
  minimize sum(i in 1..%d: exp((c[k[i]] * y[i] - 1)^2))
  subject to y[1] + y[2] <= 6
}
`, n-2, n, n, n)), set, bind.Options{})
	if list.HasErrors() {
		t.Fatal(list)
	}
	q := simplest(p, true, Defaults())
	if q == p {
		t.Fatal("nothing was taken off")
	}
	h := func(y []float64) float64 {
		v, err := expr.Scalar(q.Lower.Objective, []float64{0}, y)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	least := h(best)
	for range 20 {
		y := slices.Clone(best)
		y[r.IntN(n)] += 0.1
		if !(h(y) > least) {
			t.Fatalf("h is %v beside the best answer, and %v there", h(y), least)
		}
	}
}
