package linalg

// Tolerances that several packages share, each relative to the sizes of the terms that a number is the
// sum of. Decisions that hang on the same question read the same one.
const (
	// Roundoff is the unit roundoff: half the distance from 1 to the next double.
	Roundoff = 0x1p-53
	// FewRoundings is what a few operations round off: some units in the last place of the result.
	FewRoundings = 8 * Roundoff
	// Feasibility is the violation, or the slack, of a row that is met: a few hundred roundings, enough for the
	// lengths of the sums here, and what projections onto rows leave.
	Feasibility = 1e-13
	// Dependence is the sine of the angle between a row and the span of others below which it counts as dependent
	// on them: rounding makes 1e-15 times a modest factor, rows that differ on purpose far more.
	Dependence = 1e-10
	// Contradiction is the violation from which on rows contradict each other: data come in decimals and as results of
	// other computations, and what their last seven digits say is not what a model states.
	Contradiction = 1e-9
	// ValueAccuracy is the accuracy of a value of F, which a good lower solve leaves.
	ValueAccuracy = 1e-13
	// Armijo is the part of the decrease that the slope at the start of a step promises, which it has to bring:
	// any below a half keeps Newton steps (Nocedal and Wright, (3.4)).
	Armijo = 1e-4
)

// LeastSparse is the order, of variables or of variables and rows, from which sparse factors take less time than dense
// ones (bench/growth; a projection onto a simplex takes 0.09 ms for 5 at 64).
const LeastSparse = 64
