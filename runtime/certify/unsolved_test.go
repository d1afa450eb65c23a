package certify

import (
	"math"
	"math/rand/v2"
	"reflect"
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

// That no x satisfies the upper constraints, y <= end or y = end of a follower y = x over [-1, 1], is accepted where none does and their violation is least, and nowhere that one does.
func TestInfeasibleOnlyWhereNoPointIs(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 15))
	accepted, refused := 0, 0
	for trial := range 300 {
		slope, end, unit := rng.NormFloat64(), float64(rng.IntN(9))/4-2.1, math.Pow(10, float64(rng.IntN(17)-8))
		at, width := []float64{-1, -1, 0, 1, rng.Float64()}[rng.IntN(5)], []float64{1, 1e3, 1e-3}[trial%3]
		x := []float64{width * at}
		kind := problem.AtMost
		if rng.IntN(3) == 0 {
			if kind = problem.Equal; rng.IntN(2) == 0 {
				end = -end
			}
		}
		p := &problem.Problem{Name: "pushed", Dx: 1, Dy: 1, F: formula(pushed(slope, width*end, unit)), G: quadratic{a: []float64{1}, b: []float64{1}},
			Rows:    &problem.Rows{Kind: make([]problem.Kind, 1), A: sparse.FromEntries(1, 1, nil), B: sparse.FromDense(1, 1, []float64{1}), Rhs: []float64{10 * width}}, // far below
			X:       &problem.Set{Lo: []float64{-width}, Hi: []float64{width}, E: sparse.FromEntries(0, 1, nil)},
			Coupled: &problem.Coupled{Kind: []problem.Kind{kind}, Name: []string{"end"}, Weight: []float64{1}},
			Facts:   problem.Facts{StrongConvexity: 1, QuadraticInY: true, FixedHessian: true}}
		c, w := unit*(x[0]-width*end), 1e4*(1+math.Abs(slope))/unit
		var active []int
		gradient, share := slope, 0.0
		if c > 0 {
			gradient, share, active = slope+w*unit, w, []int{1} // behind the follower's row
		} else if kind == problem.Equal {
			gradient, share = slope-w*unit, -w
		}
		normal := []float64{0}
		if at == -1 {
			normal[0] = math.Min(0, -gradient)
		} else if at == 1 {
			normal[0] = math.Max(0, -gradient)
		}
		doc := &Document{X: x, Y: x, Lambda: []float64{0}, Upper: slope * x[0], Infeasible: true,
			Coupled: &Coupled{Values: []float64{c}, Penalty: []float64{w}, Multipliers: []float64{share}},
			Certificate: &Certificate{Lower: lowerOf(p, x, x, []float64{0}, nil),
				Goldstein: goldsteinOf(1e-9*width, []Sample{{Point: x, Gradient: []float64{gradient}, Weight: 1, Active: active}}, normal, 0)}}
		r := Verify(doc, p)
		none := end < -1 || kind == problem.Equal && end > 1
		want := none && (at == -1 && end < -1 || at == 1 && end > 1)
		if ok := !fails(r, "infeasible"); ok && !none || want && !ok {
			t.Errorf("trial %d: y <= %v at %v, slope %v, unit %v: accepted is %v: %v", trial, width*end, x, slope, unit, ok, r.Failures())
		}
		if want {
			accepted++
			requireOK(t, "infeasible", r)
			if slope > 0 && at == -1 { // a penalty of less than F gains over X, beside which the point is stationary as well
				light := *doc
				w := 0.3 * slope * 2 * width / c
				gradient := slope + w*unit
				light.Coupled = &Coupled{Values: []float64{c}, Penalty: []float64{w}, Multipliers: []float64{w}}
				light.Certificate = &Certificate{Lower: doc.Certificate.Lower,
					Goldstein: goldsteinOf(1e-9*width, []Sample{{Point: x, Gradient: []float64{gradient}, Weight: 1, Active: active}}, []float64{-gradient}, 0)}
				if r := Verify(&light, p); len(r.Failures()) != 1 || !fails(r, "F over X, by the penalty") {
					t.Errorf("trial %d: a light penalty: %v", trial, r.Failures())
				}
			}
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
		r.check(claim, true, "")
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
