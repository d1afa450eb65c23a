package lang_test

import (
	"strings"
	"testing"

	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// TestFormat shows each rule of the canonical form. The laws (idempotent, same
// tree, all comments) are tested over models, random trees and fuzzed text
// beside the parser.
func TestFormat(t *testing.T) {
	for _, c := range []struct{ rule, text, want string }{
		{"spaces around operators but ^", "let a=b*c^2+-d .^2-(e/f)'", "let a = b * c^2 + -d .^ 2 - (e / f)'\n"},
		{"no space inside brackets", "let a = f( x , y )[ 1 , : ]", "let a = f(x, y)[1, :]\n"},
		{"ranges are tight", "let a = sum( i in 1 .. n,j in i..n if i!=j :x[ i ])", "let a = sum(i in 1..n, j in i..n if i != j: x[i])\n"},
		{"one statement a line", "param n:int=3;data c:vector[ n ]~normal( 0,1 )", "param n: int = 3\ndata c: vector[n] ~ normal(0, 1)\n"},
		{"blocks are indented", "upper{var x:real in box( 0,1 );minimize x}", "upper {\n  var x: real in box(0, 1)\n  minimize x\n}\n"},
		{"one constraint may share the line", "lower{subject to y>=0}", "lower {\n  subject to y >= 0\n}\n"},
		{"several may not", "lower{subject to y>=0;a : forall i in 1..n:y<=1}", "lower {\n  subject to\n    y >= 0\n    a: forall i in 1..n: y <= 1\n}\n"},
		{"single blank lines stay", "\n\nlet a = 1\n\n\n\nlet b = 2\n\n", "let a = 1\n\nlet b = 2\n"},
		{"none at the ends of a block", "report {\n\n  a = 1\n\n}", "report {\n  a = 1\n}\n"},
		{"line breaks stay, aligned", "let a = b +\n c *\n d", "let a = b +\n        c *\n        d\n"},
		{"breaks in brackets", "let a = g(\nf(b,\nc)\n)", "let a = g(\n  f(b,\n    c)\n)\n"},
		{"comments behind code are aligned", "let a = 1 // one\nlet long = 2 // two\n\nlet b = 3 // three", "let a = 1     // one\nlet long = 2  // two\n\nlet b = 3  // three\n"},
		{"comments of their own are indented", "report {\n// c\na = 1\n    // d\n}", "report {\n  // c\n  a = 1\n  // d\n}\n"},
		{"comments inside expressions", "let a = [1, // one\n// own\n2]", "let a = [1,  // one\n         // own\n         2]\n"},
		{"starts and words", "solve{start x=[1,2];method=pgd}", "solve {\n  start x = [1, 2]\n  method = pgd\n}\n"},
		{"functions", "fn f(z:vector[ n ],w):real=z'*w", "fn f(z: vector[n], w): real = z' * w\n"},
		{"conditions", "let a = if not(b<c)and d then 1 else 2", "let a = if not (b < c) and d then 1 else 2\n"},
		{"empty", "", ""},
	} {
		file, errs := parser.ParseFile(diag.NewSource("t", c.text))
		if len(errs) > 0 {
			t.Errorf("%s: %v", c.rule, errs)
			continue
		}
		if got := lang.Format(file); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.rule, got, c.want)
		}
	}
}

// The syntax tree of a sum is as long a text as the sum is: its indentation is not that of each term's depth.
func TestTreesOfLongSums(t *testing.T) {
	size := func(terms int) int {
		file, list := parser.ParseFile(diag.NewSource("sum.blv", "model sum\nlet a = 1"+strings.Repeat(" + 1", terms)+"\n"))
		if len(list) > 0 {
			t.Fatal(list)
		}
		return len(lang.Tree(file))
	}
	if short, long := size(100), size(10_000); long > 200*short {
		t.Errorf("%d bytes for 100 terms, %d for 10,000", short, long)
	}
}
