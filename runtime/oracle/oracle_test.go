package oracle_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/problem"
)

var models = filepath.Join("..", "..", "testdata", "models")

func hyper(t testing.TB, p *problem.Problem, name string, values method.Values) *oracle.Hyper {
	t.Helper()
	return oracle.New(p, &oracletest.Exact{}, made(t, name, values))
}

func made(t testing.TB, name string, values method.Values) oracle.Oracle {
	t.Helper()
	spec, err := oracle.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	o, err := spec.New(values)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func relative(a, b []float64) (relative, absolute float64) {
	d, n := 0.0, 0.0
	for i := range b {
		d = math.Hypot(d, a[i]-b[i])
		n = math.Hypot(n, b[i])
	}
	return d / n, d
}

// The references give exact hypergradients.
func TestReferences(t *testing.T) {
	for _, name := range []string{"toy_mid", "toy_uniform", "toy_paper_s1"} {
		p, ref, err := oracletest.Toy(models, name)
		if err != nil {
			t.Fatal(err)
		}
		general := *p
		general.Facts = problem.Facts{}
		for _, c := range []struct {
			oracle   string
			values   method.Values
			p        *problem.Problem
			relative float64
			absolute float64
		}{
			{"face", nil, p, 1e-9, 0},
			{"face", nil, &general, 1e-7, 0},
			{"difference", nil, p, 1e-6, 0},
			{"difference", nil, &general, 1e-6, 0},
			{"difference", method.Values{"central": false}, p, 1e-3, 0},
			{"penalty", method.Values{"alpha": 0.01}, p, 0, 1e-2},
			{"penalty", method.Values{"alpha": 0.1, "metric": false}, p, 0, 1e-1},
			{"penalty", method.Values{"alpha": 0.001}, &general, 0, 1e-3},
			{"value", nil, p, 1e-5, 0},
		} {
			h := hyper(t, c.p, c.oracle, c.values)
			pt, err := h.Gradient(context.Background(), ref.X)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, c.oracle, err)
			}
			rel, abs := relative(pt.Grad, ref.Hypergradient)
			t.Logf("%s %s %v: relative %.1e, absolute %.1e, own estimate %.1e, calls %+v", name, c.oracle, c.values, rel, abs, pt.GradError, h.Calls())
			if (c.relative > 0 && !(rel <= c.relative)) || (c.absolute > 0 && !(abs <= c.absolute)) {
				t.Errorf("%s, %s %v: error %.2e absolute, %.2e relative", name, c.oracle, c.values, abs, rel)
			}
			if math.Abs(pt.F-ref.Value) > 1e-9*(1+math.Abs(ref.Value)) {
				t.Errorf("%s: F = %.15g, want %.15g", name, pt.F, ref.Value)
			}
			if !pt.Strict {
				t.Errorf("%s: strict complementarity holds at the reference", name)
			}
		}
	}
}

// Every registered oracle against finite differences on problems with
// equalities, inequalities and bounds, at points away from kinks.
func TestOraclesAgreeWithDifferences(t *testing.T) {
	for _, spec := range oracle.All() {
		for _, c := range append(oracletest.Bolib(), oracletest.Quota(), oracletest.Bard1988(), oracletest.Toll(), oracletest.Kink()) {
			h := hyper(t, c.Problem, spec.Name, nil)
			x := make([]float64, c.Dx)
			for j := range x {
				x[j] = c.Start[j] + 0.3 + 0.1*float64(j%3)
			}
			if err := h.Project(x, x); err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			pt, err := h.Gradient(context.Background(), x)
			if err != nil {
				t.Errorf("%s, %s: %v", spec.Name, c.Name, err)
				continue
			}
			check, err := h.CheckGradient(context.Background(), pt)
			if err != nil {
				t.Errorf("%s, %s: %v", spec.Name, c.Name, err)
				continue
			}
			if !pt.Strict {
				continue
			}
			tolerance := 1e-6
			if spec.Name == "penalty" {
				tolerance = 10 * oracle.DefaultPenalty().Alpha
			}
			size := 1.0
			for _, v := range check.Difference {
				size = math.Max(size, math.Abs(v))
			}
			if check.Error > tolerance*size {
				t.Errorf("%s, %s at %v: gradient %v, differences %v", spec.Name, c.Name, x, pt.Grad, check.Difference)
			}
			if check.Error > 100*(check.Expected+1e-9*size) {
				t.Errorf("%s, %s: error %.2e, the estimates expect %.2e", spec.Name, c.Name, check.Error, check.Expected)
			}
		}
	}
}

// At a kink strict complementarity fails and the point says so.
func TestKinkIsFlagged(t *testing.T) {
	h := hyper(t, oracletest.Kink().Problem, oracle.Default, nil)
	for _, c := range []struct {
		x      float64
		strict bool
		grad   float64
	}{{0, false, math.NaN()}, {-1, true, -1.4}, {3, true, 1.8}} {
		x := c.x + 1
		pt, err := h.Gradient(context.Background(), []float64{x})
		if err != nil {
			t.Fatal(err)
		}
		if c.x == 0 && (pt.Strict || math.Abs(math.Abs(pt.Grad[0]-0.2)-1) > 1e-9) {
			t.Errorf("at the kink: strict %v, gradient %v (want -0.8 or 1.2)", pt.Strict, pt.Grad)
		}
		if c.x != 0 && (!pt.Strict || math.Abs(pt.Grad[0]-(math.Copysign(1, c.x)+x/5)) > 1e-9) {
			t.Errorf("at %g: strict %v, gradient %v", x, pt.Strict, pt.Grad)
		}
	}
}

func TestInfeasibleAndUnbounded(t *testing.T) {
	h := hyper(t, oracletest.Bard1988().Problem, oracle.Default, nil)
	_, err := h.Value(context.Background(), []float64{0.5})
	var infeasible *oracle.InfeasibleError
	if !errors.As(err, &infeasible) || len(infeasible.Rows) < 2 {
		t.Errorf("x = 0.5 leaves no y: %v", err)
	}
	x := []float64{0.5}
	if err := h.Project(x, x); err != nil || math.Abs(x[0]-1) > 1e-12 {
		t.Errorf("projection: %v (%v)", x, err)
	}
	if pt, err := h.Value(context.Background(), x); err != nil || math.Abs(pt.F-17) > 1e-9 {
		t.Errorf("on the edge of D: %v (%v)", pt, err)
	}

	p := *oracletest.Kink().Problem
	p.G = oracletest.FromFormula(1, 1, func(x, y []float64) float64 { return x[0] - y[0] })
	p.Facts = problem.Facts{}
	_, err = hyper(t, &p, oracle.Default, nil).Value(context.Background(), []float64{0})
	var unbounded *oracle.UnboundedError
	if !errors.As(err, &unbounded) {
		t.Errorf("g = x - y: %v", err)
	}
}

func TestCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p, ref, err := oracletest.Toy(models, "toy_mid")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hyper(t, p, oracle.Default, nil).Gradient(ctx, ref.X); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// cancelling is a function that cancels after so many gradients in y.
type cancelling struct {
	problem.Function
	left   *int
	cancel func()
}

func (c *cancelling) count() {
	if *c.left--; *c.left == 0 {
		c.cancel()
	}
}

func (c *cancelling) GradY(dst, x, y []float64) {
	c.count()
	c.Function.GradY(dst, x, y)
}

func (c *cancelling) ValueGradY(dst, x, y []float64) float64 {
	c.count()
	return c.Function.ValueGradY(dst, x, y)
}

func (c *cancelling) Clone() problem.Function {
	return &cancelling{c.Function.Clone(), c.left, c.cancel}
}

// A gradient that is cancelled, wherever it is, is no gradient and says so.
func TestCancelledAnywhere(t *testing.T) {
	p, ref, err := oracletest.Toy(models, "toy_mid")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"face", "difference"} {
		cancelled := 0
		for after := 1; ; after++ {
			ctx, cancel := context.WithCancel(t.Context())
			q, left := *p, after
			q.G = &cancelling{p.G, &left, cancel}
			pt, err := hyper(t, &q, name, nil).Gradient(ctx, ref.X)
			cancel()
			if left > 0 { // it took fewer
				if err != nil || len(pt.Grad) != p.Dx {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
			if err != nil && !errors.Is(err, context.Canceled) || err == nil && len(pt.Grad) != p.Dx {
				t.Errorf("%s, cancelled after %d gradients: %v", name, after, err)
			}
			if err != nil {
				cancelled++
			}
		}
		t.Logf("%s: cancelled %d times", name, cancelled)
		if cancelled < 5 {
			t.Errorf("%s: cancelled %d times", name, cancelled)
		}
	}
}
