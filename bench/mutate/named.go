package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"

	"bilevelc/internal/must"
)

// named is a mutation that someone asked for: old text of a function's body
// replaced by new.
type named struct {
	why      string
	file, fn string // fn as receiver(fn) writes it
	old, new string
}

// namedMutants makes the mutations of the list; one whose text is no longer
// there is an error: the list is kept with the code.
func namedMutants(root string) (out []*mutant) {
	for _, n := range list {
		f := parse(root, n.file)
		fn := f.function(n.fn)
		must.Be(fn != nil, "%s has no function %s (named mutation: %s)", n.file, n.fn, n.why)
		body := string(f.text[f.offset(fn.Pos()):f.offset(fn.End())])
		must.Be(strings.Count(body, n.old) == 1, "%s %s: %q is there %d times (named mutation: %s)", n.file, n.fn, n.old, strings.Count(body, n.old), n.why)
		same := 0 // the bytes that the change leaves alone at its beginning
		for same < min(len(n.old)-1, len(n.new)) && n.old[same] == n.new[same] {
			same++
		}
		at := f.offset(fn.Pos()) + strings.Index(body, n.old) + same
		changed := strings.Replace(body, n.old, n.new, 1)
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, n.file, "package p\n"+changed, 0)
		must.Be(err == nil, "%s %s: %v (named mutation: %s)", n.file, n.fn, err, n.why)
		text := must.Get((&source{set: set}).copyOf(tree.Decls[0].(*ast.FuncDecl)))
		t := targetOf(n.file)
		must.Be(t != nil, "%s belongs to no target", n.file)
		out = append(out, &mutant{id: fmt.Sprintf("%s %s: named: %s", n.file, n.fn, n.why), target: t, file: f, fn: fn, at: at, text: text, named: true})
	}
	return out
}

func (s *source) function(name string) *ast.FuncDecl {
	for _, fn := range s.functions() {
		if receiver(fn) == name {
			return fn
		}
	}
	return nil
}

func targetOf(file string) *target {
	for i := range targets {
		if targets[i].dir == filepath.ToSlash(filepath.Dir(file)) {
			return &targets[i]
		}
	}
	return nil
}
