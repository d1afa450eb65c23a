package diag

// The codes of levels, structure, affinity and smoothness (package ir/check).
var _ = register(
	Entry{
		Code: "E0401", Stage: CheckStage, Title: "an upper constraint that is not smooth in the lower variables",
		Explanation: `A constraint of the upper level may read the lower level's answer, its variables and
multipliers, through smooth functions: the methods follow the gradient of the
constraint through the answer. Functions with corners, such as ` + "`abs`" + ` and ` + "`max`" + `,
are restated by several smooth constraints.`,
		Example: `model coupled
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
  subject to
    fair: abs(x[1] - y[1]) <= 1
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
}
`,
	},
	Entry{
		Code: "E0402", Stage: CheckStage, Title: "a level is missing",
		Explanation: `A bilevel model has an upper level, the leader's problem, and a lower level, the
follower's.`,
		Example: `model half
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x)
}
`,
	},
	Entry{
		Code: "E0403", Stage: CheckStage, Title: "a block is there twice",
		Explanation: `A model has one block each of upper, lower, solve and report.`,
		Example: `model blocks
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
}
solve {
  start x = 0
}
solve {
  start x = 1
}
`,
	},
	Entry{
		Code: "E0404", Stage: CheckStage, Title: "a level without an objective",
		Explanation: `Each level minimizes or maximizes one expression.`,
		Example: `model aimless
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  subject to
    y >= x
}
`,
	},
	Entry{
		Code: "E0405", Stage: CheckStage, Title: "two objectives",
		Explanation: `Each level has one objective; several goals are added up with weights.`,
		Example: `model goals
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
  minimize sumsq(y)
}
`,
	},
	Entry{
		Code: "E0406", Stage: CheckStage, Title: "a level without variables",
		Explanation: `Each level decides something: it declares at least one var.`,
		Example: `model idle
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x)
}
lower {
  minimize sumsq(x)
}
`,
	},
	Entry{
		Code: "E0407", Stage: CheckStage, Title: "must be known before solving",
		Explanation: `Params, data, sizes, indices, ranges, the arguments of sets, starts and settings are
fixed before the model is solved, so they cannot depend on variables.`,
		Example: `model unknown_bound
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3] in box(0, x[1])
  minimize sumsq(y - x)
}
`,
	},
	Entry{
		Code: "E0408", Stage: CheckStage, Title: "a lower variable in a ball",
		Explanation: `The constraints of the lower level are linear; a ball is not. A box of the same radius
is. Upper variables may be in balls.`,
		Example: `model ball
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3] in ball(1)
  minimize sumsq(y - x)
}
`,
	},
	Entry{
		Code: "E0409", Stage: CheckStage, Title: "not an upper variable",
		Explanation: `` + "`" + `start` + "`" + ` gives a starting point of the upper level; the lower level is solved from
there.`,
		Example: `model start
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
}
solve {
  start y = 0
}
`,
	},
	Entry{
		Code: "E0410", Stage: CheckStage, Title: "a setting given twice",
		Explanation: `Each setting and each start is given once.`,
		Example: `model settings
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
}
solve {
  method = pgd
  method = goldstein
}
`,
	},
	Entry{
		Code: "E0411", Stage: CheckStage, Title: "a chain in two directions",
		Explanation: `A chain of relations runs one way: lo <= e <= hi or hi >= e >= lo, with == anywhere.`,
		Example: `model chain
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
  subject to
    0 <= y >= x
}
`,
	},
	Entry{
		Code: "E0412", Stage: CheckStage, Title: "a model without a name",
		Explanation: `A model begins with the line ` + "`" + `model NAME` + "`" + `.`,
		Example: `upper {
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
		Code: "E0413", Stage: CheckStage, Title: "a constraint without variables",
		Explanation: `A warning: such a constraint always holds or never does.`,
		Example: `model idle_constraint
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
  subject to
    1 <= 2
}
`,
	},
	Entry{
		Code: "E0414", Stage: CheckStage, Title: "an objective without variables",
		Explanation: `A warning: every point of the level is as good as any other.`,
		Example: `model idle_objective
upper {
  var x: vector[3] in box(-1, 1)
  minimize 1
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
}
`,
	},
	Entry{
		Code: "E0415", Stage: CheckStage, Title: "an empty set",
		Explanation: `The numbers show that no point is in this set, or no number in this range.`,
		Example: `model empty
upper {
  var x: vector[3] in box(2, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
}
`,
	},
	Entry{
		Code: "E0416", Stage: CheckStage, Title: "a kind that cannot be declared here",
		Explanation: `A param is real or int; arrays are data. Variables are real, vector or matrix, for the
methods need continuous variables. Generators draw reals.`,
		Example: `model whole
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x)
}
lower {
  var y: int
  minimize (y - sum(x))^2
}
`,
	},
	Entry{
		Code: "E0417", Stage: CheckStage, Title: "a lower level that reads its own multiplier",
		Explanation: `The multipliers of the lower level, ` + "`dual(row)`" + `, follow from its solution. The upper
level and the report may read them; the lower level itself cannot be stated by means
of them.`,
		Example: `model circle
upper {
  var x: real in box(0, 1)
  minimize (x - 1)^2
}
lower {
  var y: real
  minimize (y - x)^2 + dual(cap) * y
  subject to
    cap: y <= 0.5
}
`,
	},
	Entry{
		Code: "E0501", Stage: CheckStage, Title: "a constraint that is not affine",
		Explanation: `Constraints are linear in the variables of both levels together, plus a constant: they
may multiply variables by data, and add, sum, index and transpose. The message names
the innermost part that is not affine.`,
		Example: `model bilinear
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x)
  subject to
    budget: sum(x .* y) <= 1
}
`,
	},
	Entry{
		Code: "E0601", Stage: CheckStage, Title: "an objective that is not smooth",
		Explanation: `The methods follow gradients, so objectives are made of functions that are
continuously differentiable. abs, max, min, sign and floor may be used in data, in lets
over data and in the report; in an objective a smooth function stands in for them.`,
		Example: `model kink
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x) + max(abs(y))
}
`,
	},
	Entry{
		Code: "E0602", Stage: CheckStage, Title: "a condition on variables",
		Explanation: `Conditions choose by indices, params and data. What is chosen by a variable jumps where
the condition turns, and has no gradient there.`,
		Example: `model jump
upper {
  var x: vector[3] in box(-1, 1)
  minimize sumsq(x) + sum(y)
}
lower {
  var y: vector[3]
  minimize sumsq(y - x) + (if y[1] > 0 then y[1] else 0)
}
`,
	},
)
