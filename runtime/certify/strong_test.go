package certify

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/runtime/problem"
)

// planted are multipliers of the rows at a point of a rayCase, with the signs of strong stationarity mostly; f's linear terms are to be made of them (plant).
func (c *rayCase) planted(rng *rand.Rand, x, y, lambda []float64) *Strong {
	p := c.p
	pick := func(unit float64, zero, positive bool) float64 { // one that is 0 where it is to be, and positive
		t := float64(rng.IntN(4)) * unit
		switch wrong := rng.IntN(12) == 0; {
		case zero && !wrong:
			return 0
		case zero || positive:
			if wrong {
				t = -t
			}
		case rng.IntN(2) == 0:
			t = -t
		}
		return t
	}
	m := &Strong{Curvature: "not checked"}
	m.Adjoint, m.Slack, m.Multiplier, m.Bound = make([]float64, 2), make([]float64, 2), make([]float64, 2), make([]float64, 2)
	for j := range 2 {
		tight, idle, equal := y[j] == affineIn(c.row[j], x), lambda[j] == 0, p.Rows.Kind[j] == problem.Equal
		if tight && idle && !equal {
			m.Biactive = append(m.Biactive, j)
		}
		m.Slack[j] = pick(c.unit/c.scale[j], !tight, tight && idle && !equal)
		if !equal {
			m.Multiplier[j] = pick(c.unit*c.scale[j], !idle, tight)
		}
		if m.Adjoint[j] = m.Multiplier[j] / c.scale[j] * c.sign[j]; slices.Contains(p.Duals, j) { // f reads lambda
			m.Adjoint[j] = c.unit * float64(rng.IntN(5)-2)
		}
	}
	return m
}

// strong reports whether the multipliers of the rows have the signs of strong stationarity.
func (c *rayCase) strong(m *Strong, x, y, lambda []float64) bool {
	for j, kind := range c.p.Rows.Kind {
		tight, idle := y[j] == affineIn(c.row[j], x), lambda[j] == 0
		switch {
		case kind == problem.Equal:
		case m.Slack[j] != 0 && !tight, m.Multiplier[j] != 0 && !idle, tight && idle && (m.Slack[j] < 0 || m.Multiplier[j] < 0):
			return false
		}
	}
	return true
}

// A certificate of strong stationarity is accepted where its multipliers have the signs that they are to have, and nowhere else; and where it is accepted F falls along no direction.
func TestStrongCertificatesAreThoseOfStationaryPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 13))
	accepted, refused, kinks := 0, 0, 0
	for trial := range 20000 {
		c := randomRayCase(rng)
		p := c.p
		p.Integer = nil
		x := []float64{float64(rng.IntN(7) - 3), float64(rng.IntN(7) - 3)}
		if !c.inside(x) {
			continue
		}
		y, lambda := c.answer(x)
		if p.Coupled != nil { // that a constraint holds is part of it
			v := &verification{p: p, doc: &Document{X: x, Y: y, Lambda: c.scaled(lambda), Solved: true, Certificate: &Certificate{Strong: &Strong{}},
				Coupled: &Coupled{Values: []float64{c.constraint(x, y) * c.unit}}}}
			v.d = newDeriver(p, x, y, v.doc.Lambda)
			if v.coupled(); (len(v.Failures()) == 0) != c.holds(x, y) {
				t.Fatalf("trial %d: a constraint %v, %v: %v", trial, c.constraint(x, y), p.Coupled.Kind, v.Failures())
			}
		}
		if !c.holds(x, y) {
			continue
		}
		m := c.planted(rng, x, y, lambda)
		valid := c.strong(m, x, y, lambda)
		sign := func(active, equal bool, unit float64) float64 {
			v := float64(rng.IntN(3)) * unit
			switch {
			case equal && rng.IntN(2) == 0:
				v = -v
			case equal:
			case !active && rng.IntN(8) > 0:
				v = 0
			case rng.IntN(12) == 0:
				v = -v
			}
			valid = valid && (v == 0 || equal || active && v > 0)
			return v
		}
		for j := range 2 {
			switch lo, hi := x[j] == p.X.Lo[j], x[j] == p.X.Hi[j]; {
			case hi:
				m.Bound[j] = -sign(true, false, c.unit)
			default:
				m.Bound[j] = sign(lo, false, c.unit)
			}
		}
		if c.side != nil {
			h, before := affineIn([3]float64{c.side[0], c.side[1], -c.side[2]}, x), valid
			m.Rows = []float64{sign(h == 0, p.X.Kind[0] == problem.Equal, c.unit/c.rowUnit)}
			if c.side[0] == 0 && c.side[1] == 0 { // a row of nothing
				m.Rows[0], valid = 0, before
			}
		}
		if c.spread >= 0 {
			of := sign(math.Abs(x[0]-x[1]) == c.spread, false, c.unit)
			m.Extended = []float64{0, of, of}
			if x[0] > x[1] || x[0] == x[1] && rng.IntN(2) == 0 {
				m.Extended = []float64{of, 0, of}
			}
		}
		if p.Coupled != nil {
			before := valid
			m.Coupled = []float64{sign(c.constraint(x, y) == 0, p.Coupled.Kind[0] == problem.Equal, 1)}
			if maxAbs(c.f.m[len(c.f.m)-1]) == 0 {
				m.Coupled[0], valid = 0, before
			}
		}
		c.plant(m, x, y, lambda)
		v := &verification{doc: &Document{X: x, Y: y, Lambda: c.scaled(lambda)}, p: p}
		v.doc.Upper = p.F.Value(x, p.Answer(y, v.doc.Lambda))
		v.d = newDeriver(p, v.doc.X, v.doc.Y, v.doc.Lambda)
		v.strong(m)
		ok := len(v.Failures()) == 0
		if ok != valid {
			t.Fatalf("trial %d: accepted is %v at %v, %v, %v: %+v\n%v", trial, ok, x, y, lambda, *m, v.Failures())
		}
		if !ok {
			refused++
			continue
		}
		if accepted++; len(m.Biactive) > 0 {
			kinks++
		}
		for range 12 {
			const step = 0x1p-20
			d := []float64{float64(rng.IntN(7) - 3), float64(rng.IntN(7) - 3)}
			to := []float64{x[0] + step*d[0], x[1] + step*d[1]}
			there, of := c.answer(to)
			if !c.inside(to) || !c.holds(to, there) {
				continue
			}
			if fall := v.doc.Upper - p.F.Value(to, p.Answer(there, c.scaled(of))); fall > 1e-3*step*c.unit {
				t.Errorf("trial %d: F falls by %g over %g along %v from %v: %+v", trial, fall, step, d, x, *m)
			}
		}
	}
	if accepted < 5000 || refused < 1000 || kinks < 500 {
		t.Errorf("%d accepted, %d of them at kinks, %d refused", accepted, kinks, refused)
	}

}

// The gradient of a branch is that of F where a point lies inside one, by differences of F, and no other vector is.
func TestGradientsOfBranchesAreThoseOfF(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 16))
	accepted, refused := 0, 0
	for trial := range 6000 {
		c := randomRayCase(rng)
		p := c.p
		if p.Integer = nil; p.Coupled != nil || c.side != nil || c.spread >= 0 || len(p.Duals) > 0 && c.scale[0] != c.scale[1] { // a tolerance takes all multipliers by the largest
			continue
		}
		x := []float64{float64(rng.IntN(5) - 2), float64(rng.IntN(5) - 2)}
		y, lambda := c.answer(x)
		m := c.planted(rng, x, y, lambda)
		if len(m.Biactive) > 0 {
			continue
		}
		m.Bound = []float64{c.unit * float64(rng.IntN(7)-3), c.unit * float64(rng.IntN(7)-3)}
		c.plant(m, x, y, lambda)
		gradient := slices.Clone(m.Bound)
		if rng.IntN(3) == 0 {
			gradient[rng.IntN(2)] += c.unit
		}
		const step = 0x1p-20
		value := func(j int, by float64) float64 {
			to := slices.Clone(x)
			to[j] += by
			there, of := c.answer(to)
			return p.F.Value(to, p.Answer(there, c.scaled(of)))
		}
		want := c.strong(m, x, y, lambda)
		for j := range 2 {
			want = want && math.Abs((value(j, step)-value(j, -step))/(2*step)-gradient[j]) < 1e-3*c.unit
		}
		v := &verification{doc: &Document{X: x, Y: y, Lambda: c.scaled(lambda), Hypergradient: gradient}, p: p}
		v.doc.Upper = p.F.Value(x, p.Answer(y, v.doc.Lambda))
		v.d = newDeriver(p, v.doc.X, v.doc.Y, v.doc.Lambda)
		if v.gradientOfBranch(&m.Multipliers); (len(v.Failures()) == 0) != want {
			t.Fatalf("trial %d: %v at %v, %v, %v: %+v: %v", trial, gradient, x, y, lambda, *m, v.Failures())
		}
		if want {
			accepted++
		} else {
			refused++
		}
	}
	if accepted < 200 || refused < 200 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}

// plant makes f's linear terms so that multipliers make up its gradient.
func (c *rayCase) plant(m *Strong, x, y, lambda []float64) {
	p := c.p
	n := len(c.real.l)
	want := make([]float64, n)
	for j := range 2 {
		want[j] += m.Bound[j]
		b := c.scale[j] * c.sign[j]
		for k := range 2 { // G' adjoint and A' slack
			want[k] += -c.pull[j][k]*m.Adjoint[j] - b*c.row[j][k]*m.Slack[j]
		}
		want[2+j] += m.Adjoint[j] + b*m.Slack[j]
	}
	for j, d := range p.Duals {
		want[4+j] = -c.scale[d]*c.sign[d]*m.Adjoint[d] + m.Multiplier[d]
	}
	for i, t := range m.Rows {
		p.X.E.AddRow(want, i, -t)
	}
	if m.Extended != nil {
		want[0] -= m.Extended[0] - m.Extended[1]
		want[1] -= m.Extended[1] - m.Extended[0]
	}
	answer := p.Answer(y, c.scaled(lambda))
	if p.Coupled != nil {
		w := n - 1
		for k := range w {
			want[k] -= m.Coupled[0] * c.real.m[w][k]
		}
	}
	gx, ga := make([]float64, 2), make([]float64, len(answer))
	c.real.ValueGrad(gx, ga, x, answer)
	for k, g := range slices.Concat(gx, ga) {
		if p.Coupled == nil || k < n-1 {
			c.real.l[k] += want[k] - g
		}
	}
}

// Parts cover the branches that meet at a point where every choice of a side for each row is in one of them, by trying all.
func TestPartsOfBranchesCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 14))
	covered, open := 0, 0
	for range 3000 {
		rows := 1 + rng.IntN(4)
		leaves := make([]StrongLeaf, 1+rng.IntN(6))
		for k := range leaves {
			for i := range rows {
				switch rng.IntN(4) {
				case 0:
					leaves[k].SlackZero = append(leaves[k].SlackZero, i)
				case 1:
					leaves[k].MultiplierZero = append(leaves[k].MultiplierZero, i)
				}
			}
		}
		want := true
		for mask := range 1 << rows {
			in := slices.ContainsFunc(leaves, func(l StrongLeaf) bool {
				return !slices.ContainsFunc(l.SlackZero, func(i int) bool { return mask>>i&1 == 1 }) && !slices.ContainsFunc(l.MultiplierZero, func(i int) bool { return mask>>i&1 == 0 })
			})
			want = want && in
		}
		if got := covers(leaves, nil, nil); got != want {
			t.Errorf("%v cover is %v", leaves, got)
		}
		if want {
			covered++
		} else {
			open++
		}
	}
	if covered < 300 || open < 300 {
		t.Errorf("%d covered, %d open", covered, open)
	}
}

// Multipliers that have not the shape of the problem are refused, whatever else a document claims with them.
func TestMultipliersOfOtherShapes(t *testing.T) {
	f := turning{1, 1, 1, 1, 1, [3]float64{1, 1, 1}}
	for k, name := range []string{"adjoint", "slack", "multiplier", "bound", "rows", "extended", "coupled", "balls"} {
		for _, longer := range []bool{false, true} {
			doc := f.document()
			doc.Hypergradient, doc.Strict = []float64{0}, true
			m := &doc.Certificate.Strong.Multipliers
			part := [...]*[]float64{&m.Adjoint, &m.Slack, &m.Multiplier, &m.Bound, &m.Rows, &m.Extended, &m.Coupled, &m.Balls}[k]
			if longer {
				*part = append(*part, 0)
			} else if len(*part) > 0 {
				*part = (*part)[1:]
			} else {
				continue
			}
			if !slices.ContainsFunc(Verify(doc, f.problem()).Failures(), func(c Check) bool { return strings.HasPrefix(c.Detail, name+" has") }) {
				t.Errorf("%s, longer %v: its length is not refused", name, longer)
			}
		}
	}
}
