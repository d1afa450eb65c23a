package codegen

import (
	"math"
	"testing"

	"bilevelc/autodiff"
	"bilevelc/ir/expr"
)

// outputs are all results at one point, by every entry point.
type outputs struct {
	value  float64
	gx, gy []float64
}

// evaluate calls every entry point and checks that they agree bit for bit
// where they return the same thing, up to summation order otherwise.
func evaluate(t *testing.T, e *Evaluator, dx, dy int, x, y []float64) outputs {
	t.Helper()
	o := outputs{gx: make([]float64, dx), gy: make([]float64, dy)}
	for i := range o.gx {
		o.gx[i] = math.NaN() // every entry must be written
	}
	for i := range o.gy {
		o.gy[i] = math.NaN()
	}
	o.value = e.ValueGrad(o.gx, o.gy, x, y)
	gx, gy, gy2 := make([]float64, dx), make([]float64, dy), make([]float64, dy)
	near(t, "Value", e.Value(x, y), o.value, rounding)
	e.GradX(gx, x, y)
	e.GradY(gy, x, y)
	near(t, "ValueGradY", e.ValueGradY(gy2, x, y), o.value, rounding)
	for i := range gx {
		near(t, "GradX", gx[i], o.gx[i], rounding)
	}
	for i := range gy {
		near(t, "GradY", gy[i], o.gy[i], rounding)
		near(t, "ValueGradY", gy2[i], o.gy[i], rounding)
	}
	return o
}

// rounding bounds, relative to 1 + |value|, how far two orders of evaluation
// of the test's expressions may differ: they have some hundred operations on
// up to 289 entries of order 1, each rounded to 2^-53, amplified by gradients
// of order 100.
const rounding = 1e-9

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*(1+math.Abs(want))) {
		t.Errorf("%s: %v, want %v (difference %.3g)", what, got, want, got-want)
	}
}

// compile differentiates and compiles.
func compile(t *testing.T, b *expr.Builder, root *expr.Node, dx, dy int, opts Options) *Program {
	t.Helper()
	g, err := autodiff.Differentiate(b, root, dx, dy)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(g, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRandomExpressions compares compiled random expressions with the
// reference evaluator, Gorgonia's machine and central differences.
func TestRandomExpressions(t *testing.T) {
	seeds := 150
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		g := newGenerator(uint64(seed))
		root := g.scalar(3 + g.r.IntN(25))
		p := compile(t, g.b, root, g.dx, g.dy, Options{})
		checkAgainstReferences(t, g, root, p)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, expr.Format(root))
		}
	}
}

func checkAgainstReferences(t *testing.T, g *generator, root *expr.Node, p *Program) {
	t.Helper()
	e := p.NewEvaluator()
	ref, refErr := autodiff.NewReference(g.b, root)
	for range 2 {
		x, y := g.point()
		o := evaluate(t, e, g.dx, g.dy, x, y)
		want, err := expr.Scalar(root, x, y)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "value", o.value, want, rounding)
		if refErr == nil {
			gx, gy := make([]float64, g.dx), make([]float64, g.dy)
			v, err := ref.ValueGrad(gx, gy, x, y)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "machine's value", v, want, rounding)
			for i := range gx {
				near(t, "machine's dx", gx[i], o.gx[i], rounding)
			}
			for i := range gy {
				near(t, "machine's dy", gy[i], o.gy[i], rounding)
			}
		}
		// Two entries of each gradient by central differences; error
		// h^2 f'''/6 + eps/h.
		for k := range 2 {
			difference(t, "dx", root, x, y, x, (7*k+3)%len(x), o.gx)
			difference(t, "dy", root, x, y, y, (5*k+2)%len(y), o.gy)
		}
	}
}

func difference(t *testing.T, what string, root *expr.Node, x, y, at []float64, i int, grad []float64) {
	t.Helper()
	const h = 1e-5
	keep := at[i]
	f := func(d float64) float64 {
		at[i] = keep + d
		v, err := expr.Scalar(root, x, y)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	// Fourth order: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h
	d := (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h)
	at[i] = keep
	near(t, what+" by differences", grad[i], d, 1e-5)
}
