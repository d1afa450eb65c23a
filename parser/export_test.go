package parser

import (
	"bilevelc/lang"
	"bilevelc/lang/diag"
)

// ParseExpr parses one expression that takes up the whole text. After an error
// the expression is lang.Bad.
func ParseExpr(src *diag.Source) (lang.Expr, diag.List) {
	s := newSession(src, nil)
	s.skipEnds()
	expr := s.wholeExpr(s.statement())
	s.skipEnds()
	if !s.eof() {
		s.errs.Errorf(diag.Unexpected, s.tokenSpan(s.peek()), "expected one expression, found %s behind it", s.describe(s.peek()))
	}
	return expr, s.finish()
}
