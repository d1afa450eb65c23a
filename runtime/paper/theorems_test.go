package paper

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/central"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/status"
)

// formula is a hyperobjective in closed form over a box or, where there is none, all of R^n,
// which notes where it is evaluated.
type formula struct {
	n     int
	box   *problem.Set
	value func(x []float64) float64
	grad  func(x []float64) []float64
	alpha float64 // stated error of the gradients
	seen  [][]float64
}

func (f *formula) Dim() int { return f.n }
func (f *formula) Project(dst, x []float64) error {
	copy(dst, x)
	for j := range dst {
		if f.box != nil {
			dst[j] = math.Max(f.box.Lo[j], math.Min(f.box.Hi[j], x[j]))
		}
	}
	return nil
}
func (f *formula) Problem() *problem.Problem {
	set := f.box
	if set == nil {
		set = &problem.Set{Lo: make([]float64, f.n), Hi: make([]float64, f.n)}
		for j := range set.Lo {
			set.Lo[j], set.Hi[j] = math.Inf(-1), math.Inf(1)
		}
	}
	rows := &problem.Rows{A: sparse.FromDense(0, f.n, nil), B: sparse.FromDense(0, 0, nil)}
	return &problem.Problem{Dx: f.n, X: set, Rows: rows}
}
func (f *formula) Projector() *qp.Projector {
	p := f.Problem()
	return qp.NewProjector(p.X, p.Rows, f.n, 0)
}
func (f *formula) Calls() problem.Calls                   { return problem.Calls{} }
func (f *formula) Smoothed(float64) oracle.Hyperobjective { return nil }
func (f *formula) Curvature(*oracle.Point) float64        { return 0 }
func (f *formula) Central(bool) *central.Path             { return nil }
func (f *formula) Recalls() bool                          { return false }
func (f *formula) Recall([]byte, []float64)               {}
func (f *formula) Snapshot() any                          { return nil }
func (f *formula) EncodeSnapshot(any) ([]byte, error)     { return []byte{}, nil }
func (f *formula) Restore([]byte) error                   { return nil }
func (f *formula) Fits(*oracle.Point) error               { return nil }
func (f *formula) ActiveSetChange(context.Context, *oracle.Point, int) ([]float64, error) {
	return nil, oracle.ErrNoChange
}
func (f *formula) at(x []float64) *oracle.Point {
	f.seen = append(f.seen, linalg.Clone(x))
	return &oracle.Point{X: linalg.Clone(x), F: f.value(x), Lower: &lower.Solution{}, Strict: true}
}

func (f *formula) Value(_ context.Context, x []float64) (*oracle.Point, error) { return f.at(x), nil }

func (f *formula) Gradient(_ context.Context, x []float64) (*oracle.Point, error) {
	pt := f.at(x)
	pt.Grad, pt.GradError, pt.Open = f.grad(x), f.alpha, true
	return pt, nil
}

// linear is F(x) = c'x.
func linear(c ...float64) *formula {
	return &formula{n: len(c), value: func(x []float64) float64 { return linalg.Dot(c, x) }, grad: func([]float64) []float64 { return linalg.Clone(c) }}
}

func (f *formula) Complete(_ context.Context, pt *oracle.Point) error {
	pt.Grad, pt.GradError, pt.Open = f.grad(pt.X), f.alpha, true
	return nil
}

func made(t testing.TB, name string, values method.Values) outer.Method {
	t.Helper()
	spec, err := outer.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := spec.New(values)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ran(t *testing.T, h oracle.Hyperobjective, name string, m outer.Method, opts outer.Options) *outer.Result {
	t.Helper()
	r, err := outer.Solve(context.Background(), h, name, m, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The parameters of the theorems for given constants, from the formulas of their
// proofs written out once more: METHODS: M >= 4 G^2/epsilon^2, K >= 2 gap/(delta
// epsilon), D = delta/M, eta = D/(G sqrt M) and so on.
func TestParametersOfTheTheorems(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	same := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("%s = %.15g, the theorem says %.15g", what, got, want)
		}
	}
	for range 50 {
		n := 1 + rng.IntN(6)
		c := make([]float64, n)
		for j := range c {
			c[j] = rng.NormFloat64()
		}
		delta, epsilon, l, gap, alpha := 0.1+rng.Float64(), 0.1+rng.Float64(), 0.5+3*rng.Float64(), 0.5+5*rng.Float64(), 0.3*rng.Float64()
		h := linear(c...)
		h.alpha = alpha
		one := outer.Options{Start: make([]float64, n), Seed: rng.Uint64(), Limits: outer.Limits{Iterations: 1}}
		given := method.Values{"delta": delta, "epsilon": epsilon, "lipschitz": l, "gap": gap}

		r := ran(t, h, "oigrm", made(t, "oigrm", given), one)
		g := math.Sqrt(l*l + alpha*alpha)
		m := math.Ceil(4 * g * g / (epsilon * epsilon))
		same("oigrm M", r.Parameters["M"], m)
		same("oigrm K", r.Parameters["K"], math.Ceil(2*gap/(delta*epsilon)))
		same("oigrm D", r.Parameters["D"], delta/m)
		same("oigrm eta", r.Parameters["eta"], delta/m/(g*math.Sqrt(m)))
		same("oigrm budget", r.Predicted.Evaluations, m*math.Ceil(2*gap/(delta*epsilon)))

		given["alpha"] = alpha
		r = ran(t, h, "izo", made(t, "izo", given), one)
		d := float64(n)
		rho := math.Min(delta/2, gap/l)
		nu := delta - rho
		m = math.Ceil(9 * math.Max(alpha*alpha*d*d/(rho*rho*epsilon*epsilon), l*l*d/(epsilon*epsilon)))
		same("izo rho", r.Parameters["rho"], rho)
		same("izo M", r.Parameters["M"], m)
		same("izo K", r.Parameters["K"], math.Ceil(3*gap/(nu*epsilon)))
		same("izo D", r.Parameters["D"], nu/m)
		same("izo eta", r.Parameters["eta"], nu/m/(math.Sqrt(alpha*alpha*d*d/(rho*rho)+d*l*l)*math.Sqrt(m)))
		same("izo budget", r.Predicted.Evaluations, 2*m*math.Ceil(3*gap/(nu*epsilon)))

		// eta of the proof for T steps, and the T with which the bound is epsilon.
		steps := 1 + rng.IntN(1000)
		plain := method.Values{"steps": "plain", "delta": delta, "lipschitz": l, "gap": gap, "iterations": steps}
		eta := func(t float64) float64 {
			return math.Sqrt((gap+delta*l)*delta) / math.Sqrt(t*l*math.Sqrt(d)*(alpha+l)*(alpha+l))
		}
		r = ran(t, h, "pigd", made(t, "pigd", plain), one)
		same("pigd eta", r.Parameters["eta"], eta(float64(steps)))
		delete(plain, "iterations")
		plain["epsilon"] = epsilon
		r = ran(t, h, "pigd", made(t, "pigd", plain), one)
		budget := math.Ceil(4 * (gap + delta*l) * l * math.Sqrt(d) * (alpha + l) * (alpha + l) / (delta * math.Pow(epsilon, 4)))
		same("pigd T", r.Predicted.Evaluations, budget)
		same("pigd eta of epsilon", r.Parameters["eta"], eta(budget))
	}
}

// Steps of the algorithms on F(x) = c'x, where all but their random numbers is known:
// the first step is -eta g, clipped steps are D long, and gradients are taken at
// points uniform on each step.
func TestStepsOfTheAlgorithms(t *testing.T) {
	c := []float64{3, -4}
	h := linear(c...)
	const steps = 4000
	m := made(t, "oigrm", method.Values{"lipschitz": 5.0, "gap": 1.0, "clip": 0.01, "rate": 1.0, "block": steps, "blocks": 1}).(*oigrm)
	ran(t, h, "oigrm", m, outer.Options{Start: []float64{0, 0}, Seed: 3})
	// Delta_1 = 0, and every later step is -D c/|c|: z_t = -D (t - 2 + s_t) c/|c|.
	var mean, square, least, most float64 = 0, 0, 1, 0
	evaluated := h.seen[1 : steps+1] // the first is the value at the start
	for k, z := range evaluated[1:] {
		along := -linalg.Dot(z, c) / 5 / 0.01
		s := along - float64(k)
		if off := math.Hypot(z[0]+along*0.01*3/5, z[1]-along*0.01*4/5); off > 1e-9 || s < -1e-6 || s > 1+1e-6 {
			t.Fatalf("step %d: gradient at %v, off the step by %g, s = %g", k+2, z, off, s)
		}
		mean, square = mean+s/steps, square+s*s/steps
		least, most = math.Min(least, s), math.Max(most, s)
	}
	// Uniform on [0, 1]: the mean has standard deviation sqrt(1/12/4000) = 0.0046.
	if math.Abs(mean-0.5) > 0.02 || math.Abs(square-1.0/3) > 0.02 || least > 0.01 || most < 0.99 {
		t.Errorf("s_t has mean %.3f, mean square %.3f, from %.3f to %.3f", mean, square, least, most)
	}

	// The first step of oigrm, not clipped.
	m = made(t, "oigrm", method.Values{"lipschitz": 5.0, "gap": 1.0, "clip": 100.0, "rate": 0.3, "block": 2, "blocks": 1}).(*oigrm)
	ran(t, linear(c...), "oigrm", m, outer.Options{Start: []float64{0, 0}, Seed: 3})
	if want := []float64{-0.9, 1.2}; linalg.Distance(m.State.Online.X, want) > 1e-12 {
		t.Errorf("oigrm: after two steps at %v, not %v", m.State.Online.X, want)
	}
}

// izo's estimate of the gradient is d times the slope along a random direction: its
// mean is the gradient. Of F(x) = c'x the estimate is d (c'w) w.
func TestZerothOrderEstimateIsUnbiased(t *testing.T) {
	c := []float64{1, -2, 0.5, 0, 3}
	mean := make([]float64, len(c))
	const draws = 4000
	for k := range draws {
		m := made(t, "izo", method.Values{"lipschitz": 4.0, "gap": 1.0, "clip": 1e9, "rate": 1.0, "block": 1, "blocks": 1}).(*izo)
		ran(t, linear(c...), "izo", m, outer.Options{Start: make([]float64, len(c)), Seed: uint64(k), Limits: outer.Limits{Iterations: 1}})
		mean = linalg.Plus(mean, -1.0/draws, m.State.Online.Delta) // Delta_2 = -g
	}
	// The variance of an entry is below d |c|^2 = 71: standard deviation of the mean 0.13.
	if d := linalg.Distance(mean, c); d > 0.8 {
		t.Errorf("the mean of %d estimates is %.3f, the gradient %v", draws, mean, c)
	}
}

// What the algorithms put out is uniform over what they may: pigd over its iterates,
// oigrm and izo over the means of their blocks. On F(x) = x with clipped or plain
// steps of one length each candidate is known by its place.
func TestOutputsAreUniform(t *testing.T) {
	const seeds, candidates = 1000, 5
	for _, c := range []struct {
		name   string
		values method.Values
		place  func(m outer.Method) float64
	}{
		{"pigd", method.Values{"steps": "plain", "rate": 1.0, "iterations": candidates, "lipschitz": 1.0, "gap": 1.0},
			func(m outer.Method) float64 { return -m.(*pigd).State.Kept[0] }},
		// Steps are 1 long after the first, so that the mean of a block of two is at
		// its number times two, to within one.
		{"oigrm", method.Values{"clip": 1.0, "rate": 9.0, "block": 2, "blocks": candidates, "lipschitz": 1.0, "gap": 1.0},
			func(m outer.Method) float64 { return math.Round(-m.(*oigrm).State.Online.sampled()[0]/2 + 0.0) }},
		{"izo", method.Values{"clip": 1.0, "rate": 9.0, "block": 2, "blocks": candidates, "lipschitz": 1.0, "gap": 1.0},
			func(m outer.Method) float64 { return math.Round(-m.(*izo).State.Online.sampled()[0]/2 + 0.0) }},
	} {
		counts := map[float64]int{}
		for seed := range uint64(seeds) {
			m := made(t, c.name, c.values)
			r := ran(t, linear(1), c.name, m, outer.Options{Start: []float64{0}, Seed: seed})
			if r.Status != status.BudgetSpent {
				t.Fatalf("%s: %v (%s)", c.name, r.Status, r.Reason)
			}
			counts[c.place(m)]++
		}
		// Each has seeds/candidates = 200, with standard deviation 13.
		if len(counts) != candidates {
			t.Errorf("%s: outputs %v", c.name, counts)
		}
		for place, n := range counts {
			if math.Abs(float64(n)-seeds/candidates) > 80 {
				t.Errorf("%s: candidate %v comes out %d times of %d: %v", c.name, place, n, seeds, counts)
			}
		}
	}
}

// With the theorem's own parameters, and constants that hold, the mean over seeds of
// the distance of 0 from the delta-subdifferential at the point of the theorem is
// within epsilon. F(x) = |x| in one dimension, where that distance is 0 within delta
// of the kink and 1 outside; the start is 1 away, so that a run which does not get
// there has 1.
func TestGuaranteesOfTheTheorems(t *testing.T) {
	const delta, epsilon, seeds = 0.2, 0.4, 40
	for _, c := range []struct {
		name  string
		extra method.Values
	}{{"oigrm", nil}, {"izo", nil}} {
		values := method.Values{"delta": delta, "epsilon": epsilon, "lipschitz": 1.0, "gap": 1.0}
		mean := 0.0
		for seed := range uint64(seeds) {
			h := &formula{n: 1, value: func(x []float64) float64 { return math.Abs(x[0]) },
				grad: func(x []float64) []float64 { return []float64{math.Copysign(1, x[0])} }}
			r := ran(t, h, c.name, made(t, c.name, values), outer.Options{Start: []float64{1}, Seed: seed})
			if r.Status != status.BudgetSpent || !strings.Contains(r.Reason, "the theorem's budget") {
				t.Fatalf("%s: %v (%s)", c.name, r.Status, r.Reason)
			}
			if math.Abs(r.Sampled.X[0]) > delta {
				mean += 1.0 / seeds
			}
		}
		t.Logf("%s: mean measure %.2f, the theorem bounds it by %.2f", c.name, mean, epsilon)
		if mean > epsilon {
			t.Errorf("%s: the mean of the measure is %.2f, above epsilon = %.2f", c.name, mean, epsilon)
		}
	}
}

// A parameter set by hand takes the theorem's name away, and the points of a block
// stay within delta of their mean.
func TestParametersByHandAreNotTheTheorems(t *testing.T) {
	for _, name := range []string{"oigrm", "izo"} {
		for _, set := range []method.Values{{"clip": 0.01}, {"rate": 0.1}, {"block": 7}, {"blocks": 3}} {
			values := method.Values{"lipschitz": 1.0, "gap": 1.0, "delta": 0.5, "epsilon": 0.5}
			maps.Copy(values, set)
			r := ran(t, linear(1), name, made(t, name, values), outer.Options{Start: []float64{0}, Seed: 1, Limits: outer.Limits{Iterations: 3}})
			if strings.Contains(r.Predicted.Basis, "thm:") || !strings.Contains(r.Predicted.Basis, "by hand") {
				t.Errorf("%s with %v: %s", name, set, r.Predicted.Basis)
			}
			if _, clip := set["clip"]; clip && r.Parameters["M"]*r.Parameters["D"] > 0.5 {
				t.Errorf("%s: %g steps of up to %g leave delta = 0.5", name, r.Parameters["M"], r.Parameters["D"])
			}
		}
	}
}

// Constants that were estimated are not called given: not where one of the two was.
func TestConstantsThatAreEstimatedSaySo(t *testing.T) {
	for _, name := range []string{"oigrm", "izo", "pigd"} {
		for k, given := range []method.Values{{}, {"lipschitz": 2.0}, {"gap": 3.0}, {"lipschitz": 2.0, "gap": 3.0}} {
			values := method.Values{"delta": 0.5, "epsilon": 0.5}
			if name == "pigd" {
				values["steps"] = "plain"
			}
			maps.Copy(values, given)
			r := ran(t, linear(1, -1), name, made(t, name, values), outer.Options{Start: []float64{0, 0}, Seed: 1, Limits: outer.Limits{Iterations: 3}})
			want := "estimated at the start"
			if k == 3 {
				want = "as given"
			}
			if !strings.Contains(r.Predicted.Basis, want) {
				t.Errorf("%s with %v: %s", name, given, r.Predicted.Basis)
			}
		}
	}
}

// A state of a checkpoint that no run has is refused: lengths and radii that are not positive, no number, counts below 0, vectors of another length, samples without gradients.
func TestStatesThatNoRunHas(t *testing.T) {
	d := outer.Dimensions{X: 2}
	sample := func() outer.Sample { return outer.Sample{X: []float64{1, 2}, F: 3, G: []float64{4, 5}} }
	sampling := func() *goldstein {
		m := &goldstein{}
		m.State = goldsteinState{Center: sample(), Lowest: sample(), Radius: 0.1, Target: 0, Length: 0, Gathered: []outer.Sample{sample()}}
		return m
	}
	inexact := func() *pigd {
		m := &pigd{}
		m.State = pigdState{X: []float64{1, 2}, First: []float64{0, 0}, Second: []float64{0, 0}, Kept: []float64{1, 2}, Rate: 0.1, Budget: 1}
		return m
	}
	if err := sampling().Valid(d); err != nil {
		t.Error(err)
	}
	if err := inexact().Valid(d); err != nil {
		t.Error(err)
	}
	for k, spoil := range []func(s *goldsteinState){
		func(s *goldsteinState) { s.Radius = 0 },
		func(s *goldsteinState) { s.Radius = math.NaN() },
		func(s *goldsteinState) { s.Target = -1 },
		func(s *goldsteinState) { s.Target = math.NaN() },
		func(s *goldsteinState) { s.Length = -1 },
		func(s *goldsteinState) { s.Steps = -1 },
		func(s *goldsteinState) { s.Lowest.X = []float64{1} },
		func(s *goldsteinState) { s.Gathered[0].G = nil },
	} {
		m := sampling()
		if spoil(&m.State); m.Valid(d) == nil {
			t.Errorf("goldstein: state %d is taken", k)
		}
	}
	for k, spoil := range []func(s *pigdState){
		func(s *pigdState) { s.T = -1 },
		func(s *pigdState) { s.Budget = 0 },
		func(s *pigdState) { s.Rate = 0 },
		func(s *pigdState) { s.Rate = math.NaN() },
		func(s *pigdState) { s.Kept = []float64{1} },
	} {
		m := inexact()
		if spoil(&m.State); m.Valid(d) == nil {
			t.Errorf("pigd: state %d is taken", k)
		}
	}
}

// The line search of goldstein halves its step until F falls by its share (Kiwiel 2007): on L x^2 from 1, in a ball that is nothing beside that, the first step, of twice the length of the one before, is far too long.
func TestGoldsteinHalvesItsSteps(t *testing.T) {
	const l, delta = 1e3, 1e-9
	h := &formula{n: 1, value: func(x []float64) float64 { return l * x[0] * x[0] }, grad: func(x []float64) []float64 { return []float64{2 * l * x[0]} }}
	m := made(t, "goldstein", method.Values{"delta": delta, "radius": delta, "samples": 1}).(*goldstein)
	ran(t, h, "goldstein", &longer{goldstein: m, length: 100}, outer.Options{Start: []float64{1}, Seed: 1, Limits: outer.Limits{Iterations: 1}})
	var lengths []float64
	for _, x := range h.seen {
		if far := math.Abs(x[0] - 1); far > 1e-2 {
			lengths = append(lengths, far)
		}
	}
	if len(lengths) < 4 {
		t.Fatalf("steps of %v", lengths)
	}
	for k, v := range lengths[1:] {
		if math.Abs(v/lengths[k]-0.5) > 1e-9 {
			t.Errorf("a step of %v after one of %v", v, lengths[k])
		}
	}
}

// longer is goldstein after a step of some length.
type longer struct {
	*goldstein
	length float64
}

func (m *longer) Begin(ctx context.Context, run *outer.Run) error {
	err := m.goldstein.Begin(ctx, run)
	m.State.Length = m.length
	return err
}

// A budget that nobody waits for ends before it begins, with its numbers, unless it
// was set by hand or the run has a limit.
func TestBudgetsOutOfReach(t *testing.T) {
	small := method.Values{"delta": 1e-3, "epsilon": 1e-3, "lipschitz": 1.0, "gap": 1.0}
	for _, name := range []string{"oigrm", "izo"} {
		announced := 0.0
		r := ran(t, linear(1), name, made(t, name, small), outer.Options{Start: []float64{0}, Seed: 1, Announce: func(b *outer.Budget) { announced = b.Evaluations }})
		if r.Status != status.LimitReached || r.Best == nil || r.Iterations != 0 || announced < 1e9 || !strings.Contains(r.Reason, "M = ") {
			t.Errorf("%s: %v (%s) after %d iterations; announced %g", name, r.Status, r.Reason, r.Iterations, announced)
		}
		r = ran(t, linear(1), name, made(t, name, small), outer.Options{Start: []float64{0}, Seed: 1, Limits: outer.Limits{Iterations: 5}})
		if r.Iterations != 5 {
			t.Errorf("%s with a limit: %v (%s)", name, r.Status, r.Reason)
		}
	}
	for _, values := range []method.Values{{"steps": "adam", "epsilon": 0.1}, {"steps": "plain", "epsilon": 0.1, "iterations": 10}} {
		spec, _ := outer.Lookup("pigd")
		if _, err := spec.New(values); err == nil || !strings.Contains(err.Error(), "epsilon") {
			t.Errorf("pigd takes %v (%v)", values, err)
		}
	}
}

// A given C_F makes pgd the paper's algorithm: x_{t+1} = x_t - grad F(x_t)/C_F, every
// time, whether or not F falls.
func TestProjectedGradientToTheLetter(t *testing.T) {
	curvature := []float64{1, 3, 10}
	h := &formula{n: 3,
		value: func(x []float64) float64 { return (x[0]*x[0] + 3*x[1]*x[1] + 10*x[2]*x[2]) / 2 },
		grad:  func(x []float64) []float64 { return []float64{x[0], 3 * x[1], 10 * x[2]} }}
	for _, smoothness := range []float64{10, 4} { // of the second F rises along the third entry
		x := []float64{1, 1, 1}
		m := made(t, "pgd", method.Values{"smoothness": smoothness}).(*pgd)
		ran(t, h, "pgd", m, outer.Options{Start: linalg.Clone(x), Limits: outer.Limits{Iterations: 9}})
		for range 9 {
			for j := range x {
				x[j] -= curvature[j] * x[j] / smoothness
			}
		}
		if d := linalg.Distance(m.State.Center.X, x); d > 1e-12*linalg.Norm(x) {
			t.Errorf("C_F = %g: after 9 steps at %v, not %v", smoothness, m.State.Center.X, x)
		}
	}
}

// A gradient mapping within its target is no solution where the oracle's own error is
// beyond the target.
func TestMappingsAreNoBetterThanTheirGradients(t *testing.T) {
	for _, alpha := range []float64{0, 1e-9, 1e-3} {
		h := &formula{n: 1, alpha: alpha, value: func(x []float64) float64 { return x[0] * x[0] / 2 }, grad: linalg.Clone}
		r := ran(t, h, "pgd", made(t, "pgd", nil), outer.Options{Start: []float64{1}})
		if want := alpha < 1e-8; (r.Status == status.Solved) != want || !want && !strings.Contains(r.Reason, "0.001") {
			t.Errorf("gradients to %g: %v (%s)", alpha, r.Status, r.Reason)
		}
	}
	for _, c := range []struct {
		alpha float64
		given method.Values
		want  bool
	}{{3e-7, nil, true}, {3e-7, method.Values{"epsilon": 1e-8}, false}, {3e-5, method.Values{"epsilon": 1e-3}, true}} {
		h := &formula{n: 1, alpha: c.alpha, value: func(x []float64) float64 { return x[0] * x[0] / 2 }, grad: linalg.Clone}
		if r := ran(t, h, "pgd", made(t, "pgd", c.given), outer.Options{Start: []float64{1}}); (r.Status == status.Solved) != c.want {
			t.Errorf("gradients to %g, settings %v: %v (%s)", c.alpha, c.given, r.Status, r.Reason)
		}
	}
}

// At a maximum the gradient is 0: pgd measures what it returns, however small the C_F is that such a start suggests.
func TestProjectedGradientFromAMaximum(t *testing.T) {
	for _, unit := range []float64{1e-6, 1, 1e6} {
		h := &formula{n: 1, alpha: 1e-12 / unit,
			value: func(x []float64) float64 { z := x[0] / unit; return z*z*z*z/4 - z*z/2 },
			grad:  func(x []float64) []float64 { z := x[0] / unit; return []float64{(z*z*z - z) / unit} }}
		r := ran(t, h, "pgd", made(t, "pgd", nil), outer.Options{Start: []float64{0}})
		z := r.Best.X[0] / unit
		if stationary := math.Abs(z*z*z-z) < 1e-4; r.Status == status.Solved && (!stationary || !(r.Measure.Value < 1e-4/unit)) {
			t.Errorf("unit %g: %v (%s) at %g, measure %g", unit, r.Status, r.Reason, r.Best.X[0], r.Measure.Value)
		}
	}
}

// Where it is not given, L is estimated by the largest gradient met, that at the start among
// them: near the top of a ridge all others are smaller.
func TestEstimatesCountTheStart(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	for range 20 {
		n := 1 + rng.IntN(4)
		top := math.Pow(10, 4*rng.Float64()-2)
		h := &formula{n: n, value: func(x []float64) float64 {
			s := 0.0
			for _, v := range x {
				s += top * math.Sin(v)
			}
			return s
		}, grad: func(x []float64) []float64 {
			g := make([]float64, n)
			for j, v := range x {
				g[j] = top * math.Cos(v)
			}
			return g
		}}
		largest := top * math.Sqrt(float64(n)) // at the start, 0, and nowhere else near by
		r := ran(t, h, "oigrm", made(t, "oigrm", method.Values{"delta": 0.5, "epsilon": 0.5, "gap": 1.0}),
			outer.Options{Start: make([]float64, n), Seed: rng.Uint64(), Limits: outer.Limits{Iterations: 1}})
		if l := r.Parameters["L"]; math.Abs(l-largest) > 1e-12*largest {
			t.Errorf("%d variables: L is %g, the gradient at the start is %g", n, l, largest)
		}
	}
}

// Points of a block are within nu of each other where the clip is given, and the block is not; a budget is chosen by hand where both of its numbers are.
func TestPlansOfGivenClips(t *testing.T) {
	for _, c := range []struct {
		clip, nu float64
		m        int
	}{{0.1, 1, 10}, {0.3, 1, 3}, {2, 1, 1}, {1e-300, 1, 1 << 52}} {
		if p := (plan{D: c.clip}).filled(c.nu, 1e6, 7, 2); p.M != c.m || p.D != c.clip || p.K != 7 || math.Abs(p.Eta-c.clip/(2*math.Sqrt(float64(c.m)))) > 1e-12*p.Eta {
			t.Errorf("clip %g within %g: %+v", c.clip, c.nu, p)
		}
	}
	for _, by := range [][2]int{{0, 0}, {3, 0}, {0, 3}, {3, 3}} {
		m := &izo{Settings: izoSettings{Block: by[0], Blocks: by[1]}}
		m.State.Online.Plan = plan{M: 3, K: 3}
		if b := m.Predict(nil); b.Chosen != (by[0] > 0 && by[1] > 0) || b.Iterations != 9 || b.Evaluations != 18 {
			t.Errorf("block %d, blocks %d: %+v", by[0], by[1], b)
		}
	}
}
