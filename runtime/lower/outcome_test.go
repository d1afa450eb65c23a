package lower

import (
	"context"
	"math"
	"testing"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// small builds a problem in y alone: g = 1/2 y'Qy + c'y over B y >= r.
func small(q, c []float64, b [][]float64, r []float64, equal map[int]bool) *problem.Problem {
	n := len(c)
	return &problem.Problem{Dy: n, F: zero{}, G: newQuadratic(0, n, q, nil, c), Rows: rowsOf(0, n, b, r, equal),
		X: unbounded(0), Facts: problem.Facts{QuadraticInY: true, FixedHessian: true}}
}

func solveSmall(p *problem.Problem) *Solution {
	return newALM(defaultALM()).Solve(context.Background(), p, G(p, nil), []float64{}, nil)
}

var identity2 = []float64{1, 0, 0, 1}

func TestInfeasibleRowsHaveAFarkasVector(t *testing.T) {
	for name, p := range map[string]*problem.Problem{
		"bounds that cross":       small(identity2, []float64{0, 0}, [][]float64{{1, 0}, {-2, 0}}, []float64{1, 0}, nil),
		"rows":                    small(identity2, []float64{0, 0}, [][]float64{{1, 1}, {-1, 0}, {0, -1}}, []float64{2.001, -1, -1}, nil),
		"equality and bounds":     small(identity2, []float64{0, 0}, [][]float64{{1, 1}, {1, 0}, {0, 1}}, []float64{-1, 0, 0}, map[int]bool{0: true}),
		"a row without y":         small(identity2, []float64{0, 0}, [][]float64{{0, 0}}, []float64{1}, nil),
		"badly scaled":            small(identity2, []float64{0, 0}, [][]float64{{1e6, 1e6}, {-1e-6, 0}, {0, -1}}, []float64{2.001e6, -1e-6, -1}, nil),
		"a fixed entry and a row": small(identity2, []float64{0, 0}, [][]float64{{2, 0}, {-1, 0}}, []float64{2, 0}, map[int]bool{0: true}),
	} {
		s := solveSmall(p)
		if s.Status != Infeasible {
			t.Errorf("%s: %v: %s", name, s.Status, s.Reason)
			continue
		}
		// Farkas: w >= 0 on inequalities, B'w = 0, r'w > 0.
		pull := make([]float64, p.Dy)
		p.Rows.B.AddMulVecT(pull, 1, s.Witness)
		value, size := 0.0, 0.0
		for i, w := range s.Witness {
			value -= w * p.Rows.Rhs[i]
			size += math.Abs(w * p.Rows.Rhs[i])
			if w < 0 && p.Rows.Kind[i] == problem.AtMost {
				t.Errorf("%s: witness %v has a negative entry", name, s.Witness)
			}
		}
		if linalg.NormInf(pull) > 1e-12*size || value <= 1e-6*size {
			t.Errorf("%s: witness %v proves nothing: B'w = %v, r'w = %v", name, s.Witness, pull, value)
		}
	}
}

func TestContradictingEqualities(t *testing.T) {
	b := [][]float64{{1, 1, 0}, {0, 1, 1}, {1, 2, 1}}
	eye := []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	equal := map[int]bool{0: true, 1: true, 2: true}
	s := solveSmall(small(eye, []float64{0, 0, 0}, b, []float64{1, 1, 3}, equal))
	if s.Status != Dependent {
		t.Fatalf("%v: %s", s.Status, s.Reason)
	}
	pull := make([]float64, 3)
	for i, w := range s.Witness {
		linalg.Axpy(pull, w, b[i])
	}
	if linalg.NormInf(pull) > 1e-12 || math.Abs(s.Witness[0]+s.Witness[1]+3*s.Witness[2]) < 0.1 {
		t.Errorf("witness %v", s.Witness)
	}
	// Consistent: solved, and the dependent row is named. The projection of 0
	// onto y1 + y2 = 1, y2 + y3 = 1 is (1, 2, 1)/3.
	s = solveSmall(small(eye, []float64{0, 0, 0}, b, []float64{1, 1, 2}, equal))
	if s.Status != Solved || len(s.Dependent) != 1 || s.Dependent[0] != 2 {
		t.Fatalf("%v: %s, dependent %v", s.Status, s.Reason, s.Dependent)
	}
	if d := distance(s.Y, []float64{1. / 3, 2. / 3, 1. / 3}); d > 1e-15 {
		t.Errorf("y = %v", s.Y)
	}
}

func TestUnbounded(t *testing.T) {
	// y1^2/2 - y2 falls along y2; with y2 <= 5 it does not.
	q := []float64{1, 0, 0, 0}
	s := solveSmall(small(q, []float64{0, -1}, [][]float64{{1, 1}}, []float64{0}, nil))
	if s.Status != Unbounded {
		t.Fatalf("%v: %s", s.Status, s.Reason)
	}
	if s.Witness[1] <= 0 || math.Abs(s.Witness[0]) > 1e-12*s.Witness[1] {
		t.Errorf("witness %v", s.Witness)
	}
	s = solveSmall(small(q, []float64{0, -1}, [][]float64{{1, 1}, {0, -1}}, []float64{0, -5}, nil))
	if s.Status != Solved || distance(s.Y, []float64{0, 5}) > 1e-14 || math.Abs(s.Lambda[1]-1) > 1e-14 {
		t.Errorf("%v: y %v, lambda %v", s.Status, s.Y, s.Lambda)
	}
}

func TestOnePointSets(t *testing.T) {
	// The feasible set is one point, to rounding: the edge of the set where
	// the lower level is feasible.
	third := 1.0 / 3
	b := [][]float64{{1, 1}, {-1, -1}, {1, 0}, {-1, 0}}
	for _, nudge := range []float64{0, 1e-15, -1e-15, 1e-12, -1e-12} {
		r := []float64{1, -1 + nudge, third, -third + nudge}
		s := solveSmall(small(identity2, []float64{5, -7}, b, r, nil))
		if s.Status != Solved && s.Status != Inaccurate {
			t.Errorf("nudge %g: %v: %s", nudge, s.Status, s.Reason)
			continue
		}
		if d := distance(s.Y, []float64{third, 2 * third}); d > 1e-11 {
			t.Errorf("nudge %g: %v, y = %v", nudge, s.Status, s.Y)
		}
	}
}

func TestDegenerateVertex(t *testing.T) {
	// All of 40 planes through 0 in dimension 3, each with 0 in its boundary:
	// the minimizer is the vertex, whose multipliers are far from unique.
	var b [][]float64
	var r []float64
	for k := 0; k < 40; k++ {
		angle := 2 * math.Pi * float64(k) / 40
		b = append(b, []float64{math.Cos(angle), math.Sin(angle), 1})
		r = append(r, 0)
	}
	eye := []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	for _, c := range [][]float64{{0, 0, 1}, {0.1, 0.2, 3}, {-0.5, 0.3, 1}} {
		s := solveSmall(small(eye, c, b, r, nil))
		if s.Status != Solved || linalg.NormInf(s.Y) > 1e-15 || s.Residuals.Stationarity > 1e-14 || s.Residuals.Dual > 0 {
			t.Errorf("c %v: %v: y %v, %+v", c, s.Status, s.Y, s.Residuals)
		}
		if len(s.Weak)+len(s.Dependent)+len(s.Active) != 40 || len(s.Active) > 3 {
			t.Errorf("c %v: active %v, weak %v, dependent %v of 40 binding rows in dimension 3", c, s.Active, s.Weak, s.Dependent)
		}
	}
}

func TestBoundsOnly(t *testing.T) {
	// Projection of (3, -2, 0.5) onto the unit box; lambda at lower and upper bounds.
	eye := []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	var b [][]float64
	var r []float64
	for j := 0; j < 3; j++ {
		lo, hi := make([]float64, 3), make([]float64, 3)
		lo[j], hi[j] = 4, -0.25
		b, r = append(b, lo, hi), append(r, 0, -0.25)
	}
	s := solveSmall(small(eye, []float64{-3, 2, -0.5}, b, r, nil))
	if s.Status != Solved || distance(s.Y, []float64{1, 0, 0.5}) > 0 {
		t.Fatalf("%v: y %v", s.Status, s.Y)
	}
	if d := distance(s.Lambda, []float64{0, 8, 0.5, 0, 0, 0}); d > 1e-15 {
		t.Errorf("lambda %v", s.Lambda)
	}
}

func TestInterruptedSolvesStop(t *testing.T) {
	p, x := experiment(3, 5, 10, 3)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, spec := range All() {
		solver, err := spec.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		if s := solver.Solve(ctx, p, G(p, x), x, nil); s.Status != Stopped || len(s.Y) != 10 {
			t.Errorf("%s: %v: %s", spec.Name, s.Status, s.Reason)
		}
	}
}
