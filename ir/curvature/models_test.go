package curvature

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

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

func TestShow(t *testing.T) {
	files, _ := filepath.Glob(models + "*.blv")
	more, _ := filepath.Glob(models + "bolib/*.blv")
	for _, file := range append(files, more...) {
		base := filepath.Base(file)
		if base == "GumusFloudas2001Ex4.blv" {
			continue
		}
		text, _ := os.ReadFile(file)
		set := &data.Set{}
		r := rand.New(rand.NewPCG(1, 2))
		normal := func(n int) []float64 {
			out := make([]float64, n)
			for i := range out {
				out[i] = r.NormFloat64()
			}
			return out
		}
		switch base {
		case "toy.blv":
			set, _ = datafile.Load(models+"toy_mid.json", nil)
		case "ridge.blv":
			set.Add("X", data.Matrix(30, 8, normal(240)), "")
			set.Add("t", data.Vector(normal(30)), "")
			set.Add("Xv", data.Matrix(20, 8, normal(160)), "")
			set.Add("tv", data.Vector(normal(20)), "")
		case "classifier.blv":
			set.Add("X", data.Matrix(30, 8, normal(240)), "")
			set.Add("s", data.Vector(sign(normal(30))), "")
			set.Add("Xv", data.Matrix(20, 8, normal(160)), "")
			set.Add("sv", data.Vector(sign(normal(20))), "")
		}
		p := bound(t, base, string(text), set, bind.Options{Seed: 1})
		proof := Prove(p, Defaults())
		t.Logf("=== %s\n%s", base, proof.Text(true))
		for _, d := range proof.Diagnostics(false) {
			t.Logf("%v\n%s", d, d.Detail)
		}
	}
}

func sign(v []float64) []float64 {
	for i := range v {
		v[i] = math.Copysign(1, v[i])
	}
	return v
}
