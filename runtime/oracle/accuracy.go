package oracle

import (
	"math"
	"slices"

	"bilevelc/runtime/linalg"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// ErrorOfY bounds |Y - y*| at a point that Value has made, for a proved modulus: to the bound
// of the lower solution, which takes gradients and rows as they were computed, comes what
// rounding hides, in the gradient over the modulus and in the rows that hold y (see judge).
// At x = 1e9 terms that cancel leave 1e-7, and a computed gradient of 0 says no more than
// that. Where rows are not met what they are off moves y like their rounding; of one that
// depends on others it cannot be told which of them would give way: +Inf. That the entries of Y
// are numbers of double precision is in it: |H v| >= mu |v|, and H Y is among the terms. It takes
// a few gradients of g.
func ErrorOfY(p *problem.Problem, pt *Point) float64 {
	s, facts := pt.Lower, &p.Facts
	mu := facts.StrongConvexity
	if !(mu > 0) || math.IsInf(s.ErrorBound, 1) {
		return s.ErrorBound
	}
	t := measure(p, pt.X, s.Y)
	rowForces := make([]float64, p.Dy)
	p.Rows.B.AddMulVecT(rowForces, 1, s.Lambda)
	bound := s.ErrorBound + tolerance.SumRounding*math.Max(t.Size, linalg.Norm(rowForces))/mu
	rho, dependent, rounding := 0.0, 0.0, 0.0
	for _, i := range s.Active {
		r := stateOf(p.Rows, i, pt.X, s.Y)
		if r.length == 0 {
			continue
		}
		off := math.Max(0, -r.slack)
		if p.Rows.Kind[i] == problem.Equal {
			off = math.Abs(r.slack)
		}
		if slices.Contains(s.Dependent, i) {
			dependent = math.Max(dependent, off/r.length)
		}
		rounding = math.Max(rounding, r.error/r.length)
		rho = math.Hypot(rho, math.Max(off, r.error)/r.length)
	}
	// What the others are off by rounding is in a row that follows from them, however small
	// its own terms are: where they are all at 0 it has none.
	if dependent > 256*rounding {
		return math.Inf(1)
	}
	if rho > 0 {
		bound += math.Sqrt(math.Max(1, math.Max(facts.Smoothness, t.Curvature)/mu)) * rho / (&Hyper{p: p}).sine(s, s.Active)
	}
	return bound
}

// Unsolved reports that the lower solution at a point leaves more of stationarity than a part of
// the terms of the gradient. Solvers take rounding from the largest curvature, which may be that
// of an entry of y that is 0, as beside a pole, and hide all else; here the terms are measured
// entry by entry of y, with a few gradients of g where the multipliers do not show them.
func (h *Hyper) Unsolved(pt *Point) bool {
	s := pt.Lower
	rowForces := make([]float64, h.p.Dy)
	h.p.Rows.B.AddMulVecT(rowForces, 1, s.Lambda)
	left := math.Sqrt(float64(h.p.Dy)) * s.Residuals.Stationarity
	if !(left > tolerance.Target*linalg.Norm(rowForces)) {
		return false
	}
	base := make([]float64, h.p.Dy)
	h.p.G.GradY(base, pt.X, s.Y)
	return left > tolerance.Target*termsAlong(h.p, pt.X, s.Y, base, 0)
}
