package assist

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bilevelc/internal/each"
	"bilevelc/ir"
	"bilevelc/ir/data"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// Rename gives what a place names another name, everywhere. The error says that it is no
// name of the model, or that the text would then mean something else.
func (d *Document) Rename(offset int, name string) ([]Edit, error) {
	def, _ := d.Names.At(offset)
	if def == nil {
		return nil, fmt.Errorf("there is no name of the model here")
	}
	if !isName(name) {
		return nil, fmt.Errorf("%q is not a name: a name starts with a letter or _ and goes on with letters, digits and _, and is no word of the language", name)
	}
	edits := []Edit{{def.Name.Place.Start, def.Name.Place.End, name}}
	for _, u := range def.Uses {
		edits = append(edits, Edit{u.Place.Start, u.Place.End, name})
	}
	if name == def.Name.Name {
		return edits, nil
	}
	next := Read(d.Source.Name, Apply(d.Source.Text, edits))
	if !slices.Equal(links(d.Names), links(next.Names)) {
		return nil, fmt.Errorf("`%s` has a meaning here already", name)
	}
	// Uses that the index does not see (those of primitives, say) would show here.
	old, now := counts(d.Diagnostics), counts(next.Diagnostics)
	for code, n := range now {
		if n > old[code] {
			return nil, fmt.Errorf("the model would have errors with `%s` (%s)", name, code)
		}
	}
	return edits, nil
}

// links has, for each name of a text in order of place, the number of the
// definition that it means, or -1.
func links(n *lang.Names) []int {
	type place struct{ at, def int }
	var all []place
	for i, d := range n.Definitions {
		all = append(all, place{d.Name.Place.Start, i})
		for _, u := range d.Uses {
			all = append(all, place{u.Place.Start, i})
		}
	}
	for _, f := range n.Free {
		all = append(all, place{f.Place.Start, -1})
	}
	slices.SortFunc(all, func(a, b place) int { return a.at - b.at })
	return each.Of(all, func(p place) int { return p.def })
}

// Hover is what to show of the name at an offset, in Markdown; ok is false where
// there is nothing to say.
func (d *Document) Hover(offset int, set *data.Set) (text string, at diag.Span, ok bool) {
	if def, use := d.Names.At(offset); def != nil {
		return d.describe(def, use, set), use.Place, true
	}
	if free := d.Names.FreeAt(offset); free != nil {
		text, at = describeWords(WordsNamed(free.Name), FunctionWord), free.Place
	} else if word, place := d.wordAt(offset); word != "" {
		text, at = describeWords(WordsNamed(word), d.wordKinds(place)...), place
	}
	return text, at, text != ""
}

// wordKinds are the kinds of words that may stand at a place.
func (d *Document) wordKinds(at diag.Span) []WordKind {
	if blockBefore(d.Source.Text[:min(at.Start, len(d.Source.Text))]) == "solve" {
		return []WordKind{MethodWord, SettingWord, KeywordWord}
	}
	return []WordKind{KeywordWord, VariableSetWord, GeneratorWord, FunctionWord}
}

func describeWords(words []Word, kinds ...WordKind) string {
	var parts []string
	for _, w := range words {
		if !slices.Contains(kinds, w.Kind) {
			continue
		}
		text := ""
		if w.Signature != "" {
			text = code(w.Signature)
		}
		text += w.Doc
		if w.Example != "" {
			text += "\n\n" + code(w.Example)
		}
		parts = append(parts, strings.TrimSpace(text))
	}
	return strings.Join(parts, "\n\n")
}

func code(text string) string { return "```blv\n" + text + "\n```\n" }

// describe is the declaration of a name, what it is, its documentation, and its
// value where that follows from the data at hand.
func (d *Document) describe(def *lang.Definition, use lang.Use, set *data.Set) string {
	var b strings.Builder
	b.WriteString(code(headOf(def)))
	b.WriteString(d.kindWords(def))
	if t := d.TypeOf(def, use); t != "" {
		fmt.Fprintf(&b, " · `%s`", t)
	}
	b.WriteString("\n")
	if doc := d.docOf(def); doc != "" {
		b.WriteString("\n" + doc + "\n")
	}
	if set != nil {
		if v := d.valueOf(def, set); v != "" {
			b.WriteString("\n" + code(def.Name.Name+" = "+v))
		}
	}
	return strings.TrimSpace(b.String())
}

// valueOf is the value of a definition that reads no variables.
func (d *Document) valueOf(def *lang.Definition, set *data.Set) string {
	sym := d.Program.Symbols[def.Name.Name]
	switch def.Kind {
	case lang.ParamName, lang.DataName, lang.LetName:
		if sym != nil && sym.Deps == 0 && (def.Level == nil || def.Level.Binders == nil) {
			return d.Value(def.Name.Name, set)
		}
	case lang.SetName:
		if n := d.Value("card("+def.Name.Name+")", set); n != "" {
			return "{" + strings.Join(d.members(def.Name.Name, set), ", ") + "}  // " + n + " elements"
		}
	}
	return ""
}

// kindWords says what a definition is, in words.
func (d *Document) kindWords(def *lang.Definition) string {
	v, isVar := def.Decl.(*lang.Var)
	switch {
	case def.Level == nil || def.Kind != lang.VarName && def.Kind != lang.ConstraintName:
		return cmp.Or(kindsInWords[def.Kind], def.Kind.String())
	case def.Kind == lang.ConstraintName:
		return def.Level.Word() + " constraint"
	case isVar && v.Kind != lang.ContinuousVar:
		return def.Level.Word() + " " + v.Kind.String() + " variable"
	}
	return def.Level.Word() + " variable"
}

var kindsInWords = map[lang.NameKind]string{lang.ReportName: "item of the report", lang.ParameterName: "parameter of a function",
	lang.SizeName: "size of a function's own", lang.KeyName: "name of a part of the set's tuples", lang.FnName: "function"}

// TypeOf is the type of a definition as it is used at a place, in the user's names; ""
// where it has none.
func (d *Document) TypeOf(def *lang.Definition, use lang.Use) string {
	if use.Expr != nil && d.Program != nil {
		if t, ok := d.Program.Types[use.Expr]; ok && t.Kind != ir.AnyType {
			return t.String()
		}
	}
	switch def.Kind {
	case lang.ParamName, lang.DataName, lang.VarName, lang.LetName, lang.SetName:
		sym := d.Program.Symbols[def.Name.Name]
		if sym != nil && sym.Decl == def.Decl && sym.Type.Kind != ir.AnyType {
			return sym.Type.String()
		}
		if v, ok := def.Decl.(*lang.Var); ok {
			return oneLine(v.Type.Place.Text())
		}
	case lang.ParameterName:
		if p, ok := def.Decl.(*lang.FnParam); ok && p.Type != nil {
			return oneLine(p.Type.Place.Text())
		}
		return "any shape"
	}
	return ""
}

// headOf is a declaration as one line.
func headOf(def *lang.Definition) string {
	text := def.Decl.Span().Text()
	switch decl := def.Decl.(type) {
	case *lang.Level:
		text = decl.Word() + " " + def.Name.Name
	case *lang.File:
		text = "model " + def.Name.Name
	case *lang.Data:
		if decl.Value != nil && decl.Value.Span().Start > decl.Place.Start {
			value := decl.Value.Span().Text()
			text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text[:max(0, min(len(text), decl.Value.Span().Start-decl.Place.Start))]), "="))
			if len(value) <= maxHead {
				text += " = " + value
			}
		}
	}
	text = oneLine(text)
	if r := []rune(text); len(r) > 2*maxHead {
		text = string(r[:2*maxHead]) + " ..."
	}
	return text
}

// maxHead is about how much of a declaration is shown.
const maxHead = 60

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// docOf are the comments right above a declaration, or the one behind it on its line.
func (d *Document) docOf(def *lang.Definition) string {
	start := def.Decl.Span().Start
	switch def.Kind {
	case lang.IndexName, lang.ParameterName, lang.SizeName, lang.KeyName:
		return ""
	case lang.ModelName:
		start = def.Name.Place.Start
	}
	line := d.Source.Pos(start).Line
	var above []string
	for i := len(d.File.Comments) - 1; i >= 0; i-- {
		c := d.File.Comments[i]
		at := d.Source.Pos(c.Place.Start).Line
		switch {
		case c.Place.Start > start:
			if !c.Own && at == line {
				above = append(above, commentText(c))
			}
		case c.Own && at == line-1:
			above = append(above, commentText(c))
			line--
		}
	}
	slices.Reverse(above)
	return strings.Join(above, "\n")
}

func commentText(c lang.Comment) string {
	return strings.TrimSpace(strings.TrimLeft(c.Text, "/"))
}
