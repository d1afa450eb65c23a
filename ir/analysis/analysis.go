// Package analysis reads off the structure of bound expressions, without
// their numbers: which entries of its arguments an entry of a node is made of
// (TermsOf), and where the Hessian of a function can be nonzero
// (HessianPattern). Packages curvature and separable, which prove and split,
// build on it.
//
// Invariants: what is found holds for all values of the variables; zeros of
// data, and no other numbers, are known. It may be coarser than the truth
// where terms cancel.
package analysis
