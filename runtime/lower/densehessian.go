package lower

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/tolerance"
)

// denseHessian is a Hessian known as a matrix, n x n. All that it computes is a function of
// H and the rows alone, each row's part one of that row alone, so that what it keeps
// does not show in results.
type denseHessian struct {
	n        int
	square   []float64 // n x n: H left of its diagonal, and from there on what the factorization has made of it
	diagonal []float64 // of H
	largest  float64   // norm of its largest column
	// factors of H, nil where it is not positive definite or singular to rounding:
	// faces and their flat directions are then the iteration's affair.
	factors *linalg.Cholesky

	mu    sync.Mutex
	b     *sparse.CSR // of the rows that the rest is of
	place []int       // len m: the place of a row below, or -1
	// whitened[a] is U^-T b' for H = U'U, b the row's normal at unit length.
	whitened [][]float64
	// gram[a][c], of places c <= a, is b H^-1 b' of the two rows, the product of their
	// whitened normals; NaN where not computed so far.
	gram  [][]float64
	face  metricFace // the last
	basis basis      // the last
}

// basis is the factorization of a face's rows.
type basis struct {
	fixer, members []int
	qr             linalg.QR
}

// metricFace is the Gram matrix of a face's rows in the metric of H^-1, factorized.
type metricFace struct {
	rows    []int            // nil before there is one
	factors *linalg.Cholesky // nil where the rows are dependent to rounding
}

// newDenseHessian factorizes H, n x n and exactly symmetric, in its place, which it keeps. Where the curvature is at least mu, a bound of the
// condition number that is smaller by tolerance.Hiding than what it may be saves an estimate, which is no larger.
func newDenseHessian(n int, h []float64, mu float64) *denseHessian {
	w := &denseHessian{n: n, square: h, diagonal: make([]float64, n)}
	sums := 0.0
	for i := range w.diagonal {
		row := h[i*n : (i+1)*n]
		w.diagonal[i] = row[i]
		w.largest, sums = math.Max(w.largest, linalg.Norm(row)), math.Max(sums, floats.Norm(row, 1))
	}
	bounded := tolerance.NoCurvature*tolerance.Hiding*math.Sqrt(float64(n))*sums <= mu
	if factors, ok := linalg.NewCholesky(n, h); ok && (bounded || tolerance.NoCurvature*factors.Condition(sums) <= 1) {
		w.factors = factors
	}
	return w
}

// multiply sets dst to H p.
func (w *denseHessian) multiply(dst, p []float64) {
	for i, v := range w.diagonal {
		left := w.square[i*w.n : i*w.n+i]
		dst[i] = v*p[i] + linalg.Dot(left, p)
		linalg.Axpy(dst[:i], p[i], left)
	}
}

// at is entry (i, j) of H, j <= i.
func (w *denseHessian) at(i, j int) float64 {
	if i == j {
		return w.diagonal[i]
	}
	return w.square[i*w.n+j]
}

// solve overwrites v with H^-1 v.
func (w *denseHessian) solve(v []float64) {
	w.factors.SolveT(v)
	w.factors.Solve(v)
}

// refined sets dst to y - H^-1 grad, the minimizer without rows of a quadratic that has
// the gradient at y, with one step of refinement.
func (w *denseHessian) refined(dst, y, grad []float64) {
	step, rest := slices.Clone(grad), make([]float64, w.n)
	w.solve(step)
	w.multiply(rest, step)
	floats.SubTo(rest, grad, rest)
	w.solve(rest)
	for j := range dst {
		dst[j] = y[j] - (step[j] + rest[j])
	}
}

// direction sets dst to the d along the face f that minimizes 1/2 d'Hd - r'd. It
// reports false where the face's rows are dependent to rounding.
func (w *denseHessian) direction(dst []float64, f *face, r []float64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.faceOf(f.poly, f.rows())
	if m.factors == nil {
		return false
	}
	copy(dst, r)
	w.factors.SolveT(dst)
	rowPart := each.Of(m.rows, func(i int) float64 { return -linalg.Dot(w.whitened[w.place[i]], dst) })
	m.factors.SolveT(rowPart)
	m.factors.Solve(rowPart)
	w.push(dst, m.rows, rowPart)
	w.factors.Solve(dst)
	return true
}

// push adds U^-T times forces of the given sizes along the normals of some rows.
func (w *denseHessian) push(v []float64, rows []int, sizes []float64) {
	for a, i := range rows {
		linalg.Axpy(v, sizes[a], w.whitened[w.place[i]])
	}
}

// faceOf is the factored Gram matrix of some rows that involve y, ascending, from
// those kept or made anew.
func (w *denseHessian) faceOf(q *polyhedron, rows []int) metricFace {
	w.reach(q, rows)
	if w.face.rows != nil && slices.Equal(w.face.rows, rows) {
		return w.face
	}
	k := len(rows)
	gram := make([]float64, k*k)
	least := math.Inf(1)
	for a, i := range rows {
		for c := a; c < k; c++ {
			gram[a*k+c] = w.product(i, rows[c])
		}
	}
	m := metricFace{rows: rows}
	if factors, ok := linalg.NewCholesky(k, gram); ok {
		for a, i := range rows {
			least = math.Min(least, factors.Pivot(a)/math.Sqrt(w.product(i, i)))
		}
		// 3e-6 is the least sine of the angle between a row and the span of others, in the metric of H^-1, at which the Gram matrix tells
		// their multipliers: its pivots are squares of such sines, and what is left of one of 1e-11 after rounding has five digits, so that
		// every pass over a true gradient gains as many.
		if least > 3e-6 || k == 0 {
			m.factors = factors
		}
	}
	w.face = m
	return m
}

// reach computes U^-T b' of the rows for which that is not known. Where there is no room for them beside those
// that are kept, these go.
func (w *denseHessian) reach(q *polyhedron, rows []int) {
	kept, count := len(w.whitened), len(w.whitened)
	for _, i := range rows {
		if w.b == q.b && w.place[i] < 0 {
			count++
		}
	}
	if w.b != q.b || count > kept && count*(w.n+count/2) > tolerance.MostNumbers {
		w.b, w.face, w.basis, w.whitened, w.gram = q.b, metricFace{}, basis{}, nil, nil
		w.place = slices.Repeat([]int{-1}, q.m)
	}
	var missing []int
	for _, i := range rows {
		if w.place[i] < 0 {
			w.place[i] = len(w.whitened) + len(missing)
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 {
		return
	}
	k, first := len(missing), len(w.whitened)
	numbers := make([]float64, k*w.n+k*first+k*(k+1)/2)
	products := numbers[k*w.n:]
	for t := range products {
		products[t] = math.NaN()
	}
	for a, i := range missing {
		v := numbers[a*w.n : (a+1)*w.n]
		q.rows.B.AddRow(v, i, 1/q.norm[i])
		w.whitened, w.gram = append(w.whitened, v), append(w.gram, products[:first+a+1])
		products = products[first+a+1:]
	}
	w.factors.SolveAllT(w.whitened[first:]...)
}

// recall gives a face without members those of a kept one with the same mask, as far
// as they begin like the given rows: what add would make of them.
func (w *denseHessian) recall(f *face, rows []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.b != f.poly.b {
		return
	}
	kept, k := &w.basis, 0
	for k < min(len(rows), len(kept.members)) && rows[k] == kept.members[k] && !(f.open != nil && f.open[rows[k]]) {
		k++
	}
	if k == 0 || !slices.Equal(kept.fixer, f.fixer) || !f.qr.Take(&kept.qr, k) {
		return
	}
	f.members = append(f.members, kept.members[:k]...)
	for _, i := range f.members {
		f.in[i] = true
	}
}

// keep remembers the factorization of a face, as adding its rows makes it: what it
// went through does not show later.
func (w *denseHessian) keep(f *face) {
	if f.rotated {
		f.rebuild()
	}
	k := len(f.members)
	if k == 0 || k*w.n > tolerance.MostNumbers {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reach(f.poly, nil)
	if slices.Equal(w.basis.members, f.members) && slices.Equal(w.basis.fixer, f.fixer) {
		return
	}
	kept := basis{fixer: slices.Clone(f.fixer), members: slices.Clone(f.members)}
	if kept.qr.Take(&f.qr, k) {
		w.basis = kept
	}
}

// product is b H^-1 b' of two rows that have been reached.
func (w *denseHessian) product(i, j int) float64 {
	a, c := max(w.place[i], w.place[j]), min(w.place[i], w.place[j])
	if math.IsNaN(w.gram[a][c]) {
		w.gram[a][c] = linalg.Dot(w.whitened[a], w.whitened[c])
	}
	return w.gram[a][c]
}
