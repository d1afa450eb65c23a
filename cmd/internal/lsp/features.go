package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"bilevelc/cmd/internal/assist"
	"bilevelc/internal/each"
	"bilevelc/lang/diag"
)

func (s *server) hover(d *document, offset int, _ *positionParams) (any, error) {
	text, place, ok := d.model().Hover(offset, s.dataOf(d))
	if !ok {
		return nil, nil
	}
	return hover{markup{"markdown", text}, d.lines.span(place.Start, place.End)}, nil
}

func (s *server) definition(d *document, offset int, _ *positionParams) (any, error) {
	def, _ := d.model().Names.At(offset)
	if def == nil {
		return nil, nil
	}
	return location{d.uri, d.lines.span(def.Name.Place.Start, def.Name.Place.End)}, nil
}

// places are the uses of the name at an offset, its definition first where it is
// wanted.
func (d *document) places(offset int, definition bool) []Range {
	out := []Range{}
	def, _ := d.model().Names.At(offset)
	if def == nil {
		return out
	}
	if definition {
		out = append(out, d.lines.span(def.Name.Place.Start, def.Name.Place.End))
	}
	for _, u := range def.Uses {
		out = append(out, d.lines.span(u.Place.Start, u.Place.End))
	}
	return out
}

func (s *server) references(d *document, offset int, p *referenceParams) (any, error) {
	return each.Of(d.places(offset, p.Context.IncludeDeclaration), func(r Range) location { return location{d.uri, r} }), nil
}

func (s *server) highlight(d *document, offset int, _ *positionParams) (any, error) {
	return each.Of(d.places(offset, true), func(r Range) map[string]Range { return map[string]Range{"range": r} }), nil
}

func (s *server) prepareRename(d *document, offset int, _ *positionParams) (any, error) {
	def, use := d.model().Names.At(offset)
	if def == nil {
		return nil, nil // the client says that there is nothing to rename
	}
	return map[string]any{"range": d.lines.span(use.Place.Start, use.Place.End), "placeholder": def.Name.Name}, nil
}

func (s *server) rename(d *document, offset int, p *renameParams) (any, error) {
	edits, err := d.model().Rename(offset, p.NewName)
	if err != nil {
		return nil, &jsonrpc2.Error{Code: requestFailed, Message: err.Error()}
	}
	return d.edit(edits), nil
}

// edit is a change of the document.
func (d *document) edit(edits []assist.Edit) *workspaceEdit {
	out := each.Of(edits, func(e assist.Edit) textEdit { return textEdit{d.lines.span(e.Start, e.End), e.Text} })
	return &workspaceEdit{Changes: map[string][]textEdit{d.uri: out}}
}

func (s *server) completion(d *document, offset int, _ *positionParams) (any, error) {
	out := []completionItem{}
	for i, c := range d.model().Complete(offset, s.dataOf(d)) {
		end := offset
		if strings.HasSuffix(c.Insert, `"`) && strings.HasPrefix(d.text[offset:], `"`) {
			end++ // the quote that the editor has put there already
		}
		item := completionItem{Label: c.Label, Kind: completionKinds[c.Kind], Detail: strings.SplitN(c.Detail, "\n", 2)[0],
			SortText: fmt.Sprintf("%05d", i), FilterText: c.Insert, InsertTextFormat: plainText,
			TextEdit: &textEdit{d.lines.span(c.Start, end), c.Insert}}
		if s.snippets && c.Kind == "function" && !strings.HasPrefix(d.text[offset:], "(") {
			item.InsertTextFormat, item.TextEdit.NewText = snippetText, c.Insert+"($0)"
		}
		if c.Doc != "" {
			item.Documentation = &markup{"markdown", c.Doc}
		}
		out = append(out, item)
	}
	return out, nil
}

func (s *server) formatting(_ context.Context, d *document, _ *documentParams) (any, error) {
	text, ok := d.model().Format()
	if !ok {
		return nil, &jsonrpc2.Error{Code: requestFailed, Message: "a model with errors of syntax cannot be formatted"}
	}
	if text == d.text {
		return []textEdit{}, nil
	}
	return []textEdit{{d.lines.span(0, len(d.text)), text}}, nil
}

func (s *server) documentSymbol(_ context.Context, d *document, _ *documentParams) (any, error) {
	return d.symbols(d.model().Symbols()), nil
}

func (d *document) symbols(list []assist.Symbol) []documentSymbol {
	return each.Of(list, func(s assist.Symbol) documentSymbol {
		return documentSymbol{Name: s.Name, Detail: s.Detail, Kind: symbolKinds[s.Kind],
			Range: d.lines.span(s.Place.Start, s.Place.End), SelectionRange: d.lines.span(s.Head.Start, s.Head.End),
			Children: d.symbols(s.Children)}
	})
}

// explainCommand shows what a code means.
const explainCommand = "bilevelc.explain"

// maxFixing bounds the search for changes of the text while a user waits.
const maxFixing = 2 * time.Second

// codeAction offers, for each diagnostic in the range, the changes that put it
// right, and what its code means. Where its fix is not a change of words the
// explanation carries it.
func (s *server) codeAction(ctx context.Context, d *document, p *codeActionParams) (any, error) {
	out := []codeAction{}
	if len(p.Context.Only) > 0 && !slices.ContainsFunc(p.Context.Only, func(kind string) bool {
		return kind == "" || kind == "quickfix" || strings.HasPrefix(kind, "quickfix.")
	}) {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxFixing)
	defer cancel()
	from, to := d.lines.offset(p.Range.Start), d.lines.offset(p.Range.End)
	set := s.dataOf(d)
	for _, e := range d.findings().First(maxPublished) { // those that it was sent
		shown := d.diagnostic(e)
		if d.lines.offset(shown.Range.End) < from || d.lines.offset(shown.Range.Start) > to {
			continue
		}
		fixes := d.model().Fixes(ctx, e, set)
		for i, fix := range fixes {
			out = append(out, codeAction{Title: fix.Title, Kind: "quickfix", Diagnostics: []diagnostic{shown},
				IsPreferred: i == 0 && len(fixes) == 1, Edit: d.edit(fix.Edits)})
		}
		about := "Explain " + string(e.Code)
		if len(fixes) == 0 && e.Fix != "" {
			about = e.Fix
		}
		if e.Code != "" {
			out = append(out, codeAction{Title: about, Kind: "quickfix", Diagnostics: []diagnostic{shown},
				Command: &command{Title: "Explain", Command: explainCommand, Arguments: []any{string(e.Code)}}})
		}
	}
	return out, nil
}

func (s *server) executeCommand(ctx context.Context, conn *jsonrpc2.Conn, p *executeCommandParams) (any, error) {
	if p.Command != explainCommand || len(p.Arguments) != 1 {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "no command " + p.Command}
	}
	entry, known := diag.Lookup(diag.Code(p.Arguments[0]))
	if !known {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "no code " + p.Arguments[0]}
	}
	text := fmt.Sprintf("%s: %s\n\n%s", entry.Code, entry.Title, strings.TrimSpace(entry.Explanation))
	return text, conn.Notify(ctx, "window/showMessage", showMessageParams{infoMessage, text})
}
