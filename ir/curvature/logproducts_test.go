package curvature

import (
	"math"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/ir/expr"
)

// The second derivative of (a y + b) log(c y + d) is enclosed where c y + d > 0, also up to where it has no end, and no more than closely: the truth is its formula at many points, 2ac/v - (a y + b) c^2/v^2 with v = c y + d.
// The curve of y log(y + d) is positive for y >= 0 and d > 0, which a product of ranges does not show.
func TestAffineTimesLog(t *testing.T) {
	rng := members.Rand(t, 7)
	number := func() float64 { return math.Exp(3*rng.NormFloat64()) * float64(1-2*rng.IntN(2)) }
	for trial := range members.Count(2000) {
		a, b, c := number(), number(), number()
		lo, hi := number(), 0.0
		width := math.Abs(number()) + math.Abs(lo)*0x1p-20
		least := math.Abs(number()) + (math.Abs(lo)+width)*math.Abs(c)*1e-6 // of v
		if trial%4 == 0 {
			a, b, c, lo = 1, 0, 1, 0
		}
		endless := trial%3 == 0
		if hi = lo + width; c < 0 {
			lo, hi = -hi, -lo
		}
		edge := lo // where v is least
		if c < 0 {
			edge = hi
		}
		d := least - c*edge
		r := Interval{lo, hi}
		if endless && c < 0 {
			r.Lo = math.Inf(-1)
		} else if endless {
			r.Hi = math.Inf(1)
		}
		g := expr.NewBuilder()
		y := g.Var("y", true, 0, expr.ScalarShape(), noSpan)
		affine := func(slope, at float64) *expr.Node {
			return g.Binary(expr.Add, g.Binary(expr.Mul, g.Number(slope), y, noSpan), g.Number(at), noSpan)
		}
		root := g.Binary(expr.Mul, affine(a, b), g.Unary(expr.Log, affine(c, d), noSpan), noSpan)
		s := newStudy(g, root, expr.DependsY, domain{y: []Interval{r}}, &budget{left: 1e9})
		got := s.slopesOf(root)[0].d2
		from, to := math.Inf(1), math.Inf(-1)
		terms := 0.0
		for k := range 20001 {
			share := float64(k) / 20000
			step := share * width
			if endless {
				step = least / math.Abs(c) * (math.Exp(40*share) - 1)
			} else if k%2 == 0 { // close to the edge, too
				step = width * math.Pow(1e-12, share)
			}
			at := edge + math.Copysign(step, c)
			v := least + math.Abs(c)*step
			value := (2*a*v - (a*at+b)*c) * c / (v * v)
			terms = math.Max(terms, (2*math.Abs(a)*v+(math.Abs(a)*(math.Abs(edge)+step)+math.Abs(b))*math.Abs(c))*math.Abs(c)/(v*v))
			from, to = math.Min(from, value), math.Max(to, value)
		}
		rounding := 1e-9 * terms
		if !(got.Lo <= from+rounding && got.Hi >= to-rounding) {
			t.Errorf("trial %d: (%v y + %v) log(%v y + %v) over %v: %v does not hold [%v, %v]", trial, a, b, c, d, r, got, from, to)
		}
		if slack := 1e-3*(to-from) + rounding; !(got.Lo >= from-slack && got.Hi <= to+slack) {
			t.Errorf("trial %d: (%v y + %v) log(%v y + %v) over %v: %v is wide beside [%v, %v]", trial, a, b, c, d, r, got, from, to)
		}
		if trial%4 == 0 && !(got.Lo >= 0) {
			t.Errorf("trial %d: y log(y + %v) over %v: second derivative in %v", trial, d, r, got)
		}
	}
}
