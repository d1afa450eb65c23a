package parser_test

import (
	"strings"
	"sync"
	"testing"

	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// TestExpressions checks precedence, associativity and every form of operand.
func TestExpressions(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a + b * c", "(a + (b * c))"},
		{"a - b - c", "((a - b) - c)"},
		{"a / b * c", "((a / b) * c)"},
		{"a .* b ./ c", "((a .* b) ./ c)"},
		{"-x^2", "(- (x ^ 2))"},
		{"-x .^ 2 + 1", "((- (x .^ 2)) + 1)"},
		{"2^-x^3", "(2 ^ (- (x ^ 3)))"},
		{"a^b^c", "(a ^ (b ^ c))"},
		{"-a * b", "((- a) * b)"},
		{"a * -b", "(a * (- b))"},
		{"a - -b", "(a - (- b))"},
		{"x' * Q * y", "(((x)' * Q) * y)"},
		{"x'^2", "((x)' ^ 2)"},
		{"A''[1]", "((A)')'[1]"},
		{"y[i]^2", "(y[i] ^ 2)"},
		{"A[i, :]", "A[i, :]"},
		{"A[:, 2..n - 1]", "A[:, 2..(n - 1)]"},
		{"y[1..3]", "y[1..3]"},
		{"y[1.5e-3]", "y[1.5e-3]"},
		{"2.*x", "(2 .* x)"},
		{"1./x + 2.^x", "((1 ./ x) + (2 .^ x))"},
		{"f(a, g(b))[1]'", "(f(a, g(b))[1])'"},
		{"f()", "f()"},
		{"[1, [2, x + 1], []]", "[1, [2, (x + 1)], []]"},
		{"(a + b) * c", "((a + b) * c)"},
		{"sum(i in 1..n: y[i])", "sum(i in 1..n: y[i])"},
		{"sum(i in 1..n, j in i + 1..n if i != j and c[j] > 0: A[i, j])",
			"sum(i in 1..n, j in (i + 1)..n if ((i != j) and (c[j] > 0)): A[i, j])"},
		{"max(i in S: -x[i])", "max(i in S: (- x[i]))"},
		{"sum(i in 1..n if if a then b else c: i)", "sum(i in 1..n if (if a then b else c): i)"},
		{"if a < b then 1 else 2 + 3", "(if (a < b) then 1 else (2 + 3))"},
		{"1 + if a then b else c", "(1 + (if a then b else c))"},
		{"if a then if b then 1 else 2 else 3", "(if a then (if b then 1 else 2) else 3)"},
		{"not a and b or c", "(((not a) and b) or c)"},
		{"not a == b", "(not (a == b))"},
		{"a < b and b <= c or d != e", "(((a < b) and (b <= c)) or (d != e))"},
		{"a +\n b *\n\n c", "(a + (b * c))"},
		{"f(a,\n  b\n)", "f(a, b)"},
		{"(a\n + b)", "(a + b)"},
		{"x // comment", "x"},
		{"(x // comment\n)", "x"},
		{"λ_1 * größe", "(λ_1 * größe)"},
		{"input + index", "(input + index)"},
	} {
		x, errs := parser.ParseExpr(diag.NewSource("t", c.text))
		if len(errs) > 0 {
			t.Errorf("%q: %v", c.text, errs)
		} else if got := show(x); got != c.want {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestExprErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":           "expected an expression, found the end of the text",
		"a b":        "expected an operator before `b`",
		"a\nb":       "expected one expression, found `b`",
		"a +":        "expected an expression, found the end of the text",
		"f(a":        "`(` is never closed",
		"1 +\n\n* 2": "expected an expression, found `*`",
		"a }":        "expected one expression, found `}`",
		"let":        "expected an expression, found `let`",
		"x[]":        "expected an expression, found `]`",
	} {
		_, errs := parser.ParseExpr(diag.NewSource("t", text))
		if len(errs) == 0 || !strings.Contains(errs.Error(), want) {
			t.Errorf("%q: %v, want %q", text, errs, want)
		}
	}
}

// TestNumbers checks what counts as an integer.
func TestNumbers(t *testing.T) {
	for text, isInt := range map[string]bool{
		"0": true, "42": true, "9223372036854775807": true, "9223372036854775808": false,
		"1.0": false, "1e3": false, "0.5": false, "5e-324": false, "1.7976931348623157e308": false,
	} {
		x, errs := parser.ParseExpr(diag.NewSource("t", text))
		if n, ok := x.(*lang.Number); len(errs) > 0 || !ok || n.Int != isInt {
			t.Errorf("%s: %v %v, want Int %v", text, show(x), errs, isInt)
		}
	}
}

// TestSpans checks that every node covers exactly its text.
func TestSpans(t *testing.T) {
	file := mustParse(t, diag.NewSource("t", `model m
data P: matrix[m, n] ~ normal(0, 1)  // c
fn f(z: vector[k], w): real =
  z' * w
lower {
  var y: vector[n] in box(lo, hi)
  minimize -y[1..2]^2 + sum(i in 1..n if i > 1: (y[i]))
  subject to
    cap: forall r in 1..n: 0 <= y[r] <= 4.5
}
`))
	level := file.Decls[2].(*lang.Level)
	fn := file.Decls[1].(*lang.Fn)
	obj := level.Items[1].(*lang.Objective).Value.(*lang.Binary)
	con := level.Items[2].(*lang.SubjectTo).Constraints[0]
	sum := obj.Y.(*lang.Comprehension)
	for _, c := range []struct {
		node lang.Node
		want string
	}{
		{file.Model, "m"},
		{file.Decls[0], "data P: matrix[m, n] ~ normal(0, 1)"},
		{file.Decls[0].(*lang.Data).Type, "matrix[m, n]"},
		{file.Decls[0].(*lang.Data).Gen, "normal(0, 1)"},
		{fn, "fn f(z: vector[k], w): real =\n  z' * w"},
		{fn.Params[0], "z: vector[k]"},
		{fn.Params[1], "w"},
		{fn.Result, "real"},
		{level.Items[0], "var y: vector[n] in box(lo, hi)"},
		{level.Items[0].(*lang.Var).Set, "box(lo, hi)"},
		{obj, "-y[1..2]^2 + sum(i in 1..n if i > 1: (y[i]))"},
		{obj.X, "-y[1..2]^2"},
		{obj.X.(*lang.Unary).X.(*lang.Binary).X, "y[1..2]"},
		{sum.Binders[0], "i in 1..n"},
		{sum.Cond, "i > 1"},
		{sum.Body, "(y[i])"},
		{con, "cap: forall r in 1..n: 0 <= y[r] <= 4.5"},
		{con.Name, "cap"},
		{con.Terms[1], "y[r]"},
	} {
		if got := c.node.Span().Text(); got != c.want {
			t.Errorf("%T covers %q, want %q", c.node, got, c.want)
		}
	}
	if got := obj.OpPlace.Text(); got != "+" {
		t.Errorf("operator place covers %q", got)
	}
	if got := level.Span().Text(); !strings.HasPrefix(got, "lower {") || !strings.HasSuffix(got, "}") {
		t.Errorf("level covers %q", got)
	}
}

// TestDocs checks which comments document a function.
func TestDocs(t *testing.T) {
	file := mustParse(t, diag.NewSource("t", `// about the file

// squares
// each entry
fn f(z) = z .^ 2
let a = 1 // not about g
fn g(z) = z
// of h
fn h(z) = z`))
	want := []string{"// squares|// each entry", "", "// of h"}
	var got []string
	for _, d := range file.Decls {
		if fn, ok := d.(*lang.Fn); ok {
			var doc []string
			for _, c := range fn.Doc {
				doc = append(doc, c.Text)
			}
			got = append(got, strings.Join(doc, "|"))
		}
	}
	if strings.Join(got, ";") != strings.Join(want, ";") {
		t.Errorf("docs %q, want %q", got, want)
	}
}

// TestStatementEnds checks where a newline ends a statement.
func TestStatementEnds(t *testing.T) {
	file := mustParse(t, diag.NewSource("t", "model m; param n: int = 2\r\nlet a =\n 1 +\n 2; let b = f(1,\n 2)\n"+
		"upper { var x: real; minimize x }\nlower\n{\n var y: real\n maximize\n y; subject to y <= 1; y >= -1 }\n"))
	if len(file.Decls) != 5 {
		t.Fatalf("%d declarations, want 5", len(file.Decls))
	}
	if got := show(file.Decls[1].(*lang.Let).Value); got != "(1 + 2)" {
		t.Errorf("a = %s", got)
	}
	lower := file.Decls[4].(*lang.Level)
	if n := len(lower.Items[2].(*lang.SubjectTo).Constraints); n != 2 {
		t.Errorf("%d constraints, want 2", n)
	}
}

func TestREPL(t *testing.T) {
	for _, c := range []struct {
		text       string
		decls      int
		items      int
		expr       string
		incomplete bool
		errs       bool
	}{
		{"", 0, 0, "", false, false},
		{"1 + 2", 0, 0, "(1 + 2)", false, false},
		{"x", 0, 0, "x", false, false},
		{"-x[1] <= 3", 0, 0, "((- x[1]) <= 3)", false, false},
		{"let a = 3; let b = 4", 2, 0, "", false, false},
		{"param n: int = 3", 1, 0, "", false, false},
		{"var x: real\nminimize x\nsubject to\n x >= 0\n x <= 1", 0, 3, "", false, false},
		{"upper {", 1, 0, "", true, true},
		{"upper", 1, 0, "", true, true},
		{"upper {\n var x: real\n}", 1, 0, "", false, false},
		{"1 +", 0, 0, "BAD", true, true},
		{"f(1,", 0, 0, "BAD", true, true},
		{"let a =", 1, 0, "", true, true},
		{"subject to", 0, 1, "", true, false},
		{"x = 3", 0, 0, "", false, true},
		{")", 0, 0, "", false, true},
		{"1; 2", 0, 0, "1", false, true},
	} {
		in, errs := parser.ParseREPL(diag.NewSource("repl", c.text))
		got := ""
		if in.Expr != nil {
			got = show(in.Expr)
		}
		if len(in.Decls) != c.decls || len(in.Items) != c.items || got != c.expr ||
			in.Incomplete != c.incomplete || errs.HasErrors() != c.errs {
			t.Errorf("%q: %d decls, %d items, expr %q, incomplete %v, errors %v", c.text,
				len(in.Decls), len(in.Items), got, in.Incomplete, errs)
		}
	}
}

func TestModels(t *testing.T) {
	for _, file := range models(t) {
		tree := mustParse(t, read(t, file))
		if tree.Model == nil {
			t.Errorf("%s: no model name", file)
		}
	}
}

// TestConcurrent parses different sources at once: each tree must point into
// its own source (parsers are shared through a pool).
func TestConcurrent(t *testing.T) {
	var group sync.WaitGroup
	for _, file := range models(t) {
		src := read(t, file)
		group.Go(func() {
			for range 5 {
				tree, errs := parser.ParseFile(src)
				for _, d := range tree.Decls {
					if len(errs) > 0 || d.Span().Source != src {
						t.Errorf("%s: %v, a declaration of %s", src.Name, errs, d.Span())
					}
				}
			}
		})
	}
	group.Wait()
}
