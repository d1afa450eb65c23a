package certify

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

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

// A certificate that JSON does not hold is told by each of its numbers.
func TestCertificatesAreFiniteInAllNumbers(t *testing.T) {
	multipliers := func() Multipliers {
		return Multipliers{Adjoint: []float64{1}, Slack: []float64{1}, Multiplier: []float64{1}, Bound: []float64{1}, Rows: []float64{1}, Extended: []float64{1}, Coupled: []float64{1}, Balls: []float64{1}}
	}
	fresh := func() *Certificate {
		c := kinkDocument().Certificate
		m := multipliers()
		c.GradientMapping, c.Gradient = mappingOf(1, []float64{0, 0}, []float64{1, 1}, []float64{1, 1}, 0), &m
		c.Strong = &Strong{Multipliers: multipliers(), Leaves: []StrongLeaf{{Multipliers: multipliers()}}}
		c.Ray = &Ray{X: []float64{1}, Y: []float64{1}, Multipliers: []float64{1}}
		return c
	}
	if !fresh().Finite() {
		t.Error("one of numbers is not finite")
	}
	for k := range numbersOf(reflect.ValueOf(fresh()), "certificate") {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			c := fresh()
			number := numbersOf(reflect.ValueOf(c), "certificate")[k]
			if number.value.SetFloat(v); c.Finite() {
				t.Errorf("%s is %v, and the certificate is finite", number.path, v)
			}
		}
	}
}

// What is wrong with y and its multipliers is told from what is wrong elsewhere.
func TestUnsolvedLowerLevels(t *testing.T) {
	for claim, want := range map[string]bool{kktClaims[0]: true, kktClaims[1]: true, kktClaims[2]: true, kktClaims[3]: true, AnswerClaim: true, ObjectiveClaim: false, "norm": false} {
		r := &Report{}
		r.Check(claim, true, "")
		if r.Unsolved() {
			t.Errorf("%s holds, and y is no answer", claim)
		}
		if r.fail(claim, "it does not hold"); r.Unsolved() != want {
			t.Errorf("%s fails: y is no answer is %v", claim, r.Unsolved())
		}
	}
}

// Offsets from the center of a ball.
func TestOffsetsFromTheCenterOfABall(t *testing.T) {
	x := []float64{9, 4, 6}
	if offset, length := fromCenter(&problem.Ball{Start: 1, End: 3, Center: []float64{1, 2}}, x); !slices.Equal(offset, []float64{3, 4}) || length != 5 {
		t.Errorf("%v of length %v", offset, length)
	}
	if offset, _ := fromCenter(&problem.Ball{Start: 1, End: 3}, x); !slices.Equal(offset, []float64{4, 6}) {
		t.Errorf("%v from 0", offset)
	}
}
