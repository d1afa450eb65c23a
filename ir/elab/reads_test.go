package elab_test

import (
	"strings"
	"testing"

	"bilevelc/ir"
	"bilevelc/ir/elab"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// The way from each let to `target` goes through lets and functions, and not through
// parameters and indices of that name.
func TestReads(t *testing.T) {
	const text = `model reads
param n: int = 3
fn direct(u) = u + target
fn hides(target) = target ^ 2
fn sized(u: vector[target]) = sum(u)
fn nested(u) = direct(u) + hides(u)
let target = 1
let a = n + target // a target
let b = a * 2 // b a target
let c = sum(target in 1..n: target) // none
let d = sum(i in 1..target: i) // d target
let e = hides(n) // none
let f = nested(n) // f nested direct target
let g = sized(n) // g sized target
let h = sum(target in 1..target: target) // h target
let i = [target in 1..n, k in 1..target: k] // none
let j = sum(n in 1..3: n) + h // j h target
let direct2 = n // none
let k = j + k // k j h target
`
	file, list := parser.ParseFile(diag.NewSource("reads", text))
	if list.HasErrors() {
		t.Fatal(list)
	}
	program := &ir.Program{Symbols: map[string]*ir.Symbol{}}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *lang.Let:
			program.Symbols[d.Name.Name] = &ir.Symbol{Decl: d}
		case *lang.Fn:
			program.Symbols[d.Name.Name] = &ir.Symbol{Decl: d}
		}
	}
	for _, line := range strings.Split(text, "\n") {
		code, want, ok := strings.Cut(line, " // ")
		if !ok {
			continue
		}
		let := program.Symbols[strings.Fields(code)[1]].Decl.(*lang.Let)
		way := elab.Reads(&lang.Name{Name: let.Name.Name}, program, func(x lang.Expr, _ *ir.Symbol, way []*lang.Name) bool {
			n, ok := x.(*lang.Name)
			return ok && n.Name == "target"
		})
		got := diag.Join(way, " ", func(n *lang.Name) string { return n.Name })
		if want == "none" {
			want = ""
		}
		if got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}
