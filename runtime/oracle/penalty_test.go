package oracle_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/planted"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/method"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/oracle/oracletest"
	"bilevelc/runtime/problem"
)

// accuracies are the range over which the metric makes the cost flat.
var accuracies = []float64{0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4}

// penaltyAt is a penalty gradient with its calls and its own estimate.
func penaltyAt(t *testing.T, at *oracle.At, values method.Values) (grad []float64, estimate float64, calls int64) {
	t.Helper()
	o := made(t, "penalty", values)
	before := at.Problem.Calls()
	grad = make([]float64, at.Problem.Dx)
	var err error
	if estimate, err = o.Gradient(context.Background(), grad, at); err != nil {
		t.Fatalf("penalty %v: %v", values, err)
	}
	c := at.Problem.Calls().Sub(before)
	return grad, estimate, c.F + c.GradF + c.G + c.GradG
}

func solvedAt(t *testing.T, p *problem.Problem, x []float64) *oracle.At {
	t.Helper()
	spec, err := lower.Lookup(lower.Default)
	if err != nil {
		t.Fatal(err)
	}
	solver, err := spec.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := solver.Solve(context.Background(), p, lower.G(p, x), x, nil)
	if s.Status != lower.Solved {
		t.Fatalf("the lower level: %s: %s", s.Status, s.Reason)
	}
	return &oracle.At{Problem: p, Solver: solver, X: x, Lower: s, Face: s.Active}
}

// In the metric the calls are those of a linear convergence to alpha, whatever alpha is, to a factor of two for a curved g, of
// which a small alpha asks two gradients a point; and the error is of order alpha, against hypergradients in closed form.
func TestPenaltyIsFlatInAlpha(t *testing.T) {
	for _, curved := range []bool{false, true} {
		for _, condition := range []float64{5, 100, 1e4} {
			for seed := uint64(1); seed <= 3; seed++ {
				in, err := planted.New(planted.Options{Dx: 20, Dy: 40, Links: 2, Floors: 20, Active: 8, Condition: condition, Curved: curved, Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				p := in.Problem.Counted()
				at := solvedAt(t, p, p.Start)
				exact, ok := in.Exact(p.Start)
				if !ok || len(at.Lower.Weak) > 0 {
					t.Fatalf("the start of %v is at a kink", in)
				}
				_, size := relative(exact.Gradient, make([]float64, p.Dx))
				name := fmt.Sprintf("curved %v, condition %g, seed %d", curved, condition, seed)
				var calls []float64 // for each digit asked for
				for _, alpha := range accuracies {
					grad, estimate, c := penaltyAt(t, at, method.Values{"alpha": alpha})
					calls = append(calls, float64(c)/-math.Log10(alpha*oracle.DefaultPenalty().Tolerance))
					// sqrt(kappa) stands for the constant, which grows with kappa.
					if _, wrong := relative(grad, exact.Gradient); !(wrong <= alpha*math.Sqrt(condition)*size) || !(estimate <= 4*alpha*math.Sqrt(condition)*size) ||
						alpha*alpha*condition <= 1 && wrong > 3*estimate {
						t.Errorf("%s, alpha %g: error %.1e, own estimate %.1e, gradient of norm %.1e", name, alpha, wrong, estimate, size)
					}
				}
				if ratio := slices.Max(calls) / slices.Min(calls); !(ratio <= 2) {
					t.Errorf("%s: %.0f calls a digit for alpha %g: ratio %.2f", name, calls, accuracies, ratio)
				}
				// The smallest alpha, where rounding counts a1 = 1e10 times in the
				// literal formulas.
				grad, _, _ := penaltyAt(t, at, method.Values{"alpha": 1e-5})
				if _, wrong := relative(grad, exact.Gradient); !(wrong <= 1e-5*size) {
					t.Errorf("%s, alpha 1e-5: error %.1e, gradient of norm %.1e", name, wrong, size)
				}
			}
		}
	}
}

// Both minimizations find the minimizer of the same function, at an alpha where
// that is far from the limit and the part of f in the Hessian counts.
func TestPenaltyMinimizersAgree(t *testing.T) {
	for _, curved := range []bool{false, true} {
		for _, alpha := range []float64{1, 0.3, 0.05} {
			in, err := planted.New(planted.Options{Dx: 8, Dy: 15, Links: 1, Floors: 8, Active: 4, Condition: 20, Curved: curved, Seed: 5})
			if err != nil {
				t.Fatal(err)
			}
			p := in.Problem.Counted()
			at := solvedAt(t, p, p.Start)
			metric, _, few := penaltyAt(t, at, method.Values{"alpha": alpha, "tolerance": 1e-9})
			plain, _, many := penaltyAt(t, at, method.Values{"alpha": alpha, "tolerance": 1e-9, "metric": false})
			if rel, _ := relative(metric, plain); !(rel <= 1e-7) {
				t.Errorf("curved %v, alpha %g: metric and plain differ by %.1e", curved, alpha, rel)
			}
			if many <= few {
				t.Errorf("curved %v, alpha %g: %d calls in the metric, %d plainly", curved, alpha, few, many)
			}
		}
	}
}

// With no rows at all, and at a kink, where the face says which piece is meant.
func TestPenaltyWithoutRowsAndAtKinks(t *testing.T) {
	in, err := planted.New(planted.Options{Dx: 5, Dy: 12, Condition: 100, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	p := in.Problem.Counted()
	exact, _ := in.Exact(p.Start)
	grad, _, _ := penaltyAt(t, solvedAt(t, p, p.Start), method.Values{"alpha": 1e-3})
	if rel, _ := relative(grad, exact.Gradient); !(rel <= 1e-3) {
		t.Errorf("no rows: relative error %.1e", rel)
	}

	kink := oracletest.Kink().Problem.Counted()
	at := solvedAt(t, kink, []float64{1})
	for _, c := range []struct {
		face []int
		want float64
	}{{[]int{}, 1.2}, {[]int{0}, -0.8}} {
		at.Face = c.face
		if grad, _, _ := penaltyAt(t, at, method.Values{"alpha": 1e-3}); !(math.Abs(grad[0]-c.want) <= 1e-3) {
			t.Errorf("at the kink with the face %v: %g, want %g", c.face, grad[0], c.want)
		}
	}
}

// Rows that depend on each other are held as one.
func TestPenaltyWithDependentRows(t *testing.T) {
	p := *oracletest.Kink().Problem
	twice := *p.Rows
	twice.Kind, twice.Rhs, twice.Name = make([]problem.Kind, 2), []float64{0, 0}, []string{"a", "ten a"}
	twice.A = sparse.FromDense(2, 1, []float64{0, 0})
	twice.B = sparse.FromDense(2, 1, []float64{1, 10})
	p.Rows = &twice
	at := &oracle.At{Problem: p.Counted(), X: []float64{-3}, Lower: &lower.Solution{Y: []float64{0}, Lambda: []float64{4, 0}, Active: []int{0, 1}}}
	// F = 1 - x + x^2/10 where y is held at 0.
	for _, alpha := range []float64{1e-2, 1e-5} {
		if grad, _, _ := penaltyAt(t, at, method.Values{"alpha": alpha}); !(math.Abs(grad[0]+1.6) <= alpha) {
			t.Errorf("alpha %g: %g, want -1.6", alpha, grad[0])
		}
	}
}

// Without a face the active rows are held, by every oracle.
func TestFaceDefaultsToActive(t *testing.T) {
	in, err := planted.New(planted.Options{Dx: 8, Dy: 15, Links: 1, Floors: 8, Active: 4, Condition: 20, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	p := in.Problem.Counted()
	with := solvedAt(t, p, p.Start)
	without := *with
	without.Face = nil
	for _, name := range []string{"face", "difference", "penalty"} {
		o := made(t, name, nil)
		a, b := make([]float64, p.Dx), make([]float64, p.Dx)
		if _, err := o.Gradient(context.Background(), a, with); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Gradient(context.Background(), b, &without); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a, b) {
			t.Errorf("%s: %v with the active face, %v without one", name, a, b)
		}
	}
}

// A concave f outweighs g where alpha is large: an error, not a number. With a
// smaller alpha the same problem is in order.
func TestPenaltyWithoutMinimizer(t *testing.T) {
	p := &problem.Problem{Name: "concave", Dx: 1, Dy: 1, X: oracletest.Free(1), Start: []float64{1},
		F:    oracletest.FromFormula(1, 1, func(_, y []float64) float64 { return -5 * y[0] * y[0] }),
		G:    oracletest.FromFormula(1, 1, func(x, y []float64) float64 { return (y[0] - x[0]) * (y[0] - x[0]) / 2 }),
		Rows: oracletest.RowsFromFormula(1, 1, nil, nil)}
	for _, quadratic := range []bool{false, true} {
		p.Facts.QuadraticInY, p.Facts.FixedHessian = quadratic, quadratic
		at := &oracle.At{Problem: p.Counted(), X: []float64{1}, Lower: &lower.Solution{Y: []float64{1}}}
		o := &oracle.Penalty{Settings: *oracle.DefaultPenalty()}
		o.Settings.Alpha = 0.5
		grad := make([]float64, 1)
		if _, err := o.Gradient(context.Background(), grad, at); err == nil || !strings.Contains(err.Error(), "no curvature") {
			t.Errorf("alpha 0.5: gradient %v, error %v", grad, err)
		}
		if grad, _, _ := penaltyAt(t, at, method.Values{"alpha": 1e-3}); !(math.Abs(grad[0]+10) <= 1e-2) {
			t.Errorf("alpha 1e-3: %g, want -10", grad[0])
		}
	}
}

func TestPenaltyGivesUp(t *testing.T) {
	p, ref, err := oracletest.Toy(models, "toy_mid")
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range []bool{false, true} {
		_, err := hyper(t, p, "penalty", method.Values{"max_calls": 3, "metric": metric}).Gradient(context.Background(), ref.X)
		if err == nil || !strings.Contains(err.Error(), "at 3 points") {
			t.Errorf("metric %v: %v", metric, err)
		}
	}
}
