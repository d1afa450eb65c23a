package kernel

// Products of dense row-major matrices and vectors, four rows (a panel) at a
// time: the vector operands are read once for four rows of the matrix. On
// processors with 256-bit fused multiply-add the panels are in assembly;
// elsewhere, and for the last rows, they are in Go. The two differ in rounding
// only.

// masks[k] has all bits set in its first k entries.
var masks = [4][4]int64{{}, {-1}, {-1, -1}, {-1, -1, -1}}

// Dot is the sum of a[i] b[i].
func Dot(a, b []float64) float64 {
	b = b[:len(a)]
	s := 0.0
	if vector && len(a) >= 4 {
		whole := len(a) &^ 3
		s = dotAVX(&a[0], &b[0], whole)
		a, b = a[whole:], b[whole:]
	}
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

// Axpy adds c a to dst, where it can in one rounding.
func Axpy(dst []float64, c float64, a []float64) {
	a = a[:len(dst)]
	if vector && len(dst) >= 4 {
		whole := len(dst) &^ 3
		axpyAVX(&dst[0], &a[0], c, whole)
		dst, a = dst[whole:], a[whole:]
	}
	for i, v := range a {
		dst[i] += c * v
	}
}

// Gemv adds alpha M v to dst (len m), or alpha M' v to dst (len n) with trans;
// M is m x n, row-major.
func Gemv(dst []float64, alpha float64, M []float64, m, n int, trans bool, v []float64) {
	if trans {
		GemvColumns(dst, alpha, M, m, n, v, 0, n)
	} else {
		GemvRows(dst, alpha, M, m, n, v, 0, n)
	}
}

// GemvColumns adds alpha M' v to the entries from to to of dst (len n); M is
// m x n, row-major.
func GemvColumns(dst []float64, alpha float64, M []float64, m, n int, v []float64, from, to int) {
	if from == to || m == 0 {
		return
	}
	dst, v = dst[from:to], v[:m]
	i := 0
	if panels := m / 4; vector && panels > 0 {
		_ = M[m*n-1]
		gemvTAVX(&dst[0], alpha, &M[from], n, panels, to-from, &v[0], &masks[(to-from)&3])
		i = 4 * panels
	}
	for ; i < m; i++ {
		Axpy(dst, alpha*v[i], M[i*n+from:i*n+to])
	}
}

// GemvRows adds alpha M v to dst (len m), as far as the columns from to to of M make it; M is m x n,
// row-major.
func GemvRows(dst []float64, alpha float64, M []float64, m, n int, v []float64, from, to int) {
	if from == to || m == 0 {
		return
	}
	dst, v = dst[:m], v[from:to]
	i := 0
	if panels := m / 4; vector && panels > 0 {
		_ = M[m*n-1]
		gemvAVX(&dst[0], alpha, &M[from], n, panels, to-from, &v[0], &masks[(to-from)&3])
		i = 4 * panels
	}
	for ; i < m; i++ {
		dst[i] += alpha * Dot(M[i*n+from:i*n+to], v)
	}
}

// symvLeast is the size from which reading one triangle pays for the second
// write per entry: measured, where half of the matrix no longer fits the
// first-level cache that all of it does not fit either.
const symvLeast = 96

// Symv adds alpha Q v to dst (len n). The n x n matrix Q must be exactly
// symmetric; of a large one only the lower triangle (and the 4 x 4 blocks on
// the diagonal) is read.
func Symv(dst []float64, alpha float64, Q []float64, n int, v []float64) {
	switch {
	case SymvFew(dst, alpha, Q, n, v):
	case n < symvLeast:
		Gemv(dst, alpha, Q, n, n, false, v)
	default:
		SymvRows(dst, alpha, Q, n, v, 0, n)
	}
}

// SymvFew is Symv where v is 0 but for a few entries next to each other, as in
// differences of gradients along one of them: only their rows of Q are read. It
// reports false, and leaves dst alone, where v has more.
func SymvFew(dst []float64, alpha float64, Q []float64, n int, v []float64) bool {
	from, to := support(v[:n])
	if to-from > n/16 {
		return false
	}
	for i := from; i < to; i++ {
		Axpy(dst[:n], alpha*v[i], Q[i*n:(i+1)*n])
	}
	return true
}

// support is the range outside which v is 0.
func support(v []float64) (from, to int) {
	to = len(v)
	for from < to && v[from] == 0 {
		from++
	}
	for to > from && v[to-1] == 0 {
		to--
	}
	return from, to
}

// SymvRows adds to dst (len n) what rows from to to (from a multiple of 4) of
// the lower triangle contribute to alpha Q v: entries left of the diagonal
// count for their row and, mirrored, for their column.
func SymvRows(dst []float64, alpha float64, Q []float64, n int, v []float64, from, to int) {
	dst, v = dst[:n], v[:n]
	i := from
	if panels := (to - from) / 4; vector && panels > 0 {
		_ = Q[to*n-1]
		symvAVX(&dst[0], alpha, &Q[from*n], n, from, panels, &v[0])
		i += 4 * panels
	}
	for ; i < to; i++ {
		// Rows after the panels have no block: left of the diagonal is theirs.
		row := Q[i*n : i*n+i+1]
		Axpy(dst[:i], alpha*v[i], row[:i])
		dst[i] += alpha * (Dot(row[:i], v) + row[i]*v[i])
	}
}
