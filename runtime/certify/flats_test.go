package certify

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// TestPinned: two bounds of an entry of y that are the same function of x pin it, whatever factors
// they are written with; two that differ in a coefficient of x, in the constant, in their side or
// in the entry do not; an equation is a bound on both sides.
func TestPinned(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 41))
		dx, dy := 1+rng.IntN(3), 2+rng.IntN(3)
		a, c, j := make([]float64, dx), float64(rng.IntN(7)-3), rng.IntN(dy)
		for k := range a {
			a[k] = float64(rng.IntN(7) - 3)
		}
		// y_j >= a'x + c and y_j <= a'x + c, times powers of two, so that products are exact.
		first, second := math.Ldexp(1, rng.IntN(7)-3), -math.Ldexp(1, rng.IntN(7)-3)
		kinds := []problem.Kind{problem.AtMost, problem.AtMost}
		other, entry, want := slices.Clone(a), j, true
		rhs := c
		switch seed % 6 {
		case 1:
			other[rng.IntN(dx)] += 1
			want = false
		case 2:
			rhs++
			want = false
		case 3: // both from below
			second = -second
			want = false
		case 4:
			entry = (j + 1) % dy
			want = false
		case 5: // an equation, of either sign
			kinds[1] = problem.Equal
			if rng.IntN(2) == 0 {
				second = -second
			}
		}
		var as, bs []sparse.Entry
		for k := range a {
			as = append(as, sparse.Entry{Row: 0, Col: k, Val: first * a[k]}, sparse.Entry{Row: 1, Col: k, Val: second * other[k]})
		}
		bs = append(bs, sparse.Entry{Row: 0, Col: j, Val: first}, sparse.Entry{Row: 1, Col: entry, Val: second})
		p := &problem.Problem{Dx: dx, Dy: dy, Rows: &problem.Rows{Kind: kinds, Rhs: []float64{-first * c, -second * rhs},
			A: sparse.FromEntries(2, dx, as), B: sparse.FromEntries(2, dy, bs)}}
		if got := (&deriver{p: p}).pinned(0); got != want {
			t.Errorf("seed %d: pinned is %v: %g y[%d] against %v x + %g and %g y[%d] against %v x + %g, %v", seed, got, first, j, a, c, second, entry, other, rhs, kinds)
		}
		// A row of two entries is no bound.
		p.Rows.B = sparse.FromEntries(2, dy, append(bs, sparse.Entry{Row: 0, Col: (j + 1) % dy, Val: 1}))
		if (&deriver{p: p}).pinned(0) {
			t.Errorf("seed %d: a row of two entries is pinned", seed)
		}
	}
}

// TestAcross: a direction is across X where X has no width along it, by an equation, an entry of one
// value, or two rows that meet; a normal of one side alone, at a bound or at a row, is not, nor is a
// direction along which X goes on.
func TestAcross(t *testing.T) {
	counts := map[bool]int{}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 43))
		p := kink()
		p.Dx = 2 + rng.IntN(3)
		p.F = quadratic{c: make([]float64, p.Dx), d: []float64{2}}
		p.Rows.A = sparse.FromEntries(1, p.Dx, nil)
		unit := math.Pow(10, float64(rng.IntN(13)-6))
		x, normal := make([]float64, p.Dx), make([]float64, p.Dx)
		p.X = &problem.Set{E: sparse.FromEntries(0, p.Dx, nil)}
		for j := range x {
			x[j] = unit * (2*rng.Float64() - 1) / 2
			p.X.Lo, p.X.Hi = append(p.X.Lo, -unit), append(p.X.Hi, unit)
			normal[j] = rng.NormFloat64()
		}
		rows := func(kind problem.Kind, signs ...float64) {
			var entries []sparse.Entry
			for i, sign := range signs {
				for j, v := range normal {
					entries = append(entries, sparse.Entry{Row: i, Col: j, Val: sign * v})
				}
				p.X.Kind, p.X.Name = append(p.X.Kind, kind), append(p.X.Name, "row")
			}
			p.X.E = sparse.FromEntries(len(signs), p.Dx, entries)
			for i := range signs {
				p.X.Rhs = append(p.X.Rhs, p.X.E.RowDot(i, x))
			}
		}
		want := true
		switch seed % 6 {
		case 0:
			rows(problem.Equal, 1)
		case 1:
			rows(problem.AtMost, 1, -1)
		case 2: // one value
			j := rng.IntN(p.Dx)
			p.X.Lo[j], p.X.Hi[j] = x[j], x[j]
			clear(normal)
			normal[j] = 1
		case 3: // one side
			rows(problem.AtMost, 1)
			want = false
		case 4: // a bound
			j := rng.IntN(p.Dx)
			x[j] = unit
			clear(normal)
			normal[j] = 1
			want = false
		case 5: // an equation, and a direction off its normal
			rows(problem.Equal, 1)
			normal[rng.IntN(p.Dx)] += 0.1 * norm(normal)
			want = false
		}
		direction := scaled(normal, 1/norm(normal))
		d := newDeriver(p, x, []float64{0}, []float64{0})
		for _, sign := range []float64{1, -1} {
			if got := d.across(x, []float64{0}, scaled(direction, sign)); got != want {
				t.Errorf("seed %d: across is %v along %v of X at %v", seed, got, scaled(direction, sign), x)
			}
			counts[want]++
		}
	}
	if counts[true] < 200 || counts[false] < 200 {
		t.Errorf("directions: %v", counts)
	}
}

// TestAnswersAreDerivedAgain: a y that is off, by however much over the tolerance, in a document that
// claims nothing else, is refused as an answer, and one that is y* is not.
func TestAnswersAreDerivedAgain(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 47))
		x := []float64{rng.NormFloat64(), math.Abs(rng.NormFloat64())}
		y := []float64{math.Max(0, x[0])} // min y^2/2 - x_1 y over y >= 0
		lambda := []float64{math.Max(0, -x[0])}
		refused := func(y float64) bool {
			report := Verify(&Document{X: x, Y: []float64{y}, Lambda: lambda}, kink())
			return slices.ContainsFunc(report.Failures(), func(c Check) bool { return strings.Contains(c.Claim, AnswerClaim) })
		}
		if refused(y[0]) {
			t.Errorf("seed %d: y* = %v of x = %v is refused", seed, y[0], x)
		}
		if off := y[0] + math.Pow(10, 1-4*rng.Float64()); !refused(off) {
			t.Errorf("seed %d: %v is taken for y* = %v of x = %v", seed, off, y[0], x)
		}
	}
}
