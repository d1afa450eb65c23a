package assist

import (
	"fmt"
	"slices"

	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// A Symbol is an entry of a document's outline.
type Symbol struct {
	Name, Detail string
	Kind         string
	Place        diag.Span // all of it
	Head         diag.Span // its name; inside Place
	Children     []Symbol
}

// Symbols is the outline: declarations, and in each block what it holds.
func (d *Document) Symbols() []Symbol {
	var out []Symbol
	of := func(name lang.Ident, kind lang.NameKind, node lang.Node) Symbol {
		s := Symbol{Name: name.Name, Kind: kind.String(), Place: node.Span().To(name.Place), Head: name.Place}
		for _, def := range d.Names.Definitions {
			if def.Name.Place == name.Place {
				s.Detail = d.TypeOf(def, lang.Use{})
			}
		}
		return s
	}
	for _, decl := range d.File.Decls {
		switch decl := decl.(type) {
		case *lang.Param:
			out = append(out, of(decl.Name, lang.ParamName, decl))
		case *lang.Data:
			out = append(out, of(decl.Name, lang.DataName, decl))
		case *lang.IndexSet:
			out = append(out, of(decl.Name, lang.SetName, decl))
		case *lang.Let:
			out = append(out, of(decl.Name, lang.LetName, decl))
		case *lang.Fn:
			out = append(out, of(decl.Name, lang.FnName, decl))
		case *lang.Level:
			block := d.blockSymbol(decl.Word(), decl)
			if decl.Name != nil {
				block.Name += " " + decl.Name.Name
			}
			for _, item := range decl.Items {
				switch item := item.(type) {
				case *lang.Var:
					block.Children = append(block.Children, of(item.Name, lang.VarName, item))
				case *lang.Let:
					block.Children = append(block.Children, of(item.Name, lang.LetName, item))
				case *lang.Objective:
					word := "minimize"
					if item.Maximize {
						word = "maximize"
					}
					block.Children = append(block.Children, Symbol{Name: word, Detail: title(item.Value.Span().Text()), Kind: "objective",
						Place: item.Place, Head: item.Place})
				case *lang.SubjectTo:
					for _, c := range item.Constraints {
						if c.Name != nil {
							block.Children = append(block.Children, of(*c.Name, lang.ConstraintName, c))
							continue
						}
						block.Children = append(block.Children, Symbol{Name: fmt.Sprintf("line %d", d.Source.Pos(c.Place.Start).Line),
							Detail: title(c.Place.Text()), Kind: "constraint", Place: c.Place, Head: c.Place})
					}
				}
			}
			out = append(out, block)
		case *lang.Solve:
			out = append(out, d.blockSymbol("solve", decl))
		case *lang.Report:
			block := d.blockSymbol("report", decl)
			for _, item := range decl.Items {
				block.Children = append(block.Children, of(item.Name, lang.ReportName, item))
			}
			out = append(out, block)
		}
	}
	return slices.DeleteFunc(out, func(s Symbol) bool { return s.Name == "" })
}

func (d *Document) blockSymbol(word string, n lang.Node) Symbol {
	at := n.Span()
	head := at
	head.End = min(at.End, at.Start+len(word))
	return Symbol{Name: word, Kind: "block", Place: at, Head: head}
}

// Format is the text in canonical form; ok is false where it has errors of syntax,
// which the canonical form would lose.
func (d *Document) Format() (text string, ok bool) {
	for _, e := range d.Diagnostics {
		if entry, _ := diag.Lookup(e.Code); e.Severity == diag.Error && entry.Stage == diag.SyntaxStage {
			return "", false
		}
	}
	return lang.Format(d.File), true
}
