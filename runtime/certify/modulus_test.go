package certify

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// tilted is 1/2 y'Qy - x'y - c'y.
type tilted struct {
	q *mat.SymDense
	c []float64
}

func (f tilted) ValueGrad(dx, dy, x, y []float64) float64 {
	var qy mat.VecDense
	qy.MulVec(f.q, mat.NewVecDense(len(y), y))
	v := 0.0
	for j, t := range y {
		dy[j] = qy.AtVec(j) - x[j] - f.c[j]
		dx[j] = -t
		v += (qy.AtVec(j)/2 - x[j] - f.c[j]) * t
	}
	return v
}

// A modulus that holds is accepted and one half as large again is not, on random
// Hessians in random units: with equality rows it is the curvature along these that
// counts, whether the Hessian is positive definite beside them, is not, or is more
// curved. Honest ones are accepted where curvatures are far apart, and where rounding of
// large forces hides the least, which no difference of gradients tells.
func TestModuli(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 21))
	refused, hidden := 0, 0
	for trial := range 500 {
		n := 2 + rng.IntN(4)
		k := rng.IntN(n) // equality rows
		if trial%3 == 0 {
			k = 0
		}
		units, spread := math.Pow(10, float64(rng.IntN(13)-6)), 0.0
		force := 1.0
		switch trial % 4 {
		case 1:
			spread = 1 + 15*rng.Float64() // decades between curvatures
		case 2:
			force = math.Pow(10, 16*rng.Float64())
		}
		// H = V diag V', the first n - k columns of V along the rows, which are made of
		// the others; a mixed part makes H + rho E'E less curved than it is along them.
		random := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				random.Set(i, j, rng.NormFloat64())
			}
		}
		var qr mat.QR
		qr.Factorize(random)
		var basis mat.Dense
		qr.QTo(&basis)
		inner := mat.NewSymDense(n, nil)
		least := math.Inf(1)
		for i := range n {
			v := math.Pow(10, -spread*rng.Float64())
			if i < n-k {
				least = math.Min(least, v)
			} else if rng.IntN(2) == 0 {
				v *= -1
			}
			inner.SetSym(i, i, v)
			for j := range min(i, n-k) {
				if i >= n-k {
					inner.SetSym(i, j, rng.NormFloat64())
				}
			}
		}
		var part, whole mat.Dense
		part.Mul(&basis, inner)
		whole.Mul(&part, basis.T())
		h := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				h.SetSym(i, j, units*(whole.At(i, j)+whole.At(j, i))/2)
			}
		}
		c, y := make([]float64, n), make([]float64, n)
		for j := range n {
			c[j], y[j] = units*force*rng.NormFloat64(), rng.NormFloat64()
		}
		rows := &problem.Rows{A: sparse.FromEntries(k, n, nil), Rhs: make([]float64, k)}
		var entries []sparse.Entry
		for i := range k {
			rows.Kind = append(rows.Kind, problem.Equal)
			for j := range n {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: basis.At(j, n-k+i)})
				rows.Rhs[i] -= basis.At(j, n-k+i) * y[j]
			}
		}
		rows.B = sparse.FromEntries(k, n, entries)
		p := &problem.Problem{Name: "moduli", Dx: n, Dy: n, F: quadratic{d: ones(n)}, G: formula(tilted{h, c}.ValueGrad), Rows: rows,
			X:     &problem.Set{Lo: scaled(ones(n), math.Inf(-1)), Hi: scaled(ones(n), math.Inf(1)), E: sparse.FromEntries(0, n, nil)},
			Facts: problem.Facts{QuadraticInY: true, FixedHessian: true}}
		says := func(mu float64) (bool, string) {
			p.Facts.StrongConvexity = mu
			v := &verification{doc: &Document{X: make([]float64, n), Y: y, Lambda: make([]float64, k)}, p: p}
			v.d = newDeriver(p, v.doc.X, v.doc.Y, v.doc.Lambda)
			ok := v.modulus(mu)
			var failures []string
			for _, f := range v.Failures() {
				failures = append(failures, f.String())
			}
			return ok, strings.Join(failures, "; ")
		}
		if ok, why := says(units * least); !ok && !strings.Contains(why, errCurvature.Error()) {
			t.Errorf("trial %d: n %d, %d rows, units %g, %.3g decades, forces %.3g: %s", trial, n, k, units, spread, force, why)
		}
		if ok, _ := says(1.5 * units * least); ok {
			hidden++
			if spread < 5 && force < 1e3 {
				t.Errorf("trial %d: n %d, %d rows, units %g, %.3g decades: half as much again was accepted", trial, n, k, units, spread)
			}
		} else {
			refused++
		}
	}
	if refused < 400 || hidden < 8 {
		t.Errorf("%d false moduli refused, %d hidden by rounding", refused, hidden)
	}
}

// TestModuliWhereTermsCancel: prices of the size of 1 that cancel in the gradient, beside a curvature
// as small as the tie break of linear followers: what gradients around show of the modulus is off by the
// rounding of the prices, of which the gradients themselves, nearly 0, say nothing.
func TestModuliWhereTermsCancel(t *testing.T) {
	for trial := range 200 {
		rng := rand.New(rand.NewPCG(uint64(trial), 22))
		n := 1 + rng.IntN(4)
		mu := math.Pow(10, -4-9*rng.Float64())
		h := mat.NewSymDense(n, nil)
		x, c, y := make([]float64, n), make([]float64, n), make([]float64, n)
		for j := range n {
			h.SetSym(j, j, mu*(1+rng.Float64()))
			x[j], y[j] = rng.NormFloat64(), rng.NormFloat64()
			c[j] = h.At(j, j)*y[j] - x[j]
		}
		h.SetSym(0, 0, mu)
		c[0] = mu*y[0] - x[0]
		rows := &problem.Rows{A: sparse.FromEntries(2*n, n, nil)} // a unit of room on both sides of y
		var entries []sparse.Entry
		for j := range n {
			rows.Kind = append(rows.Kind, problem.AtMost, problem.AtMost)
			rows.Rhs = append(rows.Rhs, 1-y[j], 1+y[j])
			entries = append(entries, sparse.Entry{Row: 2 * j, Col: j, Val: 1}, sparse.Entry{Row: 2*j + 1, Col: j, Val: -1})
		}
		rows.B = sparse.FromEntries(2*n, n, entries)
		p := &problem.Problem{Name: "prices", Dx: n, Dy: n, F: quadratic{d: ones(n)}, G: formula(tilted{h, c}.ValueGrad), Rows: rows,
			X:     &problem.Set{Lo: scaled(ones(n), -3), Hi: scaled(ones(n), 3), E: sparse.FromEntries(0, n, nil)},
			Facts: problem.Facts{QuadraticInY: true, FixedHessian: true, StrongConvexity: mu}}
		v := &verification{doc: &Document{X: x, Y: y, Lambda: make([]float64, 2*n)}, p: p}
		v.d = newDeriver(p, x, y, v.doc.Lambda)
		for _, found := range v.pairs(2 * mu) {
			if found < mu*(1-1e-6) {
				t.Errorf("trial %d: modulus %g, gradients around are said to show %g", trial, mu, found)
				break
			}
		}
	}
}

// TestModuliOfShortPairs: the follower's own costs cancel at y, and rows leave so little room around it that the change of the gradient
// over it is about the rounding of these costs.
func TestModuliOfShortPairs(t *testing.T) {
	for trial := range 300 {
		rng := rand.New(rand.NewPCG(uint64(trial), 23))
		n := 1 + rng.IntN(4)
		mu := math.Pow(10, 18*rng.Float64()-4)
		size := math.Pow(10, 8*rng.Float64()-4)
		room := size * math.Pow(10, -15*rng.Float64())
		h := mat.NewSymDense(n, nil)
		x, c, y := make([]float64, n), make([]float64, n), make([]float64, n)
		for j := range n {
			h.SetSym(j, j, mu*(1+float64(min(j, 1))*9*rng.Float64()))
			y[j] = size * rng.NormFloat64()
			c[j] = h.At(j, j) * y[j]
		}
		rows := &problem.Rows{A: sparse.FromEntries(2*n, n, nil)}
		var entries []sparse.Entry
		for j := range n {
			rows.Kind = append(rows.Kind, problem.AtMost, problem.AtMost)
			rows.Rhs = append(rows.Rhs, -y[j]-room, y[j]-room)
			entries = append(entries, sparse.Entry{Row: 2 * j, Col: j, Val: 1}, sparse.Entry{Row: 2*j + 1, Col: j, Val: -1})
		}
		rows.B = sparse.FromEntries(2*n, n, entries)
		p := &problem.Problem{Name: "short", Dx: n, Dy: n, F: quadratic{d: ones(n)}, G: formula(tilted{h, c}.ValueGrad), Rows: rows,
			X:     &problem.Set{Lo: scaled(ones(n), 0), Hi: scaled(ones(n), 0), E: sparse.FromEntries(0, n, nil)},
			Facts: problem.Facts{QuadraticInY: true, FixedHessian: true, StrongConvexity: mu}}
		v := &verification{doc: &Document{X: x, Y: y, Lambda: make([]float64, 2*n)}, p: p}
		v.d = newDeriver(p, x, y, v.doc.Lambda)
		if !v.modulus(mu) {
			t.Errorf("trial %d: modulus %g, room %g around %v: %v", trial, mu, room, y, v.Failures())
		}
		p.Facts.StrongConvexity = 1.5 * mu
		if room > 1e-6*size && v.modulus(1.5*mu) {
			t.Errorf("trial %d: modulus %g, room %g around %v: half as much again was accepted", trial, mu, room, y)
		}
	}
}

// TestModuliElsewhere: g = y^2/4 + log(cosh y)/2 - x y has the curvature 1 at the point and 1/2 far from it: a modulus of 1 that is taken for proved is
// refuted by gradients at other points.
func TestModuliElsewhere(t *testing.T) {
	p := &problem.Problem{Dx: 1, Dy: 1, F: quadratic{d: []float64{1}}, X: &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
		G: formula(func(dx, dy, x, y []float64) float64 {
			dx[0], dy[0] = -y[0], y[0]/2+math.Tanh(y[0])/2-x[0]
			return y[0]*y[0]/4 + math.Log(math.Cosh(y[0]))/2 - x[0]*y[0]
		}),
		Rows: &problem.Rows{A: sparse.FromEntries(0, 1, nil), B: sparse.FromEntries(0, 1, nil)}}
	for _, mu := range []float64{0.5, 1} {
		p.Facts.StrongConvexity = mu
		doc := &Document{X: []float64{0}, Y: []float64{0}, Solved: true, GradientError: math.NaN(),
			Certificate: &Certificate{Lower: &Lower{Active: []int{}, Bound: &Bound{Modulus: mu}}}}
		if ok := Verify(doc, p).OK(); ok != (mu == 0.5) {
			t.Errorf("a modulus of %v passes: %v, %v", mu, ok, Verify(doc, p).Failures())
		}
	}
}

// TestModuliByProducts: of more entries than are factorized, one that is curved by a tenth of the modulus is found by inverse iteration.
func TestModuliByProducts(t *testing.T) {
	n := tolerance.DenseOrder + 1
	for _, least := range []float64{1, 0.1} {
		a, none := make([]float64, n), make([]float64, n)
		for j := range a {
			a[j] = 1 + float64(j%3)
		}
		a[n/2] = math.Sqrt(least)
		p := &problem.Problem{Dx: 1, Dy: n, F: quadratic{d: []float64{1}}, G: quadratic{a: a}, X: &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
			Rows:  &problem.Rows{A: sparse.FromEntries(0, 1, nil), B: sparse.FromEntries(0, n, nil)},
			Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true}}
		doc := &Document{X: []float64{0}, Y: none, Solved: true, GradientError: math.NaN(),
			Certificate: &Certificate{Lower: &Lower{Active: []int{}, Bound: &Bound{Modulus: 1}}}}
		if ok := Verify(doc, p).OK(); ok != (least == 1) {
			t.Errorf("a modulus of 1 passes where the least curvature is %v: %v, %v", least, ok, Verify(doc, p).Failures())
		}
	}
}
