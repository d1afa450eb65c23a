package curvature

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/bind"
	"bilevelc/ir/check"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

const models = "../../testdata/models/"

// bound compiles and binds a model that must be good.
func bound(t testing.TB, name, text string, set *data.Set, opts bind.Options) *ir.Problem {
	t.Helper()
	file, list := parser.ParseFile(diag.NewSource(name, text))
	if list.HasErrors() {
		t.Fatalf("%v", list)
	}
	prog, list := check.Check(file)
	if list.HasErrors() {
		t.Fatalf("%v", list)
	}
	p, list := bind.Bind(prog, set, opts)
	if list.HasErrors() {
		t.Fatalf("%v", list)
	}
	return p
}

// programOf compiles a model; nil where it has errors.
func programOf(text string) *ir.Program {
	file, list := parser.ParseFile(diag.NewSource("m.blv", text))
	if list.HasErrors() {
		return nil
	}
	prog, list := check.Check(file)
	if list.HasErrors() {
		return nil
	}
	return prog
}

// random arrays for a model that ships without data.
type source struct{ r *rand.Rand }

func (s source) vector(n int) *data.Array    { return data.Vector(gauss(s.r, n)) }
func (s source) matrix(m, n int) *data.Array { return data.Matrix(m, n, gauss(s.r, m*n)) }
func (s source) labels(n int) *data.Array {
	return data.Vector(each.Of(gauss(s.r, n), func(v float64) float64 { return math.Copysign(1, v) }))
}

func reference(t testing.TB, file string, set *data.Set) *ir.Problem {
	t.Helper()
	text, err := os.ReadFile(models + file)
	if err != nil {
		t.Fatal(err)
	}
	return bound(t, file, string(text), set, bind.Options{Seed: 1})
}

func ridgeData(train, valid, p int) *data.Set {
	s, set := source{rand.New(rand.NewPCG(1, 2))}, &data.Set{}
	set.Add("X", s.matrix(train, p), "X")
	set.Add("t", s.vector(train), "t")
	set.Add("Xv", s.matrix(valid, p), "Xv")
	set.Add("tv", s.vector(valid), "tv")
	return set
}

func classifierData(n, m, p int) *data.Set {
	s, set := source{rand.New(rand.NewPCG(3, 4))}, &data.Set{}
	set.Add("X", s.matrix(n, p), "X")
	set.Add("s", s.labels(n), "s")
	set.Add("Xv", s.matrix(m, p), "Xv")
	set.Add("sv", s.labels(m), "sv")
	return set
}

// eigenvalues of scale*a'a + shift*I for a row-major m x n matrix, ascending.
func eigenvalues(m, n int, a []float64, scale, shift float64) []float64 {
	mat1 := mat.NewDense(m, n, append([]float64(nil), a...))
	h := mat.NewSymDense(n, nil)
	h.SymOuterK(scale, mat1.T())
	for i := range n {
		h.SetSym(i, i, h.At(i, i)+shift)
	}
	var eig mat.EigenSym
	eig.Factorize(h, false)
	return eig.Values(nil)
}

// TestModels holds what is proved about the reference models against the
// eigenvalues of their Hessians in y, known in closed form or computed apart.
func TestModels(t *testing.T) {
	toy, list := datafile.Load(models+"toy_mid.json", nil)
	if list.HasErrors() {
		t.Fatal(list)
	}
	dy := int(toy.Get("dy").Array.Dense[0])
	toyEigen := eigenvalues(dy, dy, toy.Get("L").Array.Dense, 1, 1)
	ridge := ridgeData(30, 20, 8)
	ridgeEigen := eigenvalues(30, 8, ridge.Get("X").Array.Dense, 1.0/30, 0)
	classifier := classifierData(40, 20, 6)
	fixed, moving, other := Quadratic{true, true, true}, Quadratic{InY: true}, Quadratic{}
	// slope in the order of the arcs; uses is 4 x 6: H = 0.02 I + uses diag(slope) uses'.
	tollRoot := make([]float64, 24) // 6 x 4: diag(sqrt slope) uses'
	uses := [][]float64{{1, 1, 0, 0, 0, 0}, {0, 0, 1, 1, 0, 0}, {1, 0, 0, 1, 1, 0}, {0, 0, 0, 0, 0, 1}}
	for a, slope := range []float64{0.8, 0.6, 0.6, 0.8, 0.2, 1.2} {
		for r := range 4 {
			tollRoot[a*4+r] = math.Sqrt(slope) * uses[r][a]
		}
	}
	tollEigen := eigenvalues(6, 4, tollRoot, 1, 0.02)
	for _, c := range []struct {
		file     string
		set      *data.Set
		least    float64 // the true modulus
		most     float64 // the true C_g in y, or 0 where it is not asked for
		form     Quadratic
		standing Standing
	}{
		{"toy.blv", toy, toyEigen[0], toyEigen[dy-1], fixed, allRows},
		{"ridge.blv", ridge, ridgeEigen[0] + math.Exp(-6), ridgeEigen[7] + math.Exp(3), moving, allRows},
		{"classifier.blv", classifier, 0.1, 0, other, activeOnly},
		{"quota.blv", nil, 2, 8, fixed, allRows},
		{"bard1988.blv", nil, 2, 2, fixed, activeOnly},
		{"toll.blv", nil, tollEigen[0], tollEigen[3], fixed, activeOnly},
		{"bolib/Bard1988Ex2.blv", nil, 2, 2, fixed, activeOnly},
		{"bolib/CalamaiVicente1994b.blv", nil, 1, 1, fixed, activeOnly},
		{"bolib/DeSilva1978.blv", nil, 2, 2, fixed, everyActive},
		{"bolib/FalkLiu1995.blv", nil, 2, 2, fixed, everyActive},
		{"bolib/HatzEtal2013.blv", nil, 2, 2, fixed, allRows},
		{"bolib/HendersonQuandt1958.blv", nil, 2, 2, fixed, allRows},
		{"bolib/MuuQuy2003Ex1.blv", nil, (3 - math.Sqrt(5)) / 2, (3 + math.Sqrt(5)) / 2, fixed, activeOnly},
		{"bolib/Outrata1990Ex1a.blv", nil, 3 - math.Sqrt(8), 3 + math.Sqrt(8), fixed, activeOnly},
		{"bolib/SinhaMaloDeb2014TP6.blv", nil, 8, 8, fixed, activeOnly},
		{"bolib/Yezza1996Ex41.blv", nil, 1, 1, fixed, activeOnly},
	} {
		p := reference(t, c.file, c.set)
		proof := Prove(p, Defaults())
		g := proof.Convexity
		// Bounds must hold exactly; 1e-9 is what certification may give away,
		// 1e-14 the error of the reference eigenvalues.
		if g.Outcome != proved || g.Scope != everywhere || g.Modulus > c.least*(1+1e-14) || g.Modulus < c.least*(1-1e-9) {
			t.Errorf("%s: %v %v, mu = %v, want %v", c.file, g.Outcome, g.Scope, g.Modulus, c.least)
		}
		if b := proof.SmoothnessG; c.most != 0 && (b.Value < c.most*(1-1e-14) || b.Value > c.most*(1+1e-3)) || !b.Known {
			t.Errorf("%s: C_g = %v, want %v", c.file, b.Value, c.most)
		}
		if proof.Quadratic != c.form {
			t.Errorf("%s: %+v", c.file, proof.Quadratic)
		}
		if proof.Qualification.Standing != c.standing {
			t.Errorf("%s: %s", c.file, proof.Qualification.text())
		}
		if proof.SmoothF.Outcome != proved || proof.SmoothG.Outcome != proved {
			t.Errorf("%s: smoothness %+v %+v", c.file, proof.SmoothF, proof.SmoothG)
		}
		if list := proof.Diagnostics(true); len(list) > 0 {
			t.Errorf("%s: %v", c.file, list)
		}
		if p.Facts != proof.Facts() || p.Facts.StrongConvexity != g.Modulus || p.Facts.Smoothness != proof.SmoothnessG.Value {
			t.Errorf("%s: facts %+v", c.file, p.Facts)
		}
		if _, err := json.Marshal(proof); err != nil {
			t.Errorf("%s: %v", c.file, err)
		}
	}
}

// TestSharedWeights: q in the simplex weighs the rows of the classifier, so
// that C_g is that of the longest row, not of their sum.
func TestSharedWeights(t *testing.T) {
	const n, p = 300, 6
	set := classifierData(n, 20, p)
	x := set.Get("X").Array.Dense
	longest := each.LargestBelow(n, func(i int) float64 { return floats.Dot(x[i*p:(i+1)*p], x[i*p:(i+1)*p]) })
	want := 0.25*longest + 0.1
	got := Prove(reference(t, "classifier.blv", set), Defaults()).SmoothnessG
	if !got.Known || got.Value < want*(1-1e-12) || got.Value > want*(1+1e-12) {
		t.Errorf("C_g = %v, want %v", got.Value, want)
	}
}

// TestAbstract proves without data: the claims hold for any data.
func TestAbstract(t *testing.T) {
	for file, least := range map[string]float64{"toy.blv": 1, "ridge.blv": math.Exp(-6), "classifier.blv": 0.1} {
		text, err := os.ReadFile(models + file)
		if err != nil {
			t.Fatal(err)
		}
		p := bound(t, file, string(text), nil, bind.Options{Abstract: true})
		g := Prove(p, Defaults()).Convexity
		if g.Outcome != proved || g.Modulus > least || g.Modulus < least*(1-1e-9) {
			t.Errorf("%s: %v, mu = %v, want %v", file, g.Outcome, g.Modulus, least)
		}
	}
}
