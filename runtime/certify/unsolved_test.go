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

// fails reports whether a check with this in its claim fails.
func fails(r *Report, claim string) bool {
	return slices.ContainsFunc(r.Failures(), func(c Check) bool { return strings.Contains(c.Claim, claim) })
}

// An answer that cannot be derived again is refused.
func TestAnswersThatCannotBeDerived(t *testing.T) {
	p := kink()
	g := p.G
	p.G = formula(func(dx, dy, x, y []float64) float64 {
		value := g.ValueGrad(dx, dy, x, y)
		if y[0] != 0 || x[0] != 0 {
			dy[0] = math.NaN()
		}
		return value
	})
	doc := kinkDocument()
	doc.Solved, doc.Stationary = true, true
	if !fails(Verify(doc, p), AnswerClaim) {
		t.Error("it is not refused for that")
	}
}

// A document that calls its own lower level not solved claims nothing that would follow from it.
func TestRoughDocumentsClaimNothing(t *testing.T) {
	for name, change := range map[string]func(*Document){
		"":              func(*Document) {},
		"a gradient":    func(d *Document) { d.Hypergradient = []float64{1, 1} },
		"strict":        func(d *Document) { d.Strict = true },
		"a certificate": func(d *Document) { d.Certificate.Goldstein = kinkDocument().Certificate.Goldstein },
		"a gradient mapping": func(d *Document) {
			d.Certificate.GradientMapping = mappingOf(1, d.X, []float64{1, 1}, []float64{-1, 0}, 0)
		},
	} {
		doc := kinkDocument()
		doc.Rough, doc.Certificate.Goldstein = true, nil
		change(doc)
		r := Verify(doc, kink())
		if fails(r, "no gradient of F where the lower level is not solved") != (name != "") || name == "" && !r.OK() {
			t.Errorf("%q: %v", name, r.Failures())
		}
	}
}

// How far a point is from where X is nearest to 0.
func TestDistanceFromWhereXIsNearestToZero(t *testing.T) {
	inf := math.Inf(1)
	v := &verification{p: &problem.Problem{X: &problem.Set{Lo: []float64{5, -7, -1, -inf, 2}, Hi: []float64{7, -5, 1, inf, inf}}}, doc: &Document{X: []float64{6, -6.5, 0.5, 3, 2}}}
	if got, want := v.fromX(), []float64{1, -1.5, 0.5, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// pushed is f = slope x beside the constraint y - end <= 0, in a unit.
func pushed(slope, end, unit float64) func(dx, dz, x, z []float64) float64 {
	return func(dx, dz, x, z []float64) float64 {
		c := unit * (z[0] - end)
		dx[0], dz[0], dz[1] = slope, unit*z[1], c
		return slope*x[0] + z[1]*c
	}
}

// That no x satisfies the upper constraints, y <= end of a follower y = x over [-1, 1], is accepted where none does and their violation is least, and nowhere that one does.
func TestInfeasibleOnlyWhereNoPointIs(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 15))
	accepted, refused := 0, 0
	for trial := range 300 {
		slope, end, unit := rng.NormFloat64(), float64(rng.IntN(9))/4-2.1, math.Pow(10, float64(rng.IntN(7)-3))
		x := []float64{[]float64{-1, -1, 0, 1, rng.Float64()}[rng.IntN(5)]}
		p := &problem.Problem{Name: "pushed", Dx: 1, Dy: 1, F: formula(pushed(slope, end, unit)), G: quadratic{a: []float64{1}, b: []float64{1}},
			Rows:    &problem.Rows{A: sparse.FromEntries(0, 1, nil), B: sparse.FromEntries(0, 1, nil)},
			X:       &problem.Set{Lo: []float64{-1}, Hi: []float64{1}, E: sparse.FromEntries(0, 1, nil)},
			Coupled: &problem.Coupled{Kind: []problem.Kind{problem.AtMost}, Name: []string{"end"}, Weight: []float64{1}},
			Facts:   problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
		c, w := unit*(x[0]-end), 1e4*(1+math.Abs(slope))/unit
		var active []int
		gradient, share := slope, 0.0
		if c > 0 {
			gradient, share, active = slope+w*unit, w, []int{0}
		}
		normal := []float64{0}
		if x[0] == -1 {
			normal[0] = math.Min(0, -gradient)
		} else if x[0] == 1 {
			normal[0] = math.Max(0, -gradient)
		}
		doc := &Document{X: x, Y: x, Lambda: []float64{}, Upper: slope * x[0], Infeasible: true,
			Coupled: &Coupled{Values: []float64{c}, Penalty: []float64{w}, Multipliers: []float64{share}},
			Certificate: &Certificate{Lower: lowerOf(p, x, x, []float64{}, nil),
				Goldstein: goldsteinOf(1e-9, []Sample{{Point: x, Gradient: []float64{gradient}, Weight: 1, Active: active}}, normal, 0)}}
		r := Verify(doc, p)
		want := end < -1 && x[0] == -1
		if ok := !fails(r, "infeasible"); ok && end >= -1 || want && !ok {
			t.Errorf("trial %d: y <= %v at %v, slope %v, unit %v: accepted is %v: %v", trial, end, x, slope, unit, ok, r.Failures())
		}
		if want {
			accepted++
			requireOK(t, "infeasible", r)
			doc.Coupled.Multipliers = nil // they are claimed with it
			if Verify(doc, p).OK() {
				t.Error("multipliers that are missing are not missed")
			}
		} else {
			refused++
		}
	}
	if accepted < 30 || refused < 100 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}
