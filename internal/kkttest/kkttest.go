// Package kkttest makes small random problems for the tests of what works on the KKT system.
package kkttest

import (
	"math/rand/v2"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// Quadratic is 1/2 v'M v + c'v + k over v = (x, y).
type Quadratic struct {
	Nx, Ny int
	M      []float64 // (Nx + Ny)^2, symmetric
	C      []float64
	K      float64
}

func (q *Quadratic) join(x, y []float64) []float64 { return append(append([]float64{}, x...), y...) }

func (q *Quadratic) Value(x, y []float64) float64 {
	v, s := q.join(x, y), q.K
	for i, t := range v {
		s += q.C[i] * t
		for j, u := range v {
			s += 0.5 * t * q.M[i*len(v)+j] * u
		}
	}
	return s
}

func (q *Quadratic) grad(dst, x, y []float64, from int) {
	v := q.join(x, y)
	for i := range dst {
		dst[i] = q.C[from+i]
		for j, u := range v {
			dst[i] += q.M[(from+i)*len(v)+j] * u
		}
	}
}
func (q *Quadratic) GradX(dst, x, y []float64) { q.grad(dst, x, y, 0) }
func (q *Quadratic) GradY(dst, x, y []float64) { q.grad(dst, x, y, q.Nx) }
func (q *Quadratic) ValueGradY(dst, x, y []float64) float64 {
	q.GradY(dst, x, y)
	return q.Value(x, y)
}
func (q *Quadratic) ValueGrad(dx, dy, x, y []float64) float64 {
	q.GradX(dx, x, y)
	q.GradY(dy, x, y)
	return q.Value(x, y)
}
func (q *Quadratic) Clone() problem.Function { return q }

// Random is a problem with integer data: a follower with bounds on both sides and some rows, quadratic or linear, and a leader
// who earns -kappa times the product of prices and answers, plus something convex.
func Random(rng *rand.Rand, nx, ny, m int, curved, revenue bool) *problem.Problem {
	n := nx + ny
	whole := func(k int) float64 { return float64(rng.IntN(2*k+1) - k) }
	g := &Quadratic{Nx: nx, Ny: ny, M: make([]float64, n*n), C: make([]float64, n)}
	f := &Quadratic{Nx: nx, Ny: ny, M: make([]float64, n*n), C: make([]float64, n), K: whole(3)}
	for i := range n {
		g.C[i], f.C[i] = whole(5), whole(5)
	}
	for i := range nx {
		for j := range ny {
			v := whole(3)
			g.M[i*n+nx+j], g.M[(nx+j)*n+i] = v, v
			if revenue {
				f.M[i*n+nx+j], f.M[(nx+j)*n+i] = -2*v, -2*v
			}
		}
	}
	if curved {
		for i := range ny {
			g.M[(nx+i)*n+nx+i] = 1 + float64(rng.IntN(4))
		}
	}
	if !revenue {
		for i := range n {
			f.M[i*n+i] = float64(rng.IntN(3))
		}
	}
	rows := inequalities(nx, ny, 0, 4)
	for range m {
		ca, cb := make([]float64, nx), make([]float64, ny)
		for j := range ca {
			if !revenue {
				ca[j] = whole(2)
			}
		}
		for j := range cb {
			cb[j] = whole(3)
		}
		add(rows, ca, cb, 2+float64(rng.IntN(6)))
	}
	return &problem.Problem{Name: "random", Dx: nx, Dy: ny, F: f, G: g, Rows: rows, X: box(nx, 3), Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2}}
}

// inequalities are the rows lo <= y_j <= hi, to which add adds others.
func inequalities(nx, ny int, lo, hi float64) *problem.Rows {
	rows := &problem.Rows{A: sparse.Empty(nx), B: sparse.Empty(ny)}
	for j := range ny {
		unit := make([]float64, ny)
		unit[j] = 1
		add(rows, nil, unit, 0-lo)
		unit[j] = -1
		add(rows, nil, unit, hi)
	}
	return rows
}

// add adds the row ca'x - cb'y <= side.
func add(rows *problem.Rows, ca, cb []float64, side float64) {
	all := each.Number(len(cb))
	AddRow(rows, problem.AtMost, ca, all, cb, side)
}

// AddRow adds the row a'x - b'y <= side, or = side, b being the coefficients of the entries of y in cols.
func AddRow(rows *problem.Rows, kind problem.Kind, a []float64, cols []int, b []float64, side float64) {
	for j, v := range a {
		if v != 0 {
			rows.A.Append(j, v)
		}
	}
	rows.A.EndRow()
	full := make([]float64, rows.B.Cols)
	for t, j := range cols {
		full[j] = b[t]
	}
	for j, v := range full {
		if v != 0 {
			rows.B.Append(j, v)
		}
	}
	rows.B.EndRow()
	rows.Kind, rows.Rhs = append(rows.Kind, kind), append(rows.Rhs, side)
}

// box is |x_j| <= radius.
func box(nx int, radius float64) *problem.Set {
	return &problem.Set{Lo: slices.Repeat([]float64{-radius}, nx), Hi: slices.Repeat([]float64{radius}, nx)}
}
