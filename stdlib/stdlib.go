// Package stdlib is the standard library of the modeling language, written in
// the language itself: the .blv files of this folder, embedded. A function is
// added by adding its definition to one of them, with own-line comments right
// above it that document it and hold at least one example:
//
//	// sumsq(v) is the sum of the squares of the entries.
//	// example: sumsq([1, 2, 3]) == 14
//	fn sumsq(v) = sum(v .* v)
//
// Help, completion, the checker, the example test and the gradient test find
// it through Functions. Library functions use each other and the primitives
// of the language, never names of a model.
package stdlib

import (
	"embed"
	"fmt"
	"sort"
	"strings"
	"sync"

	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

//go:embed *.blv
var files embed.FS

// Function is one function of the library.
type Function struct {
	Name      string
	Doc       string // what it is, without comment marks and examples
	Signature string // "huber(u, delta)", types where they are written
	Example   string // one `expr == value` a line
	Source    string // the definition, as written
	Decl      *lang.Fn
}

// Functions returns the library in order of name. The caller must not change
// it.
func Functions() []Function { return load() }

// load parses the embedded files once. They are part of the program: one that
// does not parse is a defect of the build, found by this package's tests.
var load = sync.OnceValue(func() []Function {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("stdlib: " + err.Error())
	}
	var out []Function
	seen := map[string]bool{}
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			panic("stdlib: " + err.Error())
		}
		file, diags := parser.ParseFile(diag.NewSource("stdlib/"+e.Name(), string(text)))
		if err := diags.Err(); err != nil {
			panic("stdlib: " + err.Error())
		}
		for _, d := range file.Decls {
			fn, ok := d.(*lang.Fn)
			if !ok || seen[fn.Name.Name] {
				panic(fmt.Sprintf("stdlib: %s: only functions, each once", d.Span()))
			}
			seen[fn.Name.Name] = true
			out = append(out, describe(fn))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
})

// describe splits the comments above a function into its text and examples.
func describe(fn *lang.Fn) Function {
	var doc, examples []string
	for _, c := range fn.Doc {
		line := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
		if e, ok := strings.CutPrefix(line, "example:"); ok {
			examples = append(examples, strings.TrimSpace(e))
			continue
		}
		doc = append(doc, line)
	}
	return Function{
		Name:      fn.Name.Name,
		Doc:       strings.Join(doc, "\n"),
		Signature: Signature(fn),
		Example:   strings.Join(examples, "\n"),
		Source:    fn.Span().Text(),
		Decl:      fn,
	}
}

// Signature spells a function's head: quad(Q: matrix[n, n], v: vector[n]).
func Signature(fn *lang.Fn) string {
	params := make([]string, len(fn.Params))
	for i, p := range fn.Params {
		params[i] = p.Name.Name
		if p.Type != nil {
			params[i] += ": " + strings.Join(strings.Fields(p.Type.Span().Text()), " ")
		}
	}
	s := fn.Name.Name + "(" + strings.Join(params, ", ") + ")"
	if fn.Result != nil {
		s += ": " + strings.Join(strings.Fields(fn.Result.Span().Text()), " ")
	}
	return s
}
