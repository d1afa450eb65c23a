package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// chooser is a follower that minimizes (c + D x)'y over 0 <= y <= 1, A y <= b + T x, all in whole numbers, so that it is often indifferent, beside a leader with w'x + a'y.
type chooser struct {
	nx, ny, m  int
	c, a, w, b []float64
	d, rows, t [][]float64
}

func drawChooser(rng *rand.Rand) *chooser {
	q := &chooser{nx: 1 + rng.IntN(2), ny: 2 + rng.IntN(2), m: 1 + rng.IntN(2)}
	whole := func(n, size int) []float64 {
		v := make([]float64, n)
		for j := range v {
			v[j] = float64(rng.IntN(2*size+1) - size)
		}
		return v
	}
	q.c, q.w, q.a = whole(q.ny, 3), whole(q.nx, 2), make([]float64, q.ny)
	for j := range q.a {
		q.a[j] = math.Round(1000*rng.NormFloat64()) / 100
	}
	for range q.ny {
		q.d = append(q.d, whole(q.nx, 2))
	}
	for range q.m {
		q.rows, q.t = append(q.rows, whole(q.ny, 2)), append(q.t, whole(q.nx, 1))
		q.b = append(q.b, 1+float64(rng.IntN(3)))
	}
	return q
}

func (q *chooser) text(rule string) string {
	return fmt.Sprintf(`model chooser
data c: vector[%[2]d] = %[4]s
data D: matrix[%[2]d, %[1]d] = %[5]s
data A: matrix[%[3]d, %[2]d] = %[6]s
data T: matrix[%[3]d, %[1]d] = %[7]s
data b: vector[%[3]d] = %[8]s
data w: vector[%[1]d] = %[9]s
data a: vector[%[2]d] = %[10]s
upper {
  var x: vector[%[1]d] in box(-3, 3)
  minimize w'*x + a'*y
}
lower {
  var y: vector[%[2]d] in box(0, 1)
  minimize (c + D*x)'*y
  subject to r: A*y <= b + T*x
}
solve { ties = %[11]s }
`, q.nx, q.ny, q.m, list(q.c), table(q.d), table(q.rows), table(q.t), list(q.b), list(q.w), list(q.a), rule)
}

// at is F at x with the follower's answers that are best and worst for the leader, by its vertices; how many there are, and the best one.
func (q *chooser) at(x []float64) (best, worst float64, count int, answer []float64) {
	best, worst, answers := q.answers(x)
	for _, y := range answers {
		if dot(q.w, x)+dot(q.a, y) == best {
			answer = y
		}
	}
	return best, worst, len(answers), answer
}

// least is F with the answer of least norm of up to two vertices and the answers between them; false for more.
func (q *chooser) least(x []float64) (float64, bool) {
	_, _, answers := q.answers(x)
	switch len(answers) {
	case 1:
		return dot(q.w, x) + dot(q.a, answers[0]), true
	case 2:
		d := make([]float64, q.ny)
		for j := range d {
			d[j] = answers[1][j] - answers[0][j]
		}
		t := math.Max(0, math.Min(1, -dot(answers[0], d)/dot(d, d)))
		return dot(q.w, x) + dot(q.a, answers[0]) + t*dot(q.a, d), true
	}
	return 0, false
}

// answers are the best vertices of the follower, with the least and the most of F at them.
func (q *chooser) answers(x []float64) (best, worst float64, seen [][]float64) {
	rows, b := [][]float64{}, []float64{}
	for i, row := range q.rows {
		rows, b = append(rows, row), append(b, q.b[i]+dot(q.t[i], x))
	}
	for j := range q.ny {
		for _, sign := range []float64{1, -1} {
			row := make([]float64, q.ny)
			row[j] = sign
			rows, b = append(rows, row), append(b, math.Max(0, sign))
		}
	}
	cost := slices.Clone(q.c)
	for j := range cost {
		cost[j] += dot(q.d[j], x)
	}
	least := math.Inf(1)
	vertices(rows, b, nil, func(y []float64) { least = math.Min(least, dot(cost, y)) })
	best, worst = math.Inf(1), math.Inf(-1)
	vertices(rows, b, nil, func(y []float64) {
		if dot(cost, y) > least+1e-9 || slices.ContainsFunc(seen, func(z []float64) bool { return apart(y, z) < 1e-9 }) {
			return
		}
		seen = append(seen, slices.Clone(y))
		f := dot(q.w, x) + dot(q.a, y)
		best, worst = math.Min(best, f), math.Max(worst, f)
	})
	return best, worst, seen
}

func apart(a, b []float64) float64 {
	d := 0.0
	for j, v := range a {
		d = math.Max(d, math.Abs(v-b[j]))
	}
	return d
}

// Evaluations of followers with ties are exact: F is that of the best vertex, or with `pessimistic` the worst, the answer is unique where one vertex is best; the hypergradient is that of differences
// of F by vertices, and so are the slopes on both sides of a kink, where F does not jump. Every document verifies, and none does with another F, slope or gradient.
func TestEvaluationsOfTies(t *testing.T) {
	t.Parallel()
	tied, smooth, kinked, jumped := 0, 0, 0, 0
	for k := range members.Seeds(t, 150) {
		rng := rand.New(rand.NewPCG(k, 21))
		q := drawChooser(rng)
		unit := []float64{1, 1e-6, 1e6}[k%3] // of F
		for _, v := range [][]float64{q.w, q.a} {
			for j := range v {
				v[j] *= unit
			}
		}
		problems := map[string]*runtime.Problem{"optimistic": bindText(t, q.text("optimistic")), "pessimistic": bindText(t, q.text("pessimistic")),
			"least_norm": bindText(t, q.text("least_norm"))}
		for range 4 {
			x := make([]float64, q.nx)
			for j := range x {
				x[j] = float64(rng.IntN(9)-4) / 2
				if rng.IntN(3) == 0 {
					x[j] += 0.01 + 0.3*rng.Float64()
				}
			}
			best, worst, count, answer := q.at(x)
			for rule, p := range problems {
				fail := func(format string, args ...any) {
					t.Helper()
					t.Fatalf("member %d, x = %v, %s: %s\n%s", k, x, rule, fmt.Sprintf(format, args...), q.text(rule))
				}
				r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{q.nx}, Data: x}}, runtime.Options{})
				if err != nil {
					fail("%v", err)
				}
				if count == 0 {
					if r.Status != runtime.Infeasible || len(r.Diagnostics) == 0 {
						fail("%s: %s; no y is feasible", r.Status, r.Reason)
					}
					continue
				}
				want := best
				if rule == "pessimistic" {
					want = worst
				}
				if rule == "least_norm" {
					var known bool
					if want, known = q.least(x); !known {
						continue
					}
				}
				near := func(a runtime.Number, b float64) bool { return math.Abs(float64(a)-b) <= 1e-8*(unit+math.Abs(b)) }
				ties := r.Lower.Ties
				if r.Status != runtime.Solved || !near(r.Upper.Objective, want) || !near(ties.Optimistic, best) || !near(ties.Pessimistic, worst) || ties.Unique != (count == 1) {
					fail("%s, F %v, %+v; vertices say best %v, worst %v, %d answers", r.Status, r.Upper.Objective, ties, best, worst, count)
				}
				if report, err := p.Verify(r); err != nil || !report.OK() {
					fail("does not verify: %v, %v", err, report.Failures())
				}
				for name, forge := range map[string]func(r *runtime.Result) bool{
					"F":      func(r *runtime.Result) bool { r.Upper.Objective += runtime.Number(1e-4 * unit); return true },
					"best":   func(r *runtime.Result) bool { r.Lower.Ties.Optimistic -= runtime.Number(1e-4 * unit); return true },
					"worst":  func(r *runtime.Result) bool { r.Lower.Ties.Pessimistic += runtime.Number(1e-4 * unit); return true },
					"unique": func(r *runtime.Result) bool { r.Lower.Ties.Unique = !r.Lower.Ties.Unique; return true },
					"gradient": func(r *runtime.Result) bool {
						if len(r.Upper.Hypergradient) == 0 {
							r.Upper.Hypergradient = runtime.Values{{Name: "x", Shape: []int{q.nx}, Data: slices.Clone(q.w)}}
							r.Stationarity.Strict = true
							return true
						}
						r.Upper.Hypergradient[0].Data[0] += 1e-3 * unit
						return true
					},
					"slope": func(r *runtime.Result) bool {
						if len(r.Sensitivity) == 0 || r.Sensitivity[0].Right.Reason != "" {
							return false
						}
						r.Sensitivity[0].Right.Objective += runtime.Number(1e-3 * unit)
						return true
					},
				} {
					forged, err := p.Eval(context.Background(), r.Upper.Variables, runtime.Options{})
					if err != nil {
						fail("%v", err)
					}
					if !forge(forged) {
						continue
					}
					if report, err := p.Verify(forged); err == nil && report.OK() {
						fail("another %s passes", name)
					}
				}
				if count > 1 {
					tied++
				}
				// Differences of F by vertices at two steps: the same slope, or F has a kink between, or jumps.
				slope := func(j int, sign float64) (float64, bool) {
					var f [2]float64
					for i, h := range []float64{1e-4, 2e-4} {
						moved := slices.Clone(x)
						moved[j] += sign * h
						value, _, n, there := q.at(moved)
						if n == 0 || apart(there, answer) > 10*h {
							return 0, false
						}
						f[i] = (value - best) / h
					}
					return f[0], math.Abs(f[0]-f[1]) < 1e-6*unit
				}
				if g, ok := r.Upper.Hypergradient.Get("x"); ok {
					smooth++
					for j := range x {
						right, one := slope(j, 1)
						left, two := slope(j, -1)
						if !one || !two || math.Abs(right+left) > 1e-6*unit || math.Abs(right-g.Data[j]) > 1e-6*unit {
							fail("hypergradient %v; differences in entry %d %v, %v", g.Data, j, right, -left)
						}
					}
					continue
				}
				if rule != "optimistic" {
					continue
				}
				for j, e := range r.Sensitivity {
					for sign, side := range map[float64]*runtime.Rates{1: e.Right, -1: e.Left} {
						s, continuous := slope(j, sign)
						switch {
						case side == nil:
						case continuous && (side.Reason != "" || math.Abs(sign*float64(side.Objective)-s) > 1e-6*unit):
							fail("slope of %s to the side %v: %+v; differences say %v", e.Entry, sign, side, sign*s)
						case !continuous && side.Reason == "":
							fail("slope of %s to the side %v: %+v, where F jumps", e.Entry, sign, side)
						case continuous:
							kinked++
						default:
							jumped++
						}
					}
				}
			}
		}
	}
	if tied < members.Part(37, 150) || smooth < members.Part(150, 150) || kinked < members.Part(75, 150) || jumped < members.Part(15, 150) {
		t.Errorf("%d with several answers, %d with a gradient, %d slopes, %d jumps: too few to tell", tied, smooth, kinked, jumped)
	}
	t.Logf("%d with several answers, %d with a gradient, %d slopes, %d jumps", tied, smooth, kinked, jumped)
}

// Layers of followers with ties give the same as evaluations, and their products are those of differences.
func TestLayersOfTies(t *testing.T) {
	ctx := context.Background()
	compared := 0
	for k := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(k, 22))
		q := drawChooser(rng)
		p := bindText(t, q.text("optimistic"))
		layer, err := p.Layer(runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, q.nx)
		for j := range x {
			x[j] = 4*rng.Float64() - 2
		}
		best, _, count, answer := q.at(x)
		e, err := layer.Evaluate(ctx, x)
		if count == 0 {
			if !errors.Is(err, runtime.ErrInfeasible) {
				t.Fatalf("member %d: %v, where no y is feasible", k, err)
			}
			continue
		}
		if err != nil || math.Abs(e.F-best) > 1e-8*(1+math.Abs(best)) || apart(e.Y, answer) > 1e-8 {
			t.Fatalf("member %d: %v, %+v; vertices say F %v, y %v", k, err, e, best, answer)
		}
		if len(e.Kinks) > 0 {
			continue
		}
		weights, dx := make([]float64, q.ny), make([]float64, q.nx)
		for j := range weights {
			weights[j] = rng.NormFloat64()
		}
		for j := range dx {
			dx[j] = rng.NormFloat64()
		}
		const h = 1e-6
		ahead := slices.Clone(x)
		for j := range ahead {
			ahead[j] += h * dx[j]
		}
		_, _, n, there := q.at(ahead)
		if n == 0 || apart(there, answer) > 1e-4 {
			continue // a kink between
		}
		want := (dot(weights, there) - dot(weights, answer)) / h
		vjp, _, err := e.VJP(ctx, weights, nil)
		if err != nil || math.Abs(dot(vjp, dx)-want) > 1e-4*(1+math.Abs(want)) {
			t.Fatalf("member %d: product %v along %v, %v; differences say %v\n%s", k, vjp, dx, err, want, q.text("optimistic"))
		}
		jvp, err := e.JVP(ctx, dx)
		if err != nil || math.Abs(dot(weights, jvp.Y)-want) > 1e-4*(1+math.Abs(want)) {
			t.Fatalf("member %d: tangent %+v, %v; differences say %v", k, jvp, err, want)
		}
		grad, _, err := e.Gradient(ctx)
		if err != nil || math.Abs(dot(grad, dx)-jvp.F) > 1e-9*(1+math.Abs(jvp.F)) {
			t.Fatalf("member %d: gradient %v, %v; the tangent of F is %v", k, grad, err, jvp.F)
		}
		compared++
	}
	if n := members.Count(60); compared < n/3 {
		t.Errorf("%d of %d compared", compared, n)
	}
}

// A model whose ties go against the leader is evaluated, and a solve says why it is not.
func TestPessimisticIsNotSolved(t *testing.T) {
	p := bindText(t, drawChooser(rand.New(rand.NewPCG(1, 1))).text("pessimistic"))
	if _, err := p.Solve(context.Background(), runtime.Options{}); err == nil || !strings.Contains(err.Error(), "evaluated at a given x") {
		t.Errorf("%v", err)
	}
}
