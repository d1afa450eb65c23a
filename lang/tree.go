package lang

import (
	"fmt"
	"reflect"
	"strings"

	"bilevelc/lang/diag"
)

// Tree writes the syntax tree of a file, one node a line with its place and
// plain fields, children indented below.
func Tree(f *File) string {
	t := &treeWriter{}
	name := ""
	if f.Model != nil {
		name = " " + f.Model.Name
	}
	t.line(0, "File%s, %d comments", name, len(f.Comments))
	for _, d := range f.Decls {
		t.node(1, "", reflect.ValueOf(d))
	}
	return t.b.String()
}

type treeWriter struct{ b strings.Builder }

// maxIndent is where indentation ends, with half the width of a page: only sums and products of many terms go deeper, whose lines would take the
// square of their number. They begin with their depth.
const maxIndent = 40

func (t *treeWriter) line(depth int, format string, args ...any) {
	t.b.WriteString(strings.Repeat("  ", min(depth, maxIndent)))
	if depth > maxIndent {
		fmt.Fprintf(&t.b, "%d ", depth)
	}
	fmt.Fprintf(&t.b, format, args...)
	t.b.WriteByte('\n')
}

var spanType = reflect.TypeFor[At]()

// node writes a struct behind pointers and interfaces; label is the field that
// it stands in.
func (t *treeWriter) node(depth int, label string, v reflect.Value) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	var plain []string
	var children []int
	var place diag.Span
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		switch {
		case field.Type == spanType:
			place = value.Interface().(At).Place
		case field.Type == reflect.TypeFor[diag.Span]():
		case field.Type == reflect.TypeFor[Ident]():
			plain = append(plain, fmt.Sprintf("%s=%s", field.Name, value.Interface().(Ident).Name))
		case isPlain(value.Kind()):
			plain = append(plain, fmt.Sprintf("%s=%v", field.Name, value.Interface()))
		default:
			children = append(children, i)
		}
	}
	if label != "" {
		label += ": "
	}
	t.line(depth, "%s%s %s  (%s)", label, v.Type().Name(), strings.Join(plain, " "), where(place))
	for _, i := range children {
		t.child(depth+1, v.Type().Field(i).Name, v.Field(i))
	}
}

func (t *treeWriter) child(depth int, label string, v reflect.Value) {
	if v.Kind() != reflect.Slice {
		t.node(depth, label, v)
		return
	}
	for i := range v.Len() {
		if isPlain(v.Index(i).Kind()) {
			t.line(depth, "%s: %v", label, v.Index(i).Interface())
		} else {
			t.node(depth, label, v.Index(i))
		}
	}
}

func isPlain(k reflect.Kind) bool {
	switch k {
	case reflect.Struct, reflect.Pointer, reflect.Interface, reflect.Slice:
		return false
	}
	return true
}

func where(s diag.Span) string {
	if s.IsZero() {
		return "nowhere"
	}
	p := s.Source.Pos(s.Start)
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}
