package bind

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

const models = "../../testdata/models/"

// compile parses and checks a model that must be good.
func compile(t testing.TB, name, text string) *ir.Program {
	t.Helper()
	file, list := parser.ParseFile(diag.NewSource(name, text))
	if list.HasErrors() {
		t.Fatalf("%v", list)
	}
	p, list := check.Check(file)
	if list.HasErrors() {
		t.Fatalf("%v", list)
	}
	return p
}

func readModel(t testing.TB, file string) *ir.Program {
	t.Helper()
	text, err := os.ReadFile(models + file)
	if err != nil {
		t.Fatal(err)
	}
	return compile(t, file, string(text))
}

func mustBind(t testing.TB, p *ir.Program, set *data.Set) *ir.Problem {
	t.Helper()
	prob, list := Bind(p, set, Options{Seed: 1})
	if list.HasErrors() {
		t.Fatalf("%v", list)
	}
	if prob.A.Rows != len(prob.Rows) || prob.B.Rows != len(prob.Rows) || len(prob.Rhs) != len(prob.Rows) ||
		prob.A.Cols != prob.Upper.Dim || prob.B.Cols != prob.Lower.Dim ||
		prob.X.E.Rows != len(prob.X.Rows) || len(prob.X.Rhs) != len(prob.X.Rows) {
		t.Fatalf("rows and matrices differ in size")
	}
	return prob
}

// reference is a .ref.json file.
type reference struct {
	X, Y, Multipliers []float64
	Value             float64
}

func TestReferenceModels(t *testing.T) {
	for _, name := range []string{"toy_paper_s1", "toy_mid", "toy_uniform"} {
		set, list := datafile.Load(models+name+".json", nil)
		if list.HasErrors() {
			t.Fatal(list)
		}
		prob := mustBind(t, readModel(t, "toy.blv"), set)
		text, err := os.ReadFile(models + name + ".ref.json")
		if err != nil {
			t.Fatal(err)
		}
		var ref reference
		if err := json.Unmarshal(text, &ref); err != nil {
			t.Fatal(err)
		}
		f, err := expr.Scalar(prob.Upper.Objective, ref.X, ref.Y)
		if err != nil {
			t.Fatal(err)
		}
		// The reference value is exact to rounding of a sum of about a
		// hundred terms.
		if math.Abs(f-ref.Value) > 1e-12*(1+math.Abs(ref.Value)) {
			t.Errorf("%s: F = %v, the reference is %v", name, f, ref.Value)
		}
		// At the reference point every row holds, and binds where its
		// multiplier is positive: rows against an independent solution.
		for i := range prob.Rows {
			h := prob.A.RowDot(i, ref.X) - prob.B.RowDot(i, ref.Y) - prob.Rhs[i]
			if h > 1e-9 || ref.Multipliers[i] > 1e-9 && math.Abs(h) > 1e-9 {
				t.Errorf("%s: %s is %v with multiplier %v", name, prob.Rows[i].Name, h, ref.Multipliers[i])
			}
		}
		if len(prob.Rows) != len(ref.Multipliers) {
			t.Errorf("%s: %d rows, the reference has %d", name, len(prob.Rows), len(ref.Multipliers))
		}
		// Stationarity of the Lagrangian at the reference point, by central
		// differences of g (quadratic: exact but for rounding).
		for j := range ref.Y {
			d := slope(t, prob.Lower.Objective, ref.X, ref.Y, j)
			for i, l := range ref.Multipliers {
				d -= l * prob.B.Dense()[i*len(ref.Y)+j]
			}
			if math.Abs(d) > 1e-5 {
				t.Errorf("%s: stationarity in y[%d] is off by %v", name, j+1, d)
				break
			}
		}
	}
}

// slope is a central difference of a scalar node in y[j].
func slope(t testing.TB, n *expr.Node, x, y []float64, j int) float64 {
	t.Helper()
	const step = 1e-4
	at := func(s float64) float64 {
		z := append([]float64(nil), y...)
		z[j] += s
		v, err := expr.Scalar(n, x, z)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	return (at(step) - at(-step)) / (2 * step)
}

func TestKnownOptima(t *testing.T) {
	// Points and values from the table of the models' known optima.
	quota := mustBind(t, readModel(t, "quota.blv"), nil)
	f, err := expr.Scalar(quota.Upper.Objective, []float64{1.4479647, 0, 1.5557018, 3.5009871},
		[]float64{3.1257310, 0.8388831, 2.1149572, 3.9204287})
	if err != nil || math.Abs(f-4.416452007145) > 1e-6 {
		t.Errorf("quota: %v, %v", f, err)
	}
	toll := mustBind(t, readModel(t, "toll.blv"), nil)
	f, err = expr.Scalar(toll.Upper.Objective, []float64{3.918054, 0, 0, 3.684628, 0, 0},
		[]float64{1.458801, 1.271074, 0, 3.270125})
	if err != nil || math.Abs(-f-8.952715040395) > 1e-5 {
		t.Errorf("toll: %v, %v", f, err)
	}
	if !toll.Upper.Maximize {
		t.Error("toll maximizes")
	}
	bard := mustBind(t, readModel(t, "bard1988.blv"), nil)
	f, err = expr.Scalar(bard.Upper.Objective, []float64{1}, []float64{0})
	if err != nil || f != 17 {
		t.Errorf("bard1988: %v, %v", f, err)
	}
}

func TestTollRows(t *testing.T) {
	p := mustBind(t, readModel(t, "toll.blv"), nil)
	var names []string
	for i, r := range p.Rows {
		names = append(names, r.Name)
		if r.Equal != (r.Name == "travel") {
			t.Errorf("%s: equal = %v", r.Name, r.Equal)
		}
		if p.A.Ptr[i+1] != p.A.Ptr[i] {
			t.Errorf("%s reads x", r.Name)
		}
	}
	want := "share.nonneg[1] share.nonneg[2] share.nonneg[3] share.nonneg[4] travel cap[1] cap[2] cap[3] cap[4]"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("rows %s", got)
	}
	// h = A x - B y - b by hand: -share <= 0, sum(share) - 6 = 0, share - 4.5 <= 0.
	b := make([]float64, 9*4)
	for i := range 4 {
		b[i*4+i] = 1
		b[4*4+i] = -1
		b[(5+i)*4+i] = -1
	}
	for k, v := range p.B.Dense() {
		if v != b[k] {
			t.Fatalf("B = %v", p.B.Dense())
		}
	}
	for i, v := range []float64{0, 0, 0, 0, 6, 4.5, 4.5, 4.5, 4.5} {
		if p.Rhs[i] != v {
			t.Errorf("b[%d] = %v", i, p.Rhs[i])
		}
	}
}

func TestBardRows(t *testing.T) {
	p := mustBind(t, readModel(t, "bard1988.blv"), nil)
	// 3x - y >= 3: h = 3 - 3x + y, and so on.
	a, b, rhs := []float64{-3, 1, 1, 0}, []float64{-1, 0.5, -1, 1}, []float64{-3, 4, 7, 0}
	for i := range 4 {
		if p.A.Dense()[i] != a[i] || p.B.Dense()[i] != b[i] || p.Rhs[i] != rhs[i] {
			t.Errorf("%s: %v %v %v", p.Rows[i].Name, p.A.Dense()[i], p.B.Dense()[i], p.Rhs[i])
		}
	}
	if p.Rows[0].Name != "line 14" || p.X.Lo[0] != 0 || !math.IsInf(p.X.Hi[0], 1) || p.Start[0] != 3 {
		t.Errorf("%q, X = [%v, %v], start %v", p.Rows[0].Name, p.X.Lo, p.X.Hi, p.Start)
	}
}

func TestPublicProblems(t *testing.T) {
	files, err := filepath.Glob(models + "bolib/*.blv")
	if err != nil || len(files) == 0 {
		t.Fatal("no models")
	}
	for _, f := range files {
		if strings.Contains(f, "GumusFloudas2001Ex4") {
			continue // refused by the checker
		}
		mustBind(t, readModel(t, strings.TrimPrefix(f, models)), nil)
	}
}

// normal returns n seeded normal numbers.
func normal(seed uint64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	return each.Below(n, func(int) float64 { return rng.NormFloat64() })
}

func TestInferredSizes(t *testing.T) {
	const train, valid, p = 12, 7, 5
	set := &data.Set{}
	x, tt, xv, tv := normal(1, train*p), normal(2, train), normal(3, valid*p), normal(4, valid)
	set.Add("X", data.Matrix(train, p, x), "X.csv")
	set.Add("t", data.Vector(tt), "t.csv")
	set.Add("Xv", data.Matrix(valid, p, xv), "Xv.csv")
	set.Add("tv", data.Vector(tv), "tv.csv")
	prob := mustBind(t, readModel(t, "ridge.blv"), set)
	if prob.Upper.Dim != p || prob.Lower.Dim != p {
		t.Fatalf("dimensions %d, %d", prob.Upper.Dim, prob.Lower.Dim)
	}
	logpen, w := normal(5, p), normal(6, p)
	mse := func(m []float64, target []float64) float64 {
		s := 0.0
		for i := range target {
			r := -target[i]
			for j := range w {
				r += m[i*p+j] * w[j]
			}
			s += r * r
		}
		return s / float64(len(target))
	}
	g := 0.5 * mse(x, tt)
	for j := range w {
		g += 0.5 * math.Exp(logpen[j]) * w[j] * w[j]
	}
	close := func(what string, n *expr.Node, want float64) {
		got, err := expr.Scalar(n, logpen, w)
		if err != nil || math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
			t.Errorf("%s = %v, want %v (%v)", what, got, want, err)
		}
	}
	close("f", prob.Upper.Objective, mse(xv, tv))
	close("g", prob.Lower.Objective, g)
}

func TestClassifier(t *testing.T) {
	const n, m, p = 9, 6, 4
	set := &data.Set{}
	labels := func(seed uint64, k int) []float64 {
		return each.Of(normal(seed, k), func(v float64) float64 { return math.Copysign(1, v) })
	}
	x, s := normal(1, n*p), labels(2, n)
	set.Add("X", data.Matrix(n, p, x), "X.csv")
	set.Add("s", data.Vector(s), "s.csv")
	set.Add("Xv", data.Matrix(m, p, normal(3, m*p)), "Xv.csv")
	set.Add("sv", data.Vector(labels(4, m)), "sv.csv")
	prob := mustBind(t, readModel(t, "classifier.blv"), set)
	q, theta := make([]float64, n), normal(5, p)
	g := 0.0
	for i := range q {
		q[i] = 1.0 / n
		score := 0.0
		for j := range theta {
			score += x[i*p+j] * theta[j]
		}
		g += q[i] * math.Log1p(math.Exp(-s[i]*score))
	}
	for _, v := range theta {
		g += 0.05 * v * v
	}
	got, err := expr.Scalar(prob.Lower.Objective, q, theta)
	if err != nil || math.Abs(got-g) > 1e-12*(1+g) {
		t.Errorf("g = %v, want %v (%v)", got, g, err)
	}
	if len(prob.X.Rows) != 1 || !prob.X.Rows[0].Equal || prob.X.Rhs[0] != 1 || prob.X.Lo[0] != 0 {
		t.Errorf("simplex: %+v", prob.X)
	}
	if got := prob.Rows[0].Name + " " + prob.Rows[p].Name + " " + prob.Rows[2*p].Name; got != "line 24.lower[1] line 24.upper[1] balance" {
		t.Errorf("rows %s", got)
	}
}

func TestAbstract(t *testing.T) {
	for _, file := range []string{"toy.blv", "ridge.blv", "classifier.blv", "toll.blv", "quota.blv"} {
		prob, list := Bind(readModel(t, file), nil, Options{Abstract: true})
		if list.HasErrors() {
			t.Errorf("%s: %v", file, list)
			continue
		}
		if prob.Upper.Objective == nil || prob.Lower.Objective == nil {
			t.Errorf("%s has no objectives", file)
		}
	}
}
