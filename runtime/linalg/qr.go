package linalg

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"bilevelc/runtime/tolerance"
)

// QR is a thin factorization G = QR of k columns of n entries each: Q has orthonormal
// columns, R is upper triangular with a positive diagonal, k x k. Columns enter at the end,
// by Gram-Schmidt with reorthogonalization, and leave from anywhere, by rotations (Daniel,
// Gragg, Kaufman, Stewart 1976). The zero value has no columns; it is not safe for concurrent use.
//
// Columns that Append takes are far from dependent: then Q = G R^-1 is not made, and R is that of the Cholesky factorization of G'G. A product with
// Q' is R^-T G', which loses |G|^2 |R^-1|^2 roundings, and Split's next sweep gains as many digits as the first (seminormal equations, corrected: Bjorck 1987).
type QR struct {
	n, k int
	q    []float64 // column after column of Q, or of G where Q is implied
	r    []float64 // the upper triangle of R, column after column
	work []float64 // scratch

	implied bool
	inverse []float64 // of each column where Q is implied: no less than the square of the Frobenius norm of R^-1 with the columns so far
	made    int       // with how many columns Q was made, where it was implied before

	shared bool // q, r and inverse are read by others, too: they are copied before they are written
}

// Reset drops all columns; those to come have n entries.
func (f *QR) Reset(n int) {
	f.n = n
	f.Truncate(0)
}

// Truncate keeps the first k columns.
func (f *QR) Truncate(k int) {
	f.implied = f.implied && k > 0
	f.k, f.q, f.r, f.inverse = k, f.q[:k*f.n], f.r[:k*(k+1)/2], f.inverse[:min(k, len(f.inverse))]
	if f.shared {
		f.clip()
		f.shared = k > 0
	}
}

// clip leaves what is behind to others.
func (f *QR) clip() {
	f.q, f.r, f.inverse = slices.Clip(f.q), slices.Clip(f.r), slices.Clip(f.inverse)
}

// Reserve makes room for k columns in all, n at most.
func (f *QR) Reserve(k int) {
	if k = min(k, f.n); k > f.k && cap(f.q) < k*f.n {
		f.q, f.r, f.shared = append(make([]float64, 0, k*f.n), f.q...), append(make([]float64, 0, k*(k+1)/2), f.r...), false
		f.inverse = slices.Clip(f.inverse)
	}
}

// Take makes f the factorization of the first k columns of g, none of which was dropped, as adding them makes it; the two share it as long as neither drops
// one. It reports false where Q is made of g, but would not be with so few columns.
func (f *QR) Take(g *QR, k int) bool {
	if !g.implied && k < g.made {
		return false
	}
	f.n, f.k, f.implied = g.n, k, g.implied && k > 0
	f.q, f.r, f.inverse = g.q[:k*g.n], g.r[:k*(k+1)/2], g.inverse[:min(k, len(g.inverse))]
	f.clip()
	f.made, f.shared, g.shared = g.made, true, true
	return true
}

// Extend appends a column of which more than a length is left beyond the span of the others, and reports whether it is.
func (f *QR) Extend(g []float64, least float64) bool {
	coef, rest := make([]float64, f.k+1), make([]float64, f.n)
	left := f.Split(g, coef, rest)
	if left > least {
		f.Push(coef, rest, left)
	}
	return left > least
}

// Append appends a column g, of length 1 or less, by its products with the columns before.
// It reports false where Q is not implied, or is made since the column is too near to the span of the others for that: then Split and Push take it.
func (f *QR) Append(g []float64) bool {
	if f.k > 0 && !f.implied {
		return false
	}
	column, back := f.scratch(0), f.scratch(1)
	clear(column)
	Gemv(column, 1, f.q, f.k, f.n, false, g)
	f.SolveT(column)
	copy(back, column)
	f.Solve(back) // of R^-1 the new column is (-back, 1) over the new pivot
	left := Dot(g, g) - Dot(column, column)
	inverse := (1 + Dot(back, back)) / left
	if f.k > 0 {
		inverse += f.inverse[f.k-1]
	}
	if !(left > 0) || !(inverse*inverse*tolerance.HalfDigits <= 1) { // a sweep would lose more than a quarter of the digits
		f.made = f.k + 1
		f.explicit()
		return false
	}
	f.r = append(append(f.r, column...), math.Sqrt(left))
	f.q = append(f.q, g...)
	f.k, f.implied, f.inverse = f.k+1, true, append(f.inverse, inverse)
	return true
}

// scratch is one of the two vectors of k entries that belong to no one.
func (f *QR) scratch(which int) []float64 {
	if cap(f.work) < 2*(f.k+1) {
		f.work = make([]float64, 4*(f.k+1))
	}
	return f.work[which*f.k : (which+1)*f.k]
}

// explicit makes Q where it is implied.
func (f *QR) explicit() {
	if !f.implied {
		return
	}
	g, k := f.q, f.k
	f.q, f.r, f.shared = make([]float64, 0, cap(g)), make([]float64, 0, cap(f.r)), false
	f.Truncate(0)
	coef, rest := make([]float64, k), make([]float64, f.n)
	for j := range k {
		f.Push(coef, rest, f.Split(g[j*f.n:(j+1)*f.n], coef, rest))
	}
}

// Size is k.
func (f *QR) Size() int { return f.k }

// Column is column j of Q, which is not implied, len n, shared.
func (f *QR) Column(j int) []float64 { return f.q[j*f.n : (j+1)*f.n] }

// Triangle is column j of R to its diagonal, len j+1, shared.
func (f *QR) Triangle(j int) []float64 { return f.r[j*(j+1)/2 : (j+1)*(j+2)/2] }

// Coordinates sets c (len k) to Q'v.
func (f *QR) Coordinates(c, v []float64) {
	clear(c[:f.k])
	Gemv(c, 1, f.q, f.k, f.n, false, v)
	if f.implied {
		f.SolveT(c)
	}
}

// AddScaled adds alpha Q c to v.
func (f *QR) AddScaled(v []float64, alpha float64, c []float64) {
	if f.implied {
		c = append(f.scratch(1)[:0], c[:f.k]...)
		f.Solve(c)
	}
	Gemv(v, alpha, f.q, f.k, f.n, true, c)
}

// Split writes v as Q coef + rest with rest orthogonal to Q, and returns |rest|. rest may
// be v; coef, of len k at least, may be nil. One column after another is subtracted, each
// from what those before have left, which is kinder to nearly dependent columns than all
// at once. Two sweeps suffice ("twice is
// enough", Kahan); the second is left out where the first has cancelled little, and a
// third is taken where the second still cancels.
func (f *QR) Split(v, coef, rest []float64) float64 {
	copy(rest, v)
	if coef != nil {
		clear(coef[:f.k])
	}
	size := Norm(rest)
	if f.k == 0 {
		return size
	}
	for range 3 {
		if f.implied {
			c := f.scratch(0)
			f.Coordinates(c, rest)
			f.AddScaled(rest, -1, c)
			if coef != nil {
				floats.Add(coef[:f.k], c)
			}
		}
		for j := 0; j < f.k && !f.implied; j++ {
			q := f.Column(j)
			c := Dot(q, rest)
			Axpy(rest, -c, q)
			if coef != nil {
				coef[j] += c
			}
		}
		after := Norm(rest)
		if after > 0.7*size {
			return after
		}
		size = after
	}
	return size
}

// Push appends the column that Split has just written as coef and rest, of which norm,
// not 0, is the norm.
func (f *QR) Push(coef, rest []float64, norm float64) {
	f.r = append(append(f.r, coef[:f.k]...), norm)
	for _, t := range rest {
		f.q = append(f.q, t/norm)
	}
	f.k++
}

// Drop removes column j and makes R a triangle again.
func (f *QR) Drop(j int) {
	if f.shared {
		f.q, f.r, f.inverse, f.shared = slices.Clone(f.q), slices.Clone(f.r), slices.Clone(f.inverse), false
	}
	rotations := f.scratch(0)[:2*f.k]
	for t := j + 1; t < f.k; t++ {
		// The column moves to t-1, where it has one entry too many, behind the rotations
		// of those before.
		column := f.Triangle(t)
		for i := j; i < t-1; i++ {
			column[i], column[i+1] = rotate(rotations[2*i:], column[i], column[i+1])
		}
		c, s, r, _ := blas64.Rotg(column[t-1], column[t])
		if r < 0 {
			c, s, r = -c, -s, -r
		}
		column[t-1] = r
		rotations[2*t-2], rotations[2*t-1] = c, s
		copy(f.Triangle(t-1), column[:t])
		if !f.implied {
			blas64.Rot(vector(f.Column(t-1)), vector(f.Column(t)), c, s)
		}
	}
	if f.implied { // what bounds the inverse with a column more bounds that without it
		copy(f.q[j*f.n:], f.q[(j+1)*f.n:])
		copy(f.inverse[j:], f.inverse[j+1:])
	}
	if f.Truncate(f.k - 1); f.k < f.made {
		f.made = math.MaxInt // with other columns in the place of those that are gone it might not have been
	}
}

func rotate(cs []float64, x, y float64) (float64, float64) {
	return cs[0]*x + cs[1]*y, cs[0]*y - cs[1]*x
}

// Solve overwrites v (len k) with R^-1 v.
func (f *QR) Solve(v []float64) {
	for j := f.k - 1; j >= 0; j-- {
		column := f.Triangle(j)
		v[j] /= column[j]
		Axpy(v[:j], -v[j], column[:j])
	}
}

// SolveT overwrites v (len k) with R^-T v.
func (f *QR) SolveT(v []float64) {
	for j := range f.k {
		column := f.Triangle(j)
		v[j] = (v[j] - Dot(column[:j], v[:j])) / column[j]
	}
}

func vector(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }
