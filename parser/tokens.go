package parser

import (
	"slices"

	"github.com/alecthomas/participle/v2/lexer"

	"bilevelc/lang/diag"
)

// TokenKind says what a token is, for highlighting.
type TokenKind uint8

// The kinds of tokens.
const (
	TokenName     TokenKind = iota + 1 // of anything declared, or a function
	TokenKeyword                       // a reserved word, and `set`, `integer` and `binary` where they declare
	TokenNumber                        //
	TokenLabel                         // text in double quotes
	TokenOperator                      // operators, brackets and other punctuation
	TokenComment                       // with its slashes
)

// Token is a piece of a source that is not white space.
type Token struct {
	Kind       TokenKind
	Start, End int // bytes of the source's text
}

var tokenKinds = map[lexer.TokenType]TokenKind{
	tokenIdent: TokenName, tokenKeyword: TokenKeyword, tokenNumber: TokenNumber, tokenText: TokenLabel, tokenPunct: TokenOperator,
}

// Tokens cuts a source into tokens and comments, in order of place. It takes any
// text: what the language has no token for is left out.
func Tokens(src *diag.Source) []Token {
	s := scan(src, nil)
	var out []Token
	for i, t := range s.tokens {
		kind, ok := tokenKinds[t.Type]
		if !ok { // the end of a statement
			continue
		}
		if t.Type == tokenIdent && kindOfVar(s.tokens, i) {
			kind = TokenKeyword
		}
		// What is mended on the way, as a label without its end, may reach further.
		if end := min(tokenEndOffset(t), len(src.Text)); end > t.Pos.Offset {
			out = append(out, Token{Kind: kind, Start: t.Pos.Offset, End: end})
		}
	}
	for _, c := range s.comments {
		out = append(out, Token{Kind: TokenComment, Start: c.Place.Start, End: min(c.Place.End, len(src.Text))})
	}
	slices.SortStableFunc(out, func(a, b Token) int { return a.Start - b.Start })
	last := 0
	return slices.DeleteFunc(out, func(t Token) bool {
		if t.Start < last {
			return true
		}
		last = t.End
		return false
	})
}

// kindOfVar reports whether token i is the word of an integer or binary variable: it ends the type in
// `var NAME: TYPE`, or stands for it.
func kindOfVar(tokens []lexer.Token, i int) bool {
	if word := tokens[i].Value; word != "integer" && word != "binary" || i < 3 {
		return false
	}
	j := i - 1
	switch tokens[j].Value {
	case "real", "int":
		j--
	case "]":
		depth := 0
		for ; j >= 0; j-- {
			if tokens[j].Value == "]" {
				depth++
			} else if tokens[j].Value == "[" {
				depth--
			}
			if depth == 0 {
				break
			}
		}
		if j--; j >= 0 && (tokens[j].Value == "vector" || tokens[j].Value == "matrix") {
			j--
		}
	}
	return j >= 2 && tokens[j].Value == ":" && tokens[j-2].Value == "var"
}
