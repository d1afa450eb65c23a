package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// coneModel minimizes -(A'w)'x over A x <= b, with A square and regular: with w >= 0 the least value is -w'b, at A x = b; with w_i < 0 there is none, along A d = -e_i. The follower copies x, or
// a part of it beyond a bound, and the leader's objective reads the copies.
func coneModel(rng *rand.Rand, size float64, bounded bool) (text string, least float64) {
	n := 2 + rng.IntN(3)
	a := mat.NewDense(n, n, nil)
	for {
		for i := range n {
			for j := range n {
				a.Set(i, j, float64(rng.IntN(7)-3))
			}
		}
		if math.Abs(mat.Det(a)) > 0.5 {
			break
		}
	}
	w, b := make([]float64, n), make([]float64, n)
	for i := range w {
		w[i], b[i] = 1+float64(rng.IntN(4)), size*float64(rng.IntN(9)-4)
		least -= w[i] * b[i]
	}
	if !bounded {
		w[rng.IntN(n)] = -1
	}
	rows := make([][]float64, n)
	cost := make([]float64, n)
	for i := range rows {
		rows[i] = mat.Row(nil, i, a)
		for j, v := range rows[i] {
			cost[j] -= w[i] * v
		}
	}
	return fmt.Sprintf(`model cone
data A: matrix[%[1]d, %[1]d] = %[2]s
data b: vector[%[1]d] = %[3]s
data c: vector[%[1]d] = %[4]s
upper {
  var x: vector[%[1]d]
  minimize c'*y
  subject to A*x <= b
}
lower {
  var y: vector[%[1]d]
  var z: real in box(%[5]v, inf)
  minimize sumsq(y - x) + (z - x[1])^2
}
`, n, table(rows), list(b), list(cost), -size), least
}

// Of linear programs with values from 1 to 1e15 the bounded ones are solved, and never called unbounded; those with a planted ray are called so, with a ray that verifies,
// and with another that does not.
func TestRaysArePlanted(t *testing.T) {
	found := 0
	for k := range members.Seeds(t, 120) {
		rng := rand.New(rand.NewPCG(k, 31))
		size := math.Pow(10, float64(rng.IntN(16)))
		text, least := coneModel(rng, size, true)
		r := solveText(t, text, runtime.Options{})
		if r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-least) > 1e-7*math.Max(size, math.Abs(least)) {
			t.Fatalf("member %d: %s (%s), F %v, where the least value is %v\n%s", k, r.Status, r.Reason, r.Upper.Objective, least, text)
		}
		text, _ = coneModel(rng, size, false)
		p := bindText(t, text)
		if r = solveText(t, text, runtime.Options{}); r.Status != runtime.Unbounded || r.Certificate.Ray == nil {
			t.Fatalf("member %d: %s (%s), along a planted ray\n%s", k, r.Status, r.Reason, text)
		}
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Fatalf("member %d: %v, %v\n%s", k, err, report.Failures(), text)
		}
		ray := r.Certificate.Ray
		for name, forge := range map[string]func(){
			"turned around": func() {
				for _, part := range [][]float64{ray.X, ray.Y, ray.Multipliers} {
					for j := range part {
						part[j] = -part[j]
					}
				}
			},
			"of x alone": func() { clear(ray.Y) },
			"beside":     func() { ray.Y[rng.IntN(len(ray.Y)-1)] += 1e-6 * norm(ray.X) },
			"nowhere": func() {
				clear(ray.X)
				clear(ray.Y)
				clear(ray.Multipliers)
			},
			"none": func() { r.Certificate.Ray = nil },
		} {
			kept := *ray
			kept.X, kept.Y, kept.Multipliers = append([]float64(nil), ray.X...), append([]float64(nil), ray.Y...), append([]float64(nil), ray.Multipliers...)
			forge()
			if report, err := p.Verify(r); err == nil && report.OK() {
				t.Errorf("member %d: a ray %s passes\n%s", k, name, text)
			}
			*ray = kept
			r.Certificate.Ray = ray
		}
		found++
	}
	t.Logf("%d rays", found)
}

func norm(v []float64) (s float64) {
	for _, t := range v {
		s = math.Hypot(s, t)
	}
	return s
}

// No random direction passes for a ray of a bounded problem: not one along which f falls for a long way.
func TestNoRayOfABoundedProblem(t *testing.T) {
	for k := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(k, 32))
		size := math.Pow(10, float64(rng.IntN(16)))
		bounded := rand.New(rand.NewPCG(k, 33))
		text, _ := coneModel(bounded, size, true)
		p := bindText(t, text)
		r := solveText(t, text, runtime.Options{})
		n := r.Upper.Variables[0].Shape[0]
		// The ray of the same problem with another objective: feasible, and f rises along it.
		other, _ := coneModel(rand.New(rand.NewPCG(k, 33)), size, false)
		q := solveText(t, other, runtime.Options{})
		if q.Status != runtime.Unbounded {
			t.Fatalf("member %d: %s\n%s", k, q.Status, other)
		}
		at, err := p.Eval(context.Background(), q.Upper.Variables, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		at.Status, at.Certificate.Ray = runtime.Unbounded, q.Certificate.Ray
		if report, err := p.Verify(at); err == nil && report.OK() {
			t.Errorf("member %d: the ray of another objective passes\n%s", k, text)
		}
		ray := at.Certificate.Ray
		for j := range n {
			ray.X[j] = rng.NormFloat64()
			ray.Y[j] = ray.X[j]
		}
		ray.Y[n] = math.Max(0, ray.X[0])
		if report, err := p.Verify(at); err == nil && report.OK() {
			t.Errorf("member %d: a random ray passes\n%s", k, text)
		}
	}
}

// Objectives that are not quadratic, at scales from 1 to 1e12: those with a least value are solved, however far away it is, and those without are told, with a ray.
func TestRaysOfCurvedObjectives(t *testing.T) {
	for k := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(k, 34))
		size, c := math.Pow(10, float64(rng.IntN(13))), 0.1+0.8*rng.Float64()
		model := func(sign string) string {
			return fmt.Sprintf("model curved\nupper {\n  var x: real\n  minimize %slog1pexp(y/%g) - %s%g*y\n}\nlower {\n  var y: real\n  minimize (y - x)^2\n}\n", sign, size, sign, c/size)
		}
		r := solveText(t, model(""), runtime.Options{})
		v := math.Log(c / (1 - c))
		least := math.Log1p(math.Exp(v)) - c*v
		if r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-least) > 1e-7 {
			t.Errorf("member %d: %s (%s), F %v, where the least value is %v\n%s", k, r.Status, r.Reason, r.Upper.Objective, least, model(""))
		}
		text := model("-")
		if r = solveText(t, text, runtime.Options{}); r.Status != runtime.Unbounded {
			t.Fatalf("member %d: %s (%s)\n%s", k, r.Status, r.Reason, text)
		}
		p := bindText(t, text)
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Fatalf("member %d: %v, %v\n%s", k, err, report.Failures(), text)
		}
		r.Certificate.Ray.Steps = 20
		if report, err := p.Verify(r); err == nil && report.OK() {
			t.Errorf("member %d: a short way passes", k)
		}
	}
}

// What grows as exp does is told as unbounded though steps on models of it are short, and none of the starts that end elsewhere is called a solution: b exp(ky) - cy has no end in y = u, and its local best is at u = 0. With a cap on u the best is at one of its ends.
func TestRaysOfExponentials(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 8, 60) {
		rng := rand.New(rand.NewPCG(seed, 8273))
		b, k, c, most := 0.1+rng.Float64(), 0.5+rng.Float64(), 3+2*rng.Float64(), 1+300*rng.Float64()
		model := func(set string) string {
			return fmt.Sprintf("model runaway\nupper {\n  var u: real in %s\n  maximize u^2 - u + %g * exp(%g * y) - %g * y\n}\nlower {\n  var y: real\n  minimize (y - u)^2 + 0.3 * abs(y - u)\n}\n", set, b, k, c)
		}
		text := model("nonneg")
		p := bindText(t, text)
		r := solveText(t, text, runtime.Options{Seed: seed})
		if report, err := p.Verify(r); err != nil || r.Status != runtime.Unbounded || !report.OK() {
			t.Errorf("seed %d: %s (%s), %v\n%s", seed, r.Status, r.Reason, err, text)
		}
		text = model(fmt.Sprintf("box(0, %g)", most))
		r = solveText(t, text, runtime.Options{Seed: seed})
		if best := math.Max(b, most*most-most+b*math.Exp(k*most)-c*most); r.Status != runtime.Solved || !(math.Abs(float64(r.Upper.Objective)-best) <= 1e-7*math.Max(1, best)) {
			t.Errorf("seed %d: %s (%s), F %v, truly %v\n%s", seed, r.Status, r.Reason, r.Upper.Objective, best, text)
		}
	}
}

// TestRaysOfOneFollowerOfTwo: the first follower's answers make up a line at points of a line of x alone, along which f has no end; the leader's product with the second one's answer has f's steps taken on a Hessian of all unknowns, in which those
// of x are rounding of the line's.
func TestRaysOfOneFollowerOfTwo(t *testing.T) {
	t.Parallel()
	for seed := range members.Seeds(t, 100) {
		rng := rand.New(rand.NewPCG(seed, 74))
		for range 5 {
			size := func() float64 { return float64(1+rng.IntN(4)) / 2 }
			p, q, a := size(), size(), size()
			one, two := float64(1+rng.IntN(8))/8, float64(rng.IntN(17)-8)/8 // an x at which there is such a line
			along := float64(1 + rng.IntN(3))
			text := fmt.Sprintf(`model two
solve { ties = optimistic }
upper {
  var x: vector[2] in box(-1, 1)
  maximize %v * y[1] - %v * y[2] + w * x[1]
}
lower a {
  var y: vector[2]
  minimize %.17g * x[1] * y[1] - (x[2] + %.17g) * y[2]
  subject to
    r: -%.17g * y[1] + %.17g * y[2] - %v * x[1] <= %v
}
lower b {
  var w: real in box(0, 1)
  minimize x[2] * w
}
`, along, along*q/(2*p), a, q*a*one/p-two, p, q, size(), size()-1)
			problem := bindText(t, text)
			r, err := problem.Solve(t.Context(), runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != runtime.Unbounded || !verified(problem, r) {
				t.Errorf("seed %d: %s, %s\n%s", seed, r.Status, r.Reason, text)
			}
		}
	}
}

// A start after the search may find f to fall on and on, beside a best point that it takes away: p[2] goes up with no demand for it, whatever p[1] earns, so that f has no least value and the run none to claim.
func TestFallsFoundAfterTheSearch(t *testing.T) {
	p := bindText(t, `model falls
upper {
  var p: vector[2] in nonneg
  minimize p[1] - p[2]
  subject to rev: p' * q >= 8
}
lower {
  var q: vector[2] in nonneg
  minimize 0.5 * sumsq(q) - ([6, 5] - p)' * q
}
`)
	r, err := p.Solve(context.Background(), runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != runtime.NumericalFailure && r.Status != runtime.Unbounded || r.Global != nil && (r.Global.Proved || !math.IsInf(float64(r.Global.Bound), -1)) {
		t.Errorf("%s, %s: %+v", r.Status, r.Reason, r.Global)
	}
}

// F falls without end along the price of goods that nobody buys any more, beside a floor of revenue: with p = (a/2, ..., p_n) and p_n beyond its a revenue is a'a/4 over the goods that are sold. With a cap on the price that is
// quadratic, too, F has an end.
func TestRaysBesideQuadraticConstraints(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 6, 40) {
		rng := rand.New(rand.NewPCG(seed, 8271))
		n := 2 + rng.IntN(2)
		a, most := make([]float64, n), 0.0
		for i := range a {
			a[i] = 4 + 6*rng.Float64()
			if i < n-1 {
				most += a[i] * a[i] / 4
			}
		}
		text := func(cap string) string {
			return fmt.Sprintf("model goods\nupper {\n  var p: vector[%d] in nonneg\n  minimize p[1] - p[%[1]d]\n  subject to\n    rev: p' * q >= %g\n%s}\nlower {\n  var q: vector[%[1]d] in nonneg\n  minimize 0.5 * sumsq(q) - (%[4]s - p)' * q\n}\n", n, 0.9*most, cap, list(a))
		}
		p := bindText(t, text(""))
		r, err := p.Solve(t.Context(), runtime.Options{Seed: seed})
		if err != nil || r.Status != runtime.Unbounded || !verified(p, r) {
			t.Errorf("%v: %v (%s)\n%s", err, r.Status, r.Reason, text(""))
		}
		r = solveText(t, text(fmt.Sprintf("    cap: 1e-6 * p[%d]^2 + q[1] <= 100\n", n)), runtime.Options{Seed: seed})
		if r.Status == runtime.Unbounded || float64(r.Upper.Objective) < -1e4 {
			t.Errorf("%v, %v\n%s", r.Status, r.Upper.Objective, text("    cap"))
		}
	}
}

// What falls along points that violate the leader's constraint is no F: with y = max(0, s x) the least x that has x y >= b is sqrt(b/s), and the violation b of all x <= 0 does not change.
func TestFollowedBesideConstraints(t *testing.T) {
	t.Parallel()
	for seed := range members.SeedsOf(t, 6, 40) {
		rng := rand.New(rand.NewPCG(seed, 8272))
		s, least := 0.2+3*rng.Float64(), 0.2+4*rng.Float64()
		text := fmt.Sprintf("model far\nupper {\n  var x: real\n  minimize x\n  subject to one: x * y >= %g\n}\nlower {\n  var y: real in nonneg\n  minimize 0.5 * y^2 - %g * x * y\n}\n", least, s)
		r := solveText(t, text, runtime.Options{Seed: seed})
		if want := math.Sqrt(least / s); r.Status != runtime.Solved || math.Abs(float64(r.Upper.Objective)-want) > 1e-7*want {
			t.Errorf("%v (%s), F = %v, truly %v\n%s", r.Status, r.Reason, r.Upper.Objective, want, text)
		}
	}
}
