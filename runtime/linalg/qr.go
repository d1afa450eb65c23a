package linalg

import (
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
)

// QR is a thin factorization G = QR of k columns of n entries each: Q has orthonormal
// columns, R is upper triangular with a positive diagonal, k x k. Columns enter at the end,
// by Gram-Schmidt with reorthogonalization, and leave from anywhere, by rotations (Daniel,
// Gragg, Kaufman, Stewart 1976). The zero value has no columns; it is not safe for concurrent use.
type QR struct {
	n, k int
	q    []float64 // column after column of Q
	r    []float64 // the upper triangle of R, column after column
	work []float64 // scratch of Drop

	shared bool // q and r are read by others, too: they are copied before they are written
}

// Reset drops all columns; those to come have n entries.
func (f *QR) Reset(n int) {
	f.n = n
	f.Truncate(0)
}

// Truncate keeps the first k columns.
func (f *QR) Truncate(k int) {
	if f.k, f.q, f.r = k, f.q[:k*f.n], f.r[:k*(k+1)/2]; f.shared {
		f.q, f.r = slices.Clip(f.q), slices.Clip(f.r) // what is behind is others'
		f.shared = k > 0
	}
}

// Reserve makes room for k columns in all, n at most.
func (f *QR) Reserve(k int) {
	if k = min(k, f.n); k > f.k && cap(f.q) < k*f.n {
		f.q, f.r, f.shared = append(make([]float64, 0, k*f.n), f.q...), append(make([]float64, 0, k*(k+1)/2), f.r...), false
	}
}

// Take makes f the factorization of the first k columns of g, which the two share as long as neither drops one.
func (f *QR) Take(g *QR, k int) {
	f.n, f.k = g.n, k
	f.q, f.r = slices.Clip(g.q[:k*g.n]), slices.Clip(g.r[:k*(k+1)/2])
	f.shared, g.shared = true, true
}

// Size is k.
func (f *QR) Size() int { return f.k }

// Column is column j of Q, len n, shared.
func (f *QR) Column(j int) []float64 { return f.q[j*f.n : (j+1)*f.n] }

// Triangle is column j of R to its diagonal, len j+1, shared.
func (f *QR) Triangle(j int) []float64 { return f.r[j*(j+1)/2 : (j+1)*(j+2)/2] }

// Coordinates sets c (len k) to Q'v.
func (f *QR) Coordinates(c, v []float64) {
	clear(c[:f.k])
	Gemv(c, 1, f.q, f.k, f.n, false, v)
}

// AddScaled adds alpha Q c to v.
func (f *QR) AddScaled(v []float64, alpha float64, c []float64) {
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
		for j := range f.k {
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
		f.q, f.r, f.shared = slices.Clone(f.q), slices.Clone(f.r), false
	}
	if cap(f.work) < 2*f.k {
		f.work = make([]float64, 4*f.k)
	}
	rotations := f.work[:2*f.k]
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
		blas64.Rot(vector(f.Column(t-1)), vector(f.Column(t)), c, s)
	}
	f.Truncate(f.k - 1)
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
