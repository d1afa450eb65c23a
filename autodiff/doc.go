// Package autodiff differentiates a scalar expression of a bound model.
//
// Input: an expression graph (package ir/expr). The expression is translated
// to a Gorgonia graph (shapes only, no values), which Gorgonia differentiates
// symbolically in reverse mode; the result is read back, in topological order,
// into a Graph of this package's own types. No type of Gorgonia leaves the
// package, and no other package imports Gorgonia.
//
// Output: Graph, the value and the gradients in x and in y as one shared list
// of nodes. Invariants: arguments precede the nodes that use them; every node
// is reachable from the value or a gradient; elementwise operations have
// operands of the node's shape or scalars; subexpressions that depend on data
// only are leaves that name the expression (their values are not touched
// here); variables that the expression does not read have no gradient entry,
// and their gradient is zero.
//
// Gorgonia's own operations and differentiation rules are used where they are
// right. Where they are wrong or missing (sums over several axes, stable
// log(1+exp), log-sum-exp, outer products, gathers, scalars that broadcast)
// the operations are of this package and implement Gorgonia's SDOp, so that
// Gorgonia still drives the differentiation.
package autodiff
