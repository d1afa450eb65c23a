package parser

import (
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// Input is what was typed at a prompt: declarations, items of a level (which
// the prompt's owner puts into the level that is being edited), or one bare
// expression.
type Input struct {
	Model      *lang.Ident // nil unless a model line was typed
	Decls      []lang.Decl
	Items      []lang.LevelItem
	Expr       lang.Expr // nil unless the input is an expression
	Comments   []lang.Comment
	Incomplete bool // a bracket or block is open, or the last line ends in an operator
}

// ParseREPL parses the input of a prompt. Where it is Incomplete, more lines
// are to be read and put behind it; the diagnostics then count for nothing.
func ParseREPL(src *diag.Source) (*Input, diag.List) {
	s := newSession(src, nil)
	input := &Input{Comments: s.comments, Incomplete: s.incomplete()}
	file := &lang.File{Source: src}
	for {
		s.skipEnds()
		if s.eof() {
			break
		}
		t := s.peek()
		switch {
		case t.Type == tokenKeyword && statementWords[t.Value]:
			if s.topKeyword(file) {
				input.Items = append(input.Items, s.bareItem()...)
			}
		case input.Expr == nil && startsOperand(t) && !assigns(cut{tokens: s.tokens[s.next:]}):
			input.Expr = s.wholeExpr(s.statement())
			if t := s.peek(); t.Value == "{" || t.Value == "}" {
				s.strayStatement(false)
			}
		default:
			s.strayStatement(false)
		}
	}
	input.Model, input.Decls = file.Model, file.Decls
	return input, s.finish()
}

// bareItem reads an item of a level that stands outside a block; the
// constraints of a `subject to` may follow on further lines.
func (s *session) bareItem() []lang.LevelItem {
	item, subject := s.levelItem()
	if item == nil {
		return nil
	}
	if subject != nil {
		s.constraints(subject)
	}
	return []lang.LevelItem{item}
}

// incomplete reports whether the text wants more lines.
func (s *session) incomplete() bool {
	if s.unclosed {
		return true
	}
	n := len(s.tokens)
	if n > 0 && lang.Continues[s.tokens[n-1].Value] && s.tokens[n-1].Type != tokenIdent {
		return true
	}
	for n > 0 && s.tokens[n-1].Type == tokenEnd {
		n--
	}
	if n == 0 {
		return false
	}
	switch s.tokens[n-1].Value {
	case "upper", "lower", "solve", "report":
		return true // the brace is still to come
	case "to":
		return n > 1 && s.tokens[n-2].Value == "subject"
	}
	return false
}
