package diag

// The codes of binding a checked model to its data (package ir/bind).
const (
	BindNoParam     Code = "E0801" // a param has no value
	BindNoData      Code = "E0802" // a data array was not supplied
	BindExtra       Code = "E0803" // an array was supplied that the model does not declare
	BindShape       Code = "E0804" // a supplied array has another shape than declared
	BindConflict    Code = "E0805" // two arrays imply different values of a param
	BindNotInteger  Code = "E0806" // a size, an index or an int param is not an integer
	BindNotFinite   Code = "E0807" // an array or a constant part of the model is NaN or infinite
	BindNegative    Code = "E0808" // a size is negative
	BindTooLarge    Code = "E0809" // an array or an iteration space is beyond the limit
	BindIndex       Code = "E0810" // an index is outside its array
	BindShapes      Code = "E0811" // shapes that were left open differ in numbers
	BindNeverHolds  Code = "E0812" // a constraint without variables is violated
	BindAlwaysHolds Code = "E0813" // a constraint without variables holds: it is left out
	BindEmptySet    Code = "E0814" // bounds or set arguments leave no point
	BindGenerator   Code = "E0815" // a generator's arguments are out of range
	BindEmptyRange  Code = "E0816" // max, min or logsumexp of nothing
	BindVaryingSize Code = "E0817" // a size changes with the index of a comprehension
	BindLabels      Code = "E0818" // labels that do not fit their sets
	BindTable       Code = "E0819" // a table whose columns do not fit the model
)

var _ = register(
	Entry{
		Code: BindNoParam, Stage: BindStage, Title: "a param without a value",
		Explanation: `A param takes its value from --set or the data, from its default, or, where it has
neither, from the size of a supplied array that is declared with it.`,
		Example: bindExample(`param n: int`, `data c: vector[3] = [1, 2, 3]`, `vector[n]`, `sumsq(y)`, ``),
	},
	Entry{
		Code: BindNoData, Stage: BindStage, Title: "data that were not supplied",
		Explanation: `Data without a literal or a generator must be given with --data.`,
		Example:     bindExample(`param n: int = 3`, `data c: vector[n]`, `vector[n]`, `sumsq(y - c)`, ``),
	},
	Entry{
		Code: BindExtra, Stage: BindStage, Title: "an array that the model does not declare",
		Explanation: `Every array in the data must be a param or data of the model, so that a misspelt name
does not go unnoticed.`,
		Example:  bindExample(`param n: int = 2`, `data c: vector[n] = [1, 2]`, `vector[n]`, `sumsq(y - c)`, ``),
		DataFile: "data.json", Data: `{"C": [3, 4]}`,
	},
	Entry{
		Code: BindShape, Stage: BindStage, Title: "an array of another size",
		Explanation: `A supplied array has the shape of its declaration. A param whose default is a number takes
the size of the data; one that is given, or computed from others, keeps its value. One
message covers all the arrays that disagree with a param.`,
		Example:  bindExample("param k: int = 1\nparam n: int = 2 * k", `data c: vector[n]`, `vector[n]`, `sumsq(y - c)`, ``),
		DataFile: "data.json", Data: `{"c": [1, 2, 3]}`,
	},
	Entry{
		Code: BindConflict, Stage: BindStage, Title: "arrays that do not fit together",
		Explanation: `A param without a value is inferred from the first supplied array whose size it is. The
others must agree with it.`,
		Example:  bindExample(`param n: int`, "data c: vector[n]\ndata d: vector[n]", `vector[n]`, `sumsq(y - c - d)`, ``),
		DataFile: "data.json", Data: `{"c": [1, 2, 3], "d": [1, 2]}`,
	},
	Entry{
		Code: BindNotInteger, Stage: BindStage, Title: "a number that must be an integer",
		Explanation: `Sizes, indices and int params are integers, and a division among them must leave no
remainder. Their magnitude is below 2^53, so that each is told from the next.`,
		Example:  bindExample("param n: int = 10\nparam k: int = n / 5", `data c: vector[k] ~ normal(0, 1)`, `vector[k]`, `sumsq(y - c)`, ``),
		DataFile: "data.json", Data: `{"n": 7}`,
	},
	Entry{
		Code: BindNotFinite, Stage: BindStage, Title: "a constant that is not finite",
		Explanation: `A part of the model that depends on data only is infinite or not a number. The message
names the operation and its operands.`,
		Example: bindExample(`param n: int = 2`, `data c: vector[n] = [1, 0]`, `vector[n]`, `sumsq(y - log(c))`, ``),
	},
	Entry{
		Code: BindNegative, Stage: BindStage, Title: "a negative size",
		Explanation: `A size is at least 0.`,
		Example:     bindExample(`param n: int = 2`, `data c: vector[n - 3] ~ normal(0, 1)`, `vector[n]`, `sumsq(y) + sum(c)`, ``),
	},
	Entry{
		Code: BindTooLarge, Stage: BindStage, Title: "a size beyond the limit",
		Explanation: `Arrays that a model makes up itself (variables, generated data, ones(n), ranges of
indices) are limited to 2^25 entries each, or four times the largest array supplied.`,
		Example: bindExample(`param n: int = 1000000000`, `data c: real = 1`, `vector[n]`, `c * sumsq(y)`, ``),
	},
	Entry{
		Code: BindIndex, Stage: BindStage, Title: "an index outside its array",
		Explanation: `Indices count from 1. The message says which values of the indices lead there.`,
		Example:     bindExample(`param n: int = 2`, `data next: vector[n] = [2, 3]`, `vector[n]`, `sum(i in 1..n: (y[i] - y[next[i]])^2) + sumsq(y)`, ``),
	},
	Entry{
		Code: BindShapes, Stage: BindStage, Title: "shapes that differ in numbers",
		Explanation: `The sizes could have been equal, as far as the text tells; with the data at hand they
are not.`,
		Example:  bindExample(`param n: int`, `data c: vector[n]`, `vector[3]`, `sumsq(y - c)`, ``),
		DataFile: "data.json", Data: `{"c": [1, 2]}`,
	},
	Entry{
		Code: BindNeverHolds, Stage: BindStage, Title: "a constraint that cannot hold",
		Explanation: `No variable takes part in the constraint and the data violate it, so that nothing is
feasible.`,
		Example: bindExample(`param n: int = 2`, `data w: vector[n] = [0, 0]`, `vector[n]`, `sumsq(y)`, `w' * y >= 1`),
	},
	Entry{
		Code: BindAlwaysHolds, Stage: BindStage, Title: "a constraint that always holds",
		Explanation: `No variable takes part in the constraint, and the data satisfy it. It is left out.`,
		Example:     bindExample(`param n: int = 2`, `data w: vector[n] = [0, 0]`, `vector[n]`, `sumsq(y)`, `w' * y <= 1`),
	},
	Entry{
		Code: BindEmptySet, Stage: BindStage, Title: "a set without a point",
		Explanation: `The bounds of a variable contradict each other, or a simplex or ball has a negative size.`,
		Example:     bindExample(`param n: int = 2`, "data lo: vector[n] = [0, 5]\ndata hi: vector[n] = [1, 4]", `vector[n] in box(lo, hi)`, `sumsq(y)`, ``),
	},
	Entry{
		Code: BindGenerator, Stage: BindStage, Title: "a generator's arguments are out of range",
		Explanation: `normal(mean, deviation) takes a deviation of at least 0, uniform(low, high) takes low at
most high.`,
		Example: bindExample("param n: int = 2\nparam spread: real = 0 - n", `data c: vector[n] ~ normal(0, spread)`, `vector[n]`, `sumsq(y - c)`, ``),
	},
	Entry{
		Code: BindEmptyRange, Stage: BindStage, Title: "the largest or smallest of nothing",
		Explanation: `A sum over nothing is 0 and a product is 1, but max, min and logsumexp have no value.`,
		Example:     bindExample(`param n: int = 1`, `data c: vector[n] = [4]`, `vector[n]`, `max(i in 2..n: c[i]) * sumsq(y)`, ``),
	},
	Entry{
		Code: BindVaryingSize, Stage: BindStage, Title: "too many parts of different sizes",
		Explanation: `A part such as y[1..i] changes its size with the index, so that the terms cannot be
computed together. Up to 4096 of them are taken one by one; beyond, write an inner
comprehension such as sum(j in 1..i: y[j]).`,
		Example: bindExample(`param n: int = 5000`, `data c: real = 1`, `vector[n]`, `c * sumsq(y) + sum(i in 1..n: sum(y[1..i]))`, ``),
	},
)

// bindExample is a model around one lower level.
func bindExample(params, data, variable, objective, constraint string) string {
	if constraint != "" {
		constraint = "\n  subject to " + constraint
	}
	return "model example\n" + params + "\n" + data + `
upper {
  var x: real in box(0, 1)
  minimize (x - 1)^2 + sum(y)
}
lower {
  var y: ` + variable + `
  minimize ` + objective + " + x * sum(y)" + constraint + `
}
`
}
