package ir

import (
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// Restated says how functions with kinks were restated: for the larger of two affine
// u(x, y) and v(x, y) the lower level has a hidden variable t, in units r of theirs,
// with the rows t >= u/r and t >= v/r. What makes t the larger one is the weight of
//
//	(t - u/r) (t - v/r)
//
// in the lower objective. It is 0 at t = max(u, v)/r, so that y*(x), its value and the
// multipliers of the model's own rows are those of the problem as written: the
// multipliers of the two rows are there those that they have without the term, plus
// Alpha |u - v|/r on the one that is active. They are >= 0 where the rest of the
// objective rises with t, or does not read it, and where the sides of further kinks
// that it reads rise with t.
//
// With the term the objective is strongly convex in (y, t): let m bound the
// eigenvalues of H + Alpha P from below, H the Hessian without the term and P the
// projection onto t. With the homogeneous parts a and b of u/r and v/r the second
// derivative of the term is 2 (t - a)(t - b) = 2 (t - (a+b)/2)^2 - (a - b)^2/2, at
// least t^2 - a^2 - b^2. The units are such that all a^2 and b^2 add up to at most
// |(y, t)|^2 / 2, so that the whole curves by at least m - Alpha/2.
type Restated struct {
	// Declared is how many entries of y the model declares. Hidden ones follow.
	Declared int
	// Kinks in the order of their variables.
	Kinks []Kink
	// Curve is the sum of the terms (t - u/r)(t - v/r).
	Curve *expr.Node
	// Tied says that no term presses the hidden variables: with ties in the leader's favour the
	// leader takes the least that their rows leave, as all that reads them rises with them. A follower with t added has the same best answers y, of the same value,
	// each with all t that rows and its own objective leave, and the leader's best choice among those is that at the larger of the sides. Loose are then the
	// entries of y that are hidden variables which nothing of the follower's reads; nil before that was found out (see package curvature).
	Tied  bool
	Loose []bool
	// Alpha is the weight of Curve in Problem.Lower.Objective, and Modulus what was
	// proved of the whole; both 0 before that (see package curvature).
	Alpha, Modulus float64
}

// Kink is one function that was restated, or one pair of arguments of a max or min
// of many.
type Kink struct {
	Variable *expr.Node // hidden
	Text     string     // as the model writes it
	Span     diag.Span
}
