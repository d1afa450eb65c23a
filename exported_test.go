package bilevelc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Functions, variables and groups of constants that are exported are used by
// another package, or by tests that stand outside; the rest is nobody's business.
// The embedding API is for strangers, and kernels are what generated programs call.
func TestWhatIsExportedIsUsedElsewhere(t *testing.T) {
	forStrangers := map[string]bool{"runtime": true, "codegen/kernel": true}
	type declaration struct {
		pkg, place string
		names      []string
	}
	var exported []declaration
	used := map[string]bool{} // "ir/expr.Eval"
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && file != ".") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(file))
		if !strings.HasSuffix(file, "_test.go") && tree.Name.Name != "main" && !forStrangers[pkg] {
			for _, d := range tree.Decls {
				if names := exportedNames(d); len(names) > 0 {
					exported = append(exported, declaration{pkg, file, names})
				}
			}
		}
		imported := map[string]string{} // by the name in this file
		for _, spec := range tree.Imports {
			full, _ := strconv.Unquote(spec.Path.Value)
			if own, ok := strings.CutPrefix(full, "bilevelc/"); ok {
				name := path.Base(own)
				if spec.Name != nil {
					name = spec.Name.Name
				}
				imported[name] = own
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && imported[x.Name] != "" {
					used[imported[x.Name]+"."+s.Sel.Name] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(exported) < 200 || len(used) < 200 {
		t.Fatalf("%d declarations and %d uses found: the walk does not see the project", len(exported), len(used))
	}
	for _, d := range exported {
		any := false
		for _, name := range d.names {
			any = any || used[d.pkg+"."+name]
		}
		if !any {
			t.Errorf("%s: %s is exported, and no other package uses it", d.place, strings.Join(d.names, ", "))
		}
	}
}

// exportedNames are those of a function, or of a group of variables or constants.
func exportedNames(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				for _, name := range v.Names {
					if name.IsExported() {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
