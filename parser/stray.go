package parser

import (
	"fmt"

	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/lang/diag"
)

// What is reported for statements that start with no word of the language, or
// stand in the wrong place.

// misplacedItem reports a level's item outside the levels and passes over it.
func (s *session) misplacedItem(t lexer.Token) {
	word := t.Value
	if word == "subject" {
		word = "subject to"
	}
	d := s.errs.Errorf(codePlace, s.tokenSpan(t), "`%s` stands outside `upper { }` and `lower { }`", word)
	d.Fix = "move it into the level that it belongs to"
	if _, subject := s.levelItem(); subject != nil {
		for { // its constraints, so that each is not reported as well
			s.skipEnds()
			if t := s.peek(); t.EOF() || t.Value == "}" || t.Value == "{" || statementWords[t.Value] {
				return
			}
			s.constraint(subject)
		}
	}
}

// topWords and itemWords are offered for misspelt first words.
var (
	topWords  = []string{"model", "param", "data", "let", "fn", "upper", "lower", "solve", "report"}
	itemWords = []string{"var", "let", "minimize", "maximize", "subject to"}
)

// elsewhere maps first words of other modeling languages to ours.
var elsewhere = map[string]string{
	"min": "minimize", "max": "maximize", "minimise": "minimize", "maximise": "maximize", "Minimize": "minimize", "Maximize": "maximize",
	"st": "subject to", "s": "subject to", "constraints": "subject to", "such": "subject to", "where": "subject to", "with": "subject to",
	"variable": "var", "variables": "var", "parameter": "param", "parameters": "param",
	"function": "fn", "def": "fn", "func": "fn", "const": "let", "leader": "upper", "follower": "lower", "set": "let",
}

// strayStatement reports a statement that starts with no word of the language
// and passes over it.
func (s *session) strayStatement(inLevel bool) {
	if s.strayBrace() {
		return
	}
	first := s.peek()
	if first.Value == "}" {
		if !s.scanned(first.Pos.Offset, first.Pos.Offset) {
			s.errs.Errorf(codeUnmatched, s.tokenSpan(first), "`}` closes nothing").Fix = "remove it"
		}
		s.next++
		return
	}
	c := s.statement()
	at := s.cutSpan(c)
	block := c.stop.Value == "{"
	if block {
		defer s.skipGroup()
	}
	if s.scanned(at.Start, at.End) {
		return
	}
	if infixStarts[first.Value] || first.Value == "-" {
		s.reportLineStart(first)
		return
	}
	words := topWords
	if inLevel {
		words = itemWords
	}
	d := s.errs.Errorf(codeStatement, s.tokenSpan(first), "expected a declaration, found %s", s.describe(first))
	switch word, known := elsewhere[first.Value]; {
	case known:
		d.Fix = fmt.Sprintf("write `%s`", word)
	case inLevel && hasRelation(c):
		d.Summary = fmt.Sprintf("a constraint stands under `subject to`; found %s", s.describe(first))
		d.Subject = at
		d.Fix = "write `subject to` on the line above"
	case assigns(c):
		d.Summary = fmt.Sprintf("a definition starts with `let`; found %s", s.describe(first))
		d.Fix = fmt.Sprintf("write `let %s = ...`", first.Value)
	default:
		if word := diag.Suggest(first.Value, words); word != "" {
			d.Fix = fmt.Sprintf("did you mean `%s`?", word)
		}
	}
	if d.Fix == "" && inLevel {
		d.Detail = "A level holds `var`, `let`, `minimize` or `maximize`, and `subject to`."
	} else if d.Fix == "" {
		d.Detail = "A file holds `model`, `param`, `data`, `let`, `fn`, `upper { }`, `lower { }`, `solve { }` and `report { }`."
	}
}

// hasRelation reports whether a statement looks like a constraint.
func hasRelation(c cut) bool {
	for _, t := range c.tokens {
		switch t.Value {
		case "<=", ">=", "==", "<", ">":
			return true
		}
	}
	return false
}

// assigns reports whether a statement looks like `name = ...`.
func assigns(c cut) bool {
	return len(c.tokens) > 1 && c.tokens[0].Type == tokenIdent && c.tokens[1].Value == "="
}
