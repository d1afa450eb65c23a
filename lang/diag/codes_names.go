package diag

// The codes of names (package ir/check).
var _ = register(
	Entry{
		Code: "E0201", Stage: CheckStage, Title: "unknown name",
		Explanation: `A name stands for a param, data, let or variable of the model, or for an index or
parameter around the place. Levels see each other's names, and order does not matter.`,
		Example: `model unknown
data goal: vector[3] = [1, 2, 3]
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - gaol) + sum(x)
}
`,
	},
	Entry{
		Code: "E0202", Stage: CheckStage, Title: "unknown function",
		Explanation: `Functions are those of the model (fn), of the standard library, and the primitives of
the language.`,
		Example: `model unknown_function
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsqr(y - x)
}
`,
	},
	Entry{
		Code: "E0203", Stage: CheckStage, Title: "declared twice",
		Explanation: `The names of a model must differ, those inside its two levels included; so must the
names of a level's constraints, of the report's items, and of indices side by side.`,
		Example: `model twice
data goal: vector[3] = [1, 2, 3]
param goal: real = 2
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - goal) + sum(x)
}
`,
	},
	Entry{
		Code: "E0204", Stage: CheckStage, Title: "the name of a primitive",
		Explanation: `Primitives, such as sum, exp and length, belong to the language and keep their
meaning. The names of library functions may be reused: the model's own goes first.`,
		Example: `model reserved
data max: vector[3] = [1, 2, 3]
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
}
`,
	},
	Entry{
		Code: "E0205", Stage: CheckStage, Title: "a definition that needs itself",
		Explanation: `Params, data and lets may be declared in any order, but each must be computable from
others: a circle of definitions has no beginning.`,
		Example: `model circle
let a = b + 1
let b = 2 * a
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - a * x)
}
`,
	},
	Entry{
		Code: "E0206", Stage: CheckStage, Title: "a recursive function",
		Explanation: `Functions are expanded where they are called, so that they can be differentiated and
compiled; a function cannot call itself, directly or through others.`,
		Example: `model recursion
fn half(u: real) = half(u) / 2
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y) + half(sum(x))
}
`,
	},
	Entry{
		Code: "E0207", Stage: CheckStage, Title: "never used",
		Explanation: `A warning: a param, data, let or variable that nothing reads is most often a slip of
the pen somewhere else.`,
		Example: `model unused
data price: vector[3] = [1, 2, 3]
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
}
`,
	},
	Entry{
		Code: "E0208", Stage: CheckStage, Title: "an index that hides a name",
		Explanation: `A warning: inside the comprehension or family the name means the index, and what it
hides cannot be read there. Another letter makes the model easier to read.`,
		Example: `model hidden
data i: vector[3] = [1, 2, 3]
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - i) + sum(i in 1..3: y[i] * x[i])
}
`,
	},
	Entry{
		Code: "E0209", Stage: CheckStage, Title: "a function is not a value",
		Explanation: `A function's name needs arguments, and only functions are called: an entry of a vector
is y[2], and a product is written with *.`,
		Example: `model called
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x) + y(2)
}
`,
	},
	Entry{
		Code: "E0210", Stage: CheckStage, Title: "unknown set",
		Explanation: `A variable is declared in box(lo, hi), nonneg, simplex(s), ball(r) or free; without a
set it is free.`,
		Example: `model unknown_set
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3] in nonnegative
  minimize sumsq(y - x)
}
`,
	},
	Entry{
		Code: "E0211", Stage: CheckStage, Title: "unknown generator",
		Explanation: `Data are drawn by normal(mean, deviation) or uniform(low, high), from the run's seed.`,
		Example: `model unknown_generator
data c: vector[3] ~ gauss(0, 1)
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
		Code: "E0212", Stage: CheckStage, Title: "not a reduction over indices",
		Explanation: `sum, prod, max and min range over indices, as in sum(i in 1..n: c[i]). Other functions
take a vector.`,
		Example: `model no_reduction
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x) + mean(i in 1..3: y[i])
}
`,
	},
)
