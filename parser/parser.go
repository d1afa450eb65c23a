// Package parser turns model text into the syntax tree of package lang.
//
// Input is any text; output is always a tree and a list of diagnostics, and
// never a panic. The way through the package:
//
//	text -> scan (tokens, comments, the end of each statement; scan.go)
//	     -> statements (one at a time, blocks by their braces; statements.go)
//	     -> participle grammar of one statement (grammar.go)
//	     -> precedence climbing for expressions inside it (expr.go, operand.go)
//	     -> lang nodes (convert.go)
//
// Because a statement is cut out before it is parsed, a syntax error spoils
// its own statement only: the next one starts afresh, and a declaration whose
// name was read stays in the tree with lang.Bad in place of what was not, so
// that later stages do not report its uses as unknown names.
//
// Time and memory are linear in the length of the text; depth of nesting is
// limited (maxPieces, maxNesting, maxHeight), so that no later walk of the tree can
// exhaust the stack.
package parser

import (
	"context"
	"encoding/json"
	"sort"
	"strings"

	"bilevelc/internal/await"
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// ParseFile parses a model or a piece of the standard library. The tree holds
// every statement that could be read; the list says what could not be.
func ParseFile(src *diag.Source) (*lang.File, diag.List) {
	return parseFile(newSession(src, nil))
}

// ParseFileContext is ParseFile, given up when ctx ends, at the next token: the error
// is then its cause, and there is no tree.
func ParseFileContext(ctx context.Context, src *diag.Source) (file *lang.File, diags diag.List, err error) {
	err = await.Within(ctx, func(m *await.Meter) { file, diags = parseFile(newSession(src, m)) })
	return file, diags, err
}

func parseFile(s *session) (*lang.File, diag.List) {
	src := s.src
	file := &lang.File{At: s.at(0, len(src.Text)), Source: src, Comments: s.comments}
	if s.isJSON() || s.beyond {
		return file, s.finish()
	}
	s.file(file)
	attachDocs(file)
	return file, s.finish()
}

// NoModel reports whether the parser found that its text is no model at all, or is
// beyond a limit, so that there is nothing to say about parts that are missing.
func NoModel(diags diag.List) bool {
	return len(diags) == 1 && (diags[0].Code == diag.NotModel || diags[0].Code == diag.TooDeep)
}

// isJSON reports a text that is a JSON document, in one error.
func (s *session) isJSON() bool {
	text := strings.TrimSpace(strings.TrimPrefix(s.src.Text, "\ufeff"))
	if text == "" || text[0] != '{' && text[0] != '[' || !json.Valid([]byte(text)) {
		return false
	}
	s.errs = collector{}
	at := strings.IndexByte(s.src.Text, text[0])
	d := s.errs.Errorf(diag.NotModel, s.span(at, at+1), "this is a JSON document, not a model")
	d.Detail = "a model is written in the language of .blv files; a JSON document holds its data, a point or a result"
	d.Fix = "give the model first and the data with --data, as in `bilevelc MODEL.blv --data FILE.json`"
	return true
}

// attachDocs gives each function the own-line comments that stand right above
// it, without a blank line between.
func attachDocs(file *lang.File) {
	for _, decl := range file.Decls {
		fn, ok := decl.(*lang.Fn)
		if !ok {
			continue
		}
		before := sort.Search(len(file.Comments), func(i int) bool {
			return file.Comments[i].Place.Start >= fn.Place.Start
		})
		line := file.Source.Pos(fn.Place.Start).Line
		first := before
		for first > 0 && file.Comments[first-1].Own &&
			file.Source.Pos(file.Comments[first-1].Place.Start).Line == line-1 {
			first--
			line--
		}
		if first < before {
			fn.Doc = file.Comments[first:before:before]
		}
	}
}
