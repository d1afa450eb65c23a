package parser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bilevelc/internal/each"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// models are the binding models of the language.
func models(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../testdata/models/*.blv")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../testdata/models/bolib/*.blv")
	if err != nil {
		t.Fatal(err)
	}
	if files = append(files, more...); len(files) < 17 {
		t.Fatalf("only %d models found", len(files))
	}
	return files
}

func read(t testing.TB, file string) *diag.Source {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return diag.NewSource(file, string(text))
}

func mustParse(t reporter, src *diag.Source) *lang.File {
	t.Helper()
	file, errs := parser.ParseFile(src)
	if len(errs) > 0 {
		t.Fatalf("%s: %v\n%s", src.Name, errs, src.Text)
	}
	return file
}

// dump is a tree without its places and comments, as an S-expression. With
// parens unset, written brackets are left out too.
func dump(node any, parens bool) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(node), parens)
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value, parens bool) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		if p, ok := v.Interface().(*lang.Paren); ok && !parens {
			dumpValue(b, reflect.ValueOf(p.X), parens)
			return
		}
		dumpValue(b, v.Elem(), parens)
	case reflect.Slice:
		b.WriteString("[")
		for i := range v.Len() {
			dumpValue(b, v.Index(i), parens)
			b.WriteString(" ")
		}
		b.WriteString("]")
	case reflect.Struct:
		b.WriteString("(" + v.Type().Name())
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Name == "At" || f.Name == "OpPlace" || f.Name == "Word" || f.Name == "Source" || f.Name == "Comments" || f.Name == "Doc" {
				continue
			}
			b.WriteString(" ")
			dumpValue(b, v.Field(i), parens)
		}
		b.WriteString(")")
	default:
		fmt.Fprintf(b, "%v", v.Interface())
	}
}

// show writes an expression with every operation in brackets.
func show(x lang.Expr) string {
	list := func(xs []lang.Expr) string {
		parts := each.Of(xs, show)
		return strings.Join(parts, ", ")
	}
	switch x := x.(type) {
	case *lang.Number:
		return x.Text
	case *lang.Name:
		return x.Name
	case *lang.ListLit:
		return "[" + list(x.Elems) + "]"
	case *lang.Unary:
		return "(" + x.Op.String() + " " + show(x.X) + ")"
	case *lang.Binary:
		return "(" + show(x.X) + " " + x.Op.String() + " " + show(x.Y) + ")"
	case *lang.Transpose:
		return "(" + show(x.X) + ")'"
	case *lang.Index:
		parts := make([]string, len(x.Subs))
		for i, s := range x.Subs {
			switch {
			case s.All:
				parts[i] = ":"
			case s.Hi != nil:
				parts[i] = show(s.Lo) + ".." + show(s.Hi)
			default:
				parts[i] = show(s.Lo)
			}
		}
		return show(x.X) + "[" + strings.Join(parts, ", ") + "]"
	case *lang.Call:
		return x.Fn.Name + "(" + list(x.Args) + ")"
	case *lang.Comprehension:
		return x.Fn.Name + "(" + showBinders(x.Binders, x.Cond) + ": " + show(x.Body) + ")"
	case *lang.IfExpr:
		return "(if " + show(x.Cond) + " then " + show(x.Then) + " else " + show(x.Else) + ")"
	case *lang.Paren:
		return show(x.X)
	}
	return "BAD"
}

func showBinders(binders []lang.Binder, cond lang.Expr) string {
	parts := make([]string, len(binders))
	for i, b := range binders {
		parts[i] = b.Name.Name + " in " + show(b.Lo)
		if b.Hi != nil {
			parts[i] += ".." + show(b.Hi)
		}
	}
	s := strings.Join(parts, ", ")
	if cond != nil {
		s += " if " + show(cond)
	}
	return s
}
