package oracle

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
)

// barrier is a convex function of u > 0 whose curvature grows without bound towards 0, by
// its first two derivatives.
type barrier struct {
	name          string
	value, d1, d2 func(u float64) float64
}

var barriers = []barrier{
	{"u log u", func(u float64) float64 { return u * math.Log(u) }, func(u float64) float64 { return math.Log(u) + 1 }, func(u float64) float64 { return 1 / u }},
	{"-log u", func(u float64) float64 { return -math.Log(u) }, func(u float64) float64 { return -1 / u }, func(u float64) float64 { return 1 / (u * u) }},
	{"1/u", func(u float64) float64 { return 1 / u }, func(u float64) float64 { return -1 / (u * u) }, func(u float64) float64 { return 2 / (u * u * u) }},
	{"-sqrt u", func(u float64) float64 { return -math.Sqrt(u) }, func(u float64) float64 { return -0.5 / math.Sqrt(u) }, func(u float64) float64 { return 0.25 / (u * math.Sqrt(u)) }},
}

// beside is g = sum_j phi_j(y_j / unit) + (y_j / unit)^2 / 2 + (c_j - x_j) y_j / unit over
// y > 0 with phi_j a barrier, but for the first entry, which has none.
type beside struct {
	unit float64
	phi  []barrier
	c    []float64
}

func (g *beside) Value(x, y []float64) float64 {
	s := 0.0
	for j, c := range g.c {
		u := y[j] / g.unit
		s += u*u/2 + (c-x[j])*u
		if j > 0 {
			s += g.phi[j].value(u)
		}
	}
	return s
}

func (g *beside) GradX(dst, x, y []float64) {
	for j := range g.c {
		dst[j] = -y[j] / g.unit
	}
}

func (g *beside) GradY(dst, x, y []float64) {
	for j, c := range g.c {
		u := y[j] / g.unit
		d := u + c - x[j]
		if j > 0 {
			d += g.phi[j].d1(u)
		}
		dst[j] = d / g.unit
	}
}

func (g *beside) ValueGradY(dst, x, y []float64) float64 { g.GradY(dst, x, y); return g.Value(x, y) }
func (g *beside) ValueGrad(dstX, dstY, x, y []float64) float64 {
	g.GradX(dstX, x, y)
	return g.ValueGradY(dstY, x, y)
}
func (g *beside) Clone() problem.Function { return g }

// weighted is f = sum_j q_j y_j / unit.
type weighted struct {
	unit float64
	q    []float64
}

func (f *weighted) Value(x, y []float64) float64 { return linalg.Dot(f.q, y) / f.unit }
func (f *weighted) GradX(dst, x, y []float64)    { clear(dst) }
func (f *weighted) GradY(dst, x, y []float64) {
	for j, q := range f.q {
		dst[j] = q / f.unit
	}
}
func (f *weighted) ValueGradY(dst, x, y []float64) float64 { f.GradY(dst, x, y); return f.Value(x, y) }
func (f *weighted) ValueGrad(dstX, dstY, x, y []float64) float64 {
	f.GradX(dstX, x, y)
	return f.ValueGradY(dstY, x, y)
}
func (f *weighted) Clone() problem.Function { return f }

// edgeCase is a follower at y* beside the edge of the domain of g, with y* and grad F at
// x = 0 by the formula of the implicit function. The first entry is held at 0 by a force or,
// with free set, is of the size of the unit and free; a third may be tied to the others,
// y_3 = k y_2 + s (y_1 - y*_1).
func edgeCase(rng *rand.Rand, phi barrier, depth float64, free bool) (p *problem.Problem, y, truth []float64) {
	tied := rng.IntN(2) == 0
	n := 2
	if tied {
		n = 3
	}
	unit := math.Pow(10, float64(rng.IntN(13)-6))
	g, f := &beside{unit: unit, phi: make([]barrier, n), c: make([]float64, n)}, &weighted{unit, make([]float64, n)}
	u := make([]float64, n)
	for j := range u {
		g.phi[j] = phi
		f.q[j] = math.Round(20*rng.NormFloat64()) / 4
	}
	f.q[1]++
	u[1] = math.Pow(10, -depth)
	k, s := 0.5+2*rng.Float64(), 0.0
	if tied {
		u[2] = k * u[1]
	}
	force := 10 * rng.Float64() // of the tie
	for j := 1; j < n; j++ {
		g.c[j] = -phi.d1(u[j]) - u[j]
	}
	rows, entries := &problem.Rows{}, []sparse.Entry(nil)
	for j := range n {
		rows.Rhs, rows.Kind = append(rows.Rhs, 0), append(rows.Kind, problem.AtMost)
		entries = append(entries, sparse.Entry{Row: j, Col: j, Val: 1})
	}
	g.c[0] = (0.1 + 10*rng.Float64()) * (1 + math.Abs(phi.d1(u[1]))) // above what the other entry hides
	if free {
		u[0] = 1
		s = rng.NormFloat64()
		g.c[0] = -u[0]
	}
	// The Hessian and the pull on (u_1, u_2) along the tie, and the answer's derivative.
	h2, q2 := 0.0, 0.0
	if tied {
		g.c[0] += s * force
		g.c[1] += k * force
		g.c[2] -= force
		h2, q2 = phi.d2(u[2])+1, f.q[2]
		rows.Rhs, rows.Kind = append(rows.Rhs, unit*(s*u[0])), append(rows.Kind, problem.Equal)
		entries = append(entries, sparse.Entry{Row: n, Col: 0, Val: s}, sparse.Entry{Row: n, Col: 1, Val: k}, sparse.Entry{Row: n, Col: 2, Val: -1})
	}
	a, b, c := 1+s*s*h2, s*k*h2, phi.d2(u[1])+1+k*k*h2
	p0, p1 := f.q[0]+s*q2, f.q[1]+k*q2
	truth = make([]float64, n)
	if free {
		det := a*c - b*b
		truth[0], truth[1] = (c*p0-b*p1)/det, (a*p1-b*p0)/det
	} else {
		truth[1] = p1 / c
	}
	if tied {
		truth[2] = s*truth[0] + k*truth[1]
	}
	rows.Rhs = slices.Clone(rows.Rhs)
	for i := range rows.Rhs { // h = -B y - b
		rows.Rhs[i] = -rows.Rhs[i]
	}
	rows.A, rows.B = sparse.FromEntries(rows.Len(), n, nil), sparse.FromEntries(rows.Len(), n, entries)
	p = &problem.Problem{Dx: n, Dy: n, F: f, G: g, Rows: rows, X: &problem.Set{E: sparse.FromEntries(0, n, nil)}}
	for range n {
		p.X.Lo, p.X.Hi = append(p.X.Lo, -1), append(p.X.Hi, 1)
	}
	for _, v := range u {
		y = append(y, unit*v)
	}
	return p, y, truth
}

// Beside the edge of the domain of g, where curvature grows without bound, the oracle finds
// steps that are short enough, whatever a longer one has met, and never takes an answer beyond
// a pole for one. Past 1e-4 of the scale 1/u is too steep for some, and past 1e-6 an entry beside
// a free one may be taken for 0: no gradient is given there. What is called solved is.
// The curvature of an entry that is nearly 0 does not hide that of one which is not.
func TestEdgeOfTheDomain(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 61))
	for _, phi := range barriers {
		for trial := range 300 {
			free := trial%2 == 1
			depth := 7 * rng.Float64() // below, solvers take y for 0
			if free && phi.name != "u log u" {
				depth /= 4 // as far as double precision tells both curvatures
			}
			p, y, truth := edgeCase(rng, phi, depth, free)
			solver, err := lower.New("alm", nil, p, 1)
			if err != nil {
				t.Fatal(err)
			}
			h := New(p, solver, &Face{Settings: *DefaultFace()})
			x := make([]float64, p.Dx)
			pt, err := h.Value(context.Background(), x)
			if err == nil && pt.Lower.Status == lower.Solved {
				if off := linalg.Distance(pt.Lower.Y, y); !(off <= 1e-6*linalg.Norm(y)) {
					t.Errorf("%s, trial %d, y* at 1e-%.1f: solved, but y is off by %.2g of %.2g", phi.name, trial, depth, off, linalg.Norm(y))
				}
			} else if phi.name == "1/u" {
				continue
			}
			if err == nil {
				pt, err = h.Gradient(context.Background(), x)
			}
			var missing *LowerError
			if errors.As(err, &missing) && missing.Gradient && (phi.name == "1/u" && depth > 4 || free && depth > 6) {
				continue
			}
			if err != nil {
				t.Errorf("%s, trial %d, y* at 1e-%.1f: %v", phi.name, trial, depth, err)
				continue
			}
			if off, size := linalg.Distance(pt.Grad, truth), linalg.Norm(truth); off > 30*pt.GradError+1e-9*size || size > 0 && phi.name != "1/u" && pt.GradError > 1e-3*size {
				t.Errorf("%s, trial %d, y* at 1e-%.1f: off by %.2g of %.2g, error claimed %.2g", phi.name, trial, depth, off, size, pt.GradError)
			}
			if calls := h.Calls().GradG; calls > 12000 {
				t.Errorf("%s, trial %d, y* at 1e-%.1f: %d gradients", phi.name, trial, depth, calls)
			}
		}
	}
}
