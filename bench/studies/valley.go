package main

import (
	"math"
	"math/rand/v2"

	"bilevelc/bench/asis"
	"bilevelc/internal/must"
	"bilevelc/ir/data"
	"bilevelc/runtime"
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

// valleyModel is the bilevel problem; the parts of floors and of links follow.
const valleyModel = `model valley
param dx: int
param dy: int
data steep: real
data slope: real
data bottom: real
data norm: real
data curvature: vector[dy]
data a: vector[dx]
data b: vector[dx]
data v: vector[dy]
upper {
  var x: vector[dx]
  minimize over + slope * (sqrt(bottom^2 + u[2]^2) - bottom) + steep * sum(j in 3..dy: u[j])
}
lower {
  var y: vector[dy]
  let u = y - 2 * (v' * y) * v
`

const floorsOfValley = `  let over = steep * (2 * u[1] - a' * x)
  minimize 0.5 * (curvature[1] * (u[1] - a' * x)^2 + curvature[2] * (u[2] - b' * x + 1)^2 + sum(j in 3..dy: curvature[j] * u[j]^2))
  subject to
    across: norm * u[1] >= 0
    along: norm * u[2] >= norm * (b' * x)
}
`

const linksOfValley = `  let over = 0.5 * steep * u[1]^2
  minimize 0.5 * sum(curvature .* u .^ 2)
  subject to
    across: norm * u[1] == norm * (a' * x)
    along: norm * u[2] == norm * (b' * x)
}
`

// problem is the bilevel problem.
func (w *valley) problem() *problem.Problem {
	text := valleyModel + floorsOfValley
	if w.links {
		text = valleyModel + linksOfValley
	}
	model := must.Get(runtime.Compile("valley.blv", text))
	numbers := &data.Set{}
	for name, v := range map[string]float64{"dx": float64(w.dx), "dy": float64(w.dy), "steep": w.steep, "slope": w.slope, "bottom": bottom, "norm": valleyRows} {
		numbers.Add(name, data.Scalar(v), "valley")
	}
	for name, v := range map[string][]float64{"curvature": w.d, "a": w.a, "b": w.b, "v": w.v} {
		numbers.Add(name, data.Vector(v), "valley")
	}
	p := asis.Problem(model, numbers)
	// What the theorems know, and not what else is proved, which lower solvers would use.
	p.Facts = problem.Facts{StrongConvexity: 1, Smoothness: valleyCondition, QuadraticInY: true, FixedHessian: true, EqualityOnly: w.links}
	return p
}
