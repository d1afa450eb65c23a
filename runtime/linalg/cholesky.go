package linalg

import (
	"math"

	"gonum.org/v1/gonum/floats"
	lapack "gonum.org/v1/gonum/lapack/gonum"

	"bilevelc/codegen/kernel"
	"bilevelc/internal/gram"
)

// Cholesky is the factorization H = U'U of a dense symmetric positive definite
// matrix, n x n, with U upper triangular. It is immutable and may be shared.
type Cholesky struct {
	n int
	u []float64 // n x n, row-major; what is below the diagonal is not its own
}

// panelOf is the number of rows of a matrix of n that are eliminated before the rest of it
// is brought up to date: wide enough that almost all of the work is matrix products,
// narrow enough that the panel itself is little. 64 rows take half as long again as 32 with
// 200 in all, as long with 400 to 600, and 7 % less with 800.
func panelOf(n int) int {
	if n <= 512 {
		return 32
	}
	return 64
}

// NewCholesky factorizes h (n x n, row-major), of which it reads, overwrites and keeps the upper triangle
// alone. It reports false where h is not positive definite to working precision.
func NewCholesky(n int, h []float64) (*Cholesky, bool) {
	c := &Cholesky{n: n, u: h[:n*n]}
	panel := panelOf(n)
	for p := 0; p < n; p += panel {
		end := min(p+panel, n)
		for i := p; i < end; i++ {
			row := c.row(i)
			for t := p; t < i; t++ {
				Axpy(row, -c.u[t*n+i], c.u[t*n+i:(t+1)*n])
			}
			if !(row[0] > 0) || math.IsInf(row[0], 1) {
				return nil, false
			}
			floats.Scale(1/math.Sqrt(row[0]), row)
		}
		gram.SubtractGram(c.block(end, n, end, n), c.block(p, end, end, n))
	}
	return c, true
}

// row is row i of U from its diagonal.
func (c *Cholesky) row(i int) []float64 { return c.u[i*c.n+i : (i+1)*c.n] }

// block is rows r0 to r1 and columns c0 to c1 of U.
func (c *Cholesky) block(r0, r1, c0, c1 int) gram.Block {
	b := gram.Block{Rows: r1 - r0, Cols: c1 - c0, Stride: c.n}
	if b.Rows > 0 && b.Cols > 0 {
		b.Data = c.u[r0*c.n+c0:]
	}
	return b
}

// Dim is n.
func (c *Cholesky) Dim() int { return c.n }

// Pivot is the entry i of U's diagonal.
func (c *Cholesky) Pivot(i int) float64 { return c.u[i*c.n+i] }

// Kept is the least part of a diagonal entry of H that the elimination of those before it leaves: next to
// the unit roundoff where H is singular. diagonal gives the entries.
func (c *Cholesky) Kept(diagonal func(i int) float64) float64 {
	least := 1.0
	for i := range c.n {
		least = math.Min(least, c.Pivot(i)*c.Pivot(i)/diagonal(i))
	}
	return least
}

// Condition estimates the condition number of H in the norm of column sums, given
// that norm of H itself (Higham 1988); +Inf where solutions overflow. It takes a few solutions, and a
// small part of the time of the factorization.
func (c *Cholesky) Condition(norm float64) float64 {
	if c.n == 0 {
		return 1
	}
	v, x, signs := make([]float64, c.n), make([]float64, c.n), make([]int, c.n)
	var state [3]int
	inverse, next := lapack.Implementation{}.Dlacn2(c.n, v, x, signs, 0, 0, &state)
	for next != 0 { // of H^-1 or its transpose, which is the same
		c.SolveT(x)
		c.Solve(x)
		if !Finite(x) {
			return math.Inf(1)
		}
		inverse, next = lapack.Implementation{}.Dlacn2(c.n, v, x, signs, inverse, next, &state)
	}
	return norm * inverse
}

// Multiply sets dst to U v; the two are not the same slice.
func (c *Cholesky) Multiply(dst, v []float64) {
	for i := range dst {
		dst[i] = Dot(c.row(i), v[i:])
	}
}

// side is the number of rows that a solution of one right side takes at once: a panel of the kernels.
const side = 4

// Solve overwrites v (len n) with U^-1 v.
func (c *Cholesky) Solve(v []float64) {
	for p := (c.n - 1) / side * side; p >= 0; p -= side {
		end := min(p+side, c.n)
		kernel.GemvRows(v[p:end], -1, c.u[p*c.n:end*c.n], end-p, c.n, v, end, c.n)
		for i := end - 1; i >= p; i-- {
			row := c.row(i)
			v[i] = (v[i] - Dot(row[1:end-i], v[i+1:end])) / row[0]
		}
	}
}

// SolveT overwrites v (len n) with U^-T v.
func (c *Cholesky) SolveT(v []float64) { c.SolveAllT(v) }

// SolveAllT is SolveT of some vectors, in one pass over U: they do not show in each other.
func (c *Cholesky) SolveAllT(vectors ...[]float64) {
	for p := 0; p < c.n; p += side {
		end := min(p+side, c.n)
		panel := c.u[p*c.n : end*c.n]
		for _, v := range vectors {
			for i := p; i < end; i++ {
				row := c.row(i)
				v[i] /= row[0]
				for t := i + 1; t < end; t++ {
					v[t] -= row[t-i] * v[i]
				}
			}
			kernel.GemvColumns(v, -1, panel, end-p, c.n, v[p:end], end, c.n)
		}
	}
}

// SolveInverse overwrites the k columns of x (n x k, row-major) with H^-1 x. Each
// has the same bits whichever others there are.
func (c *Cholesky) SolveInverse(x []float64, k int) {
	c.SolveColumnsT(x, k)
	at, panel := func(i int) []float64 { return x[i*k : (i+1)*k] }, panelOf(c.n)
	for p := (c.n - 1) / panel * panel; p >= 0; p -= panel {
		end := min(p+panel, c.n)
		for i := end - 1; i >= p; i-- {
			row := c.row(i)
			for t := i + 1; t < end; t++ {
				floats.AddScaled(at(i), -row[t-i], at(t))
			}
			floats.Scale(1/row[0], at(i))
		}
		gram.Subtract(rowsOf(x, k, 0, p), c.block(0, p, p, end), false, rowsOf(x, k, p, end))
	}
}

// SolveColumnsT overwrites the k columns of x (n x k, row-major) with U^-T x. Each
// has the same bits whichever others there are.
func (c *Cholesky) SolveColumnsT(x []float64, k int) {
	at, panel := func(i int) []float64 { return x[i*k : (i+1)*k] }, panelOf(c.n)
	for p := 0; p < c.n; p += panel {
		end := min(p+panel, c.n)
		for i := p; i < end; i++ {
			row := c.row(i)
			floats.Scale(1/row[0], at(i))
			for t := i + 1; t < end; t++ {
				floats.AddScaled(at(t), -row[t-i], at(i))
			}
		}
		gram.Subtract(rowsOf(x, k, end, c.n), c.block(p, end, end, c.n), true, rowsOf(x, k, p, end))
	}
}

// rowsOf is some rows of a matrix of k columns.
func rowsOf(x []float64, k, from, to int) gram.Block {
	b := gram.Block{Rows: to - from, Cols: k, Stride: k}
	if to > from {
		b.Data = x[from*k:]
	}
	return b
}
