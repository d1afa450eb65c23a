package runtime_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// magnitudes is a program of one x and one y whose numbers are of any size that doubles have:
//
//	min_x f[0] x + f[1] y + f[2] x y + f[3] x^2  over x in [lo, hi],  y in argmin { a y^2/2 + (b + d x) y : l <= y <= u, e x + h y <= q }
//
// with a >= 0 and h > 0. F is a polynomial of x on each of a few intervals: its least value is known in rational numbers.
type magnitudes struct {
	f                              [4]float64
	lo, hi, a, b, d, l, u, e, h, q float64
	row                            bool
}

// randomMagnitudes draws numbers of sizes up to 10^most, either way.
func randomMagnitudes(rng *rand.Rand, most int) *magnitudes {
	usual := rng.IntN(most + 1) // most numbers of a program are of less
	number := func() float64 {
		k := usual
		if rng.IntN(3) == 0 {
			k = most
		}
		if rng.IntN(3) == 0 {
			k = 0
		}
		return float64(1+rng.IntN(9)) * math.Pow10(rng.IntN(2*k+1)-k)
	}
	signed := func() float64 {
		if rng.IntN(4) == 0 {
			return 0
		}
		return number() * float64(1-2*rng.IntN(2))
	}
	m := &magnitudes{a: number(), b: signed(), d: signed(), l: 0, u: number(), row: rng.IntN(3) == 0, e: signed(), h: number(), q: signed()}
	if m.lo, m.hi = signed(), signed(); m.lo != 0 && rng.IntN(2) == 0 {
		m.hi = m.lo * float64(rng.IntN(20)-9) / 10
	}
	if m.lo > m.hi {
		m.lo, m.hi = m.hi, m.lo
	}
	for i := range m.f {
		m.f[i] = signed()
	}
	if rng.IntN(3) == 0 {
		m.a = 0
	} else if rng.IntN(2) == 0 {
		m.u = math.Inf(1)
	}
	switch {
	case rng.IntN(3) > 0:
	case math.IsInf(m.u, 1):
		m.l = signed()
	default: // a box of one size
		m.l = m.u * float64(rng.IntN(20)-9) / 10
		m.l, m.u = min(m.l, m.u), max(m.l, m.u)
	}
	return m
}

func (m *magnitudes) text() string {
	var b strings.Builder
	sum := func(parts ...any) string {
		var out []string
		for i := 0; i < len(parts); i += 2 {
			if c := parts[i].(float64); c != 0 {
				out = append(out, strings.Trim(fmt.Sprintf("%g * %s", c, parts[i+1]), " "))
			}
		}
		if len(out) == 0 {
			return "0"
		}
		return strings.ReplaceAll(strings.Join(out, " + "), "+ -", "- ")
	}
	end := fmt.Sprintf("%g", m.u)
	if math.IsInf(m.u, 1) {
		end = "inf"
	}
	fmt.Fprintf(&b, "model magnitudes\nupper {\n  var x: real in box(%g, %g)\n  minimize %s\n}\n", m.lo, m.hi, sum(m.f[0], "x", m.f[1], "y", m.f[2], "x * y", m.f[3], "x^2"))
	fmt.Fprintf(&b, "lower {\n  var y: real in box(%g, %s)\n  minimize %s\n", m.l, end, sum(m.a/2, "y^2", m.b, "y", m.d, "x * y"))
	if m.row {
		fmt.Fprintf(&b, "  subject to\n    r: %s <= %g\n", sum(m.e, "x", m.h, "y"), m.q)
	}
	b.WriteString("}\nsolve { ties = optimistic }\n")
	return b.String()
}

func rat(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }

func ratio(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }

func plus(terms ...*big.Rat) *big.Rat {
	sum := new(big.Rat)
	for _, t := range terms {
		sum.Add(sum, t)
	}
	return sum
}

func product(factors ...*big.Rat) *big.Rat {
	out := big.NewRat(1, 1)
	for _, f := range factors {
		out.Mul(out, f)
	}
	return out
}

// answers are the ends of the follower's answers at x, none where nothing is feasible, and the size of the terms that they are made of.
// Rows and bounds may contradict each other by slack times these terms.
func (m *magnitudes) answers(x *big.Rat, slack float64) (ends []*big.Rat, terms float64) {
	size := func(v *big.Rat) { f, _ := v.Float64(); terms = math.Max(terms, math.Abs(f)) }
	l := rat(m.l)
	var u *big.Rat
	if !math.IsInf(m.u, 1) {
		u = rat(m.u)
	}
	if m.row {
		r := ratio(plus(rat(m.q), product(rat(-m.e), x)), rat(m.h))
		size(ratio(rat(m.q), rat(m.h)))
		size(ratio(product(rat(m.e), x), rat(m.h)))
		if u == nil || r.Cmp(u) < 0 {
			u = r
		}
	}
	if u != nil && u.Cmp(l) < 0 {
		if gap, _ := plus(l, product(big.NewRat(-1, 1), u)).Float64(); slack == 0 || !(gap <= slack*terms) {
			return nil, terms
		}
		u = l
	}
	slope := plus(rat(m.b), product(rat(m.d), x))
	if m.a == 0 {
		switch {
		case slope.Sign() > 0:
			return []*big.Rat{l}, terms
		case slope.Sign() < 0:
			return []*big.Rat{u}, terms
		}
		return []*big.Rat{l, u}, terms
	}
	size(ratio(rat(m.b), rat(m.a)))
	size(ratio(product(rat(m.d), x), rat(m.a)))
	y := ratio(slope, rat(-m.a))
	if y.Cmp(l) < 0 {
		y = l
	}
	if u != nil && y.Cmp(u) > 0 {
		y = u
	}
	return []*big.Rat{y}, terms
}

// value is f and the size of its terms.
func (m *magnitudes) value(x, y *big.Rat) (value *big.Rat, terms float64) {
	value = new(big.Rat)
	for i, t := range []*big.Rat{x, y, product(x, y), product(x, x)} {
		t = product(rat(m.f[i]), t)
		f, _ := t.Float64()
		value, terms = plus(value, t), terms+math.Abs(f)
	}
	return value, terms
}

// least is the least value of F and a point of it; nil where nothing is feasible.
func (m *magnitudes) least() (best, at *big.Rat, size float64) {
	var cuts []*big.Rat // lines of y over x cross, and follower's answers jump
	lines := [][2]*big.Rat{{rat(m.l), new(big.Rat)}}
	if !math.IsInf(m.u, 1) {
		lines = append(lines, [2]*big.Rat{rat(m.u), new(big.Rat)})
	}
	if m.row {
		lines = append(lines, [2]*big.Rat{ratio(rat(m.q), rat(m.h)), ratio(rat(-m.e), rat(m.h))})
	}
	if m.a != 0 {
		lines = append(lines, [2]*big.Rat{ratio(rat(-m.b), rat(m.a)), ratio(rat(-m.d), rat(m.a))})
	} else if m.d != 0 {
		cuts = append(cuts, ratio(rat(-m.b), rat(m.d)))
	}
	for i, p := range lines {
		for _, q := range lines[:i] {
			if by := plus(p[1], product(big.NewRat(-1, 1), q[1])); by.Sign() != 0 {
				cuts = append(cuts, ratio(plus(q[0], product(big.NewRat(-1, 1), p[0])), by))
			}
		}
		// f along the line: (f0 + f1 p1 + f2 p0) x + (f2 p1 + f3) x^2
		if c := plus(product(rat(m.f[2]), p[1]), rat(m.f[3])); c.Sign() != 0 {
			b := plus(rat(m.f[0]), product(rat(m.f[1]), p[1]), product(rat(m.f[2]), p[0]))
			cuts = append(cuts, ratio(b, product(big.NewRat(-2, 1), c)))
		}
	}
	lo, hi := rat(m.lo), rat(m.hi)
	for _, x := range append(cuts, lo, hi) {
		if x.Cmp(lo) < 0 || x.Cmp(hi) > 0 {
			continue
		}
		ends, _ := m.answers(x, 0)
		for _, y := range ends {
			if v, terms := m.value(x, y); best == nil || v.Cmp(best) < 0 {
				best, at, size = v, x, terms
			}
		}
	}
	return best, at, size
}

// judge is what is false of a result, "" where nothing is.
func (m *magnitudes) judge(r *runtime.Result) string {
	const part = 1e-6
	best, at, size := m.least()
	switch r.Status {
	case runtime.Infeasible:
		if best != nil {
			x, _ := at.Float64()
			v, _ := best.Float64()
			return fmt.Sprintf("infeasible, F = %v at x = %v", v, x)
		}
		return ""
	case runtime.Unbounded:
		return "unbounded"
	}
	if r.Status != runtime.Solved {
		return ""
	}
	if best == nil {
		return "solved, and nothing is feasible"
	}
	get := func(vs runtime.Values, name string) float64 { v, _ := vs.Get(name); return v.Data[0] }
	xf, yf, ff := get(r.Upper.Variables, "x"), get(r.Lower.Variables, "y"), float64(r.Upper.Objective)
	if math.IsNaN(xf+yf+ff) || math.IsInf(xf, 0) || math.IsInf(yf, 0) || math.IsInf(ff, 0) {
		return fmt.Sprintf("solved at x = %v, y = %v, F = %v", xf, yf, ff)
	}
	x, y := rat(xf), rat(yf)
	v, terms := m.value(x, y)
	f, _ := plus(v, product(big.NewRat(-1, 1), rat(ff))).Float64()
	if math.Abs(f) > part*terms {
		return fmt.Sprintf("F = %v, and f is off that by %v (terms %v)", ff, f, terms)
	}
	xs, ys := math.Max(math.Abs(m.lo), math.Abs(m.hi)), math.Abs(yf)
	if !math.IsInf(m.u, 1) {
		ys = math.Max(ys, math.Abs(m.u))
	}
	if xf < m.lo-part*xs || xf > m.hi+part*xs {
		return fmt.Sprintf("x = %v is out of its box", xf)
	}
	swing := 0.0 // of y as x moves through its range
	if m.a != 0 {
		swing = math.Abs(m.d) * xs / m.a
	}
	if m.row {
		swing = math.Max(swing, math.Abs(m.e)*xs/m.h)
	}
	ends, far := m.answers(x, part)
	near := false // y is between two ends, to rounding
	if len(ends) > 0 {
		a, _ := plus(y, product(big.NewRat(-1, 1), ends[0])).Float64()
		b, _ := plus(y, product(big.NewRat(-1, 1), ends[len(ends)-1])).Float64()
		tolerance := part*math.Max(far, math.Abs(yf)) + 1e-12*swing
		near = a >= -tolerance && b <= tolerance
	}
	// x may miss a jump by rounding
	slope, _ := plus(rat(m.b), product(rat(m.d), x)).Float64()
	tied := m.a == 0 && math.Abs(slope) <= part*math.Abs(m.b)
	if !near && !tied {
		out := []float64{}
		for _, e := range ends {
			v, _ := e.Float64()
			out = append(out, v)
		}
		return fmt.Sprintf("y = %v at x = %v, the answers are %v (terms %v)", yf, xf, out, far)
	}
	if r.Global == nil {
		return ""
	}
	// x and y are known to rounding of their ranges
	rounding := 1e-12 * (math.Abs(m.f[0])*xs + math.Abs(m.f[1])*math.Max(ys, swing) + math.Abs(m.f[2])*xs*math.Max(ys, swing) + math.Abs(m.f[3])*xs*xs)
	size = math.Max(size, math.Max(terms, rounding/part))
	gap, _ := plus(rat(ff), product(big.NewRat(-1, 1), best)).Float64()
	if r.Global.Proved && gap > 2*part*size {
		return fmt.Sprintf("proved, F = %v at x = %v, and less by %v (terms %v)", ff, xf, gap, size)
	}
	if b := float64(r.Global.Bound); !math.IsInf(b, 0) && !math.IsNaN(b) {
		if over, _ := plus(rat(b), product(big.NewRat(-1, 1), best)).Float64(); over > part*size {
			return fmt.Sprintf("bound %v is above F by %v (terms %v)", b, over, size)
		}
	}
	return ""
}

// TestMagnitudes: whatever the sizes of a model's numbers are, from 1e-300 to 1e300, what is said of it is true: a model may be refused, or have no answer.
func TestMagnitudes(t *testing.T) {
	statuses := map[string]int{}
	for k := range members.Known(t, 400) {
		rng := rand.New(rand.NewPCG(k, 33))
		most := []int{3, 10, 20, 50, 100, 150, 300}[rng.IntN(7)]
		m := randomMagnitudes(rng, most)
		text := m.text()
		model, err := runtime.Compile("test.blv", text)
		if err != nil {
			statuses["refused"]++
			continue
		}
		p, err := model.Bind(nil, runtime.BindOptions{Seed: 1})
		if err != nil {
			statuses["refused at bind"]++
			continue
		}
		r, err := p.Solve(context.Background(), runtime.Options{Seed: 1, TimeLimit: time.Second})
		if err != nil {
			statuses["refused at solve"]++
			continue
		}
		statuses[fmt.Sprintf("%d %s", most, r.Status)]++
		if wrong := m.judge(r); wrong != "" {
			t.Errorf("%d (1e%d): %s: %s\n%s", k, most, wrong, r.Reason, text)
			continue
		}
		if r.Status == runtime.Solved && !verified(p, r) {
			report, err := p.Verify(r)
			t.Errorf("%d (1e%d): does not verify: %v %v\n%s", k, most, report, err, text)
		}
	}
	t.Log(statuses)
}
