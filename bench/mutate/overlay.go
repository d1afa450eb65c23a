package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bilevelc/internal/must"
)

// awake is the environment variable that names the mutant that is awake; 0, or
// nothing, is the program as it is.
const awake = "BILEVELC_MUTANT"

// reach is the environment variable that names a file to which the numbers of
// the mutants are written whose places the program comes to.
const reach = "BILEVELC_REACH"

// support is what every package with mutants in it has beside its own code.
const support = `package %s

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutant__, _ = strconv.Atoi(os.Getenv(%q))
	reach__     = os.Getenv(%q)
	seen__      [%d]atomic.Bool
)

func reached__(number int) {
	if !seen__[number].Load() {
		note__(number)
	}
}

func note__(number int) {
	if seen__[number].Swap(true) || reach__ == "" {
		return
	}
	file, err := os.OpenFile(reach__, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprintln(file, number)
}
`

// overlay is the project with all mutants asleep in it: every mutated function
// begins with a switch to its changed copies, and tells when it comes to a
// place that one of them changes. The files of the project are not touched; the
// go command reads the changed ones in their place.
type overlay struct {
	root, dir string
	mutants   []*mutant
}

// write makes the changed files and the list the go command takes.
func (o *overlay) write() (list string) {
	byFile := map[*source][]*mutant{}
	dirs := map[string]string{}
	last := 0
	for _, m := range o.mutants {
		last = max(last, m.number)
		byFile[m.file] = append(byFile[m.file], m)
		dirs[m.target.dir] = m.file.tree.Name.Name
	}
	replace := map[string]string{}
	put := func(path, text string) {
		at := filepath.Join(o.dir, strings.ReplaceAll(path, "/", "__"))
		replace[filepath.Join(o.root, path)] = at
		must.Do(os.WriteFile(at, []byte(text), 0o644))
	}
	for f, list := range byFile {
		put(f.path, f.withMutants(list))
	}
	for dir, name := range dirs {
		put(dir+"/mutant__.go", fmt.Sprintf(support, name, awake, reach, last+1))
	}
	list = filepath.Join(o.dir, "overlay.json")
	must.Do(os.WriteFile(list, must.Get(json.Marshal(map[string]any{"Replace": replace})), 0o644))
	return list
}

// withMutants is the file with a switch in every mutated function, and the
// changed copies behind it, each under a file name of its own, so that the
// compiler's complaints say whose they are.
func (s *source) withMutants(list []*mutant) string {
	byFunction := map[*ast.FuncDecl][]*mutant{}
	for _, m := range list {
		byFunction[m.fn] = append(byFunction[m.fn], m)
	}
	var b strings.Builder
	done := 0
	for _, fn := range s.functions() {
		if len(byFunction[fn]) == 0 {
			continue
		}
		brace := s.offset(fn.Body.Lbrace) + 1
		header := s.named(fn)
		b.Write(s.text[done:s.offset(fn.Pos())])
		b.WriteString(header)
		b.WriteString("\n\tswitch mutant__ {\n")
		for _, m := range byFunction[fn] {
			fmt.Fprintf(&b, "\tcase %d:\n\t\t%s\n", m.number, forward(fn, m.number))
		}
		b.WriteString("\t}\n")
		done = brace
		of := byFunction[fn]
		slices.SortStableFunc(of, func(a, b *mutant) int { return s.statement(fn, a.at) - s.statement(fn, b.at) })
		for _, m := range of {
			at := s.statement(fn, m.at)
			b.Write(s.text[done:at])
			fmt.Fprintf(&b, " reached__(%d); ", m.number)
			done = at
		}
	}
	b.Write(s.text[done:])
	for _, m := range list {
		text := strings.Replace(m.text, m.fn.Name.Name+"__mutant", copyName(m.fn, m.number), 1)
		fmt.Fprintf(&b, "\n//line mutant_%d:1\n%s\n", m.number, text)
	}
	return b.String()
}

// statement is where the innermost statement of a list begins that contains an
// offset: a program comes to the place at the offset only through it.
func (s *source) statement(fn *ast.FuncDecl, offset int) int {
	found := s.offset(fn.Body.Lbrace) + 1
	in := func(list []ast.Stmt) {
		for _, statement := range list {
			switch statement.(type) {
			case *ast.CaseClause, *ast.CommClause:
			default:
				if s.offset(statement.Pos()) <= offset && offset < s.offset(statement.End()) {
					found = max(found, s.offset(statement.Pos()))
				}
			}
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			in(n.List)
		case *ast.CaseClause:
			in(n.Body)
		case *ast.CommClause:
			in(n.Body)
		}
		return true
	})
	return found
}

func copyName(fn *ast.FuncDecl, number int) string {
	return fmt.Sprintf("%s__mutant%d", fn.Name.Name, number)
}

// named is the head of a function, up to its opening brace, with every
// parameter named.
func (s *source) named(fn *ast.FuncDecl) string {
	var b strings.Builder
	b.WriteString("func ")
	between := func(a, z ast.Node) string { return string(s.text[s.offset(a.Pos()):s.offset(z.End())]) }
	if fn.Recv != nil {
		field := fn.Recv.List[0]
		fmt.Fprintf(&b, "(%s %s) ", receiverName(fn), between(field.Type, field.Type))
	}
	b.WriteString(fn.Name.Name + "(")
	k := 0
	for i, field := range fn.Type.Params.List {
		if i > 0 {
			b.WriteString(", ")
		}
		names := parameterNames(field, &k)
		b.WriteString(strings.Join(names, ", ") + " " + between(field.Type, field.Type))
	}
	b.WriteString(")")
	if fn.Type.Results != nil {
		b.WriteString(" " + between(fn.Type.Results, fn.Type.Results))
	}
	b.WriteString(" {")
	return b.String()
}

func receiverName(fn *ast.FuncDecl) string {
	if names := fn.Recv.List[0].Names; len(names) == 1 && names[0].Name != "_" {
		return names[0].Name
	}
	return "receiver__"
}

// parameterNames names the parameters of a field; k counts those without one.
func parameterNames(field *ast.Field, k *int) (out []string) {
	fresh := func() string {
		*k++
		return fmt.Sprintf("parameter__%d", *k)
	}
	for _, n := range field.Names {
		if n.Name == "_" {
			out = append(out, fresh())
		} else {
			out = append(out, n.Name)
		}
	}
	if len(field.Names) == 0 {
		out = append(out, fresh())
	}
	return out
}

// forward is the call of a changed copy.
func forward(fn *ast.FuncDecl, number int) string {
	var args []string
	k := 0
	for _, field := range fn.Type.Params.List {
		names := parameterNames(field, &k)
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			names[len(names)-1] += "..."
		}
		args = append(args, names...)
	}
	call := fmt.Sprintf("%s(%s)", copyName(fn, number), strings.Join(args, ", "))
	if fn.Recv != nil {
		call = receiverName(fn) + "." + call
	}
	if fn.Type.Results != nil && len(fn.Type.Results.List) > 0 {
		return "return " + call
	}
	return call + "\n\t\treturn"
}

var complaint = regexp.MustCompile(`mutant_(\d+):\d+`)

// build compiles the tests of the packages into o.dir, and takes out the
// mutants that are no programs; one that was asked for by name is an error.
func (o *overlay) build(packages []string) (removed int) {
	for {
		list := o.write()
		bad := map[int]bool{}
		var failure string
		for _, p := range packages {
			cmd := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", list, "-o", o.program(p), "./"+p)
			cmd.Dir = o.root
			text, err := cmd.CombinedOutput()
			if err == nil {
				continue
			}
			failure = string(text)
			for _, match := range complaint.FindAllStringSubmatch(failure, -1) {
				n, _ := strconv.Atoi(match[1])
				bad[n] = true
			}
		}
		if failure == "" {
			return removed
		}
		must.Be(len(bad) > 0, "the project does not build with the mutants in it:\n%s", failure)
		for _, m := range o.mutants {
			must.Be(!m.named || !bad[m.number], "%s is no program:\n%s", m.id, failure)
		}
		before := len(o.mutants)
		o.mutants = slices.DeleteFunc(o.mutants, func(m *mutant) bool { return bad[m.number] })
		removed += before - len(o.mutants)
	}
}

// program is where the test program of a package is.
func (o *overlay) program(pkg string) string {
	return filepath.Join(o.dir, strings.ReplaceAll(pkg, "/", "__")+".test")
}
