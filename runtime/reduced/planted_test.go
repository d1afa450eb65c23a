package reduced_test

import (
	"math"
	"math/rand/v2"

	"bilevelc/codegen/kernel"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// planted is the family of problems
//
//	f = a.(V'y - t)^2 + b.(U'x - s)^2,   g = |V'y - U'x|^2/2,   0 <= V'y <= 1,
//
// U and V orthogonal: in u = U'x and v = V'y it falls apart into v_i = min(max(u_i, 0), 1), so that the values of all pieces are known.
type planted struct {
	N          int         `json:"n"`
	Us         [][]float64 `json:"U"`
	Vs         [][]float64 `json:"V"`
	A, T, W, S []float64
	F          float64
	u, v       []float64 // row-major
}

// newPlanted draws a problem whose optimum is a kink in half of the entries, and elsewhere where it falls.
func newPlanted(rng *rand.Rand, n int) *planted {
	p := &planted{N: n, u: orthogonal(rng, n), v: orthogonal(rng, n)}
	draw := func(f func() float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = f()
		}
		return out
	}
	p.A, p.W = draw(func() float64 { return 0.5 + 1.5*rng.Float64() }), draw(func() float64 { return 0.5 + 1.5*rng.Float64() })
	p.T, p.S = draw(func() float64 { return 0.5 + rng.NormFloat64() }), draw(func() float64 { return 0.5 + rng.NormFloat64() })
	for i := range n {
		if rng.IntN(2) == 0 {
			continue
		}
		d := 0.1 + 0.9*rng.Float64()
		e := p.W[i] * d / p.A[i] * (1.2 + 2*rng.Float64())
		p.S[i], p.T[i] = d, -e
		if rng.IntN(2) == 0 {
			p.S[i], p.T[i] = 1-d, 1+e
		}
	}
	return p
}

// orthogonal is the Q of a random matrix, by Gram and Schmidt's method, twice.
func orthogonal(rng *rand.Rand, n int) []float64 {
	q := make([]float64, n*n)
	for i := range n {
		row := q[i*n : (i+1)*n]
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		for range 2 {
			c := make([]float64, i)
			kernel.Gemv(c, 1, q, i, n, false, row)
			kernel.Gemv(row, -1, q, i, n, true, c)
		}
		s := 1 / math.Sqrt(kernel.Dot(row, row))
		for j := range row {
			row[j] *= s
		}
	}
	return q
}

// piece is F of one entry at u.
func (p *planted) piece(i int, u float64) float64 {
	v := math.Min(math.Max(u, 0), 1)
	return p.A[i]*(v-p.T[i])*(v-p.T[i]) + p.W[i]*(u-p.S[i])*(u-p.S[i])
}

// minima are the local minima of an entry's F: at the kinks and inside the pieces.
func (p *planted) minima(i int) []float64 {
	a, w, t, s := p.A[i], p.W[i], p.T[i], p.S[i]
	var out []float64
	if s < 0 || s > 1 {
		out = append(out, s)
	}
	if m := (a*t + w*s) / (a + w); m > 0 && m < 1 {
		out = append(out, m)
	}
	for _, k := range []float64{0, 1} {
		outside, inside := 2*w*(k-s), 2*w*(k-s)+2*a*(k-t)
		if k == 0 && outside <= 0 && inside >= 0 || k == 1 && inside <= 0 && outside >= 0 {
			out = append(out, k)
		}
	}
	return out
}

// optimum is the least F.
func (p *planted) optimum() float64 {
	f := 0.0
	for i := range p.N {
		best := math.Inf(1)
		for _, u := range p.minima(i) {
			best = math.Min(best, p.piece(i, u))
		}
		f += best
	}
	return f
}

// problem is the bilevel problem in x and y, its rows general ones.
func (p *planted) problem() *problem.Problem {
	n := p.N
	vt := make([]float64, n*n)
	kernel.Transpose(vt, p.v, n, n)
	b := make([]float64, 2*n*n)
	copy(b, vt)
	for i, v := range vt {
		b[n*n+i] = -v
	}
	rows := &problem.Rows{Kind: make([]problem.Kind, 2*n), A: sparse.FromEntries(2*n, n, nil), B: sparse.FromDense(2*n, n, b), Rhs: make([]float64, 2*n)}
	for i := range n {
		rows.Rhs[n+i] = 1
	}
	lo, hi := make([]float64, n), make([]float64, n)
	for i := range n {
		lo[i], hi[i] = math.Inf(-1), math.Inf(1)
	}
	return &problem.Problem{Name: "planted", Dx: n, Dy: n, F: &leader{p, n}, G: &lower{p, n}, Rows: rows,
		X: &problem.Set{Lo: lo, Hi: hi, E: sparse.Empty(n)}, Start: make([]float64, n),
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true, DegreeF: 2}}
}

// function is a problem.Function by its value and gradients.
type leader struct {
	p *planted
	n int
}

func rotate(m []float64, n int, v []float64) []float64 {
	out := make([]float64, n)
	kernel.Gemv(out, 1, m, n, n, true, v)
	return out
}

func (f *leader) ValueGrad(dx, dy, x, y []float64) float64 {
	p, n := f.p, f.n
	u, v := rotate(p.u, n, x), rotate(p.v, n, y)
	value := 0.0
	for i := range n {
		du, dv := u[i]-p.S[i], v[i]-p.T[i]
		value += p.A[i]*dv*dv + p.W[i]*du*du
		u[i], v[i] = 2*p.W[i]*du, 2*p.A[i]*dv
	}
	if dx != nil {
		clear(dx)
		kernel.Gemv(dx, 1, p.u, n, n, false, u)
	}
	if dy != nil {
		clear(dy)
		kernel.Gemv(dy, 1, p.v, n, n, false, v)
	}
	return value
}
func (f *leader) Value(x, y []float64) float64           { return f.ValueGrad(nil, nil, x, y) }
func (f *leader) GradX(dst, x, y []float64)              { f.ValueGrad(dst, nil, x, y) }
func (f *leader) GradY(dst, x, y []float64)              { f.ValueGrad(nil, dst, x, y) }
func (f *leader) ValueGradY(dst, x, y []float64) float64 { return f.ValueGrad(nil, dst, x, y) }
func (f *leader) Clone() problem.Function                { return f }

type lower struct {
	p *planted
	n int
}

func (f *lower) ValueGrad(dx, dy, x, y []float64) float64 {
	p, n := f.p, f.n
	r := rotate(p.v, n, y)
	kernel.Gemv(r, -1, p.u, n, n, true, x)
	if dx != nil {
		clear(dx)
		kernel.Gemv(dx, -1, p.u, n, n, false, r)
	}
	if dy != nil {
		clear(dy)
		kernel.Gemv(dy, 1, p.v, n, n, false, r)
	}
	return kernel.Dot(r, r) / 2
}
func (f *lower) Value(x, y []float64) float64           { return f.ValueGrad(nil, nil, x, y) }
func (f *lower) GradX(dst, x, y []float64)              { f.ValueGrad(dst, nil, x, y) }
func (f *lower) GradY(dst, x, y []float64)              { f.ValueGrad(nil, dst, x, y) }
func (f *lower) ValueGradY(dst, x, y []float64) float64 { return f.ValueGrad(nil, dst, x, y) }
func (f *lower) Clone() problem.Function                { return f }
