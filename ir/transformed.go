package ir

import "bilevelc/ir/expr"

// Transformed says that Problem.Lower.Objective is an h of which the model's own objective g
// is an increasing function, g = phi(x, h) with phi strictly increasing in h; or, where
// followers are independent, that it is the sum of such h, one for each of them. For each x both have the same
// best answers. The gradient of g in y is that of h times the slope of phi, so that
// multipliers of h times that slope are multipliers of g.
type Transformed struct {
	Objective *expr.Node // g, to be minimized
	Slope     *expr.Node // len Rows: that of phi, for each row the one of its follower
}
