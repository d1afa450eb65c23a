package central

import (
	"math"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
)

// regular stands for an equality row on the diagonal of the KKT matrix, next to entries of about 1. The larger, the less its elimination
// rounds, in any order; with this one solves are accurate to tolerance.SolveAccuracy without a step of refinement, but
// where y is held from all sides and the row's own pivot is as small.
const regular = 1e-11

// factor factorizes the KKT matrix
//
//	[ H + sum over bounds (lambda/s) B_i'B_i   -B' ]
//	[ -B                                 -S/Lambda ]
//
// at the point, without s_i/lambda_i for equality rows. What is put in its place there,
// far below the other entries, makes the matrix quasi-definite; refinement undoes it.
func (c *Path) factor() bool {
	rows := c.p.Rows
	for k, t := range c.saddle.Lower {
		c.kkt[k] = c.hessian[t]
	}
	for i, j := range c.bound {
		if j >= 0 {
			c.weight[i] = c.lambda[i] / c.s[i]
			c.kkt[c.saddle.Diagonal[j]] += c.weight[i] * c.coefficient[i] * c.coefficient[i]
		}
	}
	// Entries of y, whose curvatures may differ by twenty digits, and rows in units in
	// which their pivots are about 1.
	for j, k := range c.saddle.Diagonal {
		c.unit[j] = 1 / math.Sqrt(c.kkt[k])
	}
	for k := range c.saddle.Lower {
		c.kkt[k] *= c.unit[c.saddle.Row[k]] * c.unit[c.saddle.Col[k]]
	}
	at := c.saddle.First[c.n]
	diagonal := c.saddle.First[len(c.rhs)]
	for k, i := range c.general {
		cols, vals := rows.B.Row(i)
		size, own := 0.0, 0.0
		for t, j := range cols {
			c.kkt[at+t] = -vals[t] * c.unit[j]
			size += c.kkt[at+t] * c.kkt[at+t]
		}
		if rows.Kind[i] != problem.Equal {
			own = c.s[i] / c.lambda[i]
		}
		u := 1 / math.Sqrt(max(size+own, 0x1p-900))
		for t := range cols {
			c.kkt[at+t] *= u
		}
		at += len(cols)
		c.unit[c.n+k], c.own[k] = u, own*u*u
		c.kkt[diagonal+k] = -max(c.own[k], regular)
	}
	return c.ldl.Factor(c.kkt, regular/8)
}

// solve solves the KKT system for c.rhs into c.step until a part of the right-hand side is
// left, or refinement leads no further.
func (c *Path) solve(part float64) {
	for i, u := range c.unit {
		c.rhs[i] *= u
	}
	c.ldl.Solve(c.step, c.rhs)
	c.ldl.Refine(c.step, c.remaining, 5, part*linalg.NormInf(c.rhs))
	for i, u := range c.unit {
		c.step[i] *= u
	}
}

// remaining sets r to what a solution in the units of the factors leaves of the
// right-hand side.
func (c *Path) remaining(r, scaled []float64) {
	for i, own := range scaled {
		rest := c.rhs[i]
		for t := c.saddle.First[i]; t < c.saddle.First[i+1]; t++ {
			j, v := int(c.saddle.Col[t]), c.kkt[t]
			rest -= v * scaled[j]
			if j != i {
				r[j] -= v * own
			}
		}
		r[i] = rest
	}
	for k, own := range c.own {
		r[c.n+k] += own * scaled[c.n+k]
	}
}
