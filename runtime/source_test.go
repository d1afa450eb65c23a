package runtime_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bilevelc/codegen"
	"bilevelc/ir/data"
	"bilevelc/ir/datafile"
	"bilevelc/runtime"
)

// mixedModel exercises every kind of instruction that source is written for, with a
// lower objective whose curvature is soon proved: loops
// with stored registers, sums of many terms, slices, sparse and symmetric
// products, powers, a regression by rows in pieces.
const mixedModel = `model mixed

param n: int = 60
param m: int = 30000
data A: matrix[n, n] ~ normal(0, 1)
data X: matrix[m, 20] ~ normal(0, 1)
data t: vector[m] ~ uniform(-1, 1)
let Q = A' * A

upper {
  var x: vector[20] in box(-2, 2)
  minimize sumsq(x - 0.1) + sum(tanh(y[2..21]) .* x) + logsumexp(x) + prod(1 + 0.01 * w .^ 3) +
           sum(0.1 * w + 0.2 * x - 0.3 * sin(w) + 0.5 * cos(w)) * sum(w)
}

lower {
  var y: vector[n]
  var w: vector[20]
  minimize 0.001 * y' * Q * y + sumsq(y) + sum(log1pexp(t .* (X * w))) + sumsq(w - x) +
           sum(sigmoid(y)) + sum(sqrt(1 + y .^ 2)) + sum(exp(0.1 * x) .* w .^ 2)
}
`

// listedModel lists its sets, which data may replace.
const listedModel = `model listed
set node = {"A", "B"}
set line(from, to) within node * node = {("A", "B")}
upper {
  var x: [node] in box(0, 1)
  minimize sum(x) + sum(y)
}
lower {
  var y: [line]
  minimize sum((i, j) in line: (y[i, j] - x[i])^2)
}
`

// TestSource writes packages for models, compiles them in one program with the
// go command, and lets it compare every entry point with the interpreter, bit
// for bit, at several points, and a solve through the typed interface.
func TestSource(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the go command")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := map[string]string{}
	place := func(path string, text []byte) {
		real := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(real, text, 0o644); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(root, path)] = real
	}
	models := []string{"quota", "toll", "toy", "listed", "mixed"}
	var imports, checks strings.Builder
	for _, name := range models {
		p := bindModel(t, root, name)
		f, g := p.Programs()
		files, err := codegen.Source(name, p.IR, f, g)
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			place("internal/generated/"+name+"/"+file, text)
		}
		fmt.Fprintf(&imports, "%q\n", "bilevelc/internal/generated/"+name)
		fmt.Fprintf(&checks, "check(%q, %s.Bind, %s)\n", name, name, dataOfModel(name))
	}
	main := strings.NewReplacer("IMPORTS", imports.String(), "CHECKS", checks.String(),
		"TOY", fmt.Sprintf("%q", filepath.Join(root, "testdata/models/toy_mid.json"))).Replace(mainSource)
	place("internal/generated/main.go", []byte(main))
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", "-ldflags=-s -w", "-overlay", list, "./internal/generated")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "same" {
		t.Fatalf("%v\n%s", err, out)
	}
}

func dataOfModel(name string) string {
	switch name {
	case "toy":
		return "toyData()"
	case "listed":
		return `listed.Data{Node: []string{"P", "Q"}, Line: [][]string{{"P", "Q"}}}`
	}
	return name + ".Data{}"
}

func bindModel(t *testing.T, root, name string) *runtime.Problem {
	t.Helper()
	text := map[string]string{"mixed": mixedModel, "listed": listedModel}[name]
	if text == "" {
		b, err := os.ReadFile(filepath.Join(root, "testdata/models", name+".blv"))
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	m, err := runtime.Compile(name+".blv", text)
	if err != nil {
		t.Fatal(err)
	}
	set := &data.Set{}
	if name == "toy" {
		var list interface{ Err() error }
		set, list = loadData(filepath.Join(root, "testdata/models/toy_mid.json"))
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
	}
	p, err := m.BindSet(set, runtime.BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func loadData(path string) (*data.Set, interface{ Err() error }) {
	set, list := datafile.Load(path, nil)
	return set, list
}

const mainSource = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	IMPORTS
	"bilevelc/codegen"
	"bilevelc/runtime"
)

func main() {
	CHECKS
	s, err := quota.Solve(context.Background(), quota.Data{Goal: []float64{4, 1, 3, 5}}, runtime.Options{})
	if err != nil || s.Status != runtime.Solved || math.Abs(s.Objective-4.416452007145) > 1e-6 || len(s.X) != 4 {
		fail("quota.Solve:", s, err)
	}
	fmt.Println("same")
}

func fail(args ...any) {
	fmt.Println(args...)
	os.Exit(1)
}

func toyData() toy.Data {
	text, err := os.ReadFile(TOY)
	if err != nil {
		fail(err)
	}
	var d toy.Data
	if err := json.Unmarshal(text, &d); err != nil {
		fail(err)
	}
	return d
}

func check[D any](name string, bind func(D, runtime.BindOptions) (*runtime.Problem, error), d D) {
	native, err := bind(d, runtime.BindOptions{})
	if err != nil {
		fail(name, err)
	}
	f, g := native.Programs()
	if !f.Specialized() || !g.Specialized() {
		fail(name, "the code of the package is not used")
	}
	a := []*codegen.Evaluator{f.Interpreted().NewEvaluator(), g.Interpreted().NewEvaluator()}
	b := []*codegen.Evaluator{f.NewEvaluator(), g.NewEvaluator()}
	r := rand.New(rand.NewPCG(1, 2))
	dx, dy := native.Numeric.Dx, native.Numeric.Dy
	for range 3 {
		x, y := make([]float64, dx), make([]float64, dy)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		for i := range y {
			y[i] = r.NormFloat64()
		}
		for k := range a {
			pair := []*codegen.Evaluator{a[k], b[k]}
			var out [2][]float64
			for k, f := range pair {
				gx, gy := make([]float64, dx), make([]float64, dy)
				out[k] = append(out[k], f.Value(x, y))
				f.GradX(gx, x, y)
				f.GradY(gy, x, y)
				out[k] = append(append(out[k], gx...), gy...)
				out[k] = append(out[k], f.ValueGradY(gy, x, y))
				out[k] = append(out[k], gy...)
				out[k] = append(out[k], f.ValueGrad(gx, gy, x, y))
				out[k] = append(append(out[k], gx...), gy...)
			}
			for i := range out[0] {
				if math.Float64bits(out[0][i]) != math.Float64bits(out[1][i]) {
					fail(name, "entry", i, out[0][i], out[1][i])
				}
			}
		}
	}
}
`
