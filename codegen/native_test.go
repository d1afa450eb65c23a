package codegen

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bilevelc/autodiff"
)

// TestNative writes Go source for random programs and for one whose
// instructions are cut into pieces, compiles it with the go command in one
// program that makes the same expressions again (random_test.go, laid over the
// package), and lets it compare every entry point with the interpreter, bit for
// bit.
func TestNative(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	const programs = 25
	var code, list strings.Builder
	usesMath := false
	for k := range programs {
		g, root := nativeExpression(k)
		graph, err := autodiff.Differentiate(g.b, root, g.dx, g.dy)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile(graph, Options{})
		if err != nil {
			t.Fatal(err)
		}
		text, math := nativeSource(p, fmt.Sprintf("p%d", k))
		code.WriteString(text)
		usesMath = usesMath || math
		fmt.Fprintf(&list, "p%d, ", k)
	}
	imports := "import (\n\"bilevelc/codegen\"\n\"bilevelc/codegen/kernel\"\n"
	if usesMath {
		imports += "\"math\"\n"
	}
	random, err := os.ReadFile("random_test.go")
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := map[string]string{}
	for name, text := range map[string]string{
		"zz_random.go":  string(random),
		"zz_compare.go": compareSource,
		"zz/native.go":  "package main\n" + imports + ")\n" + code.String(),
		"zz/main.go":    fmt.Sprintf(nativeMain, list.String()),
	} {
		real := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(real, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(here, name)] = real
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", "-ldflags=-s -w", "-overlay", file, "./zz")
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "same" {
		t.Fatalf("%v\n%s", err, out)
	}
}

const nativeMain = `package main

import (
	"fmt"
	"os"

	"bilevelc/codegen"
)

func main() {
	for k, n := range []*codegen.Native{%s} {
		if err := codegen.CompareNative(k, n); err != nil {
			fmt.Println("program", k, err)
			os.Exit(1)
		}
	}
	fmt.Println("same")
}
`

const compareSource = `package codegen

import (
	"fmt"
	"math"

	"bilevelc/autodiff"
)

// CompareNative compares native code of program k with the interpreter.
func CompareNative(k int, n *Native) error {
	g, root := nativeExpression(k)
	graph, err := autodiff.Differentiate(g.b, root, g.dx, g.dy)
	if err != nil {
		return err
	}
	p, err := Compile(graph, Options{})
	if err != nil {
		return err
	}
	if !p.Specialize(n) {
		return fmt.Errorf("the code does not fit")
	}
	a, b := p.Interpreted().NewEvaluator(), p.NewEvaluator()
	if a.program.native != nil || b.program.native == nil {
		return fmt.Errorf("the wrong code runs")
	}
	for range 3 {
		x, y := g.point()
		var out [2][]float64
		for k, e := range []*Evaluator{a, b} {
			gx, gy := make([]float64, g.dx), make([]float64, g.dy)
			add := func(v ...float64) { out[k] = append(out[k], v...) }
			add(e.Value(x, y))
			e.GradX(gx, x, y)
			e.GradY(gy, x, y)
			add(append(gx, gy...)...)
			add(e.ValueGradY(gy, x, y))
			add(gy...)
			add(e.ValueGrad(gx, gy, x, y))
			add(append(gx, gy...)...)
		}
		for i := range out[0] {
			if math.Float64bits(out[0][i]) != math.Float64bits(out[1][i]) {
				return fmt.Errorf("entry %d: %v interpreted, %v native", i, out[0][i], out[1][i])
			}
		}
	}
	return nil
}
`
