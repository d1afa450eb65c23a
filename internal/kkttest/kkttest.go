// Package kkttest makes small random problems for the tests of what works on the KKT system.
package kkttest

import (
	"math/rand/v2"

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
	rows := &problem.Rows{}
	a, b := sparse.Empty(nx), sparse.Empty(ny)
	add := func(kind problem.Kind, ca, cb []float64, side float64) {
		for j, v := range ca {
			if v != 0 {
				a.Append(j, v)
			}
		}
		for j, v := range cb {
			if v != 0 {
				b.Append(j, v)
			}
		}
		a.EndRow()
		b.EndRow()
		rows.Kind, rows.Rhs = append(rows.Kind, kind), append(rows.Rhs, side)
	}
	unit := func(j int, v float64) []float64 {
		e := make([]float64, ny)
		e[j] = v
		return e
	}
	for j := range ny {
		add(problem.AtMost, make([]float64, nx), unit(j, 1), 0)  // -y_j <= 0
		add(problem.AtMost, make([]float64, nx), unit(j, -1), 4) // y_j - 4 <= 0
	}
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
		add(problem.AtMost, ca, cb, 2+float64(rng.IntN(6)))
	}
	rows.A, rows.B = a, b
	x := &problem.Set{Lo: make([]float64, nx), Hi: make([]float64, nx)}
	for j := range x.Hi {
		x.Lo[j], x.Hi[j] = -3, 3
	}
	return &problem.Problem{Name: "random", Dx: nx, Dy: ny, F: f, G: g, Rows: rows, X: x, Facts: problem.Facts{JointlyQuadratic: true, DegreeF: 2}}
}
