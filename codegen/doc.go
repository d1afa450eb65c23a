// Package codegen compiles the value and gradients of a scalar expression to
// a flat program over one preallocated arena.
//
// Input: the gradient graph of package autodiff, and the values of its data.
// Output: Program, immutable and safe to share, and from it Evaluators, each
// with an arena of its own, which compute the value, the gradient in x, the
// gradient in y, and combinations, without allocating.
//
// The way from graph to program:
//
//	import      gradient graph -> form (form.go)
//	passes      form -> form, each with a contract, each switchable (passes.go)
//	staging     what depends on data only is computed here, once; what depends
//	            on x only forms the x stage, run when x changes; the rest runs
//	            on every call
//	entries     the y stage is cut out for each entry point (value, gradients,
//	            both), so that none computes what it does not return
//	scheduling  products take their sums along, elementwise chains become one
//	            loop over cache-sized blocks (fuse.go)
//	planning    every result gets its place; places are reused where lifetimes
//	            allow (plan.go)
//
// Invariants: a pass keeps the value of every output up to rounding; results
// do not depend on the number of threads; an evaluation never allocates.
package codegen
