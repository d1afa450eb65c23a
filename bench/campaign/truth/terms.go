package truth

import (
	"math"
	"slices"

	"bilevelc/internal/each"
)

// Kind of a smooth convex term of one argument.
type Kind uint8

// The kinds, each with its function of the argument u.
const (
	Exp      Kind = iota // exp(u)
	Softplus             // log(1 + exp(u))
	Entropy              // u log u, for u > 0
	Sqrt1                // sqrt(1 + u^2)
)

// at is the function with its first and second derivative at u.
func (k Kind) at(u float64) (v, d, dd float64) {
	switch k {
	case Exp:
		e := math.Exp(u)
		return e, e, e
	case Softplus:
		v = math.Max(u, 0) + math.Log1p(math.Exp(-math.Abs(u)))
		s := 1 / (1 + math.Exp(-u))
		return v, s, s * (1 - s)
	case Entropy:
		if u <= 0 {
			return math.Inf(1), math.NaN(), math.NaN()
		}
		return u * math.Log(u), 1 + math.Log(u), 1 / u
	}
	r := math.Sqrt(1 + u*u)
	return r, u / r, 1 / (r * r * r)
}

// Term is Weight * kind(A x + C y + Const).
type Term struct {
	Kind          Kind
	Weight, Const float64
	A, C          []float64
}

func (t *Term) argument(x, y []float64) float64 { return t.Const + dot(t.A, x) + dot(t.C, y) }

// function is a quadratic function of (x, y) with smooth terms.
type function struct {
	Quadratic
	terms []Term
	dx    int
}

func (s *System) function(q *Quadratic, terms []Term) *function {
	n := s.Dx + s.Dy
	h := each.Of(q.H[:n], func(row []float64) []float64 { return row[:n] })
	return &function{Quadratic{q.Const, q.C[:n], h}, terms, s.Dx}
}

func (f *function) value(x, y []float64) float64 {
	v, _ := f.Value(slices.Concat(x, y))
	for i := range f.terms {
		t := &f.terms[i]
		u, _, _ := t.Kind.at(t.argument(x, y))
		v += t.Weight * u
	}
	return v
}

func (f *function) gradient(x, y []float64) (gx, gy []float64) {
	g := f.Slope(slices.Concat(x, y))
	gx, gy = g[:f.dx:f.dx], g[f.dx:]
	for i := range f.terms {
		t := &f.terms[i]
		_, d, _ := t.Kind.at(t.argument(x, y))
		axpy(gx, t.Weight*d, t.A)
		axpy(gy, t.Weight*d, t.C)
	}
	return gx, gy
}

// hessian returns the second derivatives in (y, y) and in (y, x).
func (f *function) hessian(x, y []float64) (yy, yx [][]float64) {
	for _, row := range f.H[f.dx:] {
		row = slices.Clone(row)
		yx, yy = append(yx, row[:f.dx:f.dx]), append(yy, row[f.dx:])
	}
	for i := range f.terms {
		t := &f.terms[i]
		_, _, dd := t.Kind.at(t.argument(x, y))
		for j, c := range t.C {
			axpy(yy[j], t.Weight*dd*c, t.C)
			axpy(yx[j], t.Weight*dd*c, t.A)
		}
	}
	return yy, yx
}

// sizeOfTerms sums the sizes of each entry times the slope along it.
func (f *function) sizeOfTerms(x, y []float64) float64 {
	fx, fy := f.gradient(x, y)
	size := func(g, v []float64) float64 {
		return each.SumBelow(len(v), func(i int) float64 { return math.Abs(g[i] * v[i]) })
	}
	return size(fx, x) + size(fy, y)
}
