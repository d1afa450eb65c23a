package certify

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"bilevelc/internal/planted"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// formula is a function by its values and gradients.
type formula func(dx, dy, x, y []float64) float64

func (f formula) ValueGrad(dx, dy, x, y []float64) float64 { return f(dx, dy, x, y) }
func (f formula) Value(x, y []float64) float64 {
	return f(make([]float64, len(x)), make([]float64, len(y)), x, y)
}
func (f formula) GradX(dst, x, y []float64) { f(dst, make([]float64, len(y)), x, y) }
func (f formula) GradY(dst, x, y []float64) { f(make([]float64, len(x)), dst, x, y) }
func (f formula) ValueGradY(dst, x, y []float64) float64 {
	return f(make([]float64, len(x)), dst, x, y)
}
func (f formula) Clone() problem.Function { return f }

// quadratic is 1/2 |a y - b x|^2 + c'x + d'y, entry by entry; shorter vectors
// count as zeros.
type quadratic struct{ a, b, c, d []float64 }

func entry(v []float64, j int) float64 {
	if j < len(v) {
		return v[j]
	}
	return 0
}

func (q quadratic) ValueGrad(dx, dy, x, y []float64) float64 {
	clear(dx)
	clear(dy)
	value := 0.0
	for j := range max(len(x), len(y)) {
		r := entry(q.a, j)*entry(y, j) - entry(q.b, j)*entry(x, j)
		value += r*r/2 + entry(q.c, j)*entry(x, j) + entry(q.d, j)*entry(y, j)
		if j < len(x) {
			dx[j] = -entry(q.b, j)*r + entry(q.c, j)
		}
		if j < len(y) {
			dy[j] = entry(q.a, j)*r + entry(q.d, j)
		}
	}
	return value
}

func (q quadratic) Value(x, y []float64) float64 {
	return q.ValueGrad(make([]float64, len(x)), make([]float64, len(y)), x, y)
}
func (q quadratic) GradX(dst, x, y []float64) { q.ValueGrad(dst, make([]float64, len(y)), x, y) }
func (q quadratic) GradY(dst, x, y []float64) { q.ValueGrad(make([]float64, len(x)), dst, x, y) }
func (q quadratic) ValueGradY(dst, x, y []float64) float64 {
	return q.ValueGrad(make([]float64, len(x)), dst, x, y)
}
func (q quadratic) Clone() problem.Function { return q }

// kink is F(x) = |x_1| + x_2 over x_2 >= 0: y = max(0, x_1), f = 2 y - x_1 + x_2.
func kink() *problem.Problem {
	inf := math.Inf(1)
	return &problem.Problem{Name: "kink", Dx: 2, Dy: 1,
		F: quadratic{c: []float64{-1, 1}, d: []float64{2}},
		G: quadratic{a: []float64{1}, b: []float64{1}},
		Rows: &problem.Rows{Kind: []problem.Kind{problem.AtMost}, Rhs: []float64{0},
			A: sparse.FromEntries(1, 2, nil), B: sparse.FromDense(1, 1, []float64{1})},
		X:     &problem.Set{Lo: []float64{-inf, 0}, Hi: []float64{inf, inf}, E: sparse.FromEntries(0, 2, nil)},
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
}

// kinkDocument certifies the optimum x = 0 of kink.
func kinkDocument() *Document {
	p := kink()
	x, y, lambda := []float64{0, 0}, []float64{0}, []float64{0}
	return &Document{X: x, Y: y, Lambda: lambda, Certificate: &Certificate{
		Lower: lowerOf(p, x, y, lambda, []int{0}),
		Goldstein: goldsteinOf(1e-3, []Sample{
			{Point: []float64{5e-4, 0}, Gradient: []float64{1, 1}, Weight: 0.5, Active: []int{}},
			{Point: []float64{-5e-4, 5e-4}, Gradient: []float64{-1, 1}, Weight: 0.5, Active: []int{0}},
		}, []float64{0, -1}, 0),
	}}
}

func requireOK(t *testing.T, label string, r *Report) {
	t.Helper()
	if len(r.Checks) == 0 {
		t.Errorf("%s: nothing was checked", label)
	}
	for _, c := range r.Failures() {
		t.Errorf("%s: %s", label, c)
	}
}

func TestKinkIsCertified(t *testing.T) {
	doc := kinkDocument()
	requireOK(t, "kink", Verify(doc, kink()))
	if n := doc.Certificate.Goldstein.Norm; n != 0 {
		t.Errorf("norm %v, want 0", n)
	}
	// At the kink itself the face says which gradient is meant.
	for i, c := range []struct {
		active   []int
		gradient []float64
	}{{[]int{}, []float64{1, 1}}, {[]int{0}, []float64{-1, 1}}} {
		doc.Certificate.Goldstein.Samples[i] = Sample{Point: []float64{0, 0}, Gradient: c.gradient, Weight: 0.5, Active: c.active}
	}
	requireOK(t, "at the kink", Verify(doc, kink()))
	// Where no face is claimed both are found, and no gradient between them.
	for i := range 2 {
		doc.Certificate.Goldstein.Samples[i].Active = nil
	}
	requireOK(t, "at the kink, without faces", Verify(doc, kink()))
	doc.Certificate.Goldstein = goldsteinOf(1e-3, []Sample{{Point: []float64{0, 0}, Gradient: []float64{0, 1}, Weight: 1}}, []float64{0, -1}, 0)
	if Verify(doc, kink()).OK() {
		t.Error("a vector between the gradients passed for a gradient")
	}
}

// The edge of D: y in [0, x], so D = { x >= 0 }; y = min(x, 5), F = x there,
// and the optimum x = 0 has the normal -1, made by both rows.
func TestEdgeOfTheFeasibleSet(t *testing.T) {
	inf := math.Inf(1)
	p := &problem.Problem{Name: "edge", Dx: 1, Dy: 1,
		F: quadratic{d: []float64{1}}, G: quadratic{a: []float64{1}, d: []float64{-5}},
		Rows: &problem.Rows{Kind: []problem.Kind{problem.AtMost, problem.AtMost}, Rhs: []float64{0, 0},
			A: sparse.FromDense(2, 1, []float64{0, -1}), B: sparse.FromDense(2, 1, []float64{1, -1})},
		X:     &problem.Set{Lo: []float64{-inf}, Hi: []float64{inf}, E: sparse.FromEntries(0, 1, nil)},
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
	x, y, lambda := []float64{0}, []float64{0}, []float64{0, 5}
	certificate := func(normal float64) *Document {
		return &Document{X: x, Y: y, Lambda: lambda, Hypergradient: []float64{1}, Certificate: &Certificate{
			Lower:     lowerOf(p, x, y, lambda, []int{1}),
			Goldstein: goldsteinOf(1e-6, []Sample{{Point: x, Gradient: []float64{1}, Weight: 1, Active: []int{1}}}, []float64{normal}, 0),
		}}
	}
	requireOK(t, "edge", Verify(certificate(-1), p))
	if Verify(certificate(1), p).OK() {
		t.Error("a vector that points into D passed for a normal")
	}
	// Where the edge is out of reach there is no normal.
	doc := certificate(-1)
	doc.X, doc.Y, doc.Lambda = []float64{1}, []float64{1}, []float64{0, 4}
	doc.Upper, doc.Lower = 1, 0.5-5
	doc.Certificate.Lower = lowerOf(p, doc.X, doc.Y, doc.Lambda, []int{1})
	doc.Certificate.Goldstein.Samples[0].Point = doc.X
	if failed := Verify(doc, p).Failures(); len(failed) != 1 || !strings.Contains(failed[0].Claim, "normal") {
		t.Errorf("away from the edge: %v", failed)
	}
}

// plantedDocument is a true document at x for an instance with a closed form.
func plantedDocument(in *planted.Instance, x []float64) *Document {
	e, _ := in.Exact(x)
	var active []int
	for i, l := range e.Lambda {
		if in.Problem.Rows.Kind[i] == problem.Equal || l > 0 {
			active = append(active, i)
		}
	}
	return &Document{X: x, Y: e.Y, Lambda: e.Lambda, Upper: e.F, Lower: in.Problem.G.Value(x, e.Y), Hypergradient: e.Gradient,
		Certificate: &Certificate{Lower: lowerOf(in.Problem, x, e.Y, e.Lambda, active)}}
}

// Documents written from the closed form verify: the derivation here agrees
// with it, on quadratic and other lower levels, links, floors and bounds.
func TestClosedFormsAreVerified(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for seed := range uint64(5) {
		for _, change := range []func(*planted.Options){
			func(o *planted.Options) {},
			func(o *planted.Options) { o.Curved = true },
			func(o *planted.Options) { o.Bounds, o.Implied = true, 5 },
			func(o *planted.Options) { o.Links, o.Floors, o.Active, o.Kinks, o.Weak = 8, 0, 0, 0, 0 },
			func(o *planted.Options) { o.Condition = 1e6 },
			func(o *planted.Options) { o.UpperActive = 3 },
		} {
			o := planted.Defaults()
			o.Seed = seed
			change(&o)
			in, err := planted.New(o)
			if err != nil {
				t.Fatal(err)
			}
			x := append([]float64(nil), in.Problem.Start...)
			requireOK(t, fmt.Sprintf("%+v", o), Verify(plantedDocument(in, x), in.Problem))
			if o.Kinks == 0 {
				continue
			}
			// Samples around the optimum, with their gradients.
			var samples []Sample
			for range 4 {
				point := append([]float64(nil), in.Optimum.X...)
				for j := range point {
					point[j] += 1e-4 * (2*rng.Float64() - 1)
					point[j] = math.Max(in.Problem.X.Lo[j], math.Min(in.Problem.X.Hi[j], point[j]))
				}
				e, _ := in.Exact(point)
				samples = append(samples, Sample{Point: point, Gradient: e.Gradient, Weight: 0.25})
			}
			doc := plantedDocument(in, in.Optimum.X)
			doc.Hypergradient = nil
			doc.Certificate.Goldstein = goldsteinOf(1e-3, samples, nil, 0)
			requireOK(t, fmt.Sprintf("Goldstein, %+v", o), Verify(doc, in.Problem))
		}
	}
}

// Where F is smooth, the gradient mapping is certified, its projection onto a
// box included; at the planted optimum it is zero.
func TestGradientMapping(t *testing.T) {
	in, err := planted.New(planted.Options{Dx: 6, Dy: 12, Links: 5, UpperActive: 3, Condition: 50, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range [][]float64{in.Problem.Start, in.Optimum.X} {
		doc := plantedDocument(in, x)
		const smoothness = 20
		projected := make([]float64, len(x))
		for j := range x {
			projected[j] = math.Max(in.Problem.X.Lo[j], math.Min(in.Problem.X.Hi[j], x[j]-doc.Hypergradient[j]/smoothness))
		}
		m := mappingOf(smoothness, x, doc.Hypergradient, projected, 1e-9)
		doc.Certificate.GradientMapping = m
		requireOK(t, "mapping", Verify(doc, in.Problem))
		if atOptimum := &x[0] == &in.Optimum.X[0]; atOptimum != (m.Norm < 1e-9) {
			t.Errorf("norm %v, at the optimum: %v", m.Norm, atOptimum)
		}
		projected[0] += 1e-3
		m.Norm = mappingOf(smoothness, x, doc.Hypergradient, projected, 0).Norm
		if Verify(doc, in.Problem).OK() {
			t.Error("a point that is not the projection passed")
		}
	}
}

// A ball and an upper row: x on both, with a normal between theirs.
func TestNormalsOfBallsAndRows(t *testing.T) {
	p := kink()
	inf := math.Inf(1)
	p.X = &problem.Set{Lo: []float64{-inf, -inf}, Hi: []float64{inf, inf},
		Kind: []problem.Kind{problem.AtMost}, E: sparse.FromDense(1, 2, []float64{1, 1}), Rhs: []float64{1},
		Balls: []problem.Ball{{Start: 0, End: 2, Radius: 1}}}
	x, y := []float64{1, 0}, []float64{1}
	for _, c := range []struct {
		n    []float64
		want float64
	}{
		{[]float64{1, 0}, 0},                // the ball's normal
		{[]float64{1, 1}, 0},                // the row's
		{[]float64{3, 1}, 0},                // between
		{[]float64{1, 2}, math.Sqrt2 / 2},   // beyond the row's: distance from the line through (1, 1)
		{[]float64{1, -0.5}, 0.5},           // beyond the ball's
		{[]float64{-1, 0}, 1},               // inward
		{[]float64{-1, -1}, math.Sqrt2},     // inward
		{[]float64{-1, 1}, math.Sqrt2},      // at a right angle to the row's, and beyond
		{[]float64{2, 1 + 1e-12}, 0},        // between
		{[]float64{0, 1}, 1 / math.Sqrt(2)}, // from (1/2, 1/2)
	} {
		if got := normalDistance(p, x, y, c.n, 1e-9, 0); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: distance %v, want %v", c.n, got, c.want)
		}
	}
}

// The bound holds: y off its solution by a known distance, with multipliers
// off as well, is never further away than it says, and not much nearer than
// it must be for a quadratic.
func TestBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for seed := range uint64(20) {
		o := planted.Defaults()
		o.Links, o.Seed = 0, seed
		in, err := planted.New(o)
		if err != nil {
			t.Fatal(err)
		}
		p, x := in.Problem, in.Problem.Start
		e, _ := in.Exact(x)
		y, lambda := append([]float64(nil), e.Y...), append([]float64(nil), e.Lambda...)
		// A move that keeps y feasible: against the gradients of all rows it
		// would be out; so move and pull back towards y* until it fits.
		move := make([]float64, p.Dy)
		for j := range move {
			move[j] = 0.1 * rng.NormFloat64()
		}
		h := make([]float64, p.Rows.Len())
		for feasible := false; !feasible; {
			feasible = true
			for j := range y {
				y[j] = e.Y[j] + move[j]
			}
			p.Rows.Residual(h, x, y)
			for i, v := range h {
				if v > 1e-12 {
					feasible = false
					cols, vals := p.Rows.B.Row(i)
					size := 0.0
					for _, b := range vals {
						size += b * b
					}
					for k, j := range cols {
						move[j] += (v + 1e-9) * vals[k] / size
					}
				}
			}
		}
		for i := range lambda {
			lambda[i] = math.Max(0, lambda[i]+0.1*rng.NormFloat64())
		}
		distance := norm(move)
		b := bound(p, x, y, lambda, p.Facts.StrongConvexity)
		if b.Distance < distance {
			t.Errorf("seed %d: the bound is %v, the distance %v", seed, b.Distance, distance)
		}
		if gap := p.G.Value(x, y) - p.G.Value(x, e.Y); gap < 0 || b.Gap < gap {
			t.Errorf("seed %d: the bound on the gap is %v, the gap %v", seed, b.Gap, gap)
		}
		if exact := bound(p, x, e.Y, e.Lambda, p.Facts.StrongConvexity); exact.Distance > 1e-5 {
			t.Errorf("seed %d: the bound at the solution is %v", seed, exact.Distance)
		}
	}
}

// rounded is the bound of a y and of rows' forces, for a modulus mu, of at most 8 and 8 mu that are off by rounding alone.
func rounded(mu float64) *Bound { return &Bound{Modulus: mu, Gap: mu * 0x1p-101, Distance: 0x1p-50} }

// bound is the gap bound as a verification finds it, and of rounding.
func bound(p *problem.Problem, x, y, lambda []float64, mu float64) *Bound {
	v := &verification{doc: &Document{X: x, Y: y, Lambda: lambda}, p: p}
	v.d = newDeriver(p, x, y, lambda)
	forces := make([]float64, p.Dy)
	p.Rows.B.AddMulVecT(forces, 1, lambda)
	least := 0x1p-52 * math.Max(norm(y), norm(forces)/mu)
	gap := math.Max(v.lowerConditions(mu).gap, mu*least*least/2)
	return &Bound{Modulus: mu, Gap: gap, Distance: math.Sqrt(2 * gap / mu)}
}

// lowerOf is the certificate of a lower solution, written out by hand.
func lowerOf(p *problem.Problem, x, y, lambda []float64, active []int) *Lower {
	v := &verification{doc: &Document{X: x, Y: y, Lambda: lambda}, p: p}
	v.d = newDeriver(p, x, y, lambda)
	c := &Lower{Active: active, Residuals: v.lowerConditions(1).Residuals}
	if mu := p.Facts.StrongConvexity; mu > 0 {
		c.Bound = bound(p, x, y, lambda, mu)
	}
	return c
}

// goldsteinOf completes a certificate with its norm and epsilon.
func goldsteinOf(delta float64, samples []Sample, normal []float64, gradientError float64) *Goldstein {
	c := &Goldstein{Delta: delta, Samples: samples, Normal: normal, GradientError: gradientError}
	c.Norm = norm(c.combination())
	c.Epsilon = c.Norm + gradientError
	return c
}

func mappingOf(smoothness float64, x, gradient, projected []float64, gradientError float64) *GradientMapping {
	return &GradientMapping{Smoothness: smoothness, Gradient: gradient, Projected: projected,
		Norm: norm(scaled(minus(x, projected), smoothness)), GradientError: gradientError}
}

// Every number of a document matters: changed by a thousandth it fails, and
// the failure names it.
func TestTamperedDocuments(t *testing.T) {
	in, err := planted.New(planted.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	fresh := func() *Document {
		doc := plantedDocument(in, append([]float64(nil), in.Problem.Start...))
		gradient := append([]float64(nil), doc.Hypergradient...)
		doc.Certificate.Goldstein = goldsteinOf(1e-3, []Sample{
			{Point: append([]float64(nil), doc.X...), Gradient: gradient, Weight: 0.25, Active: doc.Certificate.Lower.Active},
			{Point: append([]float64(nil), doc.X...), Gradient: append([]float64(nil), gradient...), Weight: 0.75},
		}, nil, 1e-9)
		projected := make([]float64, len(doc.X))
		for j := range projected {
			projected[j] = doc.X[j] - gradient[j]/10
		}
		doc.Certificate.GradientMapping = mappingOf(10, doc.X, append([]float64(nil), gradient...), projected, 1e-9)
		return doc
	}
	requireOK(t, "untouched", Verify(fresh(), in.Problem))

	numbers := len(numbersOf(reflect.ValueOf(fresh()), "document"))
	if numbers < 100 {
		t.Fatalf("only %d numbers", numbers)
	}
	for k := range numbers {
		for _, sign := range []float64{1, -1} {
			doc := fresh()
			number := numbersOf(reflect.ValueOf(doc), "document")[k]
			old := number.value.Float()
			number.value.SetFloat(old + sign*1e-3*(1+math.Abs(old)))
			if number.path == "document.Epsilon" || number.path == "document.Radius" {
				continue // what was asked for counts where the document says that it is solved
			}
			// What is claimed more modestly stays true.
			modest := sign > 0 && (strings.HasSuffix(number.path, "Delta") ||
				number.path == "document.GradientError" || strings.HasSuffix(number.path, "GradientMapping.GradientError"))
			report := Verify(doc, in.Problem)
			if report.OK() != modest {
				t.Errorf("%s changed from %v to %v: OK is %v", number.path, old, number.value.Float(), report.OK())
			}
		}
	}
}

// number is one float64 of a document, with the path to it.
type number struct {
	path  string
	value reflect.Value
}

func numbersOf(v reflect.Value, path string) []number {
	var all []number
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			all = numbersOf(v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			all = append(all, numbersOf(v.Field(i), path+"."+v.Type().Field(i).Name)...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, numbersOf(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	case reflect.Float64:
		all = append(all, number{path, v})
	}
	return all
}

// Broken documents are refused, not crashed on.
func TestBrokenDocuments(t *testing.T) {
	for label, change := range map[string]func(*Document){
		"short x":            func(d *Document) { d.X = d.X[:1] },
		"no y":               func(d *Document) { d.Y = nil },
		"long multipliers":   func(d *Document) { d.Lambda = append(d.Lambda, 0) },
		"NaN":                func(d *Document) { d.X[0] = math.NaN() },
		"NaN objective":      func(d *Document) { d.Upper = math.NaN() },
		"no such row":        func(d *Document) { d.Certificate.Lower.Active = []int{7} },
		"no such sample row": func(d *Document) { d.Certificate.Goldstein.Samples[0].Active = []int{-1} },
		"no samples":         func(d *Document) { d.Certificate.Goldstein.Samples = nil },
		"short point":        func(d *Document) { d.Certificate.Goldstein.Samples[1].Point = nil },
		"NaN weight":         func(d *Document) { d.Certificate.Goldstein.Samples[1].Weight = math.NaN() },
		"NaN norm":           func(d *Document) { d.Certificate.Goldstein.Norm = math.NaN() },
		"NaN error":          func(d *Document) { d.Certificate.Goldstein.GradientError = math.NaN() },
		"infinite error":     func(d *Document) { d.Certificate.Goldstein.GradientError = math.Inf(1) },
		"shorter delta":      func(d *Document) { d.Certificate.Goldstein.Delta = 6e-4 },
		"infinite delta":     func(d *Document) { d.Certificate.Goldstein.Delta = math.Inf(1) },
		"negative delta":     func(d *Document) { d.Certificate.Goldstein.Delta = -1 },
		"short normal":       func(d *Document) { d.Certificate.Goldstein.Normal = []float64{1} },
		"no modulus":         func(d *Document) { d.Certificate.Lower.Bound.Modulus = 0 },
		"better modulus":     func(d *Document) { d.Certificate.Lower.Bound.Modulus = 2 },
		"empty mapping":      func(d *Document) { d.Certificate.GradientMapping = &GradientMapping{} },
		"no smoothness":      func(d *Document) { d.Certificate.GradientMapping = mappingOf(0, d.X, []float64{1, 1}, d.X, 0) },
		"all smoothness": func(d *Document) {
			d.Certificate.GradientMapping = mappingOf(math.Inf(1), d.X, []float64{1, 1}, d.X, 0)
		},
		"outside X": func(d *Document) { d.X[1] = -1 },
	} {
		doc := kinkDocument()
		change(doc)
		if Verify(doc, kink()).OK() {
			t.Errorf("%s: passed", label)
		}
	}
	// A lower level that is not strongly convex.
	p := kink()
	p.G = quadratic{d: []float64{1}}
	if Verify(kinkDocument(), p).OK() {
		t.Error("a lower level without curvature passed")
	}
}

// The JSON form is stable, and loses nothing.
func TestCertificateJSON(t *testing.T) {
	c := kinkDocument().Certificate
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"lower":{"active":[0],"residuals":{"stationarity":0,"primal":0,"dual":0,"complementarity":0},` +
		`"bound":{"modulus":1,"gap":0,"distance":0}},` +
		`"goldstein":{"delta":0.001,"samples":[{"point":[0.0005,0],"gradient":[1,1],"weight":0.5,"active":[]},` +
		`{"point":[-0.0005,0.0005],"gradient":[-1,1],"weight":0.5,"active":[0]}],"normal":[0,-1],"norm":0,"gradient_error":0,"epsilon":0}}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	var back Certificate
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	doc := kinkDocument()
	doc.Certificate = &back
	requireOK(t, "read back", Verify(doc, kink()))
}
