package diag

import (
	"fmt"
	"strings"
)

// The codes of types and shapes (package ir/check).
var _ = register(
	Entry{
		Code: "E0301", Stage: CheckStage, Title: "shapes that do not combine",
		Explanation: `+ - .* ./ .^ act entry by entry: both sides have the same shape, or one is a scalar. A
vector of one entry is not a scalar, and a row vector is not a vector.`,
		Example: `model elementwise
data c: vector[2] = [1, 2]
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - c) + sum(x)
}
`,
	},
	Entry{
		Code: "E0302", Stage: CheckStage, Title: "factors that cannot be multiplied",
		Explanation: `* is the product of linear algebra: the left side has as many columns as the right
side has rows. u' * v is the inner product, u * v' the outer one, and .* multiplies
entry by entry.`,
		Example: `model product
param m: int = 2
param n: int = 3
data A: matrix[m, n] = [[1, 0, 2], [0, 1, 1]]
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(A' * y) + sum(x)
}
`,
	},
	Entry{
		Code: "E0303", Stage: CheckStage, Title: "a scalar is needed",
		Explanation: `/ divides by a scalar and ^ is the power of a scalar; ./ and .^ act entry by entry.
prod, max and min over indices take scalars.`,
		Example: `model power
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sum((y - x)^2)
}
`,
	},
	Entry{
		Code: "E0304", Stage: CheckStage, Title: "the wrong number of arguments",
		Explanation: `The message says how many arguments the function, set or generator takes.`,
		Example: `model arity
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y, x)
}
`,
	},
	Entry{
		Code: "E0305", Stage: CheckStage, Title: "an argument of the wrong type",
		Explanation: `A function's parameter may be declared real, int, vector or matrix, with sizes that
must agree; the argument must be of that kind.`,
		Example: `model argument
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x) + mean(sum(y))
}
`,
	},
	Entry{
		Code: "E0306", Stage: CheckStage, Title: "not the declared type",
		Explanation: `The value of a data declaration, the default of a param, the bound of a set, a start,
or the body of a function with a declared result must have the declared type and size.`,
		Example: `model declared
data c: vector[3] = [1, 2]
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - c) + sum(x)
}
`,
	},
	Entry{
		Code: "E0307", Stage: CheckStage, Title: "the wrong number of subscripts",
		Explanation: `A vector takes one subscript, a matrix two; A[i, :] is a row and A[:, j] a column.
Scalars take none.`,
		Example: `model subscripts
param m: int = 2
param n: int = 3
data A: matrix[m, n] = [[1, 0, 2], [0, 1, 1]]
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x) + A[1]
}
`,
	},
	Entry{
		Code: "E0308", Stage: CheckStage, Title: "an index out of range",
		Explanation: `Indexing starts at 1. An index is out of range where its numbers say so, or where an
index around it takes it past the end: y[i + 1] for i in 1..n, with y of length n.`,
		Example: `model range
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x) + sum(i in 1..3: (y[i + 1] - y[i])^2)
}
`,
	},
	Entry{
		Code: "E0309", Stage: CheckStage, Title: "not an integer",
		Explanation: `Sizes, indices, the ends of ranges and int params are integers. Division is exact
there: n / 2 must divide.`,
		Example: `model integer
param h: real = 3
data c: vector[h]
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - c) + sum(x)
}
`,
	},
	Entry{
		Code: "E0310", Stage: CheckStage, Title: "a wrong size",
		Explanation: `vector[n] and matrix[m, n] have sizes, which are not negative; real and int have none.
Only parameters of functions may leave sizes out.`,
		Example: `model negative
data c: vector[3 - 5]
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x) + sum(c)
}
`,
	},
	Entry{
		Code: "E0311", Stage: CheckStage, Title: "a list that is no array",
		Explanation: `[1, 2, 3] is a vector of scalars and [[1, 2], [3, 4]] a matrix, row by row; its rows
have the same length.`,
		Example: `model ragged
data M: matrix[2, 2] = [[1, 2], [3]]
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x) + sum(M)
}
`,
	},
	Entry{
		Code: "E0312", Stage: CheckStage, Title: "a condition and a number mixed up",
		Explanation: `Comparisons, and, or, not make conditions, which stand after ` + "`" + `if` + "`" + `. They are not
numbers, and numbers are not conditions.`,
		Example: `model condition
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x) + (1 <= 2)
}
`,
	},
	Entry{
		Code: "E0313", Stage: CheckStage, Title: "branches of different shapes",
		Explanation: `Both branches of ` + "`" + `if c then a else b` + "`" + ` have the same shape.`,
		Example: `model branches
param big: int = 1
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(if big == 1 then y - x else 0)
}
`,
	},
	Entry{
		Code: "E0314", Stage: CheckStage, Title: "sides of a relation that do not go together",
		Explanation: `The sides of a constraint have the same shape, or one is a scalar. A chain
lo <= e <= hi has three.`,
		Example: `model relation
data b: vector[2] = [1, 2]
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
  subject to
    y <= b
}
`,
	},
	Entry{
		Code: "E0315", Stage: CheckStage, Title: "an objective that is not a scalar",
		Explanation: `An objective is one number: a vector has to be summed or otherwise reduced.`,
		Example: `model objective
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize (y - x) .^ 2
}
`,
	},
	Entry{
		Code: "E0316", Stage: CheckStage, Title: "terms of different sizes",
		Explanation: `The terms of a sum over indices have one size, which does not move with the index.`,
		Example: `model varying
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x) + sumsq(sum(i in 1..3: y[1..i]))
}
`,
	},
	Entry{
		Code: "E0317", Stage: CheckStage, Title: "not a real number",
		Explanation: `The text alone shows that this has no value: a division by zero, the logarithm or root
of a negative number.`,
		Example: `model undefined
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x) + log(1 - 3)
}
`,
	},
	Entry{
		Code: "E0318", Stage: CheckStage, Title: "nested too deeply",
		Explanation: `Expressions, with the lets and functions that they use, nest at most 4000 deep.`,
		Example: `model deep
` + nestedFunctions(9, 490) + `upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y) + f9(sum(x))
}
`,
	},
)

// nestedFunctions is the text of n functions f1 to fn, each of which puts so
// many brackets around the call of the one before.
func nestedFunctions(n, brackets int) string {
	text := "fn f0(z) = z\n"
	for i := 1; i <= n; i++ {
		text += fmt.Sprintf("fn f%d(z) = %sf%d(z)%s\n", i, strings.Repeat("(", brackets), i-1, strings.Repeat(")", brackets))
	}
	return text
}
