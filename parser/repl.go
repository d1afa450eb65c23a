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
			if item := s.topKeyword(file); item {
				input.Items = append(input.Items, s.bareItem()...)
			}
		case input.Expr == nil && startsOperand(t) && !s.looksAssigned():
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
	for subject != nil {
		s.skipEnds()
		t := s.peek()
		if t.EOF() || t.Value == "}" || t.Value == "{" || statementWords[t.Value] {
			break
		}
		s.constraint(subject)
	}
	return []lang.LevelItem{item}
}

// looksAssigned reports whether the next statement reads `name = ...`.
func (s *session) looksAssigned() bool {
	return s.next+1 < len(s.tokens) && s.tokens[s.next].Type == tokenIdent && s.tokens[s.next+1].Value == "="
}

// incomplete reports whether the text wants more lines.
func (s *session) incomplete() bool {
	if s.unclosed {
		return true
	}
	n := len(s.tokens)
	if n == 0 {
		return false
	}
	last := s.tokens[n-1]
	if continues[last.Value] && last.Type != tokenIdent {
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
