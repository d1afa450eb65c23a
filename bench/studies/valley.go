package main

import (
	"math"
	"math/rand/v2"

	"bilevelc/internal/planted"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// valley is a bilevel problem that is as hard as the theorems allow, with F in
// closed form. Its hyperobjective is a steep valley with a long, gently sloping
// floor:
//
//	F(x) = L |a'x| + sigma s(b'x)          (floors: inequality rows)
//	F(x) = C/2 (a'x)^2 + sigma s(b'x)      (links: equality rows)
//
// with s(t) = sqrt(c^2 + t^2) - c, whose slope is close to 1 away from 0, and a, b
// orthonormal. A method that may take no more than a small decrease of F from
// each step, as its analysis assumes, has to walk the whole floor, of length
// about gap/sigma, and with sigma a little above the target epsilon its gradients
// are as small as they can be before the end. F comes from the lower level
//
//	g(x, y) = 1/2 sum_j d_j (u_j - t_j(x))^2,  u = R y,  R = I - 2 v v'
//
// with t_1 = a'x and the row u_1 >= 0, so that u_1 = max(a'x, 0), and
// t_2 = b'x - 1 and the row u_2 >= b'x, always active, so that u_2 = b'x; or with
// the rows u_1 = a'x and u_2 = b'x. The upper objective reads
// f = L (2 u_1 - a'x) + sigma s(u_2) + c'u, or C/2 u_1^2 + sigma s(u_2) + c'u, where
// c reads the other entries of u, which are 0: it adds nothing to F, but a force
// along every curvature of g to the perturbed problems of the oracles.
type valley struct {
	dx, dy int
	links  bool
	steep  float64 // L, or C
	slope  float64 // sigma
	d      []float64
	a, b   []float64 // len dx
	v      []float64 // len dy, unit
}

const (
	// valleyCondition is the condition number of g in y.
	valleyCondition = 4
	// valleyRows is the norm of the rows of B: with it the rows, rather than g,
	// make the condition number of the penalty function at every alpha of the
	// study, as the theorem on its cost supposes.
	valleyRows = 3
)

// bottom is c, the width of the floor's end: small against every delta of the
// study, so that it does not shorten the floor.
const bottom = 0.02

func newValley(dx int, links bool, steep, slope float64, seed uint64) *valley {
	const dy, stream = 8, 0x76616c6c6579 // "valley"
	rng := rand.New(rand.NewPCG(seed, stream))
	w := &valley{dx: dx, dy: dy, links: links, steep: steep, slope: slope,
		d: make([]float64, dy), a: make([]float64, dx), b: make([]float64, dx), v: make([]float64, dy)}
	for j := range w.d {
		w.d[j] = math.Pow(valleyCondition, float64(j)/float64(dy-1))
	}
	rng.Shuffle(dy, func(i, j int) { w.d[i], w.d[j] = w.d[j], w.d[i] })
	for _, v := range [][]float64{w.a, w.b, w.v} {
		for j := range v {
			v[j] = rng.NormFloat64()
		}
		scale(v, 1/norm(v))
	}
	add(w.b, -dot(w.a, w.b), w.a)
	scale(w.b, 1/norm(w.b))
	return w
}

// start is the point on the floor of the valley from which F falls by gap. It
// lies a little off the middle, where F is differentiable.
func (w *valley) start(gap float64) []float64 {
	x := make([]float64, w.dx)
	height := bottom + gap/w.slope
	add(x, math.Sqrt(height*height-bottom*bottom), w.b)
	add(x, 1e-3, w.a)
	return x
}

func ramp(t float64) (value, slope float64) {
	h := math.Hypot(bottom, t)
	return h - bottom, t / h
}

// gradient is grad F at x, exactly.
func (w *valley) gradient(x []float64) []float64 {
	g := make([]float64, w.dx)
	across, along := dot(w.a, x), dot(w.b, x)
	_, s := ramp(along)
	if w.links {
		add(g, w.steep*across, w.a)
	} else {
		add(g, math.Copysign(w.steep, across), w.a)
	}
	add(g, w.slope*s, w.b)
	return g
}

// goldstein is dist(0, dF_delta(x)), exactly, of inequality rows: the gradients
// within delta of x are L a + p b and -L a + q b, with p and q in intervals.
func (w *valley) goldstein(x []float64, delta float64) float64 {
	across, along := math.Abs(dot(w.a, x)), dot(w.b, x)
	slopes := func(reach float64) (lo, hi float64) {
		_, lo = ramp(along - reach)
		_, hi = ramp(along + reach)
		return w.slope * lo, w.slope * hi
	}
	pLo, pHi := slopes(delta)
	if across > delta {
		return math.Hypot(w.steep, nearestToZero(pLo, pHi))
	}
	qLo, qHi := slopes(math.Sqrt(delta*delta - across*across))
	if pLo+qLo <= 0 && pHi+qHi >= 0 {
		return 0
	}
	best := math.Inf(1)
	for _, p := range []float64{pLo, pHi} {
		for _, q := range []float64{qLo, qHi} {
			best = math.Min(best, segmentNorm([]float64{w.steep, p}, []float64{-w.steep, q}))
		}
	}
	return best
}

func nearestToZero(lo, hi float64) float64 { return math.Max(lo, math.Min(hi, 0)) }

// segmentNorm is the least norm on the segment from p to q.
func segmentNorm(p, q []float64) float64 {
	e := make([]float64, len(p))
	copy(e, q)
	add(e, -1, p)
	t := math.Max(0, math.Min(1, -dot(p, e)/math.Max(dot(e, e), 1e-300)))
	z := make([]float64, len(p))
	copy(z, p)
	add(z, t, e)
	return norm(z)
}

// problem is the bilevel problem.
func (w *valley) problem() *problem.Problem {
	u := func(j int) []float64 { // row j of R
		row := make([]float64, w.dy)
		row[j] = 1
		add(row, -2*w.v[j], w.v)
		return row
	}
	kind, left := problem.AtMost, make([]float64, w.dx) // 0 - u_1 <= 0
	if w.links {
		kind, left = problem.Equal, w.a
	}
	scaled := func(v []float64) []float64 {
		s := append([]float64(nil), v...)
		scale(s, valleyRows)
		return s
	}
	free := &problem.Set{Lo: make([]float64, w.dx), Hi: make([]float64, w.dx), E: sparse.FromEntries(0, w.dx, nil)}
	for j := range free.Lo {
		free.Lo[j], free.Hi[j] = math.Inf(-1), math.Inf(1)
	}
	p := &problem.Problem{Name: "valley", Dx: w.dx, Dy: w.dy, X: free, Start: make([]float64, w.dx),
		F: planted.Function(&valleyUpper{w, make([]float64, w.dy)}), G: planted.Function(&valleyLower{w, make([]float64, w.dy)}),
		Rows: &problem.Rows{Kind: []problem.Kind{kind, kind},
			A:   sparse.FromDense(2, w.dx, append(scaled(left), scaled(w.b)...)),
			B:   sparse.FromDense(2, w.dy, append(scaled(u(0)), scaled(u(1))...)),
			Rhs: make([]float64, 2), Name: []string{"across", "along"}},
		Facts: problem.Facts{StrongConvexity: 1, Smoothness: valleyCondition, QuadraticInY: true, FixedHessian: true, EqualityOnly: w.links}}
	return p
}

// reflect sets dst to R y; dst may be y.
func (w *valley) reflect(dst, y []float64) {
	c := 2 * dot(w.v, y)
	for j := range dst {
		dst[j] = y[j] - c*w.v[j]
	}
}

// valleyLower is g.
type valleyLower struct {
	*valley
	r []float64 // workspace, len dy
}

func (g *valleyLower) Eval(gx, gy, x, y []float64) float64 {
	g.reflect(g.r, y)
	if !g.links {
		g.r[0] -= dot(g.a, x)
		g.r[1] -= dot(g.b, x) - 1
	}
	value := 0.0
	for j, r := range g.r {
		value += g.d[j] / 2 * r * r
		g.r[j] *= g.d[j]
	}
	if gx != nil {
		clear(gx)
		if !g.links {
			add(gx, -g.r[0], g.a)
			add(gx, -g.r[1], g.b)
		}
	}
	if gy != nil {
		g.reflect(gy, g.r)
	}
	return value
}

func (g *valleyLower) Clone() planted.Evaluator { return &valleyLower{g.valley, make([]float64, g.dy)} }

// valleyUpper is f.
type valleyUpper struct {
	*valley
	u []float64 // workspace, len dy
}

func (f *valleyUpper) Eval(gx, gy, x, y []float64) float64 {
	f.reflect(f.u, y)
	height, s := ramp(f.u[1])
	value, push, pull := f.slope*height, f.slope*s, 0.0
	for _, t := range f.u[2:] {
		value += f.steep * t
	}
	if f.links {
		value += f.steep / 2 * f.u[0] * f.u[0]
		pull = f.steep * f.u[0]
	} else {
		value += f.steep * (2*f.u[0] - dot(f.a, x))
		pull = 2 * f.steep
	}
	if gx != nil {
		clear(gx)
		if !f.links {
			add(gx, -f.steep, f.a)
		}
	}
	if gy != nil {
		for j := range f.u {
			f.u[j] = f.steep
		}
		f.u[0], f.u[1] = pull, push
		f.reflect(gy, f.u)
	}
	return value
}

func (f *valleyUpper) Clone() planted.Evaluator { return &valleyUpper{f.valley, make([]float64, f.dy)} }
