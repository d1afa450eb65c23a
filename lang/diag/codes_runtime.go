package diag

// The codes of runs and sessions (package runtime).
var _ = register(
	Entry{
		Code: "E0901", Stage: RunStage, Title: "a value that is not a finite number",
		Explanation: `While the model was evaluated, a function was applied outside its domain (the logarithm
of a negative number, a division by zero), or a number grew beyond double precision. The
message names the innermost part and the values that it was given. Bounds on the
variables, or a constraint, keep them inside the domain.`,
		Example: `model domain
upper {
  var x: real in box(0, 1)
  minimize log(y - 2) + x^2
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0902", Stage: RunStage, Title: "constraints that contradict each other",
		Explanation: `No point satisfies all constraints: at the x that was given no y is feasible for the lower
level, or none is for any x in X. The message names constraints that contradict each
other; it is enough to relax one of them.`,
		Example: `model contradiction
upper {
  var x: real in box(0, 1)
  minimize x^2 + y^2
}
lower {
  var y: real
  minimize (y - x)^2
  subject to
    least: y >= 2 + x
    most: y <= 1
}
`,
	},
	Entry{
		Code: "E0903", Stage: RunStage, Title: "an objective that falls without bound",
		Explanation: `An objective goes to minus infinity (to plus infinity where it is maximized) along a
direction that the constraints leave open. Bound the variables, or weigh them with a
small term such as 0.01 * sumsq(x).`,
		Example: `model unbounded
upper {
  var x: real
  minimize y - 2*x
}
lower {
  var y: real
  minimize (y - x)^2
}
`,
	},
	Entry{
		Code: "E0910", Stage: RunStage, Title: "a setting that does not fit",
		Explanation: `The solve block sets something that the chosen method does not have, or to a value that is
out of its range. "bilevelc methods NAME" lists the settings of a method.`,
		Example: `model setting
upper {
  var x: real in box(0, 1)
  minimize x^2 + y^2
}
lower {
  var y: real
  minimize (y - x)^2
}
solve {
  starts = 0
}
`,
	},
	Entry{
		Code: "E0911", Stage: RunStage, Title: "a level's statement before any level",
		Explanation: `In a session, var, minimize, maximize and subject to go to the level that was entered
last. None has been entered yet: enter upper { } or lower { } first.`,
		Example: `var y: vector[3]
`,
	},
	Entry{
		Code: "E0912", Stage: RunStage, Title: "a value of variables before there is a solution",
		Explanation: `In a session, an expression that reads variables is evaluated at the solution. The model,
as it stands, has not been solved: solve it first.`,
		Example: `upper { var x: real in box(0, 1); minimize x^2 }
x + 1
`,
	},
)
