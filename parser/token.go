package parser

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/internal/await"
	"bilevelc/internal/each"
)

// The kinds of tokens. End is a newline or semicolon that ends a statement;
// newlines that do not are dropped by the scanner, as are comments (kept
// aside) and white space.
const (
	tokenIdent lexer.TokenType = iota + 1
	tokenKeyword
	tokenNumber
	tokenPunct
	tokenText // a label in double quotes; the value is all of it
	tokenEnd
)

// setOpen and setClose are the braces of a set literal, which the scanner
// tells from those of blocks: newlines inside them end no statement.
const (
	setOpen  = "set{"
	setClose = "set}"
)

// statementWords start a statement. They are reserved, so a line that starts
// with one starts a new statement even where a bracket was left open above.
var statementWords = wordsOf("model param data let fn set upper lower solve report var minimize maximize subject")

// otherWords are the remaining reserved words.
var otherWords = wordsOf("in forall if then else and or not real int vector matrix")

func wordsOf(list string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		words[word] = true
	}
	return words
}

// isKeyword reports whether a word is reserved. The word set is not: it is one
// of the language only where it starts a statement and a name follows.
func isKeyword(word string) bool {
	return statementWords[word] && word != "set" || otherWords[word]
}

// Keywords lists the reserved words in order, for completion and highlighting.
func Keywords() []string {
	words := slices.AppendSeq(slices.Collect(maps.Keys(statementWords)), maps.Keys(otherWords))
	slices.Sort(words)
	return each.Where(words, isKeyword)
}

// infixStarts holds the operators that cannot start a statement. A minus can
// (-x <= 3), so it is not among them.
var infixStarts = wordsOf("+ * / ^ .* ./ .^ <= >= == != < > , and or then else '")

// definition presents the scanner to participle.
type definition struct{}

// Symbols names the token kinds for the grammar tags.
func (definition) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{
		"EOF":     lexer.EOF,
		"Ident":   tokenIdent,
		"Keyword": tokenKeyword,
		"Number":  tokenNumber,
		"Punct":   tokenPunct,
		"Text":    tokenText,
		"End":     tokenEnd,
	}
}

// Lex is what participle would scan a text by: statements have been cut from one that is scanned.
func (definition) Lex(string, io.Reader) (lexer.Lexer, error) { return nil, errors.ErrUnsupported }

// tokenList is a lexer.Lexer over tokens that have been scanned: one
// statement. After the last it gives an EOF token at offset end.
type tokenList struct {
	tokens []lexer.Token
	end    int
	meter  *await.Meter
}

// Next returns the next token.
func (l *tokenList) Next() (lexer.Token, error) {
	l.meter.Step()
	if len(l.tokens) == 0 {
		return lexer.EOFToken(lexer.Position{Offset: l.end}), nil
	}
	t := l.tokens[0]
	l.tokens = l.tokens[1:]
	return t, nil
}

// tokenEndOffset is the offset right after a token's text in the source.
func tokenEndOffset(t lexer.Token) int {
	if t.Pos.Column > 0 {
		return t.Pos.Offset + t.Pos.Column
	}
	return t.Pos.Offset + len(t.Value)
}

// readAs makes t the keyword or operator that it was meant to be. Its place
// remains that of its own text, whose length goes into the position's Column;
// lines and columns are not used otherwise, for diag.Source knows them.
func readAs(t lexer.Token, kind lexer.TokenType, value string) lexer.Token {
	t.Pos.Column = tokenEndOffset(t) - t.Pos.Offset
	t.Type, t.Value = kind, value
	return t
}

// startsOperand reports whether an expression can start with t.
func startsOperand(t lexer.Token) bool {
	return t.Type == tokenIdent || t.Type == tokenNumber || slices.Contains([]string{"(", "[", "-", "not", "if"}, t.Value)
}
