package certify

import (
	"math"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// chain is g(x, y) = sum_j (y_j - x_k(j) - c_j)^2 / 2 + w (y_j - y_{j+1})^2 / 2, a
// tridiagonal quadratic, with k(j) = j mod dx; its gradients are linear in time.
type chain struct {
	dx    int
	w     float64
	calls *int
}

func (c chain) target(x []float64, j int) float64 { return x[j%c.dx] + math.Sin(float64(j)) }

func (c chain) ValueGrad(dx, dy, x, y []float64) float64 {
	*c.calls++
	clear(dx)
	clear(dy)
	v := 0.0
	for j := range y {
		r := y[j] - c.target(x, j)
		v += r * r / 2
		dy[j] += r
		dx[j%c.dx] -= r
		if j+1 < len(y) {
			d := y[j] - y[j+1]
			v += c.w * d * d / 2
			dy[j] += c.w * d
			dy[j+1] -= c.w * d
		}
	}
	return v
}

func (c chain) Value(x, y []float64) float64 {
	return c.ValueGrad(make([]float64, len(x)), make([]float64, len(y)), x, y)
}
func (c chain) GradX(dst, x, y []float64) { c.ValueGrad(dst, make([]float64, len(y)), x, y) }
func (c chain) GradY(dst, x, y []float64) { c.ValueGrad(make([]float64, len(x)), dst, x, y) }
func (c chain) ValueGradY(dst, x, y []float64) float64 {
	return c.ValueGrad(make([]float64, len(x)), dst, x, y)
}
func (c chain) Clone() problem.Function { return c }

// average is f(x, y) = |x|^2 / 2 + mean of y.
type average struct{}

func (average) ValueGrad(dx, dy, x, y []float64) float64 {
	v := 0.0
	for j := range x {
		v += x[j] * x[j] / 2
		dx[j] = x[j]
	}
	for j := range y {
		v += y[j] / float64(len(y))
		dy[j] = 1 / float64(len(y))
	}
	return v
}
func (a average) Value(x, y []float64) float64 {
	return a.ValueGrad(make([]float64, len(x)), make([]float64, len(y)), x, y)
}
func (a average) GradX(dst, x, y []float64) { a.ValueGrad(dst, make([]float64, len(y)), x, y) }
func (a average) GradY(dst, x, y []float64) { a.ValueGrad(make([]float64, len(x)), dst, x, y) }
func (a average) ValueGradY(dst, x, y []float64) float64 {
	return a.ValueGrad(make([]float64, len(x)), dst, x, y)
}
func (a average) Clone() problem.Function { return a }

// chainProblem has y >= 0 and one row over the first entries of y.
func chainProblem(dx, dy int, w float64, calls *int) *problem.Problem {
	inf := math.Inf(1)
	var b []sparse.Entry
	kind := make([]problem.Kind, dy+1)
	for j := range dy {
		b = append(b, sparse.Entry{Row: j, Col: j, Val: 1})
	}
	for j := range min(dy, 50) {
		b = append(b, sparse.Entry{Row: dy, Col: j, Val: 1})
	}
	kind[dy] = problem.Equal
	rhs := make([]float64, dy+1)
	rhs[dy] = -20
	p := &problem.Problem{Name: "chain", Dx: dx, Dy: dy, F: average{}, G: chain{dx, w, calls}, Start: make([]float64, dx),
		Rows:  &problem.Rows{Kind: kind, A: sparse.FromEntries(dy+1, dx, nil), B: sparse.FromEntries(dy+1, dy, b), Rhs: rhs},
		X:     &problem.Set{Lo: make([]float64, dx), Hi: make([]float64, dx), E: sparse.FromEntries(0, dx, nil)},
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
	for j := range dx {
		p.X.Lo[j], p.X.Hi[j] = -inf, inf
		p.Start[j] = 1
	}
	return p
}

// solveChain solves the tridiagonal lower level by an active-set method with
// the Thomas algorithm, apart from what is tested. The row is met by bisection of
// its multiplier.
func solveChain(c chain, x []float64, dy int, total float64) (y, lambda []float64) {
	y, lambda = make([]float64, dy), make([]float64, dy+1)
	held := make([]bool, dy)
	inner := func(mu float64) float64 {
		for range 200 {
			a, r := make([]float64, dy), make([]float64, dy)
			for j := range dy {
				d := 1.0
				if j > 0 {
					d += c.w
				}
				if j+1 < dy {
					d += c.w
				}
				t := c.target(x, j)
				if j < 50 {
					t += mu
				}
				if held[j] {
					d, t = 1, 0
				}
				low := 0.0
				if j > 0 && !held[j] && !held[j-1] {
					low = -c.w
				}
				if low != 0 {
					d -= low * low / a[j-1]
					t -= low / a[j-1] * r[j-1]
				}
				a[j], r[j] = d, t
			}
			for j := dy - 1; j >= 0; j-- {
				y[j] = r[j]
				if j+1 < dy && !held[j] && !held[j+1] {
					y[j] += c.w * y[j+1]
				}
				y[j] /= a[j]
				if held[j] {
					y[j] = 0
				}
			}
			changed := false
			for j := range dy {
				force := y[j] - c.target(x, j)
				if j < 50 {
					force -= mu
				}
				if j > 0 {
					force += c.w * (y[j] - y[j-1])
				}
				if j+1 < dy {
					force += c.w * (y[j] - y[j+1])
				}
				lambda[j] = 0
				switch {
				case held[j] && force < 0:
					held[j], changed = false, true
				case !held[j] && y[j] < 0:
					held[j], changed = true, true
				case held[j]:
					lambda[j] = force
				}
			}
			if !changed {
				break
			}
		}
		sum := 0.0
		for j := range min(50, dy) {
			sum += y[j]
		}
		return sum
	}
	lo, hi := -100.0, 100.0
	for range 200 {
		mu := (lo + hi) / 2
		if inner(mu) < total {
			lo = mu
		} else {
			hi = mu
		}
	}
	lambda[dy] = lo
	inner(lo)
	return y, lambda
}

// A sparse lower level of any size is verified by products: what that costs, in
// gradients of g, does not grow with its size.
func TestChain(t *testing.T) {
	const dx = 20
	var spent []int
	for _, dy := range []int{500, 2000, 8000} {
		calls := 0
		p := chainProblem(dx, dy, 3, &calls)
		x := make([]float64, dx)
		for k := range x {
			x[k] = 0.3 * math.Cos(float64(k))
		}
		y, lambda := solveChain(p.G.(chain), x, dy, 20)
		var active []int
		for i, l := range lambda {
			if l > 0 || p.Rows.Kind[i] == problem.Equal {
				active = append(active, i)
			}
		}
		v := &verification{doc: &Document{X: x, Y: y, Lambda: lambda}, p: p}
		v.d = newDeriver(p, x, y, lambda)
		found := v.lowerConditions(1)
		// The hypergradient by central differences of F over a step that keeps the face.
		gradient := make([]float64, dx)
		f := func(x []float64) float64 {
			y, _ := solveChain(p.G.(chain), x, dy, 20)
			return p.F.Value(x, y)
		}
		const step = 1e-6
		for _, k := range []int{0, 7} {
			z := append([]float64(nil), x...)
			z[k] += step
			up := f(z)
			z[k] -= 2 * step
			gradient[k] = (up - f(z)) / (2 * step)
		}
		at, err := v.d.lower(x, y, active)
		if err != nil {
			t.Fatalf("%d: %v", dy, err)
		}
		derived, err := v.d.gradient(at)
		if err != nil {
			t.Fatalf("%d: %v", dy, err)
		}
		for _, k := range []int{0, 7} {
			if math.Abs(derived[k]-gradient[k]) > 1e-6 {
				t.Errorf("%d: derivative %d is %.9g, by differences of F %.9g", dy, k, derived[k], gradient[k])
			}
		}
		b := &Bound{Modulus: 1, Gap: found.gap, Distance: math.Sqrt(2 * found.gap)}
		doc := &Document{X: x, Y: y, Lambda: lambda, Upper: p.F.Value(x, y), Lower: p.G.Value(x, y), Hypergradient: derived,
			Certificate: &Certificate{Lower: &Lower{Active: active, Residuals: found.Residuals, Bound: b}}, Strict: true, Solved: true}
		calls = 0
		requireOK(t, "chain", Verify(doc, p))
		spent = append(spent, calls)
		doc.Hypergradient = append([]float64(nil), derived...)
		doc.Hypergradient[7] += 1e-3
		if Verify(doc, p).OK() {
			t.Errorf("%d: a changed hypergradient passed", dy)
		}
		doc.Hypergradient = derived
		doc.Y = append([]float64(nil), y...)
		doc.Y[dy/2] += 1e-4
		if Verify(doc, p).OK() {
			t.Errorf("%d: a changed y passed", dy)
		}
		p.Facts.StrongConvexity = 2
		b.Modulus, doc.Y = 2, y
		if Verify(doc, p).OK() {
			t.Logf("%d: a modulus of 2 was not refuted, the least eigenvalue is about 1", dy)
		}
	}
	t.Logf("gradients of g: %v", spent)
	if last := spent[len(spent)-1]; last > 2*spent[0]+100 {
		t.Errorf("gradients of g grow with the size: %v", spent)
	}
}
