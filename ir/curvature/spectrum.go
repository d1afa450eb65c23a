package curvature

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/directed"
)

// extreme is a certified lower bound of a symmetric matrix's smallest
// eigenvalue, with an estimate of it and of its eigenvector, which prove
// nothing.
type extreme struct {
	bound    float64
	estimate float64
	vector   []float64 // over cols, length 1; nil where none was computed
	cols     []int
}

// fullOrder is up to which order all eigenvalues are computed for the
// estimate; larger matrices use Lanczos's method. 25 n^3 operations at this
// order are a few milliseconds.
const fullOrder = 150

// leastEigenvalue bounds the smallest eigenvalue of the symmetric n x n matrix
// a from below. An estimate s is certified by a Cholesky factorization of
// a - s I: if it runs to completion, the smallest eigenvalue is at least
// s - gamma(n+1) trace(a - s I) (Rump, Verification of positive definiteness,
// BIT 46, 2006). Gershgorin's bound stands where work runs out. For a large
// matrix the bound may lie below the estimate by the part give of its size,
// which usually saves all factorizations but one.
func leastEigenvalue(a []float64, n int, work *budget, give float64) extreme {
	out := extreme{bound: gershgorinBound(a, n)}
	out.estimate = out.bound
	if math.IsInf(out.bound, 0) || math.IsNaN(out.bound) {
		out.bound = math.Inf(-1)
		return out
	}
	scale := 0.0
	for i := range n {
		scale = max(scale, math.Abs(a[i*n+i]))
		for j := range i {
			scale = max(scale, math.Abs(a[i*n+j]))
		}
	}
	if scale == 0 {
		return extreme{vector: unit(n, 0)}
	}
	cube, open := float64(n)*float64(n)*float64(n), 0.0
	if n <= fullOrder {
		if !work.spend(25 * cube) {
			return out
		}
		var eig mat.EigenSym
		if !eig.Factorize(mat.NewSymDense(n, append([]float64(nil), a...)), true) {
			return out
		}
		out.estimate = eig.Values(nil)[0]
		var vectors mat.Dense
		eig.VectorsTo(&vectors)
		out.vector = mat.Col(nil, 0, &vectors)
	} else {
		if !work.spend(2 * lanczosSteps * float64(n) * float64(n+2*lanczosSteps)) {
			return out
		}
		out.estimate, out.vector, open = lanczos(n, lanczosSteps, nil, productWith(a, n))
	}
	// Steps below the estimate, from what rounding and the recurrence leave open to
	// the scale of the matrix; the first success is improved by inverse iteration.
	trace := 0.0
	for i := range n {
		trace += math.Abs(a[i*n+i] - out.estimate)
	}
	first := 4 * gamma(n) * (trace + scale)
	if n <= fullOrder {
		give = 0
	}
	// From 1e-13 of the scale to all of it are seven steps; sizes near the
	// smallest double have no such room and keep Gershgorin's bound.
	const tries = 10
	step := max(first, open, give*math.Abs(out.estimate))
	if most := 0.9 * out.estimate; first < most && most < step && work.left < 2*cube/3 {
		// There is work for one factorization: only what is above 0 says anything, and the
		// recurrence's estimate lies above the end of a dense spectrum.
		step = most
	}
	for range tries {
		if !(step < 4*float64(n)*scale) {
			break
		}
		bound, factor, ok := certify(a, n, out.estimate-step, work)
		if !ok {
			if work.left < cube {
				break
			}
			step *= 100
			continue
		}
		if bound > out.bound {
			out.bound = bound
		}
		if n > fullOrder && give == 0 {
			out.improve(a, n, out.estimate-step, first, factor, work)
		}
		break
	}
	return out
}

// improve raises the bound of a large matrix from a factorization of it shifted to
// below its spectrum: each shift is so much nearer to the estimate that inverse
// iteration from there tells the end of a dense spectrum. It ends within what rounding
// allows, first, or a thousandth of the estimate.
func (e *extreme) improve(a []float64, n int, shift, first float64, factor blas64.Triangular, work *budget) {
	const (
		rounds = 4
		nearer = 1.0 / 30
	)
	for range rounds {
		var open float64
		e.estimate, e.vector, open = inverseIteration(a, n, factor, e.vector)
		step := max(first, min(open, (e.estimate-shift)*nearer))
		bound, next, ok := certify(a, n, e.estimate-step, work)
		if !ok {
			step = max(first, min(10*open, (e.estimate-shift)/2))
			if bound, next, ok = certify(a, n, e.estimate-step, work); !ok {
				return
			}
		}
		e.bound = max(e.bound, bound)
		if step <= max(first, 1e-3*math.Abs(e.estimate)) {
			return
		}
		shift, factor = e.estimate-step, next
	}
}

func unit(n, i int) []float64 {
	v := make([]float64, n)
	v[i] = 1
	return v
}

// gershgorinBound: every eigenvalue lies within the sum of a row's other
// entries of its diagonal.
func gershgorinBound(a []float64, n int) float64 {
	least := math.Inf(1)
	for i := range n {
		off := 0.0
		for j := range n {
			if j != i {
				off = directed.AddUp(off, math.Abs(a[i*n+j]))
			}
		}
		least = min(least, directed.AddDown(a[i*n+i], -off))
	}
	return least
}

// certify factorizes a - shift I and returns the bound that success proves.
func certify(a []float64, n int, shift float64, work *budget) (bound float64, factor blas64.Triangular, ok bool) {
	if !work.spend(float64(n) * float64(n) * float64(n) / 3) {
		return 0, factor, false
	}
	c := append([]float64(nil), a...)
	trace := 0.0
	for i := range n {
		c[i*n+i] -= shift
		trace += math.Abs(c[i*n+i])
	}
	factor, ok = cholesky(c, n, work)
	// gamma is twice the constant needed; the rest covers the subtraction.
	return directed.Below(shift - gamma(n+1)*(trace+math.Abs(shift))), factor, ok
}

// choleskyBlock is how many rows are factorized at a time: some 10 ms at the
// largest order.
const choleskyBlock = 128

// cholesky factorizes the symmetric matrix a = U'U in place, by blocks of rows,
// so that the end of the context is noticed; not ok where a is not positive
// definite in floating point, or the work was ended. The error bound of the
// factorization holds for every order of its sums (Higham, Accuracy and
// Stability of Numerical Algorithms, sec. 10.1).
func cholesky(a []float64, n int, work *budget) (blas64.Triangular, bool) {
	u := blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: n, Stride: n, Data: a}
	for k := 0; k < n; k += choleskyBlock {
		if work.ended() {
			return u, false
		}
		m := min(choleskyBlock, n-k)
		head, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Upper, N: m, Stride: n, Data: a[k*n+k:]})
		if !ok {
			return u, false
		}
		if rest := n - k - m; rest > 0 {
			right := blas64.General{Rows: m, Cols: rest, Stride: n, Data: a[k*n+k+m:]}
			blas64.Trsm(blas.Left, blas.Trans, 1, head, right)
			blas64.Syrk(blas.Trans, -1, right, 1, blas64.Symmetric{Uplo: blas.Upper, N: rest, Stride: n, Data: a[(k+m)*n+k+m:]})
		}
	}
	return u, true
}

// inverseIteration improves an eigenvector estimate with a factorization of a
// matrix shifted to below its spectrum, by Lanczos's method on the inverse, and
// returns its Rayleigh quotient and the residual.
func inverseIteration(a []float64, n int, factor blas64.Triangular, v []float64) (estimate float64, vector []float64, open float64) {
	_, v, _ = lanczos(n, inverseSteps, v, func(dst, v []float64) {
		for i, t := range v {
			dst[i] = -t
		}
		lapack64.Potrs(factor, blas64.General{Rows: n, Cols: 1, Stride: 1, Data: dst})
	})
	w := make([]float64, n)
	productWith(a, n)(w, v)
	estimate = floats.Dot(v, w)
	floats.AddScaled(w, -estimate, v)
	return estimate, v, math.Sqrt(floats.Dot(w, w))
}

// productWith is the product of the n x n matrix a with a vector.
func productWith(a []float64, n int) func(dst, v []float64) {
	return func(dst, v []float64) {
		blas64.Gemv(blas.NoTrans, 1, blas64.General{Rows: n, Cols: n, Stride: n, Data: a},
			blas64.Vector{N: n, Inc: 1, Data: v}, 0, blas64.Vector{N: n, Inc: 1, Data: dst})
	}
}

func normalize(v []float64) {
	if size := math.Sqrt(floats.Dot(v, v)); size > 0 && !math.IsInf(size, 0) {
		for i := range v {
			v[i] /= size
		}
	}
}

// lanczosSteps is the length of the Lanczos recurrence; its estimate is within
// a percent of the spread well before, and inverse iteration does the rest, in
// inverseSteps: the spectrum's lower end is the widely spaced one of the inverse.
const (
	lanczosSteps = 60
	inverseSteps = 30
)

// lanczos estimates the smallest eigenvalue of a symmetric operator and its
// vector by at most some steps from a start (nil: a fixed one), with full
// reorthogonalization. open is the residual: an eigenvalue is within that of the estimate.
func lanczos(n, steps int, start []float64, apply func(dst, v []float64)) (estimate float64, vector []float64, open float64) {
	v := append([]float64(nil), start...)
	if start == nil {
		v = make([]float64, n)
		for i := range v { // no symmetry that an eigenvector could be orthogonal to
			v[i] = 1 + math.Sin(float64(i+1)*1.7)/2
		}
	}
	normalize(v)
	var basis [][]float64
	var alpha, beta []float64
	w := make([]float64, n)
	for len(basis) < min(n, steps) {
		basis = append(basis, append([]float64(nil), v...))
		apply(w, v)
		alpha = append(alpha, floats.Dot(w, v))
		for range 2 {
			for _, q := range basis {
				c := floats.Dot(w, q)
				floats.AddScaled(w, -c, q)
			}
		}
		size := math.Sqrt(floats.Dot(w, w))
		if size <= 1e-14*math.Abs(alpha[0]) || size == 0 {
			break
		}
		beta = append(beta, size)
		for i := range v {
			v[i] = w[i] / size
		}
	}
	k := len(basis)
	t := mat.NewSymDense(k, nil)
	for i := range k {
		t.SetSym(i, i, alpha[i])
		if i+1 < k {
			t.SetSym(i, i+1, beta[i])
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(t, true) {
		return alpha[0], basis[0], math.Abs(alpha[0])
	}
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	out := make([]float64, n)
	for i, q := range basis {
		c := vectors.At(i, 0)
		floats.AddScaled(out, c, q)
	}
	normalize(out)
	if len(beta) == k {
		open = beta[k-1] * math.Abs(vectors.At(k-1, 0))
	}
	return eig.Values(nil)[0], out, open
}
