package linalg

import "gonum.org/v1/gonum/mat"

// Eigen gives the eigenvalues of a symmetric matrix, from the least to the largest, and their vectors as
// columns; nil where the iteration does not converge.
func Eigen(a *mat.SymDense) (values []float64, vectors *mat.Dense) {
	var eigen mat.EigenSym
	if !eigen.Factorize(a, true) {
		return nil, nil
	}
	vectors = new(mat.Dense)
	eigen.VectorsTo(vectors)
	return eigen.Values(nil), vectors
}

// Eigenvalues gives the eigenvalues of a symmetric matrix, from the least to the
// largest, or false where the iteration does not converge. They are those that
// come with eigenvectors: without, gonum's Dsterf (v0.17) panics where a part of
// the tridiagonal form is below 1e-122, beside one that is not.
func Eigenvalues(a *mat.SymDense) ([]float64, bool) {
	var eigen mat.EigenSym
	if !eigen.Factorize(a, true) {
		return nil, false
	}
	return eigen.Values(nil), true
}
