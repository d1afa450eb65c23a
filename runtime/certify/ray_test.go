package certify

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/extended"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// polynomial is 1/2 z'Mz + l'z + k over z = (x, answer), M symmetric.
type polynomial struct {
	m [][]float64
	l []float64
	k float64
}

func newPolynomial(n int) *polynomial {
	q := &polynomial{l: make([]float64, n)}
	for range n {
		q.m = append(q.m, make([]float64, n))
	}
	return q
}

func (q *polynomial) set(i, j int, v float64) { q.m[i][j], q.m[j][i] = v, v }

// ValueGrad is a formula.
func (q *polynomial) ValueGrad(dx, dy, x, y []float64) float64 {
	z, value := slices.Concat(x, y), q.k
	for i, row := range q.m {
		s := floats.Dot(row, z)
		value += (s/2 + q.l[i]) * z[i]
		if s += q.l[i]; i < len(x) {
			dx[i] = s
		} else {
			dy[i-len(x)] = s
		}
	}
	return value
}

// exactly is the value without rounding.
func (q *polynomial) exactly(z []float64) *big.Rat {
	value, of := rat(q.k), func(v, w float64) *big.Rat { return new(big.Rat).Mul(rat(v), rat(w)) }
	for i, row := range q.m {
		value.Add(value, of(q.l[i], z[i]))
		for j, v := range row {
			value.Add(value, of(v, z[i]).Mul(of(v, z[i]), rat(z[j]/2)))
		}
	}
	return value
}

// rayCase is a follower with one answer that is known in closed form at every x: entry j of y is p_j'x + q_j, or, where the row y_j >= r_j'x + s_j asks for more
// (or is an equation), r_j'x + s_j. These numbers and those of X, f and the leader's constraint are small and whole, so that what is compared with is exact also far out; rows and functions of
// the problem have them in units that are no doubles.
type rayCase struct {
	p       *problem.Problem
	pull    [2][3]float64 // p_j, q_j
	row     [2][3]float64 // r_j, s_j
	f       *polynomial   // of (x, y, multipliers in whole units, weight)
	unit    float64       // of the problem's f and constraint
	scale   [2]float64    // of the rows
	sign    [2]float64    // of y in the rows
	spread  float64       // X has |x_0 - x_1| <= spread; -1: it has not
	side    []float64     // of the row of X: E_0, E_1, e; nil: it has none
	rowUnit float64       // of it
	real    *polynomial   // f and the weighted constraint in the problem's units
	report  Report        // of the last ray
}

func affineIn(of [3]float64, x []float64) float64 { return of[0]*x[0] + of[1]*x[1] + of[2] }

// answer is the follower's answer with its multipliers, in whole units.
func (c *rayCase) answer(x []float64) (y, lambda []float64) {
	for j := range 2 {
		free, held := affineIn(c.pull[j], x), affineIn(c.row[j], x)
		v := math.Max(free, held)
		if c.p.Rows.Kind[j] == problem.Equal {
			v = held
		}
		y, lambda = append(y, v), append(lambda, v-free)
	}
	return y, lambda
}

// inside reports whether x is in X.
func (c *rayCase) inside(x []float64) bool {
	for j, v := range x {
		if v < c.p.X.Lo[j] || v > c.p.X.Hi[j] || j < len(c.p.Integer) && c.p.Integer[j] && v != math.Floor(v) {
			return false
		}
	}
	if c.spread >= 0 && math.Abs(x[0]-x[1]) > c.spread {
		return false
	}
	if c.side != nil {
		if h := affineIn([3]float64{c.side[0], c.side[1], -c.side[2]}, x); h > 0 || c.p.X.Kind[0] == problem.Equal && h < 0 {
			return false
		}
	}
	return true
}

// holds reports whether the leader's constraint does.
func (c *rayCase) holds(x, y []float64) bool {
	return c.p.Coupled == nil || c.constraint(x, y) == 0 || c.constraint(x, y) < 0 && c.p.Coupled.Kind[0] == problem.AtMost
}

// constraint is the value of the leader's constraint, of which f has the weight times it as its last entry.
func (c *rayCase) constraint(x, y []float64) float64 {
	z := append(slices.Concat(x, y), make([]float64, c.p.AnswerLen()-2)...)
	w := len(z) - 1
	return floats.Dot(c.f.m[w], z) + c.f.l[w]
}

// value is f in whole units.
func (c *rayCase) value(x, y, lambda []float64) float64 {
	return formula(c.f.ValueGrad).Value(x, c.p.Answer(y, lambda))
}

// scaled are multipliers in the problem's units.
func (c *rayCase) scaled(lambda []float64) (out []float64) {
	for j, l := range lambda {
		out = append(out, l/c.scale[j]*c.sign[j])
	}
	return out
}

func randomRayCase(rng *rand.Rand) *rayCase {
	whole := func(k int) float64 { return float64(rng.IntN(2*k+1) - k) }
	one := func(n int) bool { return rng.IntN(n) == 0 }
	unit := func() float64 { return []float64{1, 2, 0.1, 0.1 * 0x1p40, 0.1 * 0x1p-40}[rng.IntN(5)] }
	c := &rayCase{spread: -1}
	p := &problem.Problem{Name: "ray", Dx: 2, Dy: 2, X: &problem.Set{E: sparse.FromEntries(0, 2, nil)}, Rows: &problem.Rows{},
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true, DegreeF: 2, AffineCoupled: true}}
	c.p = p
	var a, b []sparse.Entry
	g := newPolynomial(4)
	for j := range 2 {
		for k := range 3 {
			c.pull[j][k], c.row[j][k] = whole(2), whole(2)
		}
		g.set(2+j, 2+j, 1)
		for k := range 2 {
			g.set(k, 2+j, -c.pull[j][k])
		}
		g.l[2+j] = -c.pull[j][2]
		kind := problem.AtMost
		c.scale[j], c.sign[j] = unit(), 1
		if one(3) {
			if kind = problem.Equal; one(2) {
				c.sign[j] = -1
			}
		}
		p.Rows.Kind = append(p.Rows.Kind, kind)
		s := c.sign[j] * c.scale[j]
		for k := range 2 {
			a = append(a, sparse.Entry{Row: j, Col: k, Val: s * c.row[j][k]})
		}
		b = append(b, sparse.Entry{Row: j, Col: j, Val: s})
		p.Rows.Rhs = append(p.Rows.Rhs, -s*c.row[j][2])
		lo, hi := math.Inf(-1), math.Inf(1)
		if one(3) {
			lo = -3
		}
		if one(3) {
			hi = 3
		}
		p.X.Lo, p.X.Hi = append(p.X.Lo, lo), append(p.X.Hi, hi)
	}
	p.Rows.A, p.Rows.B, p.G = sparse.FromEntries(2, 2, a), sparse.FromEntries(2, 2, b), formula(g.ValueGrad)
	if one(4) {
		kind := problem.AtMost
		if one(3) {
			kind = problem.Equal
		}
		c.side = []float64{whole(3), whole(3), float64(rng.IntN(3))}
		u := unit()
		c.rowUnit = u
		p.X.Kind, p.X.E, p.X.Rhs = []problem.Kind{kind}, sparse.FromDense(1, 2, []float64{u * c.side[0], u * c.side[1]}), []float64{u * c.side[2]}
	}
	if one(4) {
		c.spread = float64(rng.IntN(3))
		p.X.Extended = &extended.Rows{E: sparse.FromDense(3, 3, []float64{1, -1, -1, -1, 1, -1, 0, 0, 1}), Rhs: []float64{0, 0, c.spread},
			Of: []int{0, 0, -1}, Name: []string{"", "", "spread"}, Dim: 1}
	}
	if one(6) {
		p.Integer = []bool{one(2), one(2)}
	}
	if one(3) {
		p.Duals = [][]int{{0}, {1}, {0, 1}}[rng.IntN(3)]
	}
	if one(3) {
		kind := problem.AtMost
		if one(4) {
			kind = problem.Equal
		}
		p.Coupled = &problem.Coupled{Kind: []problem.Kind{kind}, Name: []string{"c"}, Weight: []float64{1}}
	}
	n := 2 + p.AnswerLen()
	c.f = newPolynomial(n)
	if p.Coupled != nil {
		n--
		for k := range 4 {
			c.f.set(k, n, whole(1))
		}
		c.f.l[n] = whole(2)
	}
	for k := range n {
		c.f.l[k] = whole(3)
		if one(3) {
			c.f.set(k, rng.IntN(n), whole(3))
		}
	}
	c.unit = unit()
	f := newPolynomial(len(c.f.l))
	size := func(k int) float64 { // of entry k of what f reads in whole units
		if d := k - 4; d >= 0 && d < len(p.Duals) {
			return c.scale[p.Duals[d]] * c.sign[p.Duals[d]]
		}
		return 1
	}
	for i, row := range c.f.m {
		for j, v := range row {
			f.m[i][j] = c.unit * v * size(i) * size(j)
		}
		f.l[i] = c.unit * c.f.l[i] * size(i)
	}
	c.real, p.F = f, formula(f.ValueGrad)
	p.Start = make([]float64, 2)
	return c
}

// falls reports whether everything that a ray from a point says is so at distances up to 2^20, in exact numbers: X, the follower's answer and its multipliers, the leader's constraint from some distance on, and an f that
// falls the faster or as fast; a piece or a side of a constraint that ends later is none of small whole numbers.
func (c *rayCase) falls(x, y, lambda []float64, ray *Ray) bool {
	move := func(from []float64, t float64, d []float64) (out []float64) {
		for j := range d {
			out = append(out, from[j]+t*d[j])
		}
		return out
	}
	var values []float64
	for _, t := range []float64{0, 1, 2, 0.25, 1 << 10, 1 << 20} {
		x, y, lambda := move(x, t, ray.X), move(y, t, ray.Y), move(lambda, t, ray.Multipliers)
		wantY, wantLambda := c.answer(x)
		if !c.inside(x) || !slices.Equal(y, wantY) || !slices.Equal(lambda, wantLambda) || t > 2 && !c.holds(x, y) {
			return false
		}
		values = append(values, c.value(x, y, lambda))
	}
	curvature := values[2] - 2*values[1] + values[0]
	return curvature < 0 || curvature == 0 && values[1] < values[0]
}

// eachRay makes random rays of random systems from points that have an answer, right ones and such that are wrong in one entry.
func eachRay(trials int, see func(rng *rand.Rand, c *rayCase, x, y, lambda []float64, ray *Ray)) {
	rng := rand.New(rand.NewPCG(33, 9))
	for range trials {
		c := randomRayCase(rng)
		x := []float64{float64(rng.IntN(5) - 2), float64(rng.IntN(5) - 2)}
		if !c.inside(x) {
			continue
		}
		y, lambda := c.answer(x)
		ray := &Ray{X: []float64{float64(rng.IntN(5) - 2), float64(rng.IntN(5) - 2)}}
		if c.side != nil && rng.IntN(2) == 0 { // along the row
			ray.X = []float64{c.side[1], -c.side[0]}
		}
		if c.spread >= 0 && rng.IntN(2) == 0 {
			ray.X[1] = ray.X[0]
		}
		const far = 1 << 10
		there, of := c.answer([]float64{x[0] + far*ray.X[0], x[1] + far*ray.X[1]})
		for j := range 2 {
			ray.Y, ray.Multipliers = append(ray.Y, math.Trunc((there[j]-y[j])/far)), append(ray.Multipliers, math.Trunc((of[j]-lambda[j])/far))
		}
		if rng.IntN(4) == 0 {
			wrong := [][]float64{ray.X, ray.Y, ray.Multipliers}[rng.IntN(3)]
			wrong[rng.IntN(2)] += float64(2*rng.IntN(2) - 1)
		}
		see(rng, c, x, y, lambda, ray)
	}
}

// flaw is what is wrong with a ray; "" where it is accepted.
func (c *rayCase) flaw(x, y, lambda []float64, ray *Ray) string {
	long := []float64{1, 0x1p30, 0x1p-30}[int(math.Abs(x[0]+3*x[1]))%3] // how long a ray is does not matter
	ray = &Ray{X: scaled(ray.X, long), Y: scaled(ray.Y, long), Multipliers: scaled(c.scaled(ray.Multipliers), long), Steps: ray.Steps}
	v := &verification{doc: &Document{X: x, Y: y, Lambda: c.scaled(lambda)}, p: c.p}
	v.doc.Upper = c.p.F.Value(x, c.p.Answer(y, v.doc.Lambda))
	v.d = newDeriver(c.p, v.doc.X, v.doc.Y, v.doc.Lambda)
	v.ray(ray)
	c.report = v.Report
	if check := v.Checks[len(v.Checks)-1]; !check.OK {
		return fmt.Sprint(check)
	}
	return ""
}

// A ray is accepted where F falls along it without end, and nowhere else.
func TestRaysAreThoseAlongWhichFFalls(t *testing.T) {
	accepted, refused := 0, 0
	eachRay(12000, func(_ *rand.Rand, c *rayCase, x, y, lambda []float64, ray *Ray) {
		flaw, want := c.flaw(x, y, lambda, ray), c.falls(x, y, lambda, ray)
		if c.p.Coupled != nil && !c.holds(x, y) && c.p.Coupled.Kind[0] == problem.Equal {
			want = false
		}
		if (flaw == "") != want {
			t.Fatalf("%+v at %v, %v, %v: %q\nX %+v, integer %v, rows %v, constraint %v, f %+v", *ray, x, y, lambda, flaw, *c.p.X, c.p.Integer, c.p.Rows.Kind, c.p.Coupled, *c.f)
		}
		if want {
			accepted++
		} else {
			refused++
		}
	})
	if accepted < 500 || refused < 1000 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}

// An f that is not quadratic is followed to large distances: an increasing function of one that is linear falls without end with it where it has no lower limit.
func TestRaysOfCurves(t *testing.T) {
	endless, limited := 0, 0
	eachRay(6000, func(rng *rand.Rand, c *rayCase, x, y, lambda []float64, ray *Ray) {
		for i := range c.f.m {
			clear(c.f.m[i])
		}
		if c.p.Coupled != nil || !c.falls(x, y, lambda, ray) {
			return
		}
		last, more := endless+limited, []float64{0.2, 0.5}[rng.IntN(2)]
		shape := []func(s float64) float64{
			func(s float64) float64 { return s + math.Exp(s) },
			func(s float64) float64 { return math.Copysign(math.Pow(math.Abs(s), more), s) },
			func(s float64) float64 { return -math.Log1p(math.Abs(math.Min(s, 0))) },
			math.Exp, math.Atan,
			func(s float64) float64 { return math.Max(s, -1e10) },
		}[last%6]
		of := c.value(x, y, lambda)
		c.p.F = formula(func(dx, dy, x, y []float64) float64 {
			s := c.f.k - of
			for j, v := range slices.Concat(x, y) {
				if d := j - 4; d >= 0 {
					v *= c.scale[c.p.Duals[d]] * c.sign[c.p.Duals[d]]
				}
				s += c.f.l[j] * v
			}
			return shape(s)
		})
		c.p.Facts.DegreeF = 3
		if flaw := c.flaw(x, y, lambda, ray); flaw == "" {
			t.Errorf("%+v: no distance is looked at, and it is accepted", *ray)
		}
		ray.Steps = 1100
		if flaw := c.flaw(x, y, lambda, ray); (flaw == "") != (last%6 < 3) {
			t.Errorf("shape %d, %+v at %v, %v, %v: %q", last%6, *ray, x, y, lambda, flaw)
		}
		if far := slices.ContainsFunc(c.report.Unchecked, func(s string) bool { return strings.Contains(s, "certificate.ray") }); !far {
			t.Errorf("it is not said that larger distances were not looked at")
		}
		if last%6 < 3 {
			endless++
		} else {
			limited++
		}
	})
	if endless < 50 || limited < 50 {
		t.Errorf("%d without end, %d with a limit", endless, limited)
	}
}

// Rays that are no rays of the problem, or of problems that rays are not for, are refused.
func TestRaysFitTheProblem(t *testing.T) {
	good := func() (*rayCase, *Ray) {
		c := &rayCase{f: newPolynomial(4), unit: 1, scale: [2]float64{1, 1}, sign: [2]float64{1, 1}, spread: -1}
		g := newPolynomial(4)
		g.set(2, 2, 1)
		g.set(3, 3, 1)
		c.f.l[0] = 1
		inf := math.Inf(1)
		c.p = &problem.Problem{Dx: 2, Dy: 2, F: formula(c.f.ValueGrad), G: formula(g.ValueGrad), Start: make([]float64, 2),
			Rows:  &problem.Rows{Kind: make([]problem.Kind, 2), A: sparse.FromEntries(2, 2, nil), B: sparse.FromDense(2, 2, []float64{1, 0, 0, 1}), Rhs: make([]float64, 2)},
			X:     &problem.Set{Lo: []float64{-inf, -inf}, Hi: []float64{inf, inf}, E: sparse.FromEntries(0, 2, nil)},
			Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true, DegreeF: 1}}
		return c, &Ray{X: []float64{-1, 0}, Y: make([]float64, 2), Multipliers: make([]float64, 2)}
	}
	for name, change := range map[string]func(c *rayCase, r *Ray){
		"":                           func(*rayCase, *Ray) {},
		"lengths are not those":      func(_ *rayCase, r *Ray) { r.X = []float64{-1} },
		"lengths are not those ":     func(_ *rayCase, r *Ray) { r.Y = make([]float64, 3) },
		"lengths are not those  ":    func(_ *rayCase, r *Ray) { r.Y[0] = math.NaN() },
		"lengths are not those   ":   func(_ *rayCase, r *Ray) { r.X[0] = math.Inf(-1) },
		"is not one of linear rows":  func(c *rayCase, _ *Ray) { c.p.Facts.JointlyQuadratic = false },
		"is not one of linear rows ": func(c *rayCase, _ *Ray) { c.p.X.Balls = []problem.Ball{{Start: 0, End: 2, Radius: 1}} },
		"f is not finite along it": func(c *rayCase, _ *Ray) {
			c.p.F = formula(func(dx, dy, x, y []float64) float64 {
				clear(dy)
				if dx[0], dx[1] = 1, 0; x[0] != 0 {
					dx[0] = math.NaN()
				}
				return x[0]
			})
		},
		"F improves without end":             func(_ *rayCase, r *Ray) { r.X[0] = 0 },
		"F improves without end along":       func(_ *rayCase, r *Ray) { r.X[0] = 1 },
		"F improves without end along a ray": func(c *rayCase, r *Ray) { r.X[0], r.Steps, c.p.Facts.DegreeF = 0, 1100, 3 },
		"F improves without end along a":     func(_ *rayCase, r *Ray) { r.Steps = 1 },
	} {
		c, r := good()
		change(c, r)
		flaw := c.flaw(make([]float64, 2), make([]float64, 2), make([]float64, 2), r)
		if (flaw == "") != (name == "") || !strings.Contains(flaw, strings.TrimSpace(name)) {
			t.Errorf("%s: %q", name, flaw)
		}
	}
}

// A document that says that F has no bound is held to its ray, and needs one.
func TestUnboundedNeedsItsRay(t *testing.T) {
	inf := math.Inf(1)
	p := &problem.Problem{Dx: 1, Dy: 1, F: quadratic{c: []float64{1}}, G: quadratic{a: []float64{1}},
		Rows:  &problem.Rows{A: sparse.FromEntries(0, 1, nil), B: sparse.FromEntries(0, 1, nil)},
		X:     &problem.Set{Lo: []float64{-inf}, Hi: []float64{inf}, E: sparse.FromEntries(0, 1, nil)},
		Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true, DegreeF: 1}}
	for k, ray := range []*Ray{{X: []float64{-1}, Y: []float64{0}}, {X: []float64{1}, Y: []float64{0}}, nil} {
		doc := &Document{X: []float64{0}, Y: []float64{0}, Lambda: []float64{}, Unbounded: true, Certificate: &Certificate{Lower: lowerOf(p, []float64{0}, []float64{0}, []float64{}, nil), Ray: ray}}
		if r := Verify(doc, p); fails(r, rayClaim) != (k > 0) || k == 0 && !r.OK() {
			t.Errorf("%+v: %v", ray, r.Failures())
		}
		if doc.Unbounded = false; ray == nil && !Verify(doc, p).OK() {
			t.Error("a document without the claim needs a ray")
		}
	}
}

// What falls without end at growing distances is told from what has a limit, turns, or does not fall.
func TestFallsWithoutEnd(t *testing.T) {
	for _, c := range []struct {
		name    string
		f       func(t float64) float64
		endless bool
	}{
		{"-t", func(t float64) float64 { return -t }, true},
		{"1e6 - t", func(t float64) float64 { return 1e6 - t }, true},
		{"-sqrt", func(t float64) float64 { return -math.Sqrt(t) }, true},
		{"-t^1.5", func(t float64) float64 { return -t * math.Sqrt(t) }, true},
		{"-log", func(t float64) float64 { return -math.Log(1 + t) }, true},
		{"-exp", func(t float64) float64 { return -math.Exp(t) }, true},
		{"up first", func(t float64) float64 { return 1e3*math.Sqrt(t) - t }, true},
		{"0", func(t float64) float64 { return 0 }, false},
		{"t", func(t float64) float64 { return t }, false},
		{"exp(-t)", func(t float64) float64 { return math.Exp(-t) }, false},
		{"exp", math.Exp, false},
		{"1/(1 + t)", func(t float64) float64 { return 1 / (1 + t) }, false},
		{"1/(1 + t)^0.1", func(t float64) float64 { return math.Pow(1+t, -0.1) }, false},
		{"-atan", func(t float64) float64 { return -math.Atan(t) }, false},
		{"turns at 1e20", func(t float64) float64 { return -t + 1e-20*t*t }, false},
		{"turns late", func(t float64) float64 { return math.Max(-t, -1e25) }, false},
		{"turns later", func(t float64) float64 { return math.Max(-t, -1e290) }, false},
		{"turns beyond its terms", func(t float64) float64 { return -t + 1e-300*t*t + 1e-310*t*t*t*t }, false},
		{"far from 0", func(t float64) float64 { return 1e100 - math.Log(1+t) }, false}, // for all that numbers tell
		{"waves", func(t float64) float64 { return -t * (1 + math.Sin(math.Log(1+t))) }, false},
		{"a well on the way", func(t float64) float64 { return -t - 1e303*math.Exp(-math.Pow(math.Log(t), 2)) }, false},
		{"infinite on the way", func(t float64) float64 {
			if t == 0x1p10 {
				return math.Inf(1)
			}
			return -t
		}, false},
		{"nothing", func(t float64) float64 { return math.NaN() }, false},
	} {
		if flaw := fallsAlong(c.f, 1, 0x1p1000); (flaw == "") != c.endless {
			t.Errorf("%s: %q", c.name, flaw)
		}
	}
}

// A slope is told from the rounding of its terms, which is far less than a millionth of them.
func TestRaysOfSmallSlopes(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		off   float64
		falls bool
	}{{1e-6, true}, {1e-7, true}, {1e-9, false}, {0, false}, {-1e-6, false}} {
		p := &problem.Problem{Dx: 2, Dy: 1, F: quadratic{c: []float64{1, -1 - c.off}}, G: quadratic{a: []float64{1}},
			Rows:  &problem.Rows{A: sparse.FromEntries(0, 2, nil), B: sparse.FromEntries(0, 1, nil)},
			X:     &problem.Set{Lo: []float64{-inf, -inf}, Hi: []float64{inf, inf}, E: sparse.FromEntries(0, 2, nil)},
			Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true, DegreeF: 1}}
		x, y := []float64{0, 0}, []float64{0}
		doc := &Document{X: x, Y: y, Lambda: []float64{}, Unbounded: true,
			Certificate: &Certificate{Lower: lowerOf(p, x, y, []float64{}, nil), Ray: &Ray{X: []float64{1, 1}, Y: []float64{0}}}}
		if r := Verify(doc, p); fails(r, rayClaim) == c.falls {
			t.Errorf("a slope of %g of its terms: %v", c.off/2, r.Failures())
		}
	}
}
