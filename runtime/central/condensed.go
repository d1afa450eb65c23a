package central

import (
	"math"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// condensed solves the KKT systems of a lower level whose Hessian H in y is a dense matrix
// that is the same everywhere. H is factorized once; what is left of a system is the Schur
// complement of H in it,
//
//	M = B H^-1 B' + S/Lambda,
//
// of the size of the rows. With no more rows than entries of y that is less work than any
// factorization of the whole.
type condensed struct {
	n, m    int
	h       []float64 // n x n
	factors *linalg.Cholesky
	b       *sparse.CSR
	lift    []float64 // m x n: row i is H^-1 B_i'
	gram    []float64 // m x m: B H^-1 B'
	length  []float64 // len m: the squared length of B_i in units of y in which H has a diagonal of ones

	own    []float64 // len m: S/Lambda, 0 for equality rows
	sum    *linalg.Cholesky
	matrix []float64 // its room
	p, q   []float64
	point  []float64 // len n + m
	unit   []float64 // of the path
}

// newCondensed factorizes h, n x n and symmetric; nil where it is not positive definite.
func newCondensed(rows *problem.Rows, n int, h, unit []float64) *condensed {
	m := rows.Len()
	factors, ok := linalg.NewCholesky(n, append([]float64(nil), h...))
	if !ok {
		return nil
	}
	v := func(k int) []float64 { return make([]float64, k) }
	z := &condensed{n: n, m: m, h: h, factors: factors, b: rows.B, lift: v(m * n), gram: v(m * m), length: v(m),
		own: v(m), matrix: v(m * m), p: v(n), q: v(m), point: v(n + m), unit: unit}
	for j := range n {
		unit[j] = 1 / math.Sqrt(h[j*n+j])
	}
	columns := v(n * m)
	for i := range m {
		cols, vals := z.b.Row(i)
		for t, j := range cols {
			columns[j*m+i] = vals[t]
			z.length[i] += vals[t] * vals[t] * unit[j] * unit[j]
		}
	}
	z.factors.SolveInverse(columns, m)
	for i := range m {
		row := z.lift[i*n : (i+1)*n]
		for j := range n {
			row[j] = columns[j*m+i]
		}
	}
	for i := range m {
		for k := i; k < m; k++ {
			z.gram[i*m+k] = z.b.RowDot(i, z.lift[k*n:(k+1)*n])
			z.gram[k*m+i] = z.gram[i*m+k]
		}
	}
	return z
}

// factor factorizes M for z.own. Rows that depend on each other are told apart by a
// diagonal that refinement undoes, as little of it as will do.
func (z *condensed) factor() bool {
	for _, more := range [...]float64{0, 1e-14, 1e-11, 1e-8} {
		copy(z.matrix, z.gram)
		for i, own := range z.own {
			z.matrix[i*z.m+i] += own + more*z.gram[i*z.m+i]
		}
		var ok bool
		if z.sum, ok = linalg.NewCholesky(z.m, z.matrix); ok {
			return true
		}
	}
	return false
}

// inverse overwrites v (len n) with H^-1 v.
func (z *condensed) inverse(v []float64) {
	z.factors.SolveT(v)
	z.factors.Solve(v)
}

// complement overwrites v (len m) with M^-1 v.
func (z *condensed) complement(v []float64) {
	z.sum.SolveT(v)
	z.sum.Solve(v)
}

// solve sets x to a solution of the system of b, both in the units of the path; x may be b.
func (z *condensed) solve(x, b []float64) {
	for j := range z.p {
		z.p[j] = b[j] / z.unit[j]
	}
	z.inverse(z.p)
	for i := range z.q {
		z.q[i] = -b[z.n+i]/z.unit[z.n+i] - z.b.RowDot(i, z.p)
	}
	z.complement(z.q)
	z.raise(z.p, z.q)
	for j, v := range z.p {
		x[j] = v / z.unit[j]
	}
	for i, v := range z.q {
		x[z.n+i] = v / z.unit[z.n+i]
	}
}

// raise adds H^-1 B'q to y.
func (z *condensed) raise(y, q []float64) {
	for i, v := range q {
		if v != 0 {
			linalg.Axpy(y, v, z.lift[i*z.n:(i+1)*z.n])
		}
	}
}

// remainingCondensed is remaining where systems are condensed.
func (c *Path) remainingCondensed(r, scaled []float64) {
	z := c.condensed
	v := z.point
	for i, u := range c.unit {
		v[i] = scaled[i] * u
	}
	copy(r, c.rhs)
	for j := range z.p {
		z.p[j] = 0
	}
	for i, own := range v[c.n:] {
		z.b.AddRow(z.p, i, own)
		r[c.n+i] += (z.b.RowDot(i, v[:c.n]) + z.own[i]*own) * c.unit[c.n+i]
	}
	for j, pull := range z.p {
		r[j] += (pull - linalg.Dot(z.h[j*c.n:(j+1)*c.n], v)) * c.unit[j]
	}
}

// rest moves c.y to where c.lambda leaves stationarity; c.dual is grad_y g before:
//
//	y(lambda) = y - H^-1 (grad_y g - B'lambda).
func (c *Path) rest() {
	z := c.condensed
	copy(z.p, c.dual)
	z.b.AddMulVecT(z.p, -1, c.lambda)
	z.inverse(z.p)
	for j, v := range z.p {
		c.y[j] -= v
	}
}

// follow goes to the point of the path at x and mu, of which c.dual is grad_y g at (x, c.y).
// On y(lambda), see rest, Newton's method, with the steps of advance, is one in lambda and s
// alone: it costs no gradients. Whether it has arrived is for the equations of the path to say.
func (c *Path) follow(x []float64, mu float64) {
	z, rows := c.condensed, c.p.Rows
	c.rest()
	off := c.apart(x)
	if c.warm && off > farOff {
		c.start(x, mu, func(int) bool { return true })
		c.rest()
		off = c.apart(x)
	}
	moved := make([]float64, z.m)
	for range mostSteps {
		central, _ := c.aim(mu)
		if off <= feasibility/8 && central <= nearly {
			break
		}
		for i, kind := range rows.Kind {
			z.own[i], c.dlambda[i] = 0, c.primal[i]
			if kind != problem.Equal {
				z.own[i] = c.s[i] / c.lambda[i]
				c.dlambda[i] -= c.s[i] - c.barrier.row(i, c.parts.target[c.parts.row[i]])/c.lambda[i]
			}
		}
		if !z.factor() {
			break
		}
		z.complement(c.dlambda)
		for i, kind := range rows.Kind {
			if kind != problem.Equal {
				c.ds[i] = linalg.Dot(z.gram[i*z.m:(i+1)*z.m], c.dlambda) - c.primal[i]
			}
		}
		t := c.reach()
		if !(t > leastStep) {
			break
		}
		for i, kind := range rows.Kind {
			c.lambda[i] += t * c.dlambda[i]
			moved[i] += t * c.dlambda[i]
			if kind != problem.Equal {
				c.s[i] += t * c.ds[i]
			}
			c.primal[i] *= 1 - t
		}
		off *= 1 - t
	}
	z.raise(c.y, moved)
}
