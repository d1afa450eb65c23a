package lower

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"bilevelc/runtime/problem"
	"bilevelc/runtime/qp"
)

// Memory is what gradient differences have shown of a Hessian H of g in y that
// is proved to be the same at every x (Curvature.Fixed). A Solution carries it
// to the next solve, as recycled Krylov methods do (Parks, de Sturler, Mackey,
// Johnson, Maiti 2006), which asks only for the products that are still
// missing. It is immutable, and the results of a solve depend on it: what is
// to be repeated bit for bit keeps it. It encodes without loss.
type Memory struct {
	N int // len Dy
	// Orthonormal directions and their products with H, k x N each, row-major;
	// empty where the whole of H is known.
	V, HV []float64
	// Packed is the upper triangle of H row by row, N (N+1) / 2, or empty.
	Packed []float64
	// Entries are those of H at the places of problem.Facts.HessianPattern, or
	// none: what a sparse solve measured, of use to sparse solves alone.
	Entries []float64
	// Parts are the memories of independent followers, which take the place of
	// one of the whole.
	Parts []*Memory

	once  sync.Once
	whole *whole
}

// Fits reports what keeps a memory, which may be nil, from being one of p.
func (m *Memory) Fits(p *problem.Problem) error {
	if m == nil {
		return nil
	}
	if len(m.Parts) > 0 {
		if len(m.Parts) != len(p.Blocks) {
			return fmt.Errorf("curvature of %d followers, not %d", len(m.Parts), len(p.Blocks))
		}
		for k, part := range m.Parts {
			if part == nil || !part.of(len(p.Blocks[k])) {
				return fmt.Errorf("the curvature of follower %d is not of its size", k+1)
			}
		}
		return nil
	}
	if !m.of(p.Dy) {
		return fmt.Errorf("curvature that is not of %d entries of y", p.Dy)
	}
	return nil
}

// of reports that the memory, or an empty one, is of n entries of y.
func (m *Memory) of(n int) bool {
	empty := len(m.V) == 0 && len(m.HV) == 0 && len(m.Packed) == 0
	return len(m.Parts) == 0 && (empty || m.N == n && len(m.V) == len(m.HV) && len(m.V)%n == 0 && len(m.V) <= n*n &&
		(len(m.Packed) == 0 || len(m.Packed) == n*(n+1)/2))
}

// Whole reports whether all of H is known.
func (m *Memory) Whole() bool { return m != nil && len(m.Packed) > 0 }

// part is the memory of follower k, or nil.
func (m *Memory) part(k int) *Memory {
	if m == nil || k >= len(m.Parts) {
		return nil
	}
	return m.Parts[k]
}

// remember makes a memory of the symmetric part of the matrix h, n x n.
func remember(n int, h []float64) *Memory {
	m := &Memory{N: n, Packed: make([]float64, 0, n*(n+1)/2)}
	for i := 0; i < n; i++ {
		for j := i; j < n; j++ {
			m.Packed = append(m.Packed, (h[i*n+j]+h[j*n+i])/2)
		}
	}
	return m
}

// unpacked is H with its factors, made at the first call; nil where only a
// part of H is known.
func (m *Memory) unpacked() *whole {
	if !m.Whole() {
		return nil
	}
	m.once.Do(func() { m.whole = newWhole(m.N, m.Packed) })
	return m.whole
}

// whole is a Hessian known as a matrix. All that it computes is a function of
// H and the rows alone, so that what it keeps does not show in results.
type whole struct {
	n       int
	h       []float64 // n x n
	largest float64   // norm of its largest column
	// Factors of H, nil where it is not positive definite or singular to
	// rounding: faces and their flat directions are then the iteration's affair.
	hessian *qp.Hessian
	u       blas64.Triangular // H = U'U

	mu      sync.Mutex
	rows    *problem.Rows // of the normals and faces
	normals [][]float64   // U^-T B_i', where needed so far
	faces   []*metricFace // most recent last
	work    []float64     // len n
	coef    []float64     // len n
}

// metricFace is an orthonormal basis q, k x n, of the normals of a face's rows
// in the metric of H.
type metricFace struct {
	rows []int // ascending
	q    []float64
}

// facesKept is how many factored faces are kept: those next to each other that
// a line search crosses.
const facesKept = 4

// singular is the condition number from which H counts as singular: there the
// flatness of a direction and the rounding of the differences meet.
const singular = 1 / flatness / 10

func newWhole(n int, packed []float64) *whole {
	w := &whole{n: n, h: make([]float64, n*n), work: make([]float64, n), coef: make([]float64, n)}
	at := 0
	for i := 0; i < n; i++ {
		for j := i; j < n; j++ {
			w.h[i*n+j], w.h[j*n+i] = packed[at], packed[at]
			at++
		}
	}
	for i := 0; i < n; i++ {
		w.largest = math.Max(w.largest, norm2(w.h[i*n:(i+1)*n]))
	}
	var factors mat.Cholesky
	if !factors.Factorize(mat.NewSymDense(n, slices.Clone(w.h))) || factors.Cond() > singular {
		return w
	}
	var u mat.TriDense
	factors.UTo(&u)
	w.u = u.RawTriangular()
	w.hessian = qp.Factored(&u)
	return w
}

// multiply sets dst to H p.
func (w *whole) multiply(dst, p []float64) {
	blas64.Gemv(blas.NoTrans, 1, blas64.General{Rows: w.n, Cols: w.n, Stride: w.n, Data: w.h},
		blas64.Vector{N: w.n, Inc: 1, Data: p}, 0, blas64.Vector{N: w.n, Inc: 1, Data: dst})
}

// direction sets dst to the d along the face f that minimizes 1/2 d'Hd - r'd:
// with w = U d it is the part of U^-T r that is orthogonal to the normals.
func (w *whole) direction(dst []float64, f *face, r []float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.face(f).q
	copy(dst, r)
	v := blas64.Vector{N: w.n, Inc: 1, Data: dst}
	blas64.Trsv(blas.Trans, w.u, v)
	w.orthogonalize(dst, q)
	blas64.Trsv(blas.NoTrans, w.u, v)
}

// orthogonalize subtracts from v its part in the span of q's rows.
func (w *whole) orthogonalize(v, q []float64) {
	k := len(q) / max(1, w.n)
	if k == 0 {
		return
	}
	basis := blas64.General{Rows: k, Cols: w.n, Stride: w.n, Data: q}
	c := blas64.Vector{N: k, Inc: 1, Data: w.coef[:k]}
	x := blas64.Vector{N: w.n, Inc: 1, Data: v}
	blas64.Gemv(blas.NoTrans, 1, basis, x, 0, c)
	blas64.Gemv(blas.Trans, -1, basis, c, 1, x)
}

// face is the basis of f's rows, from those kept or built anew, always in
// the same order.
func (w *whole) face(f *face) *metricFace {
	if w.rows != f.poly.rows {
		w.rows, w.faces, w.normals = f.poly.rows, nil, make([][]float64, f.poly.m)
	}
	rows := f.rows(make([]int, 0, f.size()))
	for i := len(w.faces) - 1; i >= 0; i-- {
		if kept := w.faces[i]; slices.Equal(kept.rows, rows) {
			w.faces = append(slices.Delete(w.faces, i, i+1), kept)
			return kept
		}
	}
	m := &metricFace{rows: rows, q: make([]float64, 0, len(rows)*w.n)}
	for _, i := range rows {
		copy(w.work, w.normal(f.poly, i))
		for pass := 0; pass < 2; pass++ {
			w.orthogonalize(w.work, m.q)
		}
		// Rows independent as they stand may be dependent to rounding here;
		// what that leaves is projected away.
		if size := norm2(w.work); size > dependence {
			for _, t := range w.work {
				m.q = append(m.q, t/size)
			}
		}
	}
	if len(w.faces) == facesKept {
		w.faces = slices.Delete(w.faces, 0, 1)
	}
	w.faces = append(w.faces, m)
	return m
}

// normal is U^-T B_i', scaled to unit length.
func (w *whole) normal(q *polyhedron, i int) []float64 {
	if v := w.normals[i]; v != nil {
		return v
	}
	v := make([]float64, w.n)
	q.rows.B.AddRow(v, i, 1/q.norm[i])
	blas64.Trsv(blas.Trans, w.u, blas64.Vector{N: w.n, Inc: 1, Data: v})
	size := norm2(v)
	for j := range v {
		v[j] /= size
	}
	if len(w.normals)*w.n <= basisEntries {
		w.normals[i] = v
	}
	return v
}
