package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// unitsModel is a random model with y = unit_j z_j: g = |W y - A x - d|^2 over y >= 0 and
// C y + E x <= b, F = |y - t|^2 + |x|^2/10. The rows are in units of their own.
type unitsModel struct {
	A, W, C, E    [][]float64
	d, t, b, unit []float64
	row           []float64
}

func randomUnits(rng *rand.Rand, spread int) *unitsModel {
	n, dy, m := 1+rng.IntN(3), 2+rng.IntN(3), rng.IntN(3)
	eighths := func(size int) []float64 {
		v := make([]float64, size)
		for j := range v {
			v[j] = math.Round(8*rng.NormFloat64()) / 8
		}
		return v
	}
	u := &unitsModel{d: eighths(dy), t: eighths(dy), b: eighths(m), unit: make([]float64, dy), row: make([]float64, m)}
	for i := range dy {
		u.A = append(u.A, eighths(n))
		u.W = append(u.W, eighths(dy))
		for j := range u.W[i] {
			switch {
			case j == i:
				u.W[i][j] = 1
			case j > i:
				u.W[i][j] = 0
			default:
				u.W[i][j] /= 2
			}
		}
		u.unit[i] = math.Pow(10, float64(rng.IntN(2*spread+1)-spread))
	}
	for i := range m {
		u.C, u.E = append(u.C, eighths(dy)), append(u.E, eighths(n))
		u.b[i] = math.Abs(u.b[i]) + 0.5
		u.row[i] = math.Pow(10, float64(rng.IntN(2*spread+1)-spread))
		// Coefficients are numbers of double precision.
		for j, c := range u.C[i] {
			if c != 0 && math.Abs(math.Log10(u.row[i]*u.unit[j])) > 300 {
				u.row[i] = 1
			}
		}
	}
	return u
}

// text is the model as written in units, or with all of them 1.
func (u *unitsModel) text(plain bool) string {
	unit, row := u.unit, u.row
	if plain {
		unit, row = ones(len(u.unit)), ones(len(u.row))
	}
	times := func(v, by []float64) []float64 {
		out := make([]float64, len(v))
		for j := range v {
			out[j] = v[j] * by[j]
		}
		return out
	}
	var f, g, rows []string
	for i := range u.W {
		g = append(g, fmt.Sprintf("(%s' * z - %s' * x - %.17g)^2", list(times(u.W[i], unit)), list(u.A[i]), u.d[i]))
		f = append(f, fmt.Sprintf("(%.17g * z[%d] - %.17g)^2", unit[i], i+1, u.t[i]))
	}
	for i := range u.C {
		by := times(ones(len(unit)), unit)
		for j := range by {
			by[j] *= row[i]
		}
		shift := make([]float64, len(u.E[i]))
		for j := range shift {
			shift[j] = row[i] * u.E[i][j]
		}
		rows = append(rows, fmt.Sprintf("    r%d: %s' * z + %s' * x <= %.17g\n", i+1, list(times(u.C[i], by)), list(shift), row[i]*u.b[i]))
	}
	constraints := ""
	if len(rows) > 0 {
		constraints = "  subject to\n" + strings.Join(rows, "")
	}
	return fmt.Sprintf("model units\nupper {\n  var x: vector[%d] in box(-2, 2)\n  minimize %s + 0.1 * sumsq(x)\n}\nlower {\n  var z: vector[%d] in nonneg\n  minimize %s\n%s}\n",
		len(u.A[0]), strings.Join(f, " + "), len(u.W), strings.Join(g, " + "), constraints)
}

// answer is y*(x) by trying all sets of active rows.
func (u *unitsModel) answer(x []float64) []float64 {
	dy := len(u.W)
	var normals [][]float64 // of rows a'y <= c
	var sides []float64
	for j := range dy {
		a := make([]float64, dy)
		a[j] = -1
		normals, sides = append(normals, a), append(sides, 0)
	}
	for i, c := range u.C {
		normals, sides = append(normals, c), append(sides, u.b[i]-inner(u.E[i], x))
	}
	w := mat.NewDense(dy, dy, nil)
	target := make([]float64, dy)
	for i := range u.W {
		w.SetRow(i, u.W[i])
		target[i] = inner(u.A[i], x) + u.d[i]
	}
	value := func(y []float64) float64 {
		v := 0.0
		for i := range u.W {
			v += math.Pow(inner(u.W[i], y)-target[i], 2)
		}
		return v
	}
	var best []float64
	for set := range 1 << len(normals) {
		var held []int
		for i := range normals {
			if set>>i&1 == 1 {
				held = append(held, i)
			}
		}
		k := len(held)
		if k > dy {
			continue
		}
		system, right := mat.NewDense(dy+k, dy+k, nil), mat.NewVecDense(dy+k, nil)
		var hessian mat.Dense
		hessian.Mul(w.T(), w)
		for i := range dy {
			for j := range dy {
				system.Set(i, j, hessian.At(i, j))
				right.SetVec(i, right.AtVec(i)+w.At(j, i)*target[j])
			}
		}
		for p, i := range held {
			for j, a := range normals[i] {
				system.Set(j, dy+p, a)
				system.Set(dy+p, j, a)
			}
			right.SetVec(dy+p, sides[i])
		}
		var solution mat.VecDense
		if solution.SolveVec(system, right) != nil {
			continue
		}
		y := make([]float64, dy)
		for j := range y {
			y[j] = solution.AtVec(j)
		}
		feasible := true
		for i, a := range normals {
			feasible = feasible && inner(a, y) <= sides[i]+1e-9
		}
		if feasible && (best == nil || value(y) < value(best)) {
			best = y
		}
	}
	return best
}

func ones(n int) []float64 {
	v := make([]float64, n)
	for j := range v {
		v[j] = 1
	}
	return v
}

// TestAnswersInUnits: a model is solved alike whatever the units of each entry of y and of each
// row are, from 1e-3 to 1e3, where squares of coefficients differ by 1e12, to 1e-150 to 1e150,
// where they differ by more than double precision holds. y is compared with that of an enumeration
// of active sets in units of 1, F with that of the model in units of 1, and documents are verified.
func TestAnswersInUnits(t *testing.T) {
	alike, all := 0, 0
	for k := range members.Known(t, 64) {
		{
			spread := []int{3, 6, 20, 150}[k%4]
			rng := rand.New(rand.NewPCG(k, 14))
			u := randomUnits(rng, spread)
			want := solveText(t, u.text(true), runtime.Options{Seed: 1})
			if want.Status != runtime.Solved {
				t.Fatalf("in units of 1: %s (%s)\n%s", want.Status, want.Reason, u.text(true))
			}
			p := bindText(t, u.text(false))
			got, err := p.Solve(context.Background(), runtime.Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != runtime.Solved {
				t.Errorf("spread %d, %d: %s (%s)\n%s", spread, k, got.Status, got.Reason, u.text(false))
				continue
			}
			report, err := p.Verify(got)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range report.Checks {
				if !c.OK {
					t.Errorf("spread %d, %d: %s: %s", spread, k, c.Claim, c.Detail)
				}
			}
			x, _ := got.Upper.Variables.Get("x")
			z, _ := got.Lower.Variables.Get("z")
			f := 0.1 * inner(x.Data, x.Data)
			for j, y := range u.answer(x.Data) {
				if have := u.unit[j] * z.Data[j]; math.Abs(have-y) > 1e-6*(1+math.Abs(y)) {
					t.Errorf("spread %d, %d: y[%d] is %v, in truth %v\n%s", spread, k, j+1, have, y, u.text(false))
				}
				f += (y - u.t[j]) * (y - u.t[j])
			}
			if math.Abs(f-float64(got.Upper.Objective)) > 1e-6*(1+f) {
				t.Errorf("spread %d, %d: F %v, in truth %v", spread, k, got.Upper.Objective, f)
			}
			all++
			if f <= float64(want.Upper.Objective)*(1+1e-5)+1e-9 {
				alike++
			}
		}
	}
	// Starts may end at different minima.
	if alike < members.Least(all, 0.9) {
		t.Errorf("F is that in units of 1 in %d of %d", alike, all)
	}
}

// TestDerivativesInUnits: what a layer and an evaluation say of y, its derivatives and products
// with them is in the units of the model, and the result names those it was solved in.
func TestDerivativesInUnits(t *testing.T) {
	const unit = 1e60
	p := bindText(t, fmt.Sprintf(`model derivatives
upper {
  var x: vector[2] in box(-1, 1)
  minimize (y[1] - 1)^2 + (%[1]g * y[2] - 0.5)^2
}
lower {
  var y: vector[2] in nonneg
  minimize (y[1] - x[1] - 2)^2 + (%[1]g * y[2] - 3 * x[2] - y[1])^2
}
report {
  second = y[2]
}
`, unit))
	// y[1] = x[1] + 2, unit y[2] = 3 x[2] + x[1] + 2.
	at := []float64{0.5, 0.25}
	e, err := p.Evaluate(context.Background(), at)
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, have, want float64) {
		t.Helper()
		if math.Abs(have-want) > 1e-6*math.Abs(want) {
			t.Errorf("%s is %v, not %v", what, have, want)
		}
	}
	near("y[1]", e.Y[0], 2.5)
	near("y[2]", e.Y[1], 3.25/unit)
	tangent, err := e.JVP(context.Background(), []float64{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	near("the derivative of y[1]", tangent.Y[0], 1)
	near("the derivative of y[2]", tangent.Y[1], 4/unit)
	product, _, err := e.VJP(context.Background(), []float64{1, 2 * unit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	near("the product for x[1]", product[0], 3)
	near("the product for x[2]", product[1], 6)
	r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{2}, Data: at}}, runtime.Options{Sensitivity: true})
	if err != nil {
		t.Fatal(err)
	}
	second, _ := r.Report.Get("second")
	near("the report", second.Data[0], 3.25/unit)
	rate, _ := r.Sensitivity[1].Right.Variables.Get("y")
	near("the sensitivity of y[2]", rate.Data[1], 3/unit)
	units, ok := r.Lower.Units.Get("y")
	if !ok || units.Data[0]*unit < 1e50*units.Data[1] && units.Data[0] < 1e50*units.Data[1] {
		t.Errorf("solved in units %v", units.Data)
	}
	r.Lower.Units[0].Data[1] *= 2
	report, err := p.Verify(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if c.OK == (c.Claim == "lower.units") {
			t.Errorf("with other units %s: %v %s", c.Claim, c.OK, c.Detail)
		}
	}
	line, err := p.Along(context.Background(), runtime.Values{{Name: "x", Shape: []int{2}, Data: at}}, runtime.Along{Entry: "x[2]", From: 0.25, To: 0.25, Step: 1}, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	y, _ := line.Points[0].Variables.Get("y")
	near("y[2] along a line", y.Data[1], 3.25/unit)
}
