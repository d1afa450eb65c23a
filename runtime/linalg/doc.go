// Package linalg factorizes symmetric matrices. Dense ones: Cholesky's method by
// blocks. Sparse ones: a fill-reducing order,
// a symbolic phase that depends on the pattern alone, a numeric phase, solves
// with iterative refinement; and the colouring by which a sparse Hessian is
// recovered from few gradients. It knows nothing of optimization. certify does
// not use it on purpose: what verifies shares nothing with what solves.
package linalg
