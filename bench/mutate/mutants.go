package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bilevelc/internal/must"
)

// mutant is one changed copy of a function.
type mutant struct {
	number int
	id     string // the same for the same code: file, function, kind of change, what is changed
	target *target
	file   *source
	fn     *ast.FuncDecl
	at     int    // where in the file's text the change is
	text   string // the changed function under its own new name
	named  bool   // asked for by name, not drawn
}

// changed is the function as the mutant has it.
func (m *mutant) changed() string {
	return strings.Replace(m.text, m.fn.Name.Name+"__mutant", m.fn.Name.Name, 1)
}

// source is a parsed file of a target.
type source struct {
	path string // from the root of the project
	text []byte
	set  *token.FileSet
	tree *ast.File
}

// parsed keeps one source a file: mutants of the same file belong together.
var parsed = map[string]*source{}

func parse(root, path string) *source {
	whole := filepath.Join(root, path)
	if s := parsed[whole]; s != nil {
		return s
	}
	s := &source{path: filepath.ToSlash(path), text: must.Get(os.ReadFile(whole)), set: token.NewFileSet()}
	s.tree = must.Get(parser.ParseFile(s.set, path, s.text, 0))
	parsed[whole] = s
	return s
}

// sources lists the files of a target.
func sources(root string, t *target) (out []*source) {
	for _, name := range must.Get(filepath.Glob(filepath.Join(root, t.dir, "*.go"))) {
		base := filepath.Base(name)
		if !strings.HasSuffix(base, "_test.go") && (len(t.files) == 0 || slices.Contains(t.files, base)) {
			out = append(out, parse(root, filepath.Join(t.dir, base)))
		}
	}
	return out
}

// constants are the names of numbers that a package's files declare.
func constants(files []*source) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		for _, d := range f.tree.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if i < len(v.Values) && v.Type == nil {
						if lit, ok := v.Values[i].(*ast.BasicLit); ok && lit.Kind == token.FLOAT {
							out[name.Name] = true
						}
					}
				}
			}
		}
	}
	return out
}

// functions are the functions of a file that can be copied.
func (s *source) functions() (out []*ast.FuncDecl) {
	for _, d := range s.tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Body != nil && fn.Name.Name != "init" && fn.Name.Name != "String" && fn.Name.Name != "Error" && fn.Type.TypeParams == nil {
			out = append(out, fn)
		}
	}
	return out
}

// snippet is the text of a node on one line.
func (s *source) snippet(n ast.Node) string {
	words := strings.Join(strings.Fields(string(s.text[s.offset(n.Pos()):s.offset(n.End())])), " ")
	if len(words) > 70 {
		words = words[:67] + "..."
	}
	return words
}

func (s *source) offset(p token.Pos) int { return s.set.Position(p).Offset }

// copyOf prints the function, as it is now, under another name.
func (s *source) copyOf(fn *ast.FuncDecl) (string, error) {
	name, doc := fn.Name.Name, fn.Doc
	fn.Name.Name, fn.Doc = name+"__mutant", nil
	defer func() { fn.Name.Name, fn.Doc = name, doc }()
	var b bytes.Buffer
	err := format.Node(&b, s.set, fn)
	return b.String(), err
}

// candidates are all mutations of a target that the operators make.
func candidates(root string, t *target) []*mutant {
	files := sources(root, t)
	known := constants(files)
	const shared = "runtime/tolerance/tolerance.go" // of the project, which tests of the command do not have
	if _, err := os.Stat(filepath.Join(root, shared)); err == nil {
		for name := range parse(root, shared).tree.Scope.Objects {
			known["tolerance."+name] = true
		}
	}
	var out []*mutant
	seen := map[string]int{}
	for _, f := range files {
		for _, fn := range f.functions() {
			for _, e := range edits(fn, known) {
				id := fmt.Sprintf("%s %s: %s: `%s` %s", f.path, receiver(fn), e.op, f.snippet(e.at), e.detail)
				if seen[id]++; seen[id] > 1 {
					id += fmt.Sprintf(" (%d)", seen[id])
				}
				e.apply()
				text, err := f.copyOf(fn)
				e.undo()
				if err != nil {
					continue // the change is no program
				}
				out = append(out, &mutant{id: id, target: t, file: f, fn: fn, at: f.offset(e.at.Pos()), text: text})
			}
		}
	}
	return out
}

// draw takes n of the candidates, by a hash of what they are: a change of the
// code elsewhere does not change which are taken. Mutations of one function
// are thinned out, so that they spread.
func draw(all []*mutant, n int) []*mutant {
	hash := func(m *mutant) uint64 {
		h := fnv.New64a()
		h.Write([]byte(m.id))
		return h.Sum64()
	}
	slices.SortFunc(all, func(a, b *mutant) int { return cmp.Compare(hash(a), hash(b)) })
	var out []*mutant
	for most := 1; len(out) < n && most < 50; most++ {
		of := map[*ast.FuncDecl]int{}
		for _, m := range out {
			of[m.fn]++
		}
		for _, m := range all {
			if len(out) < n && of[m.fn] < most && !slices.Contains(out, m) {
				of[m.fn]++
				out = append(out, m)
			}
		}
	}
	return out
}
