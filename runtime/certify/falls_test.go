package certify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// beside is F = phi((x_1 - pole) / unit), by phi and its derivative.
type beside struct {
	pole, unit float64
	phi, slope func(u float64) float64
}

func (f beside) ValueGrad(dx, dy, x, y []float64) float64 {
	clear(dx)
	clear(dy)
	u := (x[0] - f.pole) / f.unit
	dx[0] = f.slope(u) / f.unit
	return f.phi(u)
}

// TestPolesAreNoMinima: a document whose samples are on both sides of a pole, so that their
// combination is as small a part of them as one likes, is refused where F falls without a limit
// there, and is not for that where F has a minimum, a kink, a root or a jump, in any units.
func TestPolesAreNoMinima(t *testing.T) {
	sign := func(u float64) float64 { return math.Copysign(1, u) }
	rng := rand.New(rand.NewPCG(38, 8))
	for _, c := range []struct {
		name       string
		phi, slope func(u float64) float64
		pole       bool
	}{
		{"-1/u^2", func(u float64) float64 { return -1 / (u * u) }, func(u float64) float64 { return 2 / (u * u * u) }, true},
		{"1/u", func(u float64) float64 { return 1 / u }, func(u float64) float64 { return -1 / (u * u) }, true},
		{"log u^2", func(u float64) float64 { return math.Log(u * u) }, func(u float64) float64 { return 2 / u }, true},
		{"-|u|^-0.5", func(u float64) float64 { return -1 / math.Sqrt(math.Abs(u)) }, func(u float64) float64 { return 0.5 * sign(u) * math.Pow(math.Abs(u), -1.5) }, true},
		{"|u|", math.Abs, sign, false},
		{"|u|^0.5", func(u float64) float64 { return math.Sqrt(math.Abs(u)) }, func(u float64) float64 { return 0.5 * sign(u) / math.Sqrt(math.Abs(u)) }, false},
		{"log(u^2 + 1e-10)", func(u float64) float64 { return math.Log(u*u + 1e-10) }, func(u float64) float64 { return 2 * u / (u*u + 1e-10) }, false},
		{"log(u^2 + 1e-20)", func(u float64) float64 { return math.Log(u*u + 1e-20) }, func(u float64) float64 { return 2 * u / (u*u + 1e-20) }, false},
		{"a jump", func(u float64) float64 { return 1 + u + sign(u) }, func(u float64) float64 { return 1 }, false},
	} {
		for range 40 {
			unit, far := math.Pow(10, float64(rng.IntN(13)-6)), float64(rng.IntN(3))
			f := beside{unit * far * rng.NormFloat64(), unit, c.phi, c.slope}
			p := &problem.Problem{Name: "beside", Dx: 1, Dy: 1, F: formula(f.ValueGrad), G: quadratic{a: []float64{1}},
				Rows:  &problem.Rows{A: sparse.FromEntries(0, 1, nil), B: sparse.FromEntries(0, 1, nil)},
				X:     &problem.Set{Lo: []float64{f.pole - unit}, Hi: []float64{f.pole + 2*unit}, E: sparse.FromEntries(0, 1, nil)},
				Facts: problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
			off := unit * math.Pow(10, -7-5*rng.Float64()) * sign(rng.Float64()-0.5)
			x := []float64{f.pole + off}
			if f.phi(off/unit) > f.phi(-off/unit) { // the lower side
				x[0] = f.pole - off
			}
			other := []float64{2*f.pole - x[0]}
			g, h := make([]float64, 1), make([]float64, 1)
			value := f.ValueGrad(g, make([]float64, 1), x, []float64{0})
			f.ValueGrad(h, make([]float64, 1), other, []float64{0})
			doc := &Document{X: x, Y: []float64{0}, Lambda: []float64{}, Upper: value, Hypergradient: g, Solved: true, Stationary: true,
				Certificate: &Certificate{Lower: lowerOf(p, x, []float64{0}, []float64{}, nil),
					Goldstein: goldsteinOf(1e-6*unit, []Sample{{Point: x, Gradient: g, Weight: 0.5}, {Point: other, Gradient: h, Weight: 0.5}}, nil, 0)}}
			failed := slices.ContainsFunc(Verify(doc, p).Failures(), func(f Check) bool { return f.Claim == "solved: F has a limit near the point" })
			if failed != c.pole {
				t.Errorf("%s at %g, unit %g, from %g: refused is %v", c.name, f.pole, unit, x[0]-f.pole, fmt.Sprint(failed))
			}
		}
	}
}

// TestPolesNeedAnAnswer: where the lower level could not be derived, which a document is refused for, nothing is followed down.
func TestPolesNeedAnAnswer(t *testing.T) {
	doc := solvedKink()
	doc.Hypergradient = []float64{1e9, 1e9}
	v := &verification{doc: doc, p: kink(), d: &deriver{s: &scales{x: 1, width: []float64{1, 1}}}}
	if v.bounded(); len(v.Checks) != 0 {
		t.Errorf("checked: %v", v.Checks)
	}
}

// TestFallsNeedAnAnswer: nor along the way from the start, whatever the measure lets F fall by; nor with constraints of the upper level that may be what ends the way.
func TestFallsNeedAnAnswer(t *testing.T) {
	for _, at := range []*derived{nil, {y: []float64{0}}} {
		doc := solvedKink()
		if doc.X = []float64{1, 1}; at != nil {
			doc.Coupled = &Coupled{}
		}
		v := &verification{doc: doc, p: kink(), at: at}
		if v.descending(1e9); len(v.Checks) != 0 {
			t.Errorf("checked: %v", v.Checks)
		}
	}
}
