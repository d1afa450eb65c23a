package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// increasing are increasing functions of an h >= 0, which may be 0: of a square, where bilevelc needs its root u.
var increasing = []struct {
	text  string // of h, %[1]s
	value func(h float64) float64
}{
	{"(%[1]s)^2", func(h float64) float64 { return h * h }},
	{"0.3 * (%[1]s)^3 - x^2", nil},
	{"exp(%[1]s + x)", nil},
	{"sqrt(%[1]s)", math.Sqrt},
	{"sqrt(%[1]s + 0.5)", func(h float64) float64 { return math.Sqrt(h + 0.5) }},
	{"log(1 + %[1]s)", math.Log1p},
	{"-1 / (2 + %[1]s)", func(h float64) float64 { return -1 / (2 + h) }},
	{"(3 + x) * (%[1]s)^1.5", nil},
	{"-exp(-(%[1]s)) + sin(x)", nil},
	{"(1 + %[1]s)^2.5 / 7", func(h float64) float64 { return math.Pow(1+h, 2.5) / 7 }},
	{"tanh(0.1 * (%[1]s)^2)", func(h float64) float64 { return math.Tanh(0.1 * h * h) }},
}

// phi is function k at h.
func phi(k int, x, h float64) float64 {
	if f := increasing[k].value; f != nil {
		return f(h)
	}
	switch k {
	case 1:
		return 0.3*h*h*h - x*x
	case 2:
		return math.Exp(h + x)
	case 8:
		return -math.Exp(-h) + math.Sin(x)
	}
	return (3 + x) * math.Pow(h, 1.5)
}

// mapped is a follower in the plane whose best answer is the point nearest to a x + b, by distances of which it minimizes an increasing function, or the sum of one for each entry.
type mapped struct {
	a, b, lo, hi [2]float64
	row          []float64 // r y <= s + t x: r, s and t; nil for none
	own          []int     // functions: one, or one for each entry, where there is no row
	c, w         float64
	d            [2]float64
	ties, most   bool
	outer        bool // the logarithm of that and 40
}

func randomMapped(r *rand.Rand) *mapped {
	p := &mapped{w: 0.2 + r.Float64(), c: 2 * r.NormFloat64(), ties: r.IntN(2) == 0, most: r.IntN(2) == 0, own: []int{r.IntN(len(increasing))}}
	for j := range 2 {
		p.a[j], p.b[j], p.d[j] = math.Round(20*r.NormFloat64())/10, math.Round(10*r.NormFloat64())/10, math.Round(10*r.NormFloat64())/10
		p.lo[j] = math.Round(-10*r.Float64()) / 10
		p.hi[j] = math.Round(10*(p.lo[j]+0.5+2*r.Float64())) / 10
	}
	p.w, p.c = math.Round(100*p.w)/100, math.Round(10*p.c)/10
	if p.outer = r.IntN(3) == 0; r.IntN(2) == 0 {
		p.own = append(p.own, r.IntN(len(increasing)))
	} else if r.IntN(2) == 0 {
		angle := 2 * math.Pi * r.Float64()
		p.row = []float64{math.Cos(angle), math.Sin(angle), 0, 0.5 * r.NormFloat64()}
		p.row[2] = p.row[0]*(p.lo[0]+p.hi[0])/2 + p.row[1]*(p.lo[1]+p.hi[1])/2 + 0.2*r.Float64() + 2*math.Abs(p.row[3]) // the middle of the box is in it
	}
	return p
}

func (p *mapped) model() string {
	distance := func(j int) string {
		return fmt.Sprintf("(y[%d] - (%v) * x - (%v))^2", j+1, p.a[j], p.b[j])
	}
	g := fmt.Sprintf(increasing[p.own[0]].text, distance(0)+" + "+distance(1))
	if len(p.own) > 1 {
		g = fmt.Sprintf(increasing[p.own[0]].text, distance(0)) + " + " + fmt.Sprintf(increasing[p.own[1]].text, distance(1))
	}
	if p.outer {
		g = "log(40 + " + g + ")"
	}
	sense, row, ties := "minimize "+g, "", ""
	if p.most {
		sense = "maximize -(" + g + ")"
	}
	if p.row != nil {
		row = fmt.Sprintf("  subject to\n    row: (%v) * y[1] + (%v) * y[2] <= %v + (%v) * x\n", p.row[0], p.row[1], p.row[2], p.row[3])
	}
	if p.ties {
		ties = "solve { ties = optimistic }\n"
	}
	return fmt.Sprintf("model mapped\nupper {\n  var x: real in box(-2, 2)\n  minimize %v * (x - (%v))^2 + sumsq(y - [%v, %v])\n}\nlower {\n  var y: vector[2] in box([%v, %v], [%v, %v])\n  %s\n%s}\n%s",
		p.w, p.c, p.d[0], p.d[1], p.lo[0], p.lo[1], p.hi[0], p.hi[1], sense, row, ties)
}

// g is the follower's objective, minimized.
func (p *mapped) g(x float64, y [2]float64) float64 {
	h := [2]float64{math.Pow(y[0]-p.a[0]*x-p.b[0], 2), math.Pow(y[1]-p.a[1]*x-p.b[1], 2)}
	g := phi(p.own[0], x, h[0]+h[1])
	if len(p.own) > 1 {
		g = phi(p.own[0], x, h[0]) + phi(p.own[1], x, h[1])
	}
	if p.outer {
		return math.Log(40 + g)
	}
	return g
}

// answer is the nearest point: of the projections on all faces that lie inside the nearest one.
func (p *mapped) answer(x float64) [2]float64 {
	to := [2]float64{p.a[0]*x + p.b[0], p.a[1]*x + p.b[1]}
	lines := [][3]float64{{-1, 0, -p.lo[0]}, {1, 0, p.hi[0]}, {0, -1, -p.lo[1]}, {0, 1, p.hi[1]}}
	if p.row != nil {
		lines = append(lines, [3]float64{p.row[0], p.row[1], p.row[2] + p.row[3]*x})
	}
	candidates := [][2]float64{to}
	for i, l := range lines {
		t := (l[0]*to[0] + l[1]*to[1] - l[2]) / (l[0]*l[0] + l[1]*l[1])
		candidates = append(candidates, [2]float64{to[0] - t*l[0], to[1] - t*l[1]})
		for _, m := range lines[:i] {
			if det := l[0]*m[1] - l[1]*m[0]; math.Abs(det) > 1e-9 {
				candidates = append(candidates, [2]float64{(l[2]*m[1] - l[1]*m[2]) / det, (l[0]*m[2] - l[2]*m[0]) / det})
			}
		}
	}
	best, least := to, math.Inf(1)
	for _, y := range candidates {
		inside := true
		for _, l := range lines {
			inside = inside && l[0]*y[0]+l[1]*y[1] <= l[2]+1e-12
		}
		if d := math.Hypot(y[0]-to[0], y[1]-to[1]); inside && d < least {
			best, least = y, d
		}
	}
	return best
}

func (p *mapped) value(x float64) float64 {
	y := p.answer(x)
	return p.w*(x-p.c)*(x-p.c) + (y[0]-p.d[0])*(y[0]-p.d[0]) + (y[1]-p.d[1])*(y[1]-p.d[1])
}

// least is the least F: on a grid, and by golden section beside its best points.
func (p *mapped) least() float64 {
	const n = 2000
	best := math.Inf(1)
	at := func(k int) float64 { return -2 + 4*float64(k)/n }
	for k := range n + 1 {
		best = math.Min(best, p.value(at(k)))
	}
	out := best
	for k := range n + 1 {
		if p.value(at(k)) > best+0.05 {
			continue
		}
		lo, hi := at(max(k-1, 0)), at(min(k+1, n))
		const golden = 0.6180339887498949
		for range 80 {
			u, v := hi-golden*(hi-lo), lo+golden*(hi-lo)
			if p.value(u) < p.value(v) {
				hi = v
			} else {
				lo = u
			}
		}
		out = math.Min(out, p.value(lo))
	}
	return out
}

// multipliers are those of a list of values, in the order lower bounds, upper bounds, row.
func (p *mapped) multipliers(of runtime.Values) []float64 {
	var out []float64
	for _, name := range []string{"y.lower", "y.upper", "row"} {
		v, _ := of.Get(name)
		out = append(out, v.Data...)
	}
	return out
}

// force is what multipliers press y with: what grad_y g is equal to the negative of.
func (p *mapped) force(lambda []float64) [2]float64 {
	out := [2]float64{lambda[2] - lambda[0], lambda[3] - lambda[1]}
	if p.row != nil {
		out[0] += lambda[4] * p.row[0]
		out[1] += lambda[4] * p.row[1]
	}
	return out
}

func (p *mapped) slope(x float64, y [2]float64) (grad [2]float64, rough float64) {
	for j := range 2 {
		difference := func(t float64) float64 {
			u, v := y, y
			u[j] += t
			v[j] -= t
			return (p.g(x, u) - p.g(x, v)) / (2 * t)
		}
		grad[j] = difference(1e-6)
		rough = math.Max(rough, math.Abs(grad[j]-difference(2e-6)))
	}
	return grad, 10*rough + 1e-8*(1+math.Abs(p.g(x, y)))
}

// TestIncreasingObjectives holds what is said of followers that minimize an increasing function of a distance, of which many have no
// curvature where that is 0, or no derivative: F and answers against projections on faces, multipliers
// against differences of the follower's own objective.
func TestIncreasingObjectives(t *testing.T) {
	ctx := context.Background()
	pressed, asked, itself := 0, 0, 0
	for seed := range members.Seeds(t, 1500) {
		r := rand.New(rand.NewPCG(seed, 41))
		p := randomMapped(r)
		problem := bindText(t, p.model())
		result, err := problem.Solve(ctx, runtime.Options{Seed: 1})
		if err != nil {
			t.Fatalf("%d: %v\n%s", seed, err, p.model())
		}
		want := p.least()
		if f := float64(result.Upper.Objective); result.Status != runtime.Solved || math.Abs(f-want) > 1e-6*(1+math.Abs(want)) {
			t.Fatalf("%d: %s (%s) with F %v, and %v is the least\n%s", seed, result.Status, result.Reason, f, want, p.model())
		}
		x, y := place(t, result)
		if nearest := p.answer(x); math.Hypot(y[0]-nearest[0], y[1]-nearest[1]) > 1e-8 {
			t.Fatalf("%d: at %v the answer is %v, not %v\n%s", seed, x, nearest, y, p.model())
		}
		if !verified(problem, result) {
			report, err := problem.Verify(result)
			t.Fatalf("%d: not verified: %v %v\n%s", seed, err, report.Failures(), p.model())
		}
		own := p.multipliers(result.Lower.Multipliers)
		if grad, rough := p.slope(x, y); !p.holds(own, grad, rough) {
			t.Fatalf("%d: multipliers %v press with %v, and the objective has the slope %v (to %v)\n%s", seed, own, p.force(own), grad, rough, p.model())
		}
		asked++
		if result.Lower.Equivalent == nil { // it is convex itself, and shown to be
			itself++
			continue
		}
		p.forged(t, seed, problem, result)
		pressed += p.derivatives(t, seed, problem, r)
	}
	if itself > members.Misses(asked, 0.01) {
		t.Errorf("nothing was minimized in the place of %d of %d objectives", itself, asked)
	}
	if pressed == 0 {
		t.Error("no multiplier with a derivative was seen")
	}
}

func (p *mapped) holds(lambda []float64, grad [2]float64, rough float64) bool {
	f := p.force(lambda)
	tolerance := rough + 1e-5*(math.Abs(grad[0])+math.Abs(grad[1]))
	return slices.Min(lambda) >= 0 && math.Abs(f[0]+grad[0]) <= tolerance && math.Abs(f[1]+grad[1]) <= tolerance
}

func place(t *testing.T, r *runtime.Result) (x float64, y [2]float64) {
	t.Helper()
	v, _ := r.Upper.Variables.Get("x")
	w, _ := r.Lower.Variables.Get("y")
	return v.Data[0], [2]float64{w.Data[0], w.Data[1]}
}

// forged holds that other values of g, and other multipliers of either objective, are noticed.
func (p *mapped) forged(t *testing.T, seed uint64, problem *runtime.Problem, r *runtime.Result) {
	t.Helper()
	scaled := func(of runtime.Values) (runtime.Values, bool) {
		out, moved := slices.Clone(of), false
		for i := range out {
			out[i].Data = slices.Clone(out[i].Data)
			for k, v := range out[i].Data {
				out[i].Data[k], moved = 1.01*v, moved || v > 1e-6 && !math.IsInf(v, 1)
			}
		}
		return out, moved
	}
	for name, forge := range map[string]func(r *runtime.Result) bool{
		"objective": func(r *runtime.Result) bool {
			r.Lower.Objective += 1e-6 * (1 + runtime.Number(math.Abs(float64(r.Lower.Objective))))
			return true
		},
		"multipliers": func(r *runtime.Result) (moved bool) {
			r.Lower.Multipliers, moved = scaled(r.Lower.Multipliers)
			return moved
		},
		"minimized": func(r *runtime.Result) bool {
			e := *r.Lower.Equivalent
			e.Objective += 1e-6 * (1 + e.Objective)
			r.Lower.Equivalent = &e
			return true
		},
		"multipliers of it": func(r *runtime.Result) (moved bool) {
			e := *r.Lower.Equivalent
			e.Multipliers, moved = scaled(e.Multipliers)
			r.Lower.Equivalent = &e
			return moved
		},
		"none": func(r *runtime.Result) bool { r.Lower.Equivalent = nil; return true },
	} {
		f := *r
		if forge(&f) && verified(problem, &f) {
			t.Fatalf("%d: another %s passes\n%s", seed, name, p.model())
		}
	}
}

// derivatives holds those of answers and multipliers at a random x against differences, and products against them; it reports 1 where a multiplier changes.
func (p *mapped) derivatives(t *testing.T, seed uint64, problem *runtime.Problem, r *rand.Rand) int {
	t.Helper()
	ctx := context.Background()
	layer, err := problem.Layer(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := -2 + 4*r.Float64()
	at := func(x float64) *runtime.Evaluation {
		e, err := layer.Evaluate(ctx, []float64{x})
		if err != nil {
			t.Fatalf("%d: at %v: %v\n%s", seed, x, err, p.model())
		}
		return e
	}
	const step = 1e-5
	left, right, e := at(x-step), at(x+step), at(x)
	grad, rough := p.slope(x, [2]float64{e.Y[0], e.Y[1]})
	upper, lower, multipliers := problem.Named(e)
	if own := p.multipliers(multipliers); !p.holds(own, grad, rough) {
		t.Fatalf("%d: at %v, %v multipliers %v press with %v, and the objective has the slope %v\n%s", seed, upper, lower, own, p.force(own), grad, p.model())
	}
	if len(e.Kinks) > 0 {
		return 0
	}
	tangent, err := e.JVP(ctx, []float64{1})
	if err != nil {
		t.Fatalf("%d: %v\n%s", seed, err, p.model())
	}
	moves := 0
	for i, v := range tangent.Lambda {
		difference := (right.Lambda[i] - left.Lambda[i]) / (2 * step)
		if (left.Lambda[i] == 0) != (right.Lambda[i] == 0) {
			return 0 // a kink lies between them
		}
		if v != 0 {
			moves = 1
		}
		if math.Abs(v-difference) > 1e-4*(1+math.Abs(difference))+1e-2*math.Abs(left.Lambda[i]+right.Lambda[i]-2*e.Lambda[i])/step {
			t.Fatalf("%d: multiplier %d changes by %v at %v, and by %v in differences\n%s", seed, i+1, v, x, difference, p.model())
		}
	}
	dy, dlambda := []float64{r.NormFloat64(), r.NormFloat64()}, make([]float64, len(e.Lambda))
	want := dy[0]*tangent.Y[0] + dy[1]*tangent.Y[1]
	size := math.Abs(want)
	for i := range dlambda {
		dlambda[i] = r.NormFloat64()
		want += dlambda[i] * tangent.Lambda[i]
		size += math.Abs(dlambda[i] * tangent.Lambda[i])
	}
	product, _, err := e.VJP(ctx, dy, dlambda)
	if err != nil || math.Abs(product[0]-want) > 1e-6*(1+size) {
		t.Fatalf("%d: the product is %v (%v), not %v\n%s", seed, product, err, want, p.model())
	}
	rates, err := problem.Eval(ctx, runtime.Values{{Name: "x", Data: []float64{x}}}, runtime.Options{Sensitivity: true})
	if err != nil {
		t.Fatal(err)
	}
	if rates.Sensitivity[0].Right.Reason == "" {
		got := p.multipliers(rates.Sensitivity[0].Right.Multipliers)
		named := p.multipliers(named(problem, e, tangent.Lambda))
		for i := range got {
			if math.Abs(got[i]-named[i]) > 1e-6*(1+math.Abs(named[i])) {
				t.Fatalf("%d: rates of multipliers are %v, not %v\n%s", seed, got, named, p.model())
			}
		}
	}
	return moves
}

// named gives numbers, one a row, the names of the rows.
func named(problem *runtime.Problem, e *runtime.Evaluation, lambda []float64) runtime.Values {
	other := *e
	other.Lambda = lambda
	_, _, out := problem.Named(&other)
	return out
}
