package curvature

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/each"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// This file is the independent reference of the tests: values and the first
// two derivatives along a line, by forward Taylor arithmetic on numbers. It
// shares no rule with the package.

// taylor is the value and the first two derivatives of an entry along the line.
type taylor [3]float64

func times(a, b taylor) taylor {
	return taylor{a[0] * b[0], a[1]*b[0] + a[0]*b[1], a[2]*b[0] + 2*a[1]*b[1] + a[0]*b[2]}
}

func chain(a taylor, f, d1, d2 float64) taylor {
	return taylor{f, d1 * a[1], d2*a[1]*a[1] + d1*a[2]}
}

func plus(a, b taylor, sign float64) taylor {
	return taylor{a[0] + sign*b[0], a[1] + sign*b[1], a[2] + sign*b[2]}
}

// along differentiates the scalar node n at (x, y) in the direction (dx, dy).
// size is the largest number met on the way, the scale of its rounding, and
// infinite after an overflow.
func along(n *expr.Node, x, y, dx, dy []float64) (t taylor, size float64) {
	size = 1
	vals := map[*expr.Node][]taylor{}
	for _, m := range expr.Reachable(n) {
		out := make([]taylor, m.Shape.Len())
		arg := func(i, k int) taylor {
			a := vals[m.Args[i]]
			if len(a) == 1 {
				return a[0]
			}
			return a[k]
		}
		for k := range out {
			switch m.Op {
			case expr.Const:
				out[k] = taylor{m.Value.Values()[k]}
			case expr.Var:
				if m.Lower {
					out[k] = taylor{y[m.Offset+k], dy[m.Offset+k]}
				} else {
					out[k] = taylor{x[m.Offset+k], dx[m.Offset+k]}
				}
			case expr.Neg:
				out[k] = plus(taylor{}, arg(0, k), -1)
			case expr.Add:
				out[k] = plus(arg(0, k), arg(1, k), 1)
			case expr.Sub:
				out[k] = plus(arg(0, k), arg(1, k), -1)
			case expr.Mul:
				out[k] = times(arg(0, k), arg(1, k))
			case expr.Div:
				u, v := arg(0, k), arg(1, k)
				out[k] = times(u, chain(v, 1/v[0], -1/(v[0]*v[0]), 2/(v[0]*v[0]*v[0])))
			case expr.PosPow:
				if u, p := arg(0, k), arg(1, k)[0]; u[0] > 0 {
					out[k] = chain(u, math.Pow(u[0], p), p*math.Pow(u[0], p-1), p*(p-1)*math.Pow(u[0], p-2))
				}
			case expr.Pow:
				u, p := arg(0, k), arg(1, k)
				if p[1] == 0 && p[2] == 0 {
					out[k] = chain(u, math.Pow(u[0], p[0]), p[0]*math.Pow(u[0], p[0]-1), p[0]*(p[0]-1)*math.Pow(u[0], p[0]-2))
				} else {
					e := times(p, chain(u, math.Log(u[0]), 1/u[0], -1/(u[0]*u[0])))
					f := math.Exp(e[0])
					out[k] = chain(e, f, f, f)
				}
			case expr.Exp:
				f := math.Exp(arg(0, k)[0])
				out[k] = chain(arg(0, k), f, f, f)
			case expr.Log:
				u := arg(0, k)
				out[k] = chain(u, math.Log(u[0]), 1/u[0], -1/(u[0]*u[0]))
			case expr.Sqrt:
				u := arg(0, k)
				r := math.Sqrt(u[0])
				out[k] = chain(u, r, 0.5/r, -0.25/(r*u[0]))
			case expr.Tanh:
				f := math.Tanh(arg(0, k)[0])
				c := math.Cosh(arg(0, k)[0])
				out[k] = chain(arg(0, k), f, 1/(c*c), -2*f/(c*c))
			case expr.Sin:
				f, g := math.Sincos(arg(0, k)[0])
				out[k] = chain(arg(0, k), f, g, -f)
			case expr.Cos:
				f, g := math.Sincos(arg(0, k)[0])
				out[k] = chain(arg(0, k), g, -f, -g)
			case expr.Log1pExp:
				u := arg(0, k)
				s := 1 / (1 + math.Exp(-u[0]))
				out[k] = chain(u, math.Log1p(math.Exp(-math.Abs(u[0])))+math.Max(u[0], 0), s, s/(1+math.Exp(u[0])))
			case expr.Sigmoid:
				u := arg(0, k)
				s := 1 / (1 + math.Exp(-u[0]))
				d := s / (1 + math.Exp(u[0]))
				out[k] = chain(u, s, d, d*(1-2*s))
			case expr.Atan:
				u := arg(0, k)
				c := math.Cos(math.Atan(u[0])) // 1/sqrt(1 + u^2)
				out[k] = chain(u, math.Atan2(u[0], 1), c*c, -2*u[0]*c*c*c*c)
			case expr.Erf:
				u := arg(0, k)
				d := 2 / math.Sqrt(math.Pi) / math.Exp(u[0]*u[0])
				out[k] = chain(u, 1-math.Erfc(u[0]), d, -2*u[0]*d)
			case expr.NormalCDF:
				u := arg(0, k)
				d := 1 / math.Sqrt(2*math.Pi*math.Exp(u[0]*u[0]))
				out[k] = chain(u, 0.5+0.5*math.Erf(u[0]/math.Sqrt2), d, -u[0]*d)
			case expr.Sum:
				for _, e := range vals[m.Args[0]] {
					out[k] = plus(out[k], e, 1)
				}
			case expr.Prod:
				out[k] = taylor{1}
				for _, e := range vals[m.Args[0]] {
					out[k] = times(out[k], e)
				}
			case expr.LogSumExp:
				var s taylor
				top := math.Inf(-1)
				for _, e := range vals[m.Args[0]] {
					top = max(top, e[0])
				}
				for _, e := range vals[m.Args[0]] {
					f := math.Exp(e[0] - top)
					s = plus(s, chain(e, f, f, f), 1)
				}
				out[k] = chain(s, top+math.Log(s[0]), 1/s[0], -1/(s[0]*s[0]))
			case expr.Gather:
				if m.Index[k] >= 0 {
					out[k] = vals[m.Args[0]][m.Index[k]]
				}
			case expr.Transpose:
				out[k] = vals[m.Args[0]][(k%m.Shape.Cols)*m.Shape.Rows+k/m.Shape.Cols]
			}
		}
		switch m.Op {
		case expr.ScatterAdd:
			for k, e := range vals[m.Args[0]] {
				if i := m.Index[k]; i >= 0 {
					out[i] = plus(out[i], e, 1)
				}
			}
		case expr.Dot:
			for k, e := range vals[m.Args[0]] {
				out[0] = plus(out[0], times(e, vals[m.Args[1]][k]), 1)
			}
		case expr.MatVec, expr.MatMul, expr.Outer:
			a, b := m.Args[0], m.Args[1]
			at := func(n *expr.Node, i, j int, trans bool) taylor {
				if trans {
					i, j = j, i
				}
				return vals[n][i*n.Shape.Cols+j]
			}
			inner := 1
			if m.Op != expr.Outer {
				if inner = a.Shape.Cols; m.TransA {
					inner = a.Shape.Rows
				}
			}
			cols := m.Shape.Cols
			for i := range m.Shape.Rows {
				for j := range cols {
					for l := range inner {
						if m.Op == expr.Outer {
							out[i*cols+j] = times(vals[a][i], vals[b][j])
						} else {
							out[i*cols+j] = plus(out[i*cols+j], times(at(a, i, l, m.TransA), at(b, l, j, m.TransB)), 1)
						}
					}
				}
			}
		}
		vals[m] = out
		// An infinite value is an overflow, after which nothing can be said, but
		// for operations that leave their domain.
		outside := m.Op == expr.Log || m.Op == expr.Div || m.Op == expr.Pow && math.Abs(vals[m.Args[0]][0][0]) <= 1
		for _, e := range out {
			for i, v := range e {
				if v = math.Abs(v); v > size && (!math.IsInf(v, 0) || i == 0 && !outside) {
					size = v
				}
			}
		}
	}
	return vals[n][0], size
}

// leastCurvature is the direction in which the second derivative of n in y is
// least at (x, y), from the whole Hessian; nil where it is not finite.
func leastCurvature(n *expr.Node, x, y []float64) []float64 {
	d, zero := len(y), make([]float64, len(x))
	form := func(i, j int) float64 {
		v := make([]float64, d)
		v[i]++
		if j >= 0 {
			v[j]++
		}
		d, _ := along(n, x, y, zero, v)
		return d[2]
	}
	h := mat.NewSymDense(d, nil)
	for i := range d {
		h.SetSym(i, i, form(i, -1))
		for j := range i {
			h.SetSym(i, j, (form(i, j)-form(i, -1)-form(j, -1))/2)
		}
	}
	for i := range d {
		for j := range d {
			if v := h.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return nil
			}
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(h, true) {
		return nil
	}
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	return mat.Col(nil, 0, &vectors)
}

// TestTaylor holds the reference against differences of the evaluator.
func TestTaylor(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	checked := 0
	for range 400 {
		m := randomModel(r)
		x, y := m.sample(r, everywhere)
		n := m.p.Lower.Objective
		dx, dy := gauss(r, len(x)), gauss(r, len(y))
		got, _ := along(n, x, y, dx, dy)
		const h = 1e-4
		at := func(s float64) float64 {
			v, err := expr.Scalar(n, shift(x, s, dx), shift(y, s, dy))
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		m2, m1, p0, p1, p2 := at(-2*h), at(-h), at(0), at(h), at(2*h)
		d1 := (m2 - 8*m1 + 8*p1 - p2) / (12 * h)
		d2 := (-m2 + 16*m1 - 30*p0 + 16*p1 - p2) / (12 * h * h)
		size := math.Abs(p0) + math.Abs(got[1]) + math.Abs(got[2])
		if math.IsNaN(d2+size) || size > 1e4 {
			continue
		}
		checked++
		// Rounding of the second difference is about 1e-16/h^2 = 1e-8 of the values.
		if math.Abs(got[0]-p0) > 1e-10*(1+size) || math.Abs(got[1]-d1) > 1e-6*(1+size) || math.Abs(got[2]-d2) > 1e-4*(1+size) {
			t.Errorf("taylor %v, differences %v %v %v\n%s", got, p0, d1, d2, expr.Format(n))
		}
	}
	if checked < 200 {
		t.Errorf("only %d models compared", checked)
	}
}

func gauss(r *rand.Rand, n int) []float64 {
	return each.Below(n, func(int) float64 { return r.NormFloat64() })
}

func shift(v []float64, s float64, d []float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = v[i] + s*d[i]
	}
	return out
}

var noSpan diag.Span
