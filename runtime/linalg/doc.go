// Package linalg is the linear algebra that the solvers share. Vectors. Dense matrices:
// Cholesky's method by blocks, and a QR factorization whose columns come and go. Sparse
// symmetric ones: a fill-reducing order, a symbolic phase that depends on the pattern alone,
// a numeric phase, solves with iterative refinement; the rows that depend on others; and the
// colouring by which a sparse Hessian is recovered from few gradients. And the recurrence of
// conjugate gradients. It knows nothing of optimization. certify does not use it on purpose:
// what verifies shares nothing with what solves.
package linalg
