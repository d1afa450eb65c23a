package curvature

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/ir"
	"bilevelc/ir/expr"
	"bilevelc/lang/diag"
)

// This file holds proofs against the definition of strong convexity: along
// random segments of the declared sets g lies below its chords by the modulus
// that was proved. It evaluates expressions by its own functions and knows
// nothing of derivatives, ranges or the graph.

// truth is a value with a bound of its rounding error; outside says that an
// operation was applied where it is not defined.
type truth struct {
	v, e    float64
	outside bool
}

// formula is an expression twice over: as a node, and as a function.
type formula struct {
	node       *expr.Node
	at         func(x, y []float64) truth
	restricted bool // some operation in it is not defined everywhere
}

// eps is the relative error of one operation: the functions of package math
// stay within two units in the last place, and a few are combined of some.
const eps = 0x1p-48

// written builds formulas over one graph.
type written struct {
	b *expr.Builder
	r *rand.Rand
}

func (w written) number(v float64) formula {
	return formula{node: w.b.Number(v), at: func(_, _ []float64) truth { return truth{v: v} }}
}

// one applies a function of one argument: f, a bound of its slope around u, and
// whether it is defined at u.
func (w written) one(op expr.Op, u formula, f, slope func(float64) float64, inside func(float64) bool) formula {
	n := w.b.Unary(op, u.node, diag.Span{})
	return formula{n, func(x, y []float64) truth { return apply1(u.at(x, y), f, slope, inside) }, u.restricted || inside != nil}
}

func apply1(a truth, f, slope func(float64) float64, inside func(float64) bool) truth {
	if a.outside || inside != nil && !inside(a.v) {
		return truth{outside: true}
	}
	v := f(a.v)
	return truth{v: v, e: 2*math.Abs(slope(a.v))*a.e + eps*math.Abs(v)}
}

func (w written) power(u formula, p float64) formula {
	n := w.b.Binary(expr.Pow, u.node, w.b.Number(p), diag.Span{})
	inside := func(v float64) bool {
		if p == math.Trunc(p) {
			return p >= 0 || v != 0
		}
		return v > 0 || v == 0 && p > 0
	}
	return formula{n, func(x, y []float64) truth {
		return apply1(u.at(x, y), func(v float64) float64 { return math.Pow(v, p) },
			func(v float64) float64 { return p * math.Pow(v, p-1) }, inside)
	}, u.restricted || p < 0 || p != math.Trunc(p)}
}

func (w written) two(op expr.Op, u, v formula) formula {
	n := w.b.Binary(op, u.node, v.node, diag.Span{})
	return formula{n, func(x, y []float64) truth {
		a, b := u.at(x, y), v.at(x, y)
		if a.outside || b.outside || op == expr.Div && b.v == 0 {
			return truth{outside: true}
		}
		var c truth
		switch op {
		case expr.Add:
			c = truth{v: a.v + b.v, e: a.e + b.e}
		case expr.Sub:
			c = truth{v: a.v - b.v, e: a.e + b.e}
		case expr.Mul:
			c = truth{v: a.v * b.v, e: math.Abs(a.v)*b.e + math.Abs(b.v)*a.e + a.e*b.e}
		case expr.Div:
			c = truth{v: a.v / b.v, e: 2 * (a.e + math.Abs(a.v/b.v)*b.e) / math.Abs(b.v)}
		}
		c.e += eps * math.Abs(c.v)
		return c
	}, u.restricted || v.restricted || op == expr.Div}
}

// grow composes formulas at random, most of them with poles and edges.
func (w written) grow(pool []formula) formula {
	r := w.r
	u, v := pool[r.IntN(len(pool))], pool[r.IntN(len(pool))]
	switch r.IntN(12) {
	case 0, 1:
		return w.power(u, []float64{2, 2, 3, 4, -1, -2, -2, -3, -4}[r.IntN(9)])
	case 2:
		return w.power(u, []float64{0.1, 0.5, 0.9, 1.5, 2.5, -0.5, -1.5}[r.IntN(7)])
	case 3:
		positive := func(v float64) bool { return v > 0 }
		return w.one(expr.Log, u, math.Log, func(v float64) float64 { return 1 / v }, positive)
	case 4:
		return w.one(expr.Sqrt, u, math.Sqrt, func(v float64) float64 { return 0.5 / math.Sqrt(v) }, func(v float64) bool { return v >= 0 })
	case 5:
		return w.one(expr.Exp, u, math.Exp, math.Exp, nil)
	case 6:
		return w.two(expr.Div, u, v)
	case 7:
		return w.two(expr.Mul, u, v)
	case 8:
		return w.two([]expr.Op{expr.Add, expr.Sub}[r.IntN(2)], u, v)
	case 9:
		return w.two(expr.Mul, w.number(math.Round(20*r.NormFloat64())/10), u)
	default:
		return w.two(expr.Sub, u, w.number(math.Round(20*r.NormFloat64())/10))
	}
}

// segmentModel is a bilevel problem with x in an interval, bounds on some
// entries of y, and a lower objective that is a formula.
type segmentModel struct {
	p          *ir.Problem
	g          formula
	xLo, xHi   float64
	yLo, yHi   []float64
	restricted bool
}

func randomSegmentModel(r *rand.Rand) *segmentModel {
	w := written{expr.NewBuilder(), r}
	dy := 1 + r.IntN(3)
	m := &segmentModel{yLo: make([]float64, dy), yHi: make([]float64, dy)}
	x := w.b.Var("x", false, 0, expr.ScalarShape(), diag.Span{})
	y := w.b.Var("y", true, 0, expr.VectorShape(dy), diag.Span{})
	exactly := func(v float64) truth { return truth{v: v} }
	pool := []formula{{node: x, at: func(x, _ []float64) truth { return exactly(x[0]) }}}
	var entries []formula
	p := &ir.Problem{Graph: w.b, Name: "segments", A: &sparse.CSR{Cols: 1, Ptr: []int{0}}}
	p.Upper = ir.Level{Dim: 1, Vars: []ir.Variable{{Name: "x", Shape: x.Shape}}}
	p.Lower = ir.Level{Dim: dy, Vars: []ir.Variable{{Name: "y", Shape: y.Shape}}}
	var b []sparse.Entry
	bounds := func() (lo, hi float64) {
		lo = math.Round(6*r.NormFloat64()) / 4
		switch r.IntN(5) {
		case 0:
			return math.Inf(-1), math.Inf(1)
		case 1: // up to a pole or an edge of a domain
			return 0, 0.25 + math.Round(8*r.Float64())/4
		case 2:
			return math.Abs(lo), math.Inf(1)
		}
		return lo, lo + 0.25 + math.Round(8*r.Float64())/4
	}
	for j := range dy {
		e := w.b.Gather(y, []int{j}, expr.ScalarShape(), diag.Span{})
		entries = append(entries, formula{node: e, at: func(_, y []float64) truth { return exactly(y[j]) }})
		m.yLo[j], m.yHi[j] = bounds()
		for _, end := range []struct{ value, sign float64 }{{m.yLo[j], 1}, {m.yHi[j], -1}} {
			if !math.IsInf(end.value, 0) { // y >= lo is -y <= -lo, so B = 1
				b = append(b, sparse.Entry{Row: len(p.Rows), Col: j, Val: end.sign})
				p.Rows, p.Rhs = append(p.Rows, ir.Row{Name: "bound"}), append(p.Rhs, -end.sign*end.value)
			}
		}
	}
	p.B = sparse.FromEntries(len(p.Rows), dy, b)
	p.A = sparse.FromEntries(len(p.Rows), 1, nil)
	m.xLo, m.xHi = bounds()
	p.X = ir.UpperSet{Lo: []float64{m.xLo}, Hi: []float64{m.xHi}, E: &sparse.CSR{Cols: 1, Ptr: []int{0}}}
	pool = append(pool, entries...)
	pool = append(pool, entries...)
	g := w.number(0)
	for _, e := range entries { // often enough curvature for a proof, if the rest allows one
		g = w.two(expr.Add, g, w.two(expr.Mul, w.number(math.Round(80*r.Float64()*r.Float64())/4+0.25), w.power(e, 2)))
	}
	for range 1 + r.IntN(4) {
		pool = append(pool, w.grow(pool))
	}
	for range 1 + r.IntN(2) {
		f := pool[len(pool)-1-r.IntN(min(3, len(pool)))]
		g = w.two([]expr.Op{expr.Add, expr.Add, expr.Sub}[r.IntN(3)], g, f)
	}
	p.Lower.Objective, p.Upper.Objective = g.node, w.number(0).node
	m.p, m.g, m.restricted = p, g, g.restricted
	return m
}

// inner is a point strictly between two ends, at varied distances from them.
func inner(r *rand.Rand, lo, hi float64) float64 {
	switch far := math.Pow(10, 1.5*r.Float64()-0.5); {
	case math.IsInf(lo, -1) && math.IsInf(hi, 1):
		return far * r.NormFloat64()
	case math.IsInf(hi, 1):
		return lo + far*r.ExpFloat64() + 1e-9
	case math.IsInf(lo, -1):
		return hi - far*r.ExpFloat64() - 1e-9
	}
	t := r.Float64()
	if r.IntN(3) == 0 {
		t = math.Pow(10, -4*t)
		if r.IntN(2) == 0 {
			t = 1 - t
		}
	}
	return min(max(lo+t*(hi-lo), lo+1e-6*(hi-lo)), hi-1e-6*(hi-lo))
}

// violated samples segments and returns the first on which g is not defined or
// lies above what strong convexity with the modulus allows.
func (m *segmentModel) violated(r *rand.Rand, c Convexity, segments int) (x, p, q []float64, by float64) {
	dy := len(m.yLo)
	for range segments {
		x, p, q = []float64{inner(r, m.xLo, m.xHi)}, make([]float64, dy), make([]float64, dy)
		length := math.Pow(10, -3*r.Float64())
		for j := range dy {
			lo, hi := m.yLo[j], m.yHi[j]
			if c.Scope == everywhere {
				lo, hi = math.Inf(-1), math.Inf(1)
			}
			p[j] = inner(r, lo, hi)
			q[j] = p[j] + length*(inner(r, lo, hi)-p[j])
		}
		t := []float64{0.5, 0.5, 0.1, 0.9}[r.IntN(4)]
		mid, size := make([]float64, dy), 0.0
		for j := range dy {
			mid[j] = p[j] + t*(q[j]-p[j])
			size += (q[j] - p[j]) * (q[j] - p[j])
		}
		a, b, z := m.g.at(x, p), m.g.at(x, q), m.g.at(x, mid)
		if a.outside || b.outside || z.outside {
			return x, p, q, math.NaN()
		}
		// The point between is itself rounded, which moves g by its slope.
		slope := (math.Abs(a.v-z.v) + math.Abs(b.v-z.v)) / math.Sqrt(size)
		slack := a.e + b.e + z.e + 1e-14*slope*(1+math.Sqrt(floats.Dot(p, p)))
		over := z.v - ((1-t)*a.v + t*b.v - c.Modulus/2*t*(1-t)*size)
		if over > 4*slack+1e-14*(math.Abs(a.v)+math.Abs(b.v)) {
			return x, p, q, over
		}
	}
	return nil, nil, nil, 0
}

// TestNoFalseProof: no random composition of poles, roots, logarithms and
// quotients is proved strongly convex where a segment of its declared sets
// shows that it is not, or that it is not defined.
func TestNoFalseProof(t *testing.T) {
	count := members.Of(500, *drawn/2)
	r := members.Rand(t, *seed+1)
	proofs, restricted, refutations := 0, 0, 0
	opts := Defaults()
	opts.Samples = 4
	for k := range count {
		m := randomSegmentModel(r)
		proof := Prove(m.p, opts)
		c := proof.Convexity
		if c.Outcome == refuted {
			refutations++
		}
		if c.Outcome != proved {
			continue
		}
		proofs++
		if m.restricted {
			restricted++
		}
		if !(c.Modulus > 0) || math.IsInf(c.Modulus, 0) {
			t.Fatalf("model %d: mu = %v", k, c.Modulus)
		}
		if x, p, q, by := m.violated(r, c, 60); x != nil {
			t.Fatalf("model %d: mu = %v %s, but between y = %v and %v at x = %v g is above its bound by %v\ng:\n%s",
				k, c.Modulus, c.Scope, p, q, x, by, expr.Format(m.g.node))
		}
	}
	t.Logf("%d models: %d proved, %d of them with a pole or an edge in a formula, %d refutations", count, proofs, restricted, refutations)
	if proofs < count/10 || restricted < count/20 || refutations < count/20 {
		t.Errorf("the models are too hard or too easy for this test to see anything")
	}
}

// TestDomains: the functions whose pole or edge lies in the declared sets are
// never proved, those that keep away from it are.
func TestDomains(t *testing.T) {
	for _, c := range []struct {
		part, constraints string
		want              []Outcome
	}{
		{"sum((y - 1) .^ (-2))", "", []Outcome{refuted}},
		{"sum(y .^ (-2))", "", []Outcome{refuted}},
		{"sum(y .^ (-4))", "", []Outcome{refuted}},
		{"sum((1 ./ y) .^ 2)", "", []Outcome{refuted}},
		{"sum(exp(y .^ (-2)))", "", []Outcome{refuted}},
		{"sum((y .^ 2 - 1) .^ 1.5)", "", []Outcome{refuted}},
		{"sum(1 ./ y .^ 2)", "-1 <= y <= 2", []Outcome{refuted}},
		{"sum(y .^ (-2))", "y >= -0.01", []Outcome{refuted, unknown}},
		{"sum(y .^ (-2))", "0.5 <= y <= 4", []Outcome{proved}},
		{"sum(y .^ (-2))", "y >= 0", []Outcome{proved}},
		{"sum(y .^ (-2))", "y <= 0", []Outcome{proved}},
		{"sum(log((y - y) .* (y - y)))", "", []Outcome{unknown, refuted}}, // 0 everywhere, in a range that ends at 0
		{"sum((1 ./ y) .^ 2)", "y >= 0.5", []Outcome{proved}},
		{"sum(exp(y .^ (-2)))", "y >= 0.5", []Outcome{proved}},
		{"sum(1 ./ y .^ 2)", "0 <= y <= 2", []Outcome{proved, unknown}},
		{"sum((y .^ 2 - 1) .^ 1.5)", "y >= 2", []Outcome{proved}},
		{"sum((y .^ 2 - 1) .^ 1.5)", "y >= 0", []Outcome{unknown, refuted}},
		{"-sum(log(y))", "y >= 0", []Outcome{proved}},
		{"-sum(log(y))", "", []Outcome{proved}}, // the logarithm says where y is
		{"-sum(sqrt(1 + y))", "y >= -1", []Outcome{proved}},
		{"-sum(sqrt(sqrt(y)))", "0 <= y <= 10", []Outcome{proved}}, // a root of what only rises
		{"sum(1 ./ (3 * sqrt(y)))", "0 <= y <= 10", []Outcome{proved}},
		{"-sum(sqrt(1 + y))", "", []Outcome{proved}},
		{"1 / (x[1] + 0.5)", "", []Outcome{unknown, refuted}},
		{"1 / (x[1] + 1.5)", "", []Outcome{proved}},
		{"1 / ((x[1] - x[1]) * (x[1] - x[1]))", "", []Outcome{unknown, refuted}},
		{"-10 * sum((y - x) .^ 0.1)", "x + 3 <= y <= x + 4", []Outcome{proved}},
		{"10 * sum((y - x) .^ 0.1)", "x <= y <= x + 4", []Outcome{unknown, refuted}},
	} {
		_, proof := proveLower(t, "0.5 * sumsq(y - x) + 0.1 * ("+c.part+")", c.constraints)
		ok := false
		for _, o := range c.want {
			ok = ok || proof.Convexity.Outcome == o
		}
		if !ok {
			t.Errorf("%s with %q: %s, want %v", c.part, c.constraints, proof.Convexity.text(), c.want)
		}
		if proof.Convexity.Outcome == refuted && !proof.Diagnostics(false).HasErrors() {
			t.Errorf("%s: refuted without an error", c.part)
		}
	}
}
