package certify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// bent is 1/2 y'Qy + sum exp(y_j) - x'Py, or without exp a quadratic: its second
// derivatives are written down.
type bent struct {
	q, p      *mat.Dense
	quadratic bool
}

func (f bent) ValueGrad(dx, dy, x, y []float64) float64 {
	var qy, py, px mat.VecDense
	yv, xv := mat.NewVecDense(len(y), y), mat.NewVecDense(len(x), x)
	qy.MulVec(f.q, yv)
	py.MulVec(f.p, yv)
	px.MulVec(f.p.T(), xv)
	v := mat.Dot(yv, &qy)/2 - mat.Dot(xv, &py)
	for k := range dx {
		dx[k] = -py.AtVec(k)
	}
	for j, t := range y {
		dy[j] = qy.AtVec(j) - px.AtVec(j)
		if !f.quadratic {
			v += math.Exp(t)
			dy[j] += math.Exp(t)
		}
	}
	return v
}

// hessian is the second derivative in y.
func (f bent) hessian(y []float64) *mat.SymDense {
	h := mat.NewSymDense(len(y), nil)
	for i := range y {
		for j := i; j < len(y); j++ {
			h.SetSym(i, j, f.q.At(i, j))
		}
		if !f.quadratic {
			h.SetSym(i, i, f.q.At(i, i)+math.Exp(y[i]))
		}
	}
	return h
}

// bentCase is a random lower level in units of its own, a face of it and a
// point.
type bentCase struct {
	name   string
	p      *problem.Problem
	f      bent
	uy, ug float64
	x, y   []float64
	face   []int
}

func (c *bentCase) hessian(y []float64) *mat.SymDense {
	h := c.f.hessian(scaled(y, 1/c.uy))
	h.ScaleSym(c.ug/(c.uy*c.uy), h)
	return h
}

// exact is the solution of the system of the face with the written Hessian at y.
func (c *bentCase) exact(y, a, b []float64) (u, v []float64) {
	// In the units of f, so that the matrix is not scaled badly.
	n, m := c.p.Dy, len(c.face)
	kkt, side := mat.NewDense(n+m, n+m, nil), mat.NewVecDense(n+m, nil)
	h := c.f.hessian(scaled(y, 1/c.uy))
	for i := range n {
		for j := range n {
			kkt.Set(i, j, h.At(i, j))
		}
		side.SetVec(i, a[i]*c.uy/c.ug)
	}
	for k, i := range c.face {
		row := make([]float64, n)
		c.p.Rows.B.AddRow(row, i, c.uy)
		for j, t := range row {
			kkt.Set(n+k, j, t)
			kkt.Set(j, n+k, t)
		}
		side.SetVec(n+k, b[k])
	}
	var z mat.VecDense
	if err := z.SolveVec(kkt, side); err != nil {
		panic(err)
	}
	all := z.RawVector().Data
	return scaled(all[:n], c.uy), scaled(all[n:], c.ug)
}

func randomBent(rng *rand.Rand, quadratic bool) *bentCase {
	dx, n := 1+rng.IntN(3), 3+rng.IntN(5)
	c := &bentCase{uy: math.Pow(10, float64(rng.IntN(13)-6)), ug: math.Pow(10, float64(rng.IntN(13)-6))}
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for j := range v {
			v[j] = rng.NormFloat64()
		}
		return v
	}
	r := mat.NewDense(n, n, normal(n*n))
	c.f = bent{q: mat.NewDense(n, n, nil), p: mat.NewDense(dx, n, normal(dx*n)), quadratic: quadratic}
	c.f.q.Mul(r.T(), r)
	for j := range n {
		c.f.q.Set(j, j, c.f.q.At(j, j)+1)
	}
	// Bounds on some entries, and general rows with an entry that no bound holds.
	var rows [][]float64
	bounded := rng.IntN(n - 1)
	for j := range bounded {
		row := make([]float64, n)
		row[j] = []float64{1, -1, 3}[rng.IntN(3)]
		rows = append(rows, row)
	}
	for range rng.IntN(min(3, n-bounded)) {
		rows = append(rows, normal(n))
	}
	var entries []sparse.Entry
	for i, row := range rows {
		c.face = append(c.face, i)
		for j, t := range row {
			if t != 0 {
				entries = append(entries, sparse.Entry{Row: i, Col: j, Val: t})
			}
		}
	}
	c.x, c.y = normal(dx), scaled(normal(n), c.uy)
	unbounded := &problem.Set{E: sparse.FromEntries(0, dx, nil)}
	for range dx {
		unbounded.Lo, unbounded.Hi = append(unbounded.Lo, math.Inf(-1)), append(unbounded.Hi, math.Inf(1))
	}
	c.p = &problem.Problem{Name: "bent", Dx: dx, Dy: n, F: quadratic0(n), G: inUnits{formula(c.f.ValueGrad), 1, c.uy, c.ug}, X: unbounded,
		Rows:  &problem.Rows{Kind: make([]problem.Kind, len(rows)), A: sparse.FromEntries(len(rows), dx, nil), B: sparse.FromEntries(len(rows), n, entries), Rhs: make([]float64, len(rows))},
		Facts: problem.Facts{StrongConvexity: c.ug / (c.uy * c.uy), QuadraticInY: quadratic, FixedHessian: quadratic}}
	c.name = fmt.Sprintf("dx %d, dy %d, %d rows, units %g of y, %g of g, quadratic %v", dx, n, len(rows), c.uy, c.ug, quadratic)
	return c
}

func quadratic0(n int) quadratic { return quadratic{d: ones(n)} }

// Products with the Hessian, and the systems of faces solved by them and by
// factors, against second derivatives that are written down, in any units.
func TestSystemsInUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 21))
	for trial := range 200 {
		c := randomBent(rng, trial%2 == 0)
		d := newDeriver(c.p, c.x, c.y, make([]float64, c.p.Rows.Len()))
		dense, err := newHessian(c.p, d.g, d.s, d.parts, c.x, c.y)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		v := make([]float64, c.p.Dy)
		for j := range v {
			v[j] = c.uy * rng.NormFloat64() * math.Pow(10, float64(rng.IntN(9)-4))
		}
		var want mat.VecDense
		want.MulVec(c.hessian(c.y), mat.NewVecDense(len(v), v))
		got := make([]float64, len(v))
		dense.mul(got, v)
		if off := distance(got, want.RawVector().Data); off > 1e-6*norm(want.RawVector().Data) {
			t.Errorf("%s: H v is off by %.2g of %.2g", c.name, off, norm(want.RawVector().Data))
		}
		products := *dense
		products.blocks, products.parts = nil, nil
		a, b := make([]float64, c.p.Dy), make([]float64, len(c.face))
		for j := range a {
			a[j] = c.ug / c.uy * rng.NormFloat64()
		}
		for k := range b {
			b[k] = c.uy * rng.NormFloat64()
		}
		u, w := c.exact(c.y, a, b)
		systems := map[string]*hessian{"factors": dense, "products": &products}
		if c.p.Facts.FixedHessian {
			traded := products
			traded.exchange = &exchange{products: c.p.Dy}
			systems["products given up"] = &traded
		}
		for how, h := range systems {
			system, err := h.system(c.face)
			if err != nil {
				t.Fatalf("%s, %s: %v", c.name, how, err)
			}
			gotU, gotW, err := system.solve(a, b)
			if err != nil {
				t.Errorf("%s, %s: %v", c.name, how, err)
				continue
			}
			if off := distance(gotU, u); off > 1e-5*norm(u) {
				t.Errorf("%s, %s: the step is off by %.2g of %.2g", c.name, how, off, norm(u))
			}
			if off := distance(gotW, w); off > 1e-5*(norm(w)+c.ug) {
				t.Errorf("%s, %s: the multipliers are off by %.2g of %.2g", c.name, how, off, norm(w))
			}
			if s := byProducts(system); s != nil && (s.direct != nil) != (h.exchange != nil) {
				t.Errorf("%s, %s: solved by factors %v", c.name, how, s.direct != nil)
			}
		}
	}
}

// An adjoint is that of the curvature at its own point, however far away the
// curvature was looked at that is kept.
func TestAdjointsWithOldCurvature(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 21))
	for range 200 {
		c := randomBent(rng, false)
		d := newDeriver(c.p, c.x, c.y, make([]float64, c.p.Rows.Len()))
		far := make([]float64, c.p.Dy)
		for j := range far {
			far[j] = c.y[j] + c.uy*[]float64{0.1, 1, 4}[rng.IntN(3)]*rng.NormFloat64()
		}
		if _, err := d.curvature(c.x, far, true); err != nil {
			t.Fatal(err)
		}
		at := &derived{x: c.x, y: c.y, lambda: make([]float64, c.p.Rows.Len()), face: c.face}
		var err error
		if at.system, err = d.near.system(c.face); err != nil {
			t.Fatal(err)
		}
		at.active = at.system.index
		cy, cv := make([]float64, c.p.Dy), make([]float64, len(c.face))
		for j := range cy {
			cy[j] = rng.NormFloat64() / c.uy
		}
		got, err := d.sensitivity(at, cy, cv, func() (p, q []float64, err error) { return at.system.solve(cy, cv) })
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		// -(d/dy grad_x g) p = ug/uy P p, as nothing moves the rows.
		p, _ := c.exact(c.y, cy, cv)
		var want mat.VecDense
		want.MulVec(c.f.p, mat.NewVecDense(len(p), scaled(p, c.ug/c.uy)))
		if off := distance(got, want.RawVector().Data); off > 1e-6*norm(want.RawVector().Data) {
			t.Errorf("%s: off by %.2g of %.2g", c.name, off, norm(want.RawVector().Data))
		}
	}
}

// byProducts is how the first part of a face is solved by products; nil where it has factors.
func byProducts(s *faceSystem) *products {
	by, _ := s.parts[0].(*products)
	return by
}

// TestTraded: once products have cost more than factors, all faces share these, and a face is factorized once.
func TestTraded(t *testing.T) {
	n := tolerance.DenseOrder + 1
	bend := make([]float64, n)
	for j := range bend {
		bend[j] = 1 + float64(j)/float64(n)
	}
	b := sparse.FromEntries(2, n, []sparse.Entry{{Row: 0, Col: 0, Val: 1}, {Row: 0, Col: 1, Val: 1}, {Row: 1, Col: 2, Val: 1}, {Row: 1, Col: 3, Val: -1}})
	p := &problem.Problem{Name: "large", Dx: 1, Dy: n, F: quadratic{d: ones(n)}, G: quadratic{a: bend, d: ones(n)},
		Rows:  &problem.Rows{Kind: make([]problem.Kind, 2), Rhs: []float64{1, 1}, A: sparse.FromEntries(2, 1, nil), B: b},
		X:     &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
	d := newDeriver(p, []float64{0}, make([]float64, n), make([]float64, 2))
	before, err := d.onFace([]float64{0}, make([]float64, n), []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	if byProducts(before.system) == nil || d.exchange.direct != nil || !(d.exchange.read > 0) {
		t.Fatalf("a first face by %T, %+v", before.system, d.exchange)
	}
	if give := before.system.give(0); give < 2.0/3 || give > 6 { // truly 1 + 1/(1 + 1/n)
		t.Errorf("a row of two entries gives way by %v", give)
	}
	d.exchange.products = n
	d.exchange.read = 6 * float64(n) * float64(n) * float64(d.exchange.solves)
	if _, err := d.onFace([]float64{0}, make([]float64, n), []int{0, 1}); err != nil || d.exchange.direct == nil {
		t.Fatalf("%v: no factors, %+v", err, d.exchange)
	}
	first, err := d.onFace([]float64{0}, make([]float64, n), []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.onFace([]float64{0.5}, make([]float64, n), []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	if byProducts(first.system) != nil || first.system.parts[0] != again.system.parts[0] {
		t.Errorf("a face by %T, and once more by another", first.system)
	}
	if off := distance(first.y, before.y); off > 1e-9*norm(before.y) {
		t.Errorf("y is off by %.3g", off)
	}
}
