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
	var out, blocks []Symbol
	put := func(s Symbol) {
		for i := range blocks {
			if within(blocks[i].Place, s.Place.Start) {
				blocks[i].Children = append(blocks[i].Children, s)
				return
			}
		}
		out = append(out, s)
	}
	for _, decl := range d.File.Decls {
		switch decl := decl.(type) {
		case *lang.Level:
			block := d.blockSymbol(decl.Word(), decl)
			if decl.Name != nil {
				block.Name += " " + decl.Name.Name
			}
			blocks = append(blocks, block)
			for _, item := range decl.Items {
				switch item := item.(type) {
				case *lang.Objective:
					word := "minimize"
					if item.Maximize {
						word = "maximize"
					}
					put(Symbol{Name: word, Detail: title(item.Value.Span().Text()), Kind: "objective", Place: item.Place, Head: item.Place})
				case *lang.SubjectTo:
					for _, c := range item.Constraints {
						if c.Name == nil {
							put(Symbol{Name: fmt.Sprintf("line %d", d.Source.Pos(c.Place.Start).Line),
								Detail: title(c.Place.Text()), Kind: "constraint", Place: c.Place, Head: c.Place})
						}
					}
				}
			}
		case *lang.Solve:
			blocks = append(blocks, d.blockSymbol("solve", decl))
		case *lang.Report:
			blocks = append(blocks, d.blockSymbol("report", decl))
		}
	}
	for _, def := range d.Names.Definitions {
		if def.IsValue() || def.Kind == lang.ConstraintName || def.Kind == lang.ReportName {
			put(Symbol{Name: def.Name.Name, Kind: def.Kind.String(), Detail: d.TypeOf(def, lang.Use{}),
				Place: def.Decl.Span().To(def.Name.Place), Head: def.Name.Place})
		}
	}
	out = append(out, blocks...)
	inOrder := func(a, b Symbol) int { return a.Place.Start - b.Place.Start }
	slices.SortStableFunc(out, inOrder)
	for _, s := range out {
		slices.SortStableFunc(s.Children, inOrder)
	}
	return out
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
