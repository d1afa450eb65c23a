package parser

import (
	"fmt"
	"slices"

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
	if at := s.tokenSpan(t); !s.errs.reported(at.Start, at.Start) {
		d := s.errs.Errorf(diag.WrongBlock, at, "`%s` stands outside `upper { }` and `lower { }`", word)
		d.Fix = "move it into the level that it belongs to"
	}
	if _, subject := s.levelItem(); subject != nil {
		s.constraints(subject) // so that each is not reported as well
	}
}

// topWords and itemWords are offered for misspelt first words.
var (
	topWords  = []string{"model", "param", "data", "set", "let", "fn", "upper", "lower", "solve", "report"}
	itemWords = []string{"var", "let", "minimize", "maximize", "subject"}
)

// elsewhere maps first words of other modeling languages to ours.
var elsewhere = map[string]string{
	"min": "minimize", "max": "maximize", "minimise": "minimize", "maximise": "maximize",
	"st": "subject", "constraints": "subject", "such": "subject", "where": "subject", "with": "subject",
	"variable": "var", "variables": "var", "parameter": "param", "parameters": "param",
	"function": "fn", "def": "fn", "func": "fn", "const": "let", "leader": "upper", "follower": "lower",
}

// strayStatement reports a statement that starts with no word of the language.
// Where it is clear which word is meant, the statement is left to be read with
// that word; else it is passed over. It returns true where the statement reads
// like `subject to`, so that constraints follow.
func (s *session) strayStatement(inLevel bool) (subject bool) {
	if s.strayBrace() {
		return false
	}
	first := s.peek()
	if first.Value == "}" {
		if !s.errs.reported(first.Pos.Offset, first.Pos.Offset) {
			s.errs.Errorf(diag.Unmatched, s.tokenSpan(first), "`}` closes nothing").Fix = "remove it"
		}
		s.next++
		return false
	}
	from := s.next
	c := s.statement()
	if s.stray(c, from, inLevel) {
		return false
	}
	words := topWords
	if inLevel {
		words = itemWords
	}
	word := elsewhere[first.Value]
	if word == "" && first.Type == tokenIdent {
		word = diag.Suggest(first.Value, words)
	}
	at := s.tokenSpan(first)
	d := s.errs.Errorf(diag.NoStatement, at, "expected a declaration, found %s", s.describe(first))
	switch word {
	case "":
		d.Detail = "A file holds `model`, `param`, `data`, `set`, `let`, `fn`, `upper { }`, `lower { }`, `solve { }` and `report { }`."
		if inLevel {
			d.Detail = "A level holds `var`, `let`, `minimize` or `maximize`, and `subject to`."
		}
	case "subject":
		d.Fix = "did you mean `subject to`?"
		return inLevel
	default:
		d.Fix = fmt.Sprintf("did you mean `%s`?", word)
		s.errs.mark(at.Start)
		s.tokens[from] = readAs(first, tokenKeyword, word)
		s.next = from
	}
	return false
}

// stray reports a statement that is recognised by more than its first word,
// or that has been reported already; from is its first token.
func (s *session) stray(c cut, from int, inLevel bool) bool {
	first, at := c.tokens[0], s.cutSpan(c)
	if c.stop.Value == "{" && !statementWords[elsewhere[first.Value]] && diag.Suggest(first.Value, topWords) == "" {
		defer s.skipGroup()
	}
	switch {
	case s.errs.reported(at.Start, at.End):
	case infixStarts[first.Value] || first.Value == "-":
		s.reportLineStart(from)
	case inLevel && hasRelation(c):
		d := s.errs.Errorf(diag.NoStatement, at, "a constraint stands under `subject to`; found %s", s.describe(first))
		d.Fix = "write `subject to` on the line above"
	case assigns(c):
		d := s.errs.Errorf(diag.NoStatement, s.tokenSpan(first), "a definition starts with `let`; found %s", s.describe(first))
		d.Fix = fmt.Sprintf("write `let %s = ...`", first.Value)
	default:
		return false
	}
	return true
}

// hasRelation reports whether a statement looks like a constraint.
func hasRelation(c cut) bool {
	return slices.ContainsFunc(c.tokens, func(t lexer.Token) bool {
		return slices.Contains([]string{"<=", ">=", "==", "<", ">"}, t.Value)
	})
}

// assigns reports whether a statement looks like `name = ...`.
func assigns(c cut) bool {
	return len(c.tokens) > 1 && c.tokens[0].Type == tokenIdent && c.tokens[1].Value == "="
}
