package diag

// The codes of what is proved about a bound model (package curvature).
const (
	NotStronglyConvex    Code = "E0701" // g is not strongly convex in y: a witness direction was found
	ConvexityUnknown     Code = "E0702" // neither shown nor refuted
	ConvexityWeak        Code = "E0703" // strongly convex along the equality rows only
	NotSmooth            Code = "E0704" // an objective is not continuously differentiable where it is evaluated
	SmoothnessUnknown    Code = "E0705" // the ranges leave open whether it is
	RowsDependent        Code = "E0706" // an equality row is a combination of others
	EqualityInconsistent Code = "E0707" // equality rows contradict each other for every x
	EqualityBindsX       Code = "E0708" // equality rows can hold only for some x
)

var _ = register(
	Entry{
		Code: NotStronglyConvex, Stage: ProofStage, Title: "a lower objective that is not strongly convex",
		Explanation: `The methods need a lower level with one solution y*(x) that moves smoothly with the data,
which strong convexity of the lower objective in y, for every x in X, ensures. Here a
direction was found along which its second derivative is negative or 0. Often an entry of
y is missing from the objective, or a matrix has a null space.`,
		Example: proofExample(`y[1]^2 - y[2]^2`, ``),
	},
	Entry{
		Code: ConvexityUnknown, Stage: ProofStage, Title: "strong convexity that could not be decided",
		Explanation: `Composition rules, the ranges of the declared sets and the spectra of quadratic parts
prove no lower bound on the second derivative, and no point was found where it is
negative. Bounds on x or y, or a small term such as 0.01 * sumsq(y), often decide it.`,
		Example: proofExample(`sumsq(y) + sin(3 * y[1] * y[2]) / 8`, `-1 <= y <= 1`),
	},
	Entry{
		Code: ConvexityWeak, Stage: ProofStage, Title: "strong convexity along the equality rows only",
		Explanation: `The lower objective curves in every direction that its equality constraints leave, and so
has one solution, but not in all directions. Methods that stay on the equality rows are
fine; others may converge slowly or not at all.`,
		Example: proofExample(`y[1] * y[2]`, `y[1] - y[2] == x`),
	},
	Entry{
		Code: NotSmooth, Stage: ProofStage, Title: "an objective that is not smooth where it is evaluated",
		Explanation: `The methods differentiate both objectives. An operation is applied to values for which it
has no derivative, or no value, whatever x and y are in their sets.`,
		Example: proofExample(`sumsq(y) - log(y[1] - 5)`, `0 <= y <= 1`),
	},
	Entry{
		Code: SmoothnessUnknown, Stage: ProofStage, Title: "an objective that may not be smooth",
		Explanation: `Over the ranges of x and y that the declared sets imply, an operation may be applied to
values for which it has no derivative: a logarithm or a root near 0, a quotient with a
divisor that may vanish. Tighter bounds, such as y >= 0.01, settle it.`,
		Example: proofExample(`sumsq(y) - log(y[1])`, `0 <= y <= 1`),
	},
	Entry{
		Code: RowsDependent, Stage: ProofStage, Title: "an equality constraint that repeats others",
		Explanation: `One equality row is a combination of the others, with the same right-hand side. The set of
feasible y is the same without it, but the multipliers are not unique. Leave it out.`,
		Example: proofExample(`sumsq(y)`, "sum(y) == x\n    2*y[1] + 2*y[2] == 2*x"),
	},
	Entry{
		Code: EqualityInconsistent, Stage: ProofStage, Title: "equality constraints that contradict each other",
		Explanation: `In y, one equality row is a combination of the others, but its right-hand side is not: no y
is feasible, whatever x is.`,
		Example: proofExample(`sumsq(y)`, "sum(y) == 1\n    sum(y) == 2"),
	},
	Entry{
		Code: EqualityBindsX, Stage: ProofStage, Title: "equality constraints that hold for some x only",
		Explanation: `In y, one equality row is a combination of the others; together they leave an equation in x
alone. The lower level has a feasible y only where it holds. Write it in the upper level.`,
		Example: proofExample(`sumsq(y)`, "sum(y) == 1\n    sum(y) == 2*x"),
	},
)

// proofExample is a model with this lower objective and these constraints.
func proofExample(objective, constraints string) string {
	if constraints != "" {
		constraints = "\n  subject to\n    " + constraints
	}
	return `model example

upper {
  var x: real in box(0, 1)
  minimize (x - 1)^2 + sumsq(y)
}

lower {
  var y: vector[2]
  minimize ` + objective + constraints + `
}
`
}
