package oracle_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
)

// answering is a random lower level with a known answer at x0: with u = exp(x/2),
//
//	g = y'Hy/2 + y'(C x + D u) + c'y + curved sum_j log cosh(y_j),
//
// rows A x - B y - b of which some hold with a multiplier, some without one, some
// with slack, and some are equations.
type answering struct {
	*problem.Problem
	h, c, d          *mat.Dense
	lin              []float64
	curved           bool
	x, y             []float64
	strong, weak     []int // rows that hold with, and without, a multiplier
	fx, fy, multiply []float64
	slack            []float64
	outside          int // gradients asked for outside X
}

func newAnswering(rng *rand.Rand, dx, dy, strong, weak, loose int, curved bool) *answering {
	normal := func(r, c int) *mat.Dense {
		m := mat.NewDense(r, c, nil)
		for i := range r {
			for j := range c {
				m.Set(i, j, rng.NormFloat64())
			}
		}
		return m
	}
	vector := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	a := &answering{c: normal(dy, dx), d: mat.NewDense(dy, dx, nil), curved: curved, x: vector(dx), y: vector(dy), fx: vector(dx), fy: vector(dy), h: mat.NewDense(dy, dy, nil)}
	root := normal(dy, dy)
	a.h.Mul(root.T(), root)
	for j := range dy {
		a.h.Set(j, j, a.h.At(j, j)+1)
	}
	if curved {
		a.d = normal(dy, dx)
	}
	m := strong + weak + loose
	rows := &problem.Rows{Kind: make([]problem.Kind, m), A: sparse.FromDense(m, dx, normal(m, dx).RawMatrix().Data),
		B: sparse.FromDense(m, dy, normal(m, dy).RawMatrix().Data), Rhs: make([]float64, m), Name: make([]string, m)}
	a.multiply = make([]float64, m)
	a.slack = make([]float64, m)
	for i := range m {
		switch {
		case i < strong:
			a.multiply[i] = 0.5 + rng.Float64()
			a.strong = append(a.strong, i)
			if i%3 == 2 {
				rows.Kind[i] = problem.Equal
				a.multiply[i] = rng.NormFloat64()
			}
		case i < strong+weak:
			a.weak = append(a.weak, i)
		default:
			a.slack[i] = 0.5 + rng.Float64()
		}
	}
	free := math.Inf(1)
	set := &problem.Set{Lo: slices.Repeat([]float64{-free}, dx), Hi: slices.Repeat([]float64{free}, dx), E: sparse.FromDense(0, dx, nil)}
	a.Problem = &problem.Problem{Name: "answering", Dx: dx, Dy: dy, F: linear{a.fx, a.fy}, G: a, Rows: rows, X: set, Start: make([]float64, dx)}
	if !curved {
		a.Facts.QuadraticInY, a.Facts.FixedHessian = true, true
	}
	a.settle()
	return a
}

// settle makes y the answer at x.
func (a *answering) settle() {
	for i := range a.Rows.Rhs {
		a.Rows.Rhs[i] = a.Rows.A.RowDot(i, a.x) - a.Rows.B.RowDot(i, a.y) + a.slack[i]
	}
	a.lin = make([]float64, a.Dy)
	grad := make([]float64, a.Dy)
	a.GradY(grad, a.x, a.y)
	for j := range grad {
		a.lin[j] = -grad[j]
	}
	a.Rows.B.AddMulVecT(a.lin, 1, a.multiply)
}

func (a *answering) Value(x, y []float64) float64 {
	dst := make([]float64, len(y))
	a.GradY(dst, x, y)
	v := 0.0
	for j, t := range y { // y'(Hy/2 + rest)
		hy := mat.Dot(a.h.RowView(j), mat.NewVecDense(len(y), y))
		v += t * (dst[j] - hy/2)
		if a.curved {
			v += math.Abs(t) + math.Log1p(math.Exp(-2*math.Abs(t))) - math.Ln2 - t*math.Tanh(t)
		}
	}
	return v
}

func (a *answering) GradY(dst, x, y []float64) {
	if a.Problem != nil && (x[0] < a.X.Lo[0] || x[0] > a.X.Hi[0]) {
		a.outside++
	}
	u := make([]float64, len(x))
	for j, t := range x {
		u[j] = math.Exp(t / 2)
	}
	for j := range dst {
		dst[j] = a.lin[j] + mat.Dot(a.h.RowView(j), mat.NewVecDense(len(y), y)) + mat.Dot(a.c.RowView(j), mat.NewVecDense(len(x), x)) +
			mat.Dot(a.d.RowView(j), mat.NewVecDense(len(u), u))
		if a.curved {
			dst[j] += math.Tanh(y[j])
		}
	}
}

func (a *answering) GradX(dst, x, y []float64) {
	for j := range dst {
		dst[j] = mat.Dot(a.c.ColView(j), mat.NewVecDense(len(y), y)) + mat.Dot(a.d.ColView(j), mat.NewVecDense(len(y), y))*math.Exp(x[j]/2)/2
	}
}

func (a *answering) ValueGradY(dst, x, y []float64) float64 { a.GradY(dst, x, y); return a.Value(x, y) }
func (a *answering) ValueGrad(dstX, dstY, x, y []float64) float64 {
	a.GradX(dstX, x, y)
	return a.ValueGradY(dstY, x, y)
}
func (a *answering) Clone() problem.Function { return a }

// linear is fx'x + fy'y.
type linear struct{ fx, fy []float64 }

func (l linear) Value(x, y []float64) float64 {
	v := 0.0
	for j, t := range x {
		v += l.fx[j] * t
	}
	for j, t := range y {
		v += l.fy[j] * t
	}
	return v
}
func (l linear) GradX(dst, _, _ []float64)              { copy(dst, l.fx) }
func (l linear) GradY(dst, _, _ []float64)              { copy(dst, l.fy) }
func (l linear) ValueGradY(dst, x, y []float64) float64 { copy(dst, l.fy); return l.Value(x, y) }
func (l linear) ValueGrad(dstX, dstY, x, y []float64) float64 {
	copy(dstX, l.fx)
	return l.ValueGradY(dstY, x, y)
}
func (l linear) Clone() problem.Function { return l }

// truth solves the KKT system of a face by elimination:
//
//	[H  B'][ dy ]   [-M dx]          M = d grad_y g/dx
//	[B  0 ][-dl ] = [A dx ]
func (a *answering) truth(t *testing.T, held []int, dx []float64) (dy, dlambda []float64) {
	n, k := a.Dy, len(held)
	kkt, rhs := mat.NewDense(n+k, n+k, nil), mat.NewVecDense(n+k, nil)
	for i := range n {
		for j := range n {
			kkt.Set(i, j, a.h.At(i, j))
		}
		if a.curved {
			kkt.Set(i, i, a.h.At(i, i)+1/math.Pow(math.Cosh(a.y[i]), 2))
		}
		for j, d := range dx {
			rhs.SetVec(i, rhs.AtVec(i)-(a.c.At(i, j)+a.d.At(i, j)*math.Exp(a.x[j]/2)/2)*d)
		}
	}
	for r, i := range held {
		cols, vals := a.Rows.B.Row(i)
		for q, j := range cols {
			kkt.Set(n+r, j, vals[q])
			kkt.Set(j, n+r, vals[q])
		}
		rhs.SetVec(n+r, a.Rows.A.RowDot(i, dx))
	}
	var z mat.VecDense
	if err := z.SolveVec(kkt, rhs); err != nil {
		t.Fatal(err)
	}
	dlambda = make([]float64, a.Rows.Len())
	for r, i := range held {
		dlambda[i] = -z.AtVec(n + r)
	}
	return slices.Clone(z.RawVector().Data[:n]), dlambda
}

// oneSided tries every choice of the weak rows.
func (a *answering) oneSided(t *testing.T, dx []float64) (dy, dlambda []float64) {
	for chosen := range 1 << len(a.weak) {
		held, ok := slices.Clone(a.strong), true
		for k, i := range a.weak {
			if chosen>>k&1 == 1 {
				held = append(held, i)
			}
		}
		dy, dlambda = a.truth(t, held, dx)
		for k, i := range a.weak {
			if chosen>>k&1 == 1 {
				ok = ok && dlambda[i] >= 0
			} else {
				ok = ok && a.Rows.A.RowDot(i, dx)-a.Rows.B.RowDot(i, dy) <= 0
			}
		}
		if ok {
			return dy, dlambda
		}
	}
	t.Fatal("no choice of rows fits")
	return nil, nil
}

// Derivatives of random answers, by their KKT systems: differentiable ones, and
// one-sided ones where rows hold without a multiplier.
func TestSensitivity(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		curved, weak := seed%2 == 1, int(seed/2%4)
		a := newAnswering(rng, 1+rng.IntN(4), 4+rng.IntN(6), rng.IntN(3), 0, 1+rng.IntN(4), curved)
		if weak > 0 {
			a = newAnswering(rng, 1+rng.IntN(4), 6+rng.IntN(4), rng.IntN(3), weak, 1+rng.IntN(4), curved)
		}
		switch seed % 5 { // x at a bound: one side of it is left
		case 0:
			a.X.Lo[0] = a.x[0]
		case 1:
			a.X.Hi[0] = a.x[0]
		}
		solver, err := lower.New(lower.Default, nil, a.Problem, 1)
		if err != nil {
			t.Fatal(err)
		}
		h := oracle.New(a.Problem, solver, &oracle.Face{Settings: *oracle.DefaultFace()})
		pt, err := h.Value(ctx, a.x)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		s, err := h.Sensitivity(ctx, pt)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !slices.Equal(s.Undecided, a.weak) {
			t.Errorf("seed %d: rows %v are undecided, not %v", seed, s.Undecided, a.weak)
			continue
		}
		tolerance := 1e-8
		if curved {
			tolerance = 1e-6 // of a fourth-order difference over 1e-2 of y
		}
		dx, dy, dl := make([]float64, a.Dx), make([]float64, a.Dy), make([]float64, a.Rows.Len())
		for j := range dx {
			dx[j] = rng.NormFloat64()
		}
		for j := range dy {
			dy[j] = rng.NormFloat64()
		}
		for i := range dl {
			dl[i] = rng.NormFloat64()
		}
		before := h.Calls()
		a.outside = 0
		got, err := s.Forward(ctx, dx)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		if after := h.Calls(); after.GradG == before.GradG {
			t.Errorf("seed %d: no gradient was counted", seed)
		}
		if a.outside > 0 {
			t.Errorf("seed %d: g was asked for outside X", seed)
		}
		wantY, wantL := a.oneSided(t, dx)
		rel, abs := relative(got.Y, wantY)
		// The estimates do not know the condition of H, some 1e4 of these: it times the
		// rounding of a solve, over a step of 1e-2.
		if rel > tolerance || abs > 100*got.ErrorY+1e-9*norm(wantY) {
			t.Errorf("seed %d: dy off by %.1e (estimate %.1e), relative %.1e", seed, abs, got.ErrorY, rel)
		}
		if _, abs := relative(got.Lambda, wantL); abs > tolerance*(norm(wantL)+norm(wantY)) || abs > 100*got.ErrorLambda+1e-9*(norm(wantL)+norm(wantY)) {
			t.Errorf("seed %d: dlambda %v (estimate %.1e), not %v", seed, got.Lambda, got.ErrorLambda, wantL)
		}
		if want := dot(a.fx, dx) + dot(a.fy, wantY); math.Abs(got.F-want) > tolerance*(norm(wantY)*norm(a.fy)+norm(a.fx)) {
			t.Errorf("seed %d: dF = %v, not %v", seed, got.F, want)
		}
		// The transpose: column by column of the face's Jacobian.
		product := make([]float64, a.Dx)
		_, err = s.Reverse(ctx, product, dy, dl)
		var kink *oracle.KinkError
		if errors.As(err, &kink) != (weak > 0) || err != nil && kink == nil {
			t.Errorf("seed %d: %d weak rows, and %v", seed, weak, err)
		}
		if kink != nil && len(kink.Rows) != weak {
			t.Errorf("seed %d: %v", seed, kink)
		}
		want := make([]float64, a.Dx)
		for j := range want {
			e := make([]float64, a.Dx)
			e[j] = 1
			y, l := a.truth(t, pt.Face, e)
			want[j] = dot(dy, y) + dot(dl, l)
		}
		if rel, _ := relative(product, want); rel > 10*tolerance {
			t.Errorf("seed %d: the transposed product %v, not %v", seed, product, want)
		}
	}
}

func norm(v []float64) float64 { return math.Sqrt(dot(v, v)) }

func dot(a, b []float64) float64 {
	s := 0.0
	for i, v := range a {
		s += v * b[i]
	}
	return s
}
