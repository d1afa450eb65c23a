package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bilevelc/ir"
	"bilevelc/ir/check"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

func checkFile(t *testing.T, path string) (*ir.Program, diag.List) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return checkText(t, path, string(text))
}

func checkText(t *testing.T, name, text string) (*ir.Program, diag.List) {
	t.Helper()
	file, diags := parser.ParseFile(diag.NewSource(name, text))
	if len(diags) > 0 {
		t.Fatalf("%s does not parse:\n%v", name, diags)
	}
	return check.Check(file)
}

// Every binding model checks without a word, but for the one whose upper
// constraints read y.
func TestModels(t *testing.T) {
	for _, pattern := range []string{"../../testdata/models/*.blv", "../../testdata/models/bolib/*.blv"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no models at %s", pattern)
		}
		for _, path := range paths {
			t.Run(filepath.Base(path), func(t *testing.T) {
				_, diags := checkFile(t, path)
				if len(diags) > 0 {
					t.Error(diags)
				}
			})
		}
	}
}

// Seven mistakes give seven messages in one run, each at a place of its own.
func TestCarelessModel(t *testing.T) {
	_, diags := checkFile(t, "testdata/careless.blv")
	places := map[diag.Span]bool{}
	codes := map[diag.Code]bool{}
	for _, d := range diags {
		places[d.Subject], codes[d.Code] = true, true
	}
	if len(diags) != 7 || len(places) != 7 || len(codes) != 7 {
		t.Errorf("%d messages, %d places, %d codes:\n%v", len(diags), len(places), len(codes), diags)
	}
}

// Lists and arrays within each other are looked at once each, however deep they are.
func TestNestedListsInLinearTime(t *testing.T) {
	const depth = 60 // twice as many steps a level would not end
	lists := strings.Repeat("[", depth) + "x" + strings.Repeat("; x]", depth)
	arrays := strings.Repeat("[i in ", depth) + "[1, 2]" + strings.Repeat(": 1]", depth)
	_, diags := checkText(t, "nested.blv", fmt.Sprintf(`model nested
upper {
  var x: vector[2]
  minimize sumsq(x) + sum(%s) + sum(%s)
}
lower {
  var y: vector[2]
  minimize sumsq(y - x)
}
`, lists, arrays))
	for _, d := range diags {
		if d.Code != diag.Hides {
			t.Error(d)
		}
	}
}

// Definitions have types and levels, whatever the order of the file.
func TestOrder(t *testing.T) {
	p, diags := checkText(t, "order.blv", `model order
let a = b + c[1]
let b = 2 * k
data c: vector[k] = [1, 2]
param k: int = j + 1
param j: int = 1
upper {
  var x: real
  minimize x^2 + a
}
lower {
  let moved = late - x
  var y: real
  minimize moved^2
  let late = y
}
`)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if s := p.Symbols["moved"]; s.Deps != expr.DependsX|expr.DependsY || !s.Lower || s.Type.Kind != ir.RealType {
		t.Errorf("moved: %+v", s)
	}
	if got := p.Symbols["c"].Type.String(); got != "vector[k]" {
		t.Errorf("c is %s", got)
	}
}

// Of two followers that declare a variable of one name, messages call it the first one's, each time.
func TestSameMessageEachTime(t *testing.T) {
	text := `model twins
upper {
  var x: real
  minimize x^2
}
lower first {
  var w: real
  minimize (w - x)^2
}
lower second {
  var w: real
  minimize (w + x)^2
}
lower third {
  var z: real
  minimize (z - w)^2
}
`
	for range 30 {
		_, diags := checkText(t, "twins.blv", text)
		if got := diags.Error(); !strings.Contains(got, "the follower `third` reads `w`, which the follower `first` decides") {
			t.Fatal(got)
		}
	}
}

// A session checks what is there, and asks for types of expressions.
func TestSession(t *testing.T) {
	file, diags := parser.ParseFile(diag.NewSource("session", "param n: int = 3\ndata A: matrix[n, 2]\nlet B = A' * A\n"))
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	p, diags := check.Partial(file)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	input, diags := parser.ParseREPL(diag.NewSource("input", "B * A[2, :]'"))
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	typ, deps, diags := check.Expr(p, input.Expr)
	if len(diags) > 0 || typ.String() != "vector[2]" || deps != 0 {
		t.Errorf("%s, %b, %v", typ, deps, diags)
	}
	input, _ = parser.ParseREPL(diag.NewSource("input", "B * A"))
	if _, _, diags = check.Expr(p, input.Expr); len(diags) != 1 || diags[0].Code != "E0302" {
		t.Errorf("%v", diags)
	}
	if _, diags = check.Check(file); !diags.HasErrors() {
		t.Error("a model without levels is accepted")
	}
}

// No form of hostile nesting or repetition makes the checker panic, or take
// more than time and memory in proportion to its input: each of these would
// take very long, or overflow the stack, if a part were visited more often
// than it is written.
func TestHostile(t *testing.T) {
	levels := "upper {\n var x: vector[3]\n minimize sumsq(x) + u\n}\nlower {\n var y: vector[3]\n minimize sumsq(y - x)\n}\n"
	var doubling, calls, chain, powers strings.Builder
	doubling.WriteString("let u0 = 1\n")
	calls.WriteString("fn f0(z) = z + 1\n")
	powers.WriteString("param p: int = 2\nlet q0 = p + 1\n")
	for i := 1; i <= 60; i++ {
		fmt.Fprintf(&doubling, "let u%d = u%d + u%d\n", i, i-1, i-1)
		fmt.Fprintf(&calls, "fn f%d(z) = f%d(z) + f%d(z)\n", i, i-1, i-1)
		fmt.Fprintf(&powers, "let q%d = q%d * q%d\n", i, i-1, i-1)
	}
	for i := range 5000 {
		fmt.Fprintf(&chain, "let v%d = v%d\n", i, i+1)
	}
	terms, sum := "", "0"
	for i := range 30 {
		terms += fmt.Sprintf("param t%d: int\n", i)
		sum += fmt.Sprintf(" + t%d", i)
	}
	for name, c := range map[string]struct {
		text string
		want diag.Code // "": none
	}{
		"lets":    {doubling.String() + "let u = u60\n", ""},
		"calls":   {calls.String() + "let u = f60(2) + f60(3)\n", ""},
		"powers":  {powers.String() + "data c: vector[q60]\nlet u = sum(c) + length(c + c)\n", ""},
		"terms":   {terms + "data c: vector[(" + sum + ")^8]\nlet w = " + sum + "\nparam k: int = w\ndata d: vector[k^8]\nlet u = sum(c + d) + d[k]\n", ""},
		"chain":   {chain.String() + "let v5000 = 1\nlet u = v0\n", "E0318"},
		"sum":     {"let u = 1" + strings.Repeat(" + n", 20_000) + "\nparam n: int = 1\n", ""},
		"indices": {"data c: vector[3]\nlet u = " + strings.Repeat("c[", 400) + "1" + strings.Repeat("]", 400) + "\n", ""},
		"ranges":  {"data c: vector[3]\nlet u = " + strings.Repeat("sum(i in 1..3: ", 150) + "c[i]" + strings.Repeat(")", 150) + "\n", "E0208"},
	} {
		t.Run(name, func(t *testing.T) {
			_, diags := checkText(t, name, "model hostile\n"+c.text+levels)
			found := c.want == ""
			for _, d := range diags {
				found = found || d.Code == c.want
				if c.want == "" {
					t.Error(d)
				}
			}
			if !found {
				t.Errorf("no %s in %v", c.want, diags)
			}
		})
	}
}
