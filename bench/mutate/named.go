package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
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
func namedMutants(root string) (out []*mutant, err error) {
	for _, n := range list {
		f, err := parse(root, n.file)
		if err != nil {
			return nil, err
		}
		fn := f.function(n.fn)
		if fn == nil {
			return nil, fmt.Errorf("%s has no function %s (named mutation: %s)", n.file, n.fn, n.why)
		}
		body := string(f.text[f.offset(fn.Pos()):f.offset(fn.End())])
		if strings.Count(body, n.old) != 1 {
			return nil, fmt.Errorf("%s %s: %q is there %d times (named mutation: %s)", n.file, n.fn, n.old, strings.Count(body, n.old), n.why)
		}
		same := 0 // the bytes that the change leaves alone at its beginning
		for same < min(len(n.old)-1, len(n.new)) && n.old[same] == n.new[same] {
			same++
		}
		at := f.offset(fn.Pos()) + strings.Index(body, n.old) + same
		changed := strings.Replace(body, n.old, n.new, 1)
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, n.file, "package p\n"+changed, 0)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %v (named mutation: %s)", n.file, n.fn, err, n.why)
		}
		text, err := (&source{set: set}).copyOf(tree.Decls[0].(*ast.FuncDecl))
		if err != nil {
			return nil, err
		}
		t := targetOf(n.file)
		if t == nil {
			return nil, fmt.Errorf("%s belongs to no target", n.file)
		}
		out = append(out, &mutant{id: fmt.Sprintf("%s %s: named: %s", n.file, n.fn, n.why), target: t, file: f, fn: fn, at: at, text: text, named: true})
	}
	return out, nil
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
