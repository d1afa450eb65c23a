package certify

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
)

// solvedKink is an honest document that says that the kink x = 0 of F is
// solved. Its numbers are written by hand.
func solvedKink() *Document {
	doc := kinkDocument()
	doc.Solved, doc.Stationary = true, true
	doc.Hypergradient = []float64{1, 1}
	doc.Certificate.Lower = &Lower{Active: []int{0}, Bound: rounded(1)}
	return doc
}

// at moves a document to x with y, lambda and a lower certificate, F and g by
// their formulas.
func at(doc *Document, x, y, lambda float64, lower *Lower) {
	doc.X, doc.Y, doc.Lambda = []float64{x, 0}, []float64{y}, []float64{lambda}
	doc.Upper, doc.Lower = 2*y-x, (y-x)*(y-x)/2
	doc.Certificate.Lower = lower
}

// TestForgeries tells consistent lies: every number that follows from the lie
// follows. Each must be refused, under the name of what is not so.
func TestForgeries(t *testing.T) {
	requireOK(t, "the honest document", Verify(solvedKink(), kink()))
	samples := func(doc *Document) []Sample { return doc.Certificate.Goldstein.Samples }
	again := func(doc *Document, normal ...float64) {
		g := doc.Certificate.Goldstein
		doc.Certificate.Goldstein = goldsteinOf(g.Delta, g.Samples, normal, g.GradientError)
	}
	for _, c := range []struct {
		claim string
		lie   func(doc *Document)
	}{
		{"sum of the weights", func(doc *Document) {
			samples(doc)[0].Weight, samples(doc)[1].Weight = 0.25, 0.25
			again(doc, 0, -0.5)
		}},
		{"sum of the weights", func(doc *Document) {
			samples(doc)[0].Weight, samples(doc)[1].Weight = 1e-9, 1e-9
			again(doc, 0, -2e-9)
		}},
		{"weight of at least 0", func(doc *Document) {
			s := samples(doc)
			s[0].Weight = 1.5
			third := s[0]
			third.Weight = -1
			doc.Certificate.Goldstein.Samples = append(s, third)
			again(doc, 0, -1)
		}},
		{"norm of the combination", func(doc *Document) {
			samples(doc)[0].Weight, samples(doc)[1].Weight = 1, 0
			again(doc, 0, -1)
			doc.Certificate.Goldstein.Norm, doc.Certificate.Goldstein.Epsilon = 0, 0
		}},
		{"normal vector", func(doc *Document) {
			samples(doc)[0].Weight, samples(doc)[1].Weight = 1, 0
			again(doc, -1, -1)
		}},
		{"within delta", func(doc *Document) { samples(doc)[0].Point = []float64{0.5, 0} }},
		{"radius delta", func(doc *Document) { doc.Certificate.Goldstein.Delta = 0.5 }},
		{"radius delta", func(doc *Document) { doc.Certificate.Goldstein.Delta = 0.02 }},
		{"solved: Goldstein measure", func(doc *Document) {
			samples(doc)[0].Weight, samples(doc)[1].Weight = 1, 0
			again(doc, 0, -1)
		}},
		{"solved: Goldstein measure", func(doc *Document) { // within the most that may be, not within what was asked
			doc.Epsilon = 1e-5
			samples(doc)[0].Weight, samples(doc)[1].Weight = 0.505, 0.495
			again(doc, 0, -1)
		}},
		{"solved: error of the gradients", func(doc *Document) {
			doc.Certificate.Goldstein.GradientError = 0.5
			again(doc, 0, -1)
		}},
		{"solved: error of the hypergradient", func(doc *Document) { doc.GradientError = 0.5 }},
		{"solved", func(doc *Document) { doc.Certificate.Goldstein = nil }},
		{"solved", func(doc *Document) { doc.Certificate.Lower = nil }},
		{"solved", func(doc *Document) { doc.Certificate = nil }},
		{"solved", func(doc *Document) { doc.Hypergradient = nil }},
		{"x is in X", func(doc *Document) { doc.X[1], doc.Upper = -0.1, -0.1 }},
		{"upper objective", func(doc *Document) { doc.Upper = 1e-3 }},
		{"lower objective", func(doc *Document) { doc.Lower = -1e-3 }},
		{"hypergradient", func(doc *Document) { doc.Hypergradient = []float64{0.3, 1} }},
		{StrictClaim, func(doc *Document) { doc.Strict = true }},
		// y = 0.5 at x = 0.5 is held at 0 by a multiplier that pulls.
		{"signs of the multipliers", func(doc *Document) {
			at(doc, 0.5, 0, -0.5, &Lower{Active: []int{0}, Residuals: problem.Residuals{Dual: 0.5}})
		}},
		{"feasibility", func(doc *Document) {
			at(doc, -0.5, -0.5, 0, &Lower{Active: []int{}, Residuals: problem.Residuals{Primal: 0.5}, Bound: rounded(1)})
		}},
		{"claimed residual of feasibility", func(doc *Document) {
			at(doc, -0.5, -0.5, 0, &Lower{Active: []int{}, Bound: rounded(1)})
		}},
		{"complementarity", func(doc *Document) {
			at(doc, 0.5, 1, 0.5, &Lower{Active: []int{}, Residuals: problem.Residuals{Complementarity: 0.5}, Bound: &Bound{Modulus: 1, Gap: 0.5, Distance: 1}})
		}},
		{"claimed residual of complementarity", func(doc *Document) {
			at(doc, 0.5, 1, 0.5, &Lower{Active: []int{}, Bound: &Bound{Modulus: 1, Gap: 0.5, Distance: 1}})
		}},
		{"gap of the lower level", func(doc *Document) { // -lambda'h = 0.5 is left out
			at(doc, 0.5, 1, 0.5, &Lower{Active: []int{}, Residuals: problem.Residuals{Complementarity: 0.5}, Bound: rounded(1)})
		}},
		{"gap of the lower level", func(doc *Document) { // |r|^2/2 = 5e-7 is left out
			at(doc, 0.5, 0.501, 0, &Lower{Active: []int{}, Residuals: problem.Residuals{Stationarity: 1e-3}, Bound: rounded(1)})
		}},
		{"stationarity of the lower level", func(doc *Document) {
			at(doc, 0.5, 0.501, 0, &Lower{Active: []int{}, Residuals: problem.Residuals{Stationarity: 1e-3}, Bound: &Bound{Modulus: 1, Gap: 5e-7, Distance: 1e-3}})
		}},
		{"bound on the distance", func(doc *Document) { doc.Certificate.Lower.Bound.Gap = 0.5 }},
		{"bound on the distance", func(doc *Document) { doc.Certificate.Lower.Bound = nil }},
		{"modulus of strong convexity", func(doc *Document) { doc.Certificate.Lower.Bound.Modulus = 1.5 }},
		{"active rows", func(doc *Document) {
			at(doc, 0.5, 0.5, 0, &Lower{Active: []int{0}, Bound: rounded(1)})
		}},
		{"active rows", func(doc *Document) { // a row with the multiplier 0.5 is left out
			at(doc, -0.5, 0, 0.5, &Lower{Active: []int{}, Bound: rounded(1)})
		}},
		{"sample 0: active rows", func(doc *Document) { samples(doc)[0].Active = []int{0} }},
		{"sample 1: active rows", func(doc *Document) { samples(doc)[1].Active = []int{} }},
	} {
		doc := solvedKink()
		c.lie(doc)
		report := Verify(doc, kink())
		named := false
		for _, failure := range report.Failures() {
			named = named || strings.Contains(failure.Claim, c.claim)
		}
		if !named {
			t.Errorf("a lie about %q: %v", c.claim, report.Failures())
		}
	}
}

// A proof that errs is not taken at its word: curvature at the point and
// gradients around it refute a modulus that g does not have.
func TestFalseModulus(t *testing.T) {
	p := kink()
	p.Facts.StrongConvexity = 2
	doc := solvedKink()
	doc.Certificate.Lower.Bound = rounded(2)
	for _, failure := range Verify(doc, p).Failures() {
		if strings.Contains(failure.Claim, "modulus") {
			return
		}
	}
	t.Error("a modulus of 2 passed for g = (y - x)^2/2")
}

// Equality rows that y misses are infeasible on both sides.
func TestEqualityIsMissed(t *testing.T) {
	for _, y := range []float64{0.25, 0.75} {
		p := kink()
		p.Rows.Kind[0], p.Rows.Rhs[0] = problem.Equal, -0.5 // h = -y + 0.5
		doc := &Document{X: []float64{0, 0}, Y: []float64{y}, Lambda: []float64{y}, Upper: 2 * y, Lower: y * y / 2,
			Certificate: &Certificate{Lower: &Lower{Active: []int{0}, Bound: rounded(1),
				Residuals: problem.Residuals{Primal: math.Abs(y - 0.5)}}}}
		found := map[string]bool{}
		for _, failure := range Verify(doc, p).Failures() {
			found[failure.Claim] = true
		}
		if !found["feasibility of y, each row by the size of its terms"] || found["claimed residual of feasibility"] {
			t.Errorf("y = %v on the row y = 0.5: %v", y, found)
		}
	}
}

// An equation is an active row whatever its multiplier, 0 too.
func TestEqualityIsActive(t *testing.T) {
	for _, active := range [][]int{{0}, {}} {
		p := kink()
		p.Rows.Kind[0], p.Rows.Rhs[0] = problem.Equal, -0.5 // h = -y + 0.5
		doc := &Document{X: []float64{0.5, 0}, Y: []float64{0.5}, Lambda: []float64{0}, Upper: 0.5,
			Certificate: &Certificate{Lower: &Lower{Active: active, Bound: rounded(1)}}}
		missed := false
		for _, failure := range Verify(doc, p).Failures() {
			missed = missed || failure.Claim == "active rows"
		}
		if missed != (len(active) == 0) {
			t.Errorf("the active rows %v: missed is %v", active, missed)
		}
	}
}

// A bound that is not 0 is checked by its formula, sqrt(2 gap/mu), and next to rounding.
func TestHonestBound(t *testing.T) {
	doc := solvedKink()
	at(doc, 0.5, 0.501, 0, &Lower{Active: []int{}, Residuals: problem.Residuals{Stationarity: 1e-3}, Bound: &Bound{Modulus: 1, Gap: 5e-7, Distance: 1e-3}})
	checked := 0
	for _, c := range Verify(doc, kink()).Checks {
		if strings.Contains(c.Claim, "bound on the distance") || strings.Contains(c.Claim, "gap of the lower level") {
			checked++
			if !c.OK {
				t.Error(c)
			}
		}
	}
	if checked != 3 {
		t.Errorf("%d of 3 claims were checked", checked)
	}
}

// An x off an equality row of X is outside, on either side.
func TestUpperEqualityIsMissed(t *testing.T) {
	for _, x := range []float64{-0.25, 0.25, 0} {
		p := kink()
		p.X.Kind, p.X.Rhs = []problem.Kind{problem.Equal}, []float64{0}
		p.X.E = sparse.FromDense(1, 2, []float64{1, 1})
		doc := solvedKink()
		at(doc, x, math.Max(x, 0), math.Max(-x, 0), &Lower{Active: []int{0}, Bound: rounded(1)})
		outside := false
		for _, failure := range Verify(doc, p).Failures() {
			outside = outside || failure.Claim == "x is in X"
		}
		if outside != (x != 0) {
			t.Errorf("x = (%v, 0) on x_1 + x_2 = 0: outside is %v", x, outside)
		}
	}
}

// TestFallingIsNotCertified: F = 1e12 |x_1| - x_2 falls without bound along x_2. Beside the gradients of 1e12 its slope
// of 1 is nothing; where X ends at twice the x_2 of the document that is what a measure may leave, but
// not where X goes on for good.
func TestFallingIsNotCertified(t *testing.T) {
	const steep, far = 1e12, 1e6
	falling := func(end float64) *problem.Problem {
		inf := math.Inf(1)
		p := kink()
		p.F = quadratic{c: []float64{-steep, -1}, d: []float64{2 * steep}}
		p.X.Lo, p.X.Hi = []float64{-inf, -end}, []float64{inf, end}
		return p
	}
	p := falling(2 * far)
	x, y, lambda := []float64{0, far}, []float64{0}, []float64{0}
	doc := &Document{X: x, Y: y, Lambda: lambda, Upper: -far, Solved: true, Stationary: true, Hypergradient: []float64{steep, -1},
		Certificate: &Certificate{Lower: lowerOf(p, x, y, lambda, []int{0}), Goldstein: goldsteinOf(1e-3, []Sample{
			{Point: []float64{5e-4, far}, Gradient: []float64{steep, -1}, Weight: 0.5, Active: []int{}},
			{Point: []float64{-5e-4, far}, Gradient: []float64{-steep, -1}, Weight: 0.5, Active: []int{0}},
		}, nil, 0)}}
	doc.Certificate.Lower.Bound = rounded(1)
	requireOK(t, "where X ends", Verify(doc, p))
	for _, c := range Verify(doc, falling(math.Inf(1))).Failures() {
		if c.Claim == "solved" && strings.Contains(c.Detail, "goes on improving") {
			return
		}
	}
	t.Error("accepted where F falls without bound")
}

// What is claimed at a point is judged by the terms there: not by those of F on X, 1e18 where x_2^2/2 is added to the kink and X ends at 1e9, nor by a sample that has no weight.
func TestSizesAreThoseOfThePoint(t *testing.T) {
	p := kink()
	p.F, p.X.Hi[1] = quadratic{b: []float64{0, 1}, c: []float64{-1, 1}, d: []float64{2}}, 1e9
	steep := func(doc *Document) *Document {
		doc.Certificate.Goldstein.Samples = append(doc.Certificate.Goldstein.Samples, Sample{Point: []float64{0, 0}, Gradient: []float64{0, 1e12}, Active: []int{0}})
		return doc
	}
	// The second sample is at x_2 = 5e-4, where the slope along x_2 is 1.0005.
	honest := func() *Document {
		doc := kinkDocument()
		doc.Certificate.Goldstein.Samples[1].Gradient[1] = 1.0005
		doc.Certificate.Goldstein = goldsteinOf(1e-3, doc.Certificate.Goldstein.Samples, []float64{0, -1.00025}, 0)
		return doc
	}
	requireOK(t, "the honest document", Verify(honest(), p))
	requireOK(t, "one with a sample of no weight", Verify(steep(kinkDocument()), kink()))
	again := func(doc *Document) {
		g := doc.Certificate.Goldstein
		doc.Certificate.Goldstein = goldsteinOf(g.Delta, g.Samples, g.Normal, 0)
	}
	for _, c := range []struct {
		claim string
		doc   *Document
		p     *problem.Problem
		lie   func(doc *Document)
	}{
		{"upper objective", honest(), p, func(doc *Document) { doc.Upper = 1e-3 }},
		{"error of the gradients, weighted", honest(), p, func(doc *Document) {
			for _, s := range doc.Certificate.Goldstein.Samples {
				s.Gradient[0] *= 0.9
			}
			again(doc)
		}},
		{"norm of the combination", honest(), p, func(doc *Document) {
			doc.Certificate.Goldstein.Samples[0].Weight, doc.Certificate.Goldstein.Samples[1].Weight = 0.6, 0.4
		}},
		{"error of the gradients, weighted", steep(kinkDocument()), kink(), func(doc *Document) {
			for _, s := range doc.Certificate.Goldstein.Samples[:2] {
				s.Gradient[0] *= 0.9
			}
			again(doc)
		}},
		{"norm of the combination", steep(kinkDocument()), kink(), func(doc *Document) {
			doc.Certificate.Goldstein.Samples[0].Weight, doc.Certificate.Goldstein.Samples[1].Weight = 0.6, 0.4
		}},
	} {
		c.lie(c.doc)
		if report := Verify(c.doc, c.p); !slices.ContainsFunc(report.Failures(), func(f Check) bool { return f.Claim == c.claim }) {
			t.Errorf("a lie about %q: %v", c.claim, report.Failures())
		}
	}
}
