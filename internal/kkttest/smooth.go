package kkttest

import (
	"math"
	"math/rand/v2"

	"bilevelc/internal/each"
	"bilevelc/runtime/problem"
)

// Smooth is a quadratic of v = (x, y) and a sum of exponentials: 1/2 v'M v + c'v + k + sum_i W_i exp(P_i'v + Q_i), with weights t of the quadratics Extra at the end of y.
type Smooth struct {
	Quadratic
	W, Q  []float64
	P     [][]float64 // len Nx + Ny each
	Extra []*Quadratic
}

// Value implements problem.Function.
func (s *Smooth) Value(x, y []float64) float64 {
	y, weights := y[:s.Ny], y[s.Ny:]
	v, sum := s.join(x, y), s.Quadratic.Value(x, y)
	for i, w := range s.W {
		sum += w * math.Exp(s.Q[i]+dot(s.P[i], v))
	}
	for i, t := range weights {
		sum += t * s.Extra[i].Value(x, y)
	}
	return sum
}

// ValueGrad implements problem.Function.
func (s *Smooth) ValueGrad(dx, dy, x, y []float64) float64 {
	value := s.Value(x, y)
	y, weights := y[:s.Ny], y[s.Ny:]
	gx, gy := make([]float64, s.Nx), make([]float64, s.Ny)
	s.Quadratic.ValueGrad(gx, gy, x, y)
	v := s.join(x, y)
	for i, w := range s.W {
		e := w * math.Exp(s.Q[i]+dot(s.P[i], v))
		for j := range gx {
			gx[j] += e * s.P[i][j]
		}
		for j := range gy {
			gy[j] += e * s.P[i][s.Nx+j]
		}
	}
	ex, ey := make([]float64, s.Nx), make([]float64, s.Ny)
	for i, t := range weights {
		c := s.Extra[i].ValueGrad(ex, ey, x, y)
		for j := range gx {
			gx[j] += t * ex[j]
		}
		for j := range gy {
			gy[j] += t * ey[j]
		}
		if dy != nil {
			dy[s.Ny+i] = c
		}
	}
	copy(dx, gx)
	copy(dy, gy)
	return value
}

// GradX implements problem.Function.
func (s *Smooth) GradX(dst, x, y []float64) { s.ValueGrad(dst, nil, x, y) }

// GradY implements problem.Function.
func (s *Smooth) GradY(dst, x, y []float64) { s.ValueGrad(nil, dst, x, y) }

// ValueGradY implements problem.Function.
func (s *Smooth) ValueGradY(dst, x, y []float64) float64 { return s.ValueGrad(nil, dst, x, y) }

// Clone implements problem.Function.
func (s *Smooth) Clone() problem.Function { return s }

// HessY is the Hessian in y, row by row.
func (s *Smooth) HessY(x, y []float64) []float64 {
	n := s.Nx + s.Ny
	out := make([]float64, s.Ny*s.Ny)
	v := s.join(x, y)
	for i := range s.Ny {
		for j := range s.Ny {
			out[i*s.Ny+j] = s.M[(s.Nx+i)*n+s.Nx+j]
		}
	}
	for k, w := range s.W {
		e := w * math.Exp(s.Q[k]+dot(s.P[k], v))
		for i := range s.Ny {
			for j := range s.Ny {
				out[i*s.Ny+j] += e * s.P[k][s.Nx+i] * s.P[k][s.Nx+j]
			}
		}
	}
	return out
}

func dot(a, b []float64) (sum float64) {
	for j, t := range a {
		sum += t * b[j]
	}
	return sum
}

// RandomSmooth is a problem with a strongly convex follower that is not quadratic, y in [-1, 1] and m further rows that 0 satisfies for all x in the box [-1, 1]; f is a quadratic, convex
// or not, with one exponential. It has constraints further constraints of the leader, quadratics that hold at x = 0 with the follower's answer near 0 or do not.
func RandomSmooth(rng *rand.Rand, nx, ny, m, constraints int, convex bool) *problem.Problem {
	n := nx + ny
	normal := rng.NormFloat64
	g := &Smooth{Quadratic: Quadratic{Nx: nx, Ny: ny, M: make([]float64, n*n), C: make([]float64, n)}}
	for i := range ny {
		g.M[(nx+i)*n+nx+i] = 0.5 + rng.Float64()
		g.C[nx+i] = normal()
		for j := range nx {
			v := normal()
			g.M[(nx+i)*n+j], g.M[j*n+nx+i] = v, v
		}
	}
	for range 2 {
		g.W, g.Q = append(g.W, 0.2+rng.Float64()), append(g.Q, 0.3*normal())
		g.P = append(g.P, randoms(n, 0.7, normal))
	}
	f := &Smooth{Quadratic: *curved(rng, nx, ny, convex)}
	f.W, f.Q, f.P = []float64{0.3}, []float64{0}, [][]float64{randoms(n, 0.7, normal)}
	rows := inequalities(nx, ny, -1, 1)
	for range m {
		ca := randoms(nx, 0.5, normal)
		side := 0.1
		for _, v := range ca {
			side += math.Abs(v)
		}
		add(rows, ca, randoms(ny, 1, normal), side)
	}
	p := &problem.Problem{Name: "smooth", Dx: nx, Dy: ny, F: f, G: g, Rows: rows, X: box(nx, 1), Facts: problem.Facts{StrongConvexity: 0.5, DegreeF: 3}}
	for range constraints {
		c := curved(rng, nx, ny, true)
		c.K = -0.3 - rng.Float64()
		f.Extra = append(f.Extra, c)
	}
	if constraints > 0 {
		p.Coupled = &problem.Coupled{Kind: make([]problem.Kind, constraints), Name: make([]string, constraints), Weight: make([]float64, constraints)}
	}
	return p
}

func randoms(n int, size float64, normal func() float64) []float64 {
	return each.Below(n, func(int) float64 { return size * normal() })
}

// curved is a random quadratic.
func curved(rng *rand.Rand, nx, ny int, convex bool) *Quadratic {
	n := nx + ny
	q := &Quadratic{Nx: nx, Ny: ny, M: make([]float64, n*n), C: randoms(n, 1, rng.NormFloat64)}
	for range n {
		v, sign := randoms(n, 0.6, rng.NormFloat64), 1.0
		if !convex && rng.IntN(3) == 0 {
			sign = -1
		}
		for i := range n {
			for j := range n {
				q.M[i*n+j] += sign * v[i] * v[j]
			}
		}
	}
	return q
}
