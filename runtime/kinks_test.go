package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// bent is a random follower with kinks in its objective, and a leader with others,
//
//	min 1/2 y'Qy + (C x + c)'y + sum_k w_k max(l_k1, l_k2)  subject to  e'y == d + h'x,
//	f = sum_i b_i |y_i - t_i| + v max(y) + min(y_1, x_1) + |x - s|^2,
//
// l_ki affine in (x, y): solved here by trying, for every kink, both sides and the
// tie. Nothing of the runtime takes part.
type bent struct {
	n, dx         int
	q, c          [][]float64
	cost          []float64
	w             []float64
	a, b          [2][][]float64 // of l_ki in y and x
	e             [2][]float64
	row, h        []float64
	d             float64
	abs, t        []float64
	largest       float64
	s             []float64
	withRow, minX bool
}

func randomBent(r *rand.Rand) *bent {
	p := &bent{n: 1 + r.IntN(3), dx: 1 + r.IntN(2), withRow: r.IntN(2) == 0, minX: r.IntN(2) == 0}
	d := draws{r, 1.0 / 64}
	p.q = d.definite(p.n, 0.5)
	kinks := 1 + r.IntN(3)
	p.c, p.cost = d.matrix(p.n, p.dx), d.vector(p.n)
	for range kinks {
		p.w = append(p.w, 0.25+r.Float64())
	}
	for i := range 2 {
		p.a[i], p.b[i], p.e[i] = d.matrix(kinks, p.n), d.matrix(kinks, p.dx), d.vector(kinks)
	}
	for k := range kinks { // some are |u|, some max(u, 0)
		switch r.IntN(3) {
		case 0:
			for j := range p.n {
				p.a[1][k][j] = -p.a[0][k][j]
			}
			for j := range p.dx {
				p.b[1][k][j] = -p.b[0][k][j]
			}
			p.e[1][k] = -p.e[0][k]
		case 1:
			clear(p.a[1][k])
			clear(p.b[1][k])
			p.e[1][k] = 0
		}
	}
	p.row, p.h, p.d = d.vector(p.n), d.vector(p.dx), r.NormFloat64()
	p.row[0] = 1
	p.abs, p.t, p.s, p.largest = d.vector(p.n), d.vector(p.n), d.vector(p.dx), r.NormFloat64()
	if p.n == 1 {
		p.withRow = false // it would fix y
	}
	return p
}

func (p *bent) model() string {
	var g, f []string
	affine := func(i, k int) string {
		zero := p.e[i][k] == 0
		for _, v := range p.a[i][k] {
			zero = zero && v == 0
		}
		if zero {
			return "0"
		}
		return fmt.Sprintf("%s' * y + %s' * x + %v", text(p.a[i][k]), text(p.b[i][k]), p.e[i][k])
	}
	for k, w := range p.w {
		u, v := affine(0, k), affine(1, k)
		opposite := v != "0" && p.e[0][k] == -p.e[1][k] && p.a[0][k][0] == -p.a[1][k][0]
		switch {
		case opposite && k%2 == 0:
			g = append(g, fmt.Sprintf("%v * abs(%s)", w, u))
		case opposite:
			g = append(g, fmt.Sprintf("%v * norm1([%s])", w, u))
		case k%2 == 0:
			g = append(g, fmt.Sprintf("%v * max(%s, %s)", w, u, v))
		default: // -min(-u, -v)
			g = append(g, fmt.Sprintf("%v * max([%s, %s])", w, u, v))
		}
	}
	for i, b := range p.abs {
		f = append(f, fmt.Sprintf("(%v) * abs(y[%d] - (%v))", b, i+1, p.t[i]))
	}
	f = append(f, fmt.Sprintf("(%v) * max(i in 1..%d: y[i])", p.largest, p.n))
	if p.minX {
		f = append(f, "min(y[1], x[1])")
	}
	row := ""
	if p.withRow {
		row = fmt.Sprintf("  subject to balance: %s' * y == %v + %s' * x\n", text(p.row), p.d, text(p.h))
	}
	return fmt.Sprintf(`model bent
data Q: matrix[%d, %d] = %s
data C: matrix[%d, %d] = %s
data c: vector[%d] = %s
upper {
  var x: vector[%d] in box(-2, 2)
  minimize sumsq(x - %s) + %s
}
lower {
  var y: vector[%d]
  minimize 0.5 * y' * Q * y + (C * x + c)' * y + %s
%s}
`, p.n, p.n, text(p.q), p.n, p.dx, text(p.c), p.n, text(p.cost), p.dx, text(p.s), strings.Join(f, " + "), p.n, strings.Join(g, " + "), row)
}

func innerOf(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// answer is y*(x), the multiplier of the row, and the least distance from where the
// state of a kink changes.
func (p *bent) answer(x []float64) (y []float64, nu, margin float64) {
	kinks := len(p.w)
	margin = math.Inf(-1)
	states := 1
	for range kinks {
		states *= 3
	}
	for state := range states {
		var side []int
		var ties []int
		for k, rest := 0, state; k < kinks; k, rest = k+1, rest/3 {
			side = append(side, rest%3)
			if rest%3 == 2 {
				ties = append(ties, k)
			}
		}
		size := p.n + len(ties)
		if p.withRow {
			size++
		}
		m, rhs := mat.NewDense(size, size, nil), mat.NewVecDense(size, nil)
		for i := range p.n {
			for j := range p.n {
				m.Set(i, j, p.q[i][j])
			}
			force := p.cost[i] + innerOf(p.c[i], x)
			for k, s := range side {
				force += p.w[k] * p.a[min(s, 1)][k][i]
			}
			rhs.SetVec(i, -force)
		}
		for t, k := range ties {
			for i := range p.n {
				jump := p.a[0][k][i] - p.a[1][k][i]
				m.Set(i, p.n+t, p.w[k]*jump)
				m.Set(p.n+t, i, jump)
			}
			rhs.SetVec(p.n+t, -(p.e[0][k] - p.e[1][k] + innerOf(p.b[0][k], x) - innerOf(p.b[1][k], x)))
		}
		if p.withRow {
			for i := range p.n {
				m.Set(i, size-1, p.row[i])
				m.Set(size-1, i, p.row[i])
			}
			rhs.SetVec(size-1, p.d+innerOf(p.h, x))
		}
		var z mat.VecDense
		if z.SolveVec(m, rhs) != nil {
			continue
		}
		least := math.Inf(1)
		for k, s := range side {
			l := [2]float64{}
			for i := range 2 {
				l[i] = p.e[i][k] + innerOf(p.b[i][k], x) + innerOf(p.a[i][k], z.RawVector().Data[:p.n])
			}
			if s < 2 {
				least = math.Min(least, l[s]-l[1-s])
			}
		}
		for t := range ties {
			theta := z.AtVec(p.n + t)
			least = math.Min(least, math.Min(theta, 1-theta))
		}
		if least > margin {
			margin, y = least, append([]float64(nil), z.RawVector().Data[:p.n]...)
			if nu = 0; p.withRow {
				nu = z.AtVec(size - 1)
			}
		}
	}
	return y, nu, margin
}

// leader is F, and the distance from where a kink of f changes its side.
func (p *bent) leader(x, y []float64) (f, margin float64) {
	margin = math.Inf(1)
	for j := range x {
		f += (x[j] - p.s[j]) * (x[j] - p.s[j])
	}
	most, second := math.Inf(-1), math.Inf(-1)
	for i, v := range y {
		f += p.abs[i] * math.Abs(v-p.t[i])
		margin = math.Min(margin, math.Abs(v-p.t[i]))
		if v > most {
			most, second = v, most
		} else {
			second = math.Max(second, v)
		}
	}
	f += p.largest * most
	margin = math.Min(margin, most-second)
	if p.minX {
		f += math.Min(y[0], x[0])
		margin = math.Min(margin, math.Abs(y[0]-x[0]))
	}
	return f, margin
}

func (p *bent) follower(x, y []float64) float64 {
	g := 0.0
	for i := range y {
		g += y[i] * (0.5*innerOf(p.q[i], y) + p.cost[i] + innerOf(p.c[i], x))
	}
	for k, w := range p.w {
		l := [2]float64{}
		for i := range 2 {
			l[i] = p.e[i][k] + innerOf(p.b[i][k], x) + innerOf(p.a[i][k], y)
		}
		g += w * math.Max(l[0], l[1])
	}
	return g
}

func (p *bent) value(x []float64) (f, margin float64) {
	y, _, margin := p.answer(x)
	f, other := p.leader(x, y)
	return f, math.Min(margin, other)
}

// TestKinks compares evaluations of random models with kinks in both objectives, and
// where solves end, with enumeration. What restates the kinks is not to be seen.
func TestKinks(t *testing.T) {
	gradients := 0
	for trial := range members.Seeds(t, 60) {
		r := rand.New(rand.NewPCG(trial, 6))
		p := randomBent(r)
		model := p.model()
		bound := bindText(t, model)
		point := func(x []float64) runtime.Values {
			return runtime.Values{{Name: "x", Shape: []int{p.dx}, Data: x}}
		}
		for range 4 {
			x := make([]float64, p.dx)
			for j := range x {
				x[j] = 4*r.Float64() - 2
			}
			y, nu, _ := p.answer(x)
			f, margin := p.value(x)
			res, err := bound.Eval(context.Background(), point(x), runtime.Options{})
			if err != nil || res.Status != runtime.Solved {
				t.Fatalf("%v %+v\n%s", err, res, model)
			}
			// Of order 1 all; the lower solvers leave 1e-9.
			near := func(what string, got, want float64) {
				t.Helper()
				if !(math.Abs(got-want) <= 1e-7*(1+math.Abs(want))) {
					t.Errorf("trial %d at %v: %s is %v, not %v\n%s", trial, x, what, got, want, model)
				}
			}
			near("F", float64(res.Upper.Objective), f)
			near("g", float64(res.Lower.Objective), p.follower(x, y))
			got, _ := res.Lower.Variables.Get("y")
			for i := range y {
				near("y", got.Data[i], y[i])
			}
			if p.withRow {
				v, _ := res.Lower.Multipliers.Get("balance")
				near("the multiplier", v.Data[0], nu)
			}
			if len(res.Lower.Variables) != 1 || len(res.Lower.Multipliers) > 1 || len(res.Residuals.Constraints) > 1 || len(res.Lower.Active) > 1 || len(res.Lower.Weak) > 0 {
				t.Fatalf("hidden variables or rows are shown: %+v", res.Lower)
			}
			if document, err := json.Marshal(res); err != nil || strings.Contains(string(document), "kink ") {
				t.Fatalf("%v: a document names hidden variables", err)
			}
			report, err := bound.Verify(res)
			if err != nil || !report.OK() {
				t.Fatalf("verify: %v %v\n%s", err, report, model)
			}
			e, err := bound.Evaluate(context.Background(), x)
			if err != nil || len(e.Y) != p.n || len(e.Lambda) > 1 {
				t.Fatalf("%v: a layer shows hidden entries: %v %v", err, e.Y, e.Lambda)
			}
			if margin < 1e-3 {
				continue
			}
			weights := make([]float64, p.n)
			weights[0] = 1
			slopes, _, err := e.VJP(context.Background(), weights, nil)
			if err != nil {
				t.Fatal(err)
			}
			for j := range x {
				const step = 1e-5
				up, down := append([]float64(nil), x...), append([]float64(nil), x...)
				up[j] += step
				down[j] -= step
				yu, _, _ := p.answer(up)
				yd, _, _ := p.answer(down)
				if slope := (yu[0] - yd[0]) / (2 * step); math.Abs(slopes[j]-slope) > 1e-6*(1+math.Abs(slope)) {
					t.Errorf("trial %d: dy[1]/dx[%d] is %v, not %v\n%s", trial, j+1, slopes[j], slope, model)
				}
			}
			if !res.Stationarity.Strict {
				t.Errorf("trial %d: strict complementarity is denied at a margin of %v\n%s", trial, margin, model)
			}
			gradients++
			grad, _ := res.Upper.Hypergradient.Get("x")
			for j := range x { // F is quadratic on its pieces: central differences are exact
				const step = 1e-5
				up, down := append([]float64(nil), x...), append([]float64(nil), x...)
				up[j] += step
				down[j] -= step
				fu, _ := p.value(up)
				fd, _ := p.value(down)
				if slope := (fu - fd) / (2 * step); math.Abs(grad.Data[j]-slope) > 1e-6*(1+math.Abs(slope)) {
					t.Errorf("trial %d: dF/dx[%d] is %v, not %v\n%s", trial, j+1, grad.Data[j], slope, model)
				}
			}
		}
		if trial%4 != 0 {
			continue
		}
		res, err := bound.Solve(context.Background(), runtime.Options{Seed: 1})
		if err != nil || res.Status != runtime.Solved {
			t.Errorf("trial %d: %v %v %v\n%s", trial, err, res.Status, res.Reason, model)
			continue
		}
		at, _ := res.Upper.Variables.Get("x")
		f, _ := p.value(at.Data)
		if math.Abs(f-float64(res.Upper.Objective)) > 1e-7*(1+math.Abs(f)) {
			t.Errorf("trial %d: F is %v, not %v\n%s", trial, res.Upper.Objective, f, model)
		}
		for range 200 { // none nearby is lower, but by what the certificate allows
			z := append([]float64(nil), at.Data...)
			for j := range z {
				z[j] = math.Max(-2, math.Min(2, z[j]+1e-3*r.NormFloat64()))
			}
			if v, _ := p.value(z); v < f-1e-6*(1+math.Abs(f)) {
				t.Errorf("trial %d: F is %v at %v, %v at %v nearby\n%s", trial, f, at.Data, v, z, model)
				break
			}
		}
	}
	if gradients < members.Part(100, 60) {
		t.Errorf("only %d hypergradients compared", gradients)
	}
}

// TestKinksRefused: what cannot be restated says why, and `check` says what was.
func TestKinksRefused(t *testing.T) {
	model := func(f, g string) string {
		return "model m\nupper {\n  var x: vector[2] in box(-1, 1)\n  minimize " + f + "\n}\nlower {\n  var y: vector[2]\n  minimize " + g +
			"\n  subject to row: sum(y) == x[1]\n}\n"
	}
	const plain = "sumsq(y - x)"
	for _, c := range []struct{ f, g, want string }{
		{"sum(y)", plain + " - abs(y[1])", "has the wrong curvature"},
		{"sum(y)", plain + " + min(y[1], y[2])", "has the wrong curvature"},
		{"sum(y)", plain + " + max(y[1], -abs(y[2]))", "within `max(y[1], -abs(y[2]))` it has the wrong curvature"},
		{"sum(y)", plain + " + x[1] * abs(y[1])", "not shown to rise"},
		{"sum(y)", plain + " + x[1] * norm1(y)", "so that its sign is known"},
		{"sum(y)", plain + " + abs(y[1]^2 - 1)", "is not linear"},
		{"abs(dual(row))", plain, "is a multiplier"},
		{"max(y[1] * x[1], 0)", plain, "is not linear"},
		{"sum(y)", "y[1] + abs(y[2])", "does not curve at all"},
		{"sum(y)", plain + " - 0.2 * log(y[1] + 3) - 0.9 * y[2] * tanh(y[1]) + abs(y[2])", "is not proved"},
	} {
		m, err := runtime.Compile("m.blv", model(c.f, c.g))
		list, said, other := refusal(m, err)
		if other != nil || !list.HasErrors() || !strings.Contains(said, c.want) {
			t.Errorf("%s / %s: %v, not %q", c.f, c.g, err, c.want)
		}
	}
	for _, c := range []struct{ f, g, want string }{
		{"abs(y[1]) - abs(y[2])", plain, "`abs(y[1])`, `abs(y[2])`: by 2 hidden lower variables and 4 rows"},
		{"sum(y)", plain + " + 2 * norminf(y)", "`norminf(y)`: by 3 hidden lower variables and 6 rows"},
		{"max(y)", plain + " + sum(i in 1..2: max(y[i] - 1, 0)^2)", "`max(y)`"},
	} {
		m, err := runtime.Compile("m.blv", model(c.f, c.g))
		if err != nil {
			t.Fatal(err)
		}
		checked, err := m.Check(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if text := checked.Text(false); !strings.Contains(text, c.want) || !strings.Contains(text, "g strongly convex      proved") {
			t.Errorf("%s / %s:\n%s", c.f, c.g, text)
		}
	}
}

// TestKinksSaidTwice: a kink that both levels have is one node, and a refusal is about the lower level's: it names that place, wherever the upper level has it, and proposes no sign that is known.
func TestKinksSaidTwice(t *testing.T) {
	for _, upper := range []string{"minimize y - 2 * y * max(0, 1 - x)", "let paid = y * max(0, 1 - x)\n  minimize paid"} {
		m, err := runtime.Compile("m.blv", "model m\nupper {\n  var x: real in box(0, 2)\n  "+upper+"\n}\nlower {\n  var y: real in box(0, 1)\n  minimize y^2 - y * max(0, 1 - x)\n}\n")
		list, said, other := refusal(m, err)
		if other != nil || !list.HasErrors() {
			t.Fatalf("%s: %v, %v", upper, list, other)
		}
		at := list[0].Subject
		if before := at.Source.Text[:at.Start]; at.Text() != "max(0, 1 - x)" || !strings.HasSuffix(before, "minimize y^2 - y * ") || strings.Contains(said, "nonneg") {
			t.Errorf("%s: %s", upper, said)
		}
	}
}

// TestKinksByHand compares a model with kinks in both objectives with the same one
// restated by hand: the squared hinge in a variable of its own, the absolute values in
// the report.
func TestKinksByHand(t *testing.T) {
	for trial := range members.Seeds(t, 30) {
		r := rand.New(rand.NewPCG(trial, 1))
		n := 2 + r.IntN(3)
		z := make([]float64, n)
		for i := range z {
			z[i] = math.Round(r.NormFloat64()*32) / 32
		}
		const parts = `model m
data z: vector[%[1]d] = %[2]s
upper {
  var x: vector[%[1]d] in box(-1, 1)
  minimize sumsq(x) - dual(row)%[3]s
}
lower {
  var y: vector[%[1]d]%[4]s
  minimize sumsq(y - x) + %[5]s
  subject to
    row: sum(y) == x[1]%[6]s
}
report {
  whole = sumsq(x) - dual(row) + norm1(y - z)
}
`
		short := fmt.Sprintf(parts, n, text(z), " + norm1(y - z)", "", "sum(i in 1..length(z): max(0, y[i] - z[i])^2)", "")
		long := fmt.Sprintf(parts, n, text(z), "", fmt.Sprintf("\n  var hinge: vector[%d] in nonneg", n), "sumsq(hinge)", "\n    y - z <= hinge")
		x := make([]float64, n)
		for j := range x {
			x[j] = 2*r.Float64() - 1
		}
		var res [2]*runtime.Result
		for k, model := range []string{short, long} {
			m, err := runtime.Compile("m.blv", model)
			if err != nil {
				t.Fatal(err)
			}
			p, err := m.Bind(nil, runtime.BindOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if res[k], err = p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{n}, Data: x}}, runtime.Options{}); err != nil || res[k].Status != runtime.Solved {
				t.Fatalf("trial %d: %v %v\n%s", trial, err, res[k].Reason, model)
			}
		}
		want, _ := res[1].Report.Get("whole")
		again, _ := res[0].Report.Get("whole")
		y, _ := res[0].Lower.Variables.Get("y")
		byHand, _ := res[1].Lower.Variables.Get("y")
		off := math.Abs(float64(res[0].Upper.Objective)-want.Data[0]) + math.Abs(again.Data[0]-want.Data[0]) +
			math.Abs(float64(res[0].Lower.Objective-res[1].Lower.Objective))
		for j := range y.Data {
			off += math.Abs(y.Data[j] - byHand.Data[j])
		}
		if off > 1e-7 {
			t.Errorf("trial %d: off by %v\n%s", trial, off, short)
		}
	}
}

// A power above 2 of a positive part, or of an absolute value, has a second derivative without jumps: the KKT system is smooth, and solved as one. The answer, entry by entry, is found by bisection here, and F is no less next to
// the point.
func TestPowersAboveTwoAreSmooth(t *testing.T) {
	rng := members.Rand(t, 47)
	others := 0
	for k := range members.Count(100) {
		number := func() float64 { return math.Round(100*rng.NormFloat64()) / 100 }
		power, curve, absolute := []float64{2.5, 3, 3.25}[rng.IntN(3)], 0.2+math.Abs(number()), rng.IntN(2) == 0
		var a, b, c [2]float64
		for j := range a {
			a[j], b[j], c[j] = number(), number(), number()
		}
		of := "max(0, "
		if absolute {
			of = "abs("
		}
		text := fmt.Sprintf("model powers\nupper {\n  var x: real in box(-2, 2)\n  minimize sumsq(y - %v) + 0.1 * (x - %v)^2\n}\nlower {\n  var y: vector[2] in box(-3, 3)\n  minimize %v * sumsq(y)", number(), c[0], curve)
		for j := range a {
			text += fmt.Sprintf(" + %s%v * y[%d] - x + %v)^%v - %v * x * y[%[3]d]", of, a[j], j+1, b[j], power, c[j])
		}
		text += "\n}\n"
		p := bindText(t, text)
		answer := func(x float64) (y [2]float64) {
			for j := range y {
				lo, hi := -3.0, 3.0
				for range 200 {
					y[j] = (lo + hi) / 2
					u, slope := a[j]*y[j]-x+b[j], 2*curve*y[j]-c[j]*x
					if absolute || u > 0 {
						slope += math.Copysign(power*math.Pow(math.Abs(u), power-1), u) * a[j]
					}
					if slope > 0 {
						hi = y[j]
					} else {
						lo = y[j]
					}
				}
			}
			return y
		}
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatalf("case %d: %v\n%s", k, err, text)
		}
		if r.Method != "pieces" { // next to where the second derivative has a kink, differences of gradients may be less accurate than a certificate needs
			others++
		}
		if r.Status != runtime.Solved || !verified(p, r) {
			t.Errorf("case %d: %s by %s (%s), or its verification fails\n%s", k, r.Status, r.Method, r.Reason, text)
			continue
		}
		x := r.Upper.Variables[0].Data[0]
		value := func(x float64) float64 {
			y := answer(x)
			return p.Numeric.F.Value([]float64{x}, y[:])
		}
		f := float64(r.Upper.Objective)
		if at := value(x); math.Abs(at-f) > 1e-7*(1+math.Abs(at)) {
			t.Errorf("case %d: F = %v, not %v\n%s", k, f, at, text)
		}
		for _, step := range []float64{-1e-2, -1e-3, 1e-3, 1e-2} {
			if other := x + step; math.Abs(other) <= 2 && value(other) < f-1e-9*(1+math.Abs(f)) {
				t.Errorf("case %d: F = %v at %v, and %v at %v\n%s", k, f, x, value(other), other, text)
			}
		}
	}
	if others > members.Count(100)/10 {
		t.Errorf("%d by other methods", others)
	}
}
