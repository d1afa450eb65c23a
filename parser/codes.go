package parser

import "bilevelc/lang/diag"

// The codes of syntax errors; their explanations are in package diag.
const (
	codeUnexpected diag.Code = "E0101" // expected one thing, found another
	codeBadText    diag.Code = "E0102" // bytes or characters that are no text of the language
	codeBadNumber  diag.Code = "E0103" // a number out of range or misspelt
	codeUnclosed   diag.Code = "E0104" // a bracket or brace that is never closed
	codeUnmatched  diag.Code = "E0105" // a bracket or brace that closes nothing, or the wrong one
	codeLineStart  diag.Code = "E0106" // a line that starts with an operator
	codeRelation   diag.Code = "E0107" // a constraint without a proper relation
	codeTooDeep    diag.Code = "E0108" // nesting or length beyond the limits
	codeReserved   diag.Code = "E0109" // a word of the language used as a name
	codeForeign    diag.Code = "E0110" // an operator of another language
	codePlace      diag.Code = "E0111" // a statement in a block where it does not belong
	codeStatement  diag.Code = "E0112" // a line that starts no statement
	codeModelLine  diag.Code = "E0113" // the model line repeated or not first
	codeNoOperator diag.Code = "E0114" // two operands side by side
	codeDims       diag.Code = "E0115" // a type with the wrong number of dimensions
	codeNotModel   diag.Code = "E0117" // a text that is no model at all
	codeTooMany    diag.Code = "E0116" // more errors than are shown
)
