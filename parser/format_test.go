package parser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bilevelc/internal/each"
	"bilevelc/lang"
	"bilevelc/lang/diag"
	"bilevelc/parser"
)

// checkFormat checks the laws of the printer on a source without errors: the
// result parses to the same tree, formats to itself, and has every comment.
func checkFormat(t reporter, src *diag.Source) string {
	t.Helper()
	file := mustParse(t, src)
	once := lang.Format(file)
	again := mustParse(t, diag.NewSource("formatted "+src.Name, once))
	if got, want := dump(again, true), dump(file, true); got != want {
		t.Fatalf("%s: the tree changed\n%s\n%s\n%s\n%s", src.Name, src.Text, once, want, got)
	}
	if twice := lang.Format(again); twice != once {
		t.Fatalf("%s: not idempotent\n%q\n%s\n%s", src.Name, src.Text, once, twice)
	}
	if got, want := comments(again), comments(file); got != want {
		t.Fatalf("%s: comments changed\n%s\n%s", src.Name, want, got)
	}
	return once
}

// reporter is what testing.T and rapid.T have in common.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

func comments(f *lang.File) string {
	parts := each.Of(f.Comments, func(c lang.Comment) string { return c.Text })
	return strings.Join(parts, "\n")
}

func TestFormatModels(t *testing.T) {
	for _, file := range models(t) {
		checkFormat(t, read(t, file))
	}
}

// TestFormatGolden compares testdata/format/*.blv with the .golden beside
// each. Set BLV_UPDATE to rewrite them.
func TestFormatGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/format/*.blv")
	if err != nil || len(files) == 0 {
		t.Fatal("no sources", err)
	}
	for _, file := range files {
		got := checkFormat(t, read(t, file))
		golden := strings.TrimSuffix(file, ".blv") + ".golden"
		if os.Getenv("BLV_UPDATE") != "" {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s formats to\n%s\nwant\n%s", file, got, want)
		}
	}
}

// TestFormatTrees prints random trees that no author wrote, and so without
// brackets: the printer must add those that are needed.
func TestFormatTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawExpr(t, 5)
		text := lang.FormatExpr(x)
		back, errs := parser.ParseExpr(diag.NewSource("t", text))
		if len(errs) > 0 {
			t.Fatalf("%s: %v", text, errs)
		}
		if show(back) != show(x) {
			t.Fatalf("%s\n is  %s\nwant %s", text, show(back), show(x))
		}
		con := &lang.Constraint{Terms: []lang.Expr{x, drawExpr(t, 3), x}, Ops: []lang.RelOp{lang.LessEq, lang.LessEq}}
		model := &lang.File{Model: &lang.Ident{Name: "m"}, Decls: []lang.Decl{
			&lang.Level{Items: []lang.LevelItem{
				&lang.Objective{Value: x},
				&lang.SubjectTo{Constraints: []*lang.Constraint{con}},
			}},
		}}
		printed := lang.Format(model)
		file, errs := parser.ParseFile(diag.NewSource("t", printed))
		if len(errs) > 0 || dump(file, false) != dump(model, false) {
			t.Fatalf("%s: %v\n%s\n%s", printed, errs, dump(file, false), dump(model, false))
		}
	})
}

// TestFormatBroken checks the laws on random expressions with newlines and
// comments strewn in wherever a newline may stand.
func TestFormatBroken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "let a = (" + lang.FormatExpr(drawExpr(t, 4)) + ")\nupper {\n var x: real\n minimize " + lang.FormatExpr(drawExpr(t, 3)) + "\n}\n"
		var b strings.Builder
		depth := 0
		for i, c := range text {
			b.WriteRune(c)
			switch c {
			case '(', '[':
				depth++
			case ')', ']':
				depth--
			}
			next := byte(' ')
			if i+1 < len(text) {
				next = text[i+1]
			}
			atGap := c == ' ' || strings.ContainsRune("()[],+", c) && next != '('
			if depth > 0 && atGap && next != '\'' {
				b.WriteString(rapid.SampledFrom([]string{"", "", "", "\n", "\n\n", " // c\n", "\n// own\n"}).Draw(t, "gap"))
			}
		}
		checkFormat(t, diag.NewSource("t", b.String()))
	})
}

func drawExpr(t *rapid.T, depth int) lang.Expr {
	name := func() lang.Ident {
		return lang.Ident{Name: rapid.SampledFrom([]string{"a", "b", "x1", "größe"}).Draw(t, "name")}
	}
	kind := 0
	if depth > 0 {
		kind = rapid.IntRange(0, 10).Draw(t, "kind")
	}
	sub := func() lang.Expr { return drawExpr(t, depth-1) }
	binders := func() ([]lang.Binder, lang.Expr) {
		list := make([]lang.Binder, rapid.IntRange(1, 2).Draw(t, "binders"))
		for i := range list {
			list[i] = lang.Binder{Name: name(), Lo: sub()}
			if rapid.Bool().Draw(t, "range") {
				list[i].Hi = sub()
			}
		}
		if rapid.Bool().Draw(t, "cond") {
			return list, sub()
		}
		return list, nil
	}
	switch kind {
	case 1:
		text := rapid.SampledFrom([]string{"0", "1", "2.5", "1e-3", "12345678901234567890"}).Draw(t, "number")
		x, _ := parser.ParseExpr(diag.NewSource("n", text))
		return &lang.Number{Text: text, Value: x.(*lang.Number).Value, Int: x.(*lang.Number).Int}
	case 2:
		elems := each.Below(rapid.IntRange(0, 3).Draw(t, "n"), func(int) lang.Expr { return sub() })
		return &lang.ListLit{Elems: elems}
	case 3:
		return &lang.Unary{Op: lang.UnaryOp(rapid.IntRange(0, 1).Draw(t, "op")), X: sub()}
	case 4, 5:
		op := lang.BinaryOp(rapid.IntRange(int(lang.Add), int(lang.Or)).Draw(t, "op"))
		return &lang.Binary{Op: op, X: sub(), Y: sub()}
	case 6:
		return &lang.Transpose{X: sub()}
	case 7:
		subs := make([]lang.Subscript, rapid.IntRange(1, 2).Draw(t, "n"))
		for i := range subs {
			switch rapid.IntRange(0, 2).Draw(t, "sub") {
			case 0:
				subs[i].All = true
			case 1:
				subs[i].Lo = sub()
			case 2:
				subs[i].Lo, subs[i].Hi = sub(), sub()
			}
		}
		return &lang.Index{X: sub(), Subs: subs}
	case 8:
		args := each.Below(rapid.IntRange(0, 3).Draw(t, "n"), func(int) lang.Expr { return sub() })
		return &lang.Call{Fn: name(), Args: args}
	case 9:
		list, cond := binders()
		return &lang.Comprehension{Fn: name(), Binders: list, Cond: cond, Body: sub()}
	case 10:
		return &lang.IfExpr{Cond: sub(), Then: sub(), Else: sub()}
	}
	return &lang.Name{Name: name().Name}
}
