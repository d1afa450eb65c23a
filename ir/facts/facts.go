// Package facts reads off the structure of bound expressions, without their
// numbers: their degrees (Degrees), which entries of the variables they depend on
// (Reads), where a Hessian can be nonzero (HessianPattern), and into which independent
// parts the lower level falls (Blocks, Split). Package curvature, which proves, builds on it.
//
// The method is abstract interpretation of the expression graph (Cousot and Cousot,
// Abstract interpretation, POPL 1977): what an operation makes of what is known of its
// arguments follows from its row in the table of package expr, and from the terms that
// its entries are made of (expr.Terms). How each entry depends on the variables is
// found forward, and which entries the result is made of backward (see flow).
//
// Invariants: what is found holds for all values of the variables; zeros of
// data, and no other numbers, are known. It may be coarser than the truth
// where terms cancel. Time is linear in the entries of the graph and of its data, but
// for products of matrices, which take as long as one evaluation; and bounded by maxWork.
package facts

// The bounds of the work on a graph: entries and products that are looked
// at (about a second), and places that are kept at a time (8 bytes each).
const (
	maxWork   = 2e8
	maxPlaces = 2e7
)
