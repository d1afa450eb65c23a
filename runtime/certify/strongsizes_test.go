package certify

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bilevelc/internal/members"
	"bilevelc/internal/sparse"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// turning is a follower with answers y_1 in [0, u_1], y_2 = 0: g = (1 - x/u_0) c_1 y_1/u_1 + c_2 y_2/u_2 over 0 <= y_j <= u_j, and F's
// f = slope x/u_0 - b y_1/u_1 - d y_2/u_2. At x = u_0 it has a choice of y_1, and takes u_1; beyond it has none, and before it takes 0.
type turning struct {
	slope, b, d, c1, c2 float64
	u                   [3]float64
}

func (f turning) follower(dx, dy, x, y []float64) float64 {
	force := (1 - x[0]/f.u[0]) * f.c1 / f.u[1]
	dx[0] = -f.c1 / f.u[0] / f.u[1] * y[0]
	dy[0], dy[1] = force, f.c2/f.u[2]
	return force*y[0] + dy[1]*y[1]
}

func (f turning) leader(dx, dy, x, y []float64) float64 {
	dx[0], dy[0], dy[1] = f.slope/f.u[0], -f.b/f.u[1], -f.d/f.u[2]
	return dx[0]*x[0] + dy[0]*y[0] + dy[1]*y[1]
}

// problem has the rows 0 <= y_1, y_1 <= u_1, 0 <= y_2, y_2 <= u_2.
func (f turning) problem() *problem.Problem {
	p := &problem.Problem{Name: "turning", Dx: 1, Dy: 2, G: formula(f.follower), F: formula(f.leader), Start: []float64{0},
		X: &problem.Set{Lo: []float64{0}, Hi: []float64{2 * f.u[0]}, E: sparse.FromEntries(0, 1, nil)},
		Rows: &problem.Rows{Kind: make([]problem.Kind, 4), A: sparse.FromEntries(4, 1, nil), Rhs: []float64{0, f.u[1], 0, f.u[2]},
			B: sparse.FromEntries(4, 2, []sparse.Entry{{Row: 0, Col: 0, Val: 1}, {Row: 1, Col: 0, Val: -1}, {Row: 2, Col: 1, Val: 1}, {Row: 3, Col: 1, Val: -1}})},
		Facts: problem.Facts{Convex: true, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true}}
	return p
}

// document claims that x = u_0 with the best answer is strongly stationary, with the only multipliers that leave nothing of grad f.
func (f turning) document() *Document {
	adjoint := -f.slope * f.u[1] / f.c1
	strong := &Strong{Biactive: []int{1}, Curvature: "holds", Multipliers: Multipliers{Adjoint: []float64{adjoint, 0},
		Slack: []float64{0, f.b / f.u[1], -f.d / f.u[2], 0}, Multiplier: []float64{adjoint, -adjoint, 0, 0}, Bound: []float64{0}}}
	return &Document{X: []float64{f.u[0]}, Y: []float64{f.u[1], 0}, Lambda: []float64{0, 0, f.c2 / f.u[2], 0}, Upper: f.slope - f.b, Tied: true, Solved: true, Stationary: true,
		Certificate: &Certificate{Lower: &Lower{Active: []int{2}}, Strong: strong}}
}

// Where F rises beyond x = u_0 the point is a local minimum, and where it falls none, in whatever units x and the entries of y are; a follower's multiplier counts beside the
// forces on its own entries of y.
func TestMultipliersInMixedUnits(t *testing.T) {
	rng := members.Rand(t, 7)
	unit := func() float64 { return math.Pow(10, float64(rng.IntN(17)-8)) }
	number := func() float64 { return 0.5 + 1.5*rng.Float64() }
	for range members.Of(100, 2000) {
		f := turning{number(), number(), number(), number(), number(), [3]float64{unit(), unit(), unit()}}
		if rng.IntN(2) == 0 {
			f.slope = -f.slope
		}
		report := Verify(f.document(), f.problem())
		failed := slices.ContainsFunc(report.Failures(), func(c Check) bool { return strings.Contains(c.Problem(), "the multiplier") })
		if f.slope > 0 && !report.OK() {
			t.Errorf("%+v: an honest document is refused: %v", f, report.Failures())
		}
		if f.slope < 0 && !failed {
			t.Errorf("%+v: F falls beyond the point: %v", f, report.Failures())
		}
		// Without its multiplier of y_2 the follower has a choice that it has not.
		tie := f.document()
		tie.Lambda[2] = 0
		if report := Verify(tie, f.problem()); !slices.ContainsFunc(report.Failures(), func(c Check) bool { return strings.HasPrefix(c.Claim, "loss of the follower") }) {
			t.Errorf("%+v: a follower is taken to be without a force: %v", f, report.Failures())
		}
	}
}

// A multiplier counts where it is more than tolerance.Certified of the terms of grad_x f, of grad_y f or of f, whatever the others are.
func TestWhichMultipliersCount(t *testing.T) {
	rng := members.Rand(t, 8)
	size := func() float64 { return math.Pow(10, 16*rng.Float64()-8) }
	for range members.Of(100, 2000) {
		terms, per := sizesOfF{x: size(), y: size(), sum: size()}, size()
		for k, of := range []float64{terms.x, terms.y, terms.sum} {
			var carried [3]float64
			carried[k] = per
			for _, share := range []float64{0.5, 2} {
				for _, sign := range []float64{-1, 1} {
					multiplier := sign * share * tolerance.Certified * of / per
					if terms.counts(multiplier, carried[0], carried[1], carried[2]) != (share > 1) {
						t.Errorf("%g, which carries %v, beside %+v: counts is %v", multiplier, carried, terms, share < 1)
					}
				}
			}
		}
	}
}

// An entry of y that its bounds fix has no other answer, whatever forces there are on it that no multiplier balances.
func TestEntriesThatBoundsFixLoseNothing(t *testing.T) {
	rng := members.Rand(t, 9)
	unit := func() float64 { return math.Pow(10, float64(rng.IntN(17)-8)) }
	number := func() float64 { return 0.5 + 1.5*rng.Float64() }
	for range members.Of(100, 2000) {
		f := turning{number(), number(), number(), number(), number(), [3]float64{unit(), unit(), unit()}}
		for _, fixed := range []bool{true, false} {
			p, doc := f.problem(), f.document()
			doc.Lambda[2] = 0
			if fixed {
				p.Rows.Rhs[3] = 0
			}
			loses := slices.ContainsFunc(Verify(doc, p).Failures(), func(c Check) bool { return strings.HasPrefix(c.Claim, "loss of the follower") })
			if loses == fixed {
				t.Errorf("%+v, fixed %v: the follower loses: %v", f, fixed, loses)
			}
		}
	}
}

// The multipliers of rows that meet at the follower's only answer, a = 2 and b = -3 of g = a, go on along a ray, along which F = c + x lambda_2 falls at x = -1: what holds lambda_2, which is 1/2, is no multiplier of it.
// The far bound of c, which is 0, is no measure of what counts.
func TestMultiplierOfARayBesideAFarBound(t *testing.T) {
	rng := members.Rand(t, 10)
	for range members.Of(20, 200) {
		far := math.Pow(10, 2+8*rng.Float64())
		p := &problem.Problem{Name: "ray", Dx: 1, Dy: 3, Duals: []int{1}, Start: []float64{-1},
			G: formula(func(dx, dy, x, y []float64) float64 { dx[0], dy[0], dy[1], dy[2] = 0, 1, 0, 0; return y[0] }),
			F: formula(func(dx, dy, x, y []float64) float64 {
				dx[0], dy[0], dy[1], dy[2], dy[3] = y[3], 0, 0, 1, x[0]
				return y[2] + x[0]*y[3]
			}),
			X: &problem.Set{Lo: []float64{-1}, Hi: []float64{0}, E: sparse.FromEntries(0, 1, nil)},
			Rows: &problem.Rows{Kind: make([]problem.Kind, 5), A: sparse.FromEntries(5, 1, nil), Rhs: []float64{-1, -4, 3, 0, far},
				B: sparse.FromEntries(5, 3, []sparse.Entry{{Row: 0, Col: 0, Val: -1}, {Row: 0, Col: 1, Val: -1}, {Row: 1, Col: 0, Val: 2}, {Row: 2, Col: 1, Val: 1}, {Row: 3, Col: 2, Val: 1}, {Row: 4, Col: 2, Val: -1}})},
			Facts: problem.Facts{Convex: true, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true}}
		strong := &Strong{Biactive: []int{0, 2, 3}, Curvature: "holds", Multipliers: Multipliers{Adjoint: make([]float64, 3), Slack: []float64{0, 0, 0, 1, 0}, Multiplier: []float64{0, -1, 0, 0, 0}, Bound: []float64{0.5}}}
		doc := &Document{X: []float64{-1}, Y: []float64{2, -3, 0}, Lambda: []float64{0, 0.5, 0, 0, 0}, Upper: -0.5, Tied: true, Solved: true, Stationary: true,
			Certificate: &Certificate{Lower: &Lower{Active: []int{1}}, Strong: strong}}
		if report := Verify(doc, p); !slices.ContainsFunc(report.Failures(), func(c Check) bool { return strings.Contains(c.Problem(), "has a multiplier itself") }) {
			t.Errorf("far %g: %v", far, report.Failures())
		}
	}
}

// A row of x leaves y nothing but 0, and holds to the rounding of its own sum, which is no loss of the follower however large the row's multiplier is: y has no terms beside which it could be small. A ten-millionth of the row's terms is one.
func TestRoundingOfARowIsNoLoss(t *testing.T) {
	rng := members.Rand(t, 12)
	zero := formula(func(dx, dy, x, y []float64) float64 { clear(dx); clear(dy); return 0 })
	for k := range members.Of(40, 400) {
		x, large := 0.1+rng.Float64(), math.Pow(10, float64(rng.IntN(7)))
		for _, off := range []float64{0, 0x1p-52, 1e-7} {
			p := &problem.Problem{Dx: 2, Dy: 1, F: zero, G: zero, X: &problem.Set{Lo: []float64{-2, -2}, Hi: []float64{2, 2}, E: sparse.FromEntries(0, 2, nil)},
				Rows: &problem.Rows{Kind: make([]problem.Kind, 2), Rhs: make([]float64, 2), A: sparse.FromEntries(2, 2, []sparse.Entry{{Row: 1, Col: 0, Val: 1}, {Row: 1, Col: 1, Val: 1}}),
					B: sparse.FromEntries(2, 1, []sparse.Entry{{Row: 0, Col: 0, Val: 1}, {Row: 1, Col: 0, Val: -1}})},
				Facts: problem.Facts{Convex: true, QuadraticInY: true, FixedHessian: true, JointlyQuadratic: true}}
			doc := &Document{X: []float64{x, -x * (1 + off)}, Y: []float64{0}, Lambda: []float64{large, large}, Tied: true}
			lost := slices.ContainsFunc(Verify(doc, p).Failures(), func(c Check) bool { return strings.Contains(c.Problem(), "loss of the follower") })
			if want := off > 0x1p-50; lost != want {
				t.Errorf("case %d, off by %g: a loss is %v", k, off, lost)
			}
		}
	}
}
