package diag

import "strings"

// The codes of syntax errors (package parser).
var _ = register(
	Entry{
		Code: "E0117", Stage: SyntaxStage, Title: "a text that is no model",
		Explanation: `The file is a JSON document: data, a point or a result. The model is the .blv file, and
goes first; data are given with --data.`,
		Example: `{"n": 3, "c": [1, 2, 3]}
`,
	},
	Entry{
		Code: "E0101", Stage: SyntaxStage, Title: "unexpected text",
		Explanation: `The parser expected one thing and found another; the message names both. A newline
ends a statement unless a bracket is open or the line ends in an operator, so "the
end of the line" may stand where the statement should have gone on.`,
		Example: `model unexpected
data c: vector[3] = [1, 2,]
upper {
  var x: real
  minimize x^2
}
lower {
  var y: vector[3]
  minimize sumsq(y - c) + x
}
`,
	},
	Entry{
		Code: "E0102", Stage: SyntaxStage, Title: "a character that is not text of the language",
		Explanation: `Models are UTF-8 text. Names may use letters of any script, digits and _; outside
comments everything else is one of the operators and brackets of the language.`,
		Example: `model price
upper {
  var x: real
  minimize x^2 + 3€
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0103", Stage: SyntaxStage, Title: "a number that cannot be read",
		Explanation: `Numbers are double precision: up to about 1.8e308, and no nearer to 0 than about
4.9e-324. They start with a digit: 0.5, 2e-3.`,
		Example: `model numbers
upper {
  var x: real in box(-1e999, 1)
  minimize x^2
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0104", Stage: SyntaxStage, Title: "a bracket that is never closed",
		Explanation: `Every ( [ { needs its ) ] }. The message points to the opening one. An open ( or [
ends at the next line that starts with a word such as var or minimize, or at a }.`,
		Example: `model open
upper {
  var x: real
  minimize (x - 1^2
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0105", Stage: SyntaxStage, Title: "a bracket that closes nothing",
		Explanation: `A ) ] or } stands where no such bracket is open, or closes one of another kind.`,
		Example: `model closed
upper {
  var x: real
  minimize (x - 1))^2
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0106", Stage: SyntaxStage, Title: "a line that starts with an operator",
		Explanation: `A newline ends a statement unless a bracket is open or the line ends in an operator.
So that no two lines are glued into one expression by surprise, an expression goes on
to the next line only where it cannot end: put the operator at the end of the line.`,
		Example: `model lines
upper {
  var x: real
  minimize x^2
           + 3*x
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0107", Stage: SyntaxStage, Title: "a constraint without a proper relation",
		Explanation: `A constraint is lhs <= rhs, lhs >= rhs, lhs == rhs, or a chain lo <= y <= hi. A
strict < is refused because the set it describes has no edge to reach, and = defines
where == compares.`,
		Example: `model relation
upper {
  var x: real
  minimize x^2
}
lower {
  var y: vector[2]
  minimize sumsq(y) - x*y[1]
  subject to
    sum(y) = 1
}
`,
	},
	Entry{
		Code: "E0108", Stage: SyntaxStage, Title: "an expression nested too deeply",
		Explanation: `Brackets, signs, powers and ifs nest at most 500 deep, and at most 50000 operators
stand in a row. Name inner parts with let; write long sums as sum(i in 1..n: ...).`,
		Example: `model deep
upper {
  var x: real
  minimize ` + strings.Repeat("(", 501) + "x" + strings.Repeat(")", 501) + `^2
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0109", Stage: SyntaxStage, Title: "a word of the language used as a name",
		Explanation: `These words are reserved: model param data let fn upper lower solve report var
minimize maximize subject in forall if then else and or not real int vector matrix.`,
		Example: `model words
param lower: real = 1
upper {
  var x: real
  minimize x^2
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0110", Stage: SyntaxStage, Title: "an operator of another language",
		Explanation: `The operators are + - * / ^ .* ./ .^ ' for arithmetic, <= >= == for relations, and
and, or, not, <, >, != in conditions. Comments start with //.`,
		Example: `model foreign
upper {
  var x: real
  minimize x**2
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0111", Stage: SyntaxStage, Title: "a statement in the wrong place",
		Explanation: `var, minimize, maximize and subject to stand inside upper { } or lower { }; param,
data and fn stand outside them; let may stand in both places.`,
		Example: `model place
upper {
  param a: real = 1
  var x: real
  minimize a * x^2
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0112", Stage: SyntaxStage, Title: "a line that starts no statement",
		Explanation: `Each statement starts with a word of the language: at the top model, param, data,
let, fn, upper, lower, solve or report; in a level var, let, minimize, maximize or
subject to. Constraints stand under subject to.`,
		Example: `model words
upper {
  variable x: real
  minimize 2
}
lower {
  var y: real
  minimize y^2
}
`,
	},
	Entry{
		Code: "E0113", Stage: SyntaxStage, Title: "the model line repeated or not first",
		Explanation: `A file holds one model, and model NAME stands above its declarations.`,
		Example: `param n: int = 2
model late
upper {
  var x: vector[n]
  minimize sumsq(x)
}
lower {
  var y: vector[n]
  minimize sumsq(y - x)
}
`,
	},
	Entry{
		Code: "E0114", Stage: SyntaxStage, Title: "an operator is missing",
		Explanation: `Two operands stand side by side. A product is written with *, and arguments and
list entries are separated by commas.`,
		Example: `model product
upper {
  var x: real
  minimize x^2 - 2x
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0115", Stage: SyntaxStage, Title: "a type with the wrong number of dimensions",
		Explanation: `The types are real, int, vector[n] and matrix[m, n]. Only the parameters and the
result of a function may leave the dimensions out.`,
		Example: `model dimensions
data A: matrix[3] = [1, 2, 3]
upper {
  var x: real
  minimize x^2
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0116", Stage: SyntaxStage, Title: "too many syntax errors",
		Explanation: `The first 50 syntax errors are shown. Correct those and try again.`,
		Example:     "model many\n" + strings.Repeat("let = 1\n", 51),
	},
)
