package oracle

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/must"
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
	bound := s.ErrorBound + math.Max(enclosed(p, pt.X, s.Y), tolerance.SumRounding*math.Max(t.Size, linalg.Norm(rowForces)))/mu
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

// ErrorByAnswer estimates how far the gradient of F at a point is off as the answer is. What is left of the equations of the answer's face, and the rounding of each of them, is a force,
// which moves the answer by e, no further than errorY. Gradients of f there, and at entries of x and y that are rounded, differ by c, which makes of the hypergradient c_x + (dy*/dx)'c_y: two
// products of Sensitivity, to first order. It is taken over a longer way, as c may be lost in the rounding of f. Where the way of y that grad_y f asks for is the difference of two answers, c_y has the rounding
// of the equations of the other end, and what solves leave of them, which is rounding of grad_y f, too. It is 0 where these are not known, as outside the domain of f.
//
// Roundings have random signs, and a sum of them may cancel where those of the gradient do not: the root of the mean square of draws is less than a part t of what it stands for
// with a probability of about 32/(3 pi^2) t^3 with three, 2/pi t with one (Kenney and Laub 1994, small-sample statistical condition estimates).
func ErrorByAnswer(ctx context.Context, p *problem.Problem, pt *Point, errorY float64) (_ float64, err error) {
	defer must.Catch(&err)
	s := must.Get((&Hyper{p: p}).Sensitivity(ctx, pt))
	e := &errorDraws{s: s, share: shares(4), errorY: errorY}
	const draws = 3
	sum := 0.0
	for range draws {
		off, err := e.draw(ctx)
		if err != nil {
			return unknown(ctx, err)
		}
		sum = math.Hypot(sum, off)
	}
	if off := sum / math.Sqrt(draws); off < math.Inf(1) {
		return twoDigits(off), nil
	}
	return unknown(ctx, nil)
}

// errorDraws draws roundings at a point for ErrorByAnswer.
type errorDraws struct {
	s      *Sensitivity
	share  func() float64
	errorY float64
	way    *Tangent // that of y which grad_y f asks for, once known; one that is 0 where none is differenced
	end    []float64
	exact  []float64 // grad_y g at the end of the way
	left   float64   // of each of its equations
	step   float64
}

// rounded are entries that are moved by their rounding over HalfDigits.
func (e *errorDraws) rounded(v []float64) []float64 {
	out := slices.Clone(v)
	for j := range out {
		out[j] *= 1 + tolerance.HalfDigits*e.share()
	}
	return out
}

// draw is by how much one draw of the roundings moves the gradient of F.
func (e *errorDraws) draw(ctx context.Context) (_ float64, err error) {
	defer must.Catch(&err)
	s, share := e.s, e.share
	p, x, y, lambda, face := s.at.Problem, s.at.X, s.at.Lower.Y, s.at.Lower.Lambda, s.at.held()
	base, force, rates := make([]float64, p.Dy), make([]float64, p.Dy), make([]float64, p.Rows.Len())
	p.G.GradY(base, x, y)
	p.G.GradY(force, e.rounded(x), e.rounded(y))
	for j := range force {
		force[j] = math.Abs(force[j]-base[j])*share() + base[j]/tolerance.HalfDigits
	}
	p.Rows.B.AddMulVecT(force, -1/tolerance.HalfDigits, lambda)
	shift := make([]float64, p.Dy) // of y along the rows' normals: rows that depend on each other move together
	var exact []int                // entries that a bound holds, to the last bit: beside a pole any other would be far off
	for _, i := range face {
		r := stateOf(p.Rows, i, x, y)
		if r.length > 0 {
			p.Rows.B.AddRow(shift, i, (r.error*share()-r.slack)/(r.length*r.length*tolerance.HalfDigits))
		}
		if cols, _ := p.Rows.B.Row(i); len(cols) == 1 && r.error == 0 && r.slack == 0 {
			exact = append(exact, cols[0])
		}
	}
	for _, j := range exact {
		shift[j] = 0
	}
	for _, i := range face {
		rates[i] = p.Rows.B.RowDot(i, shift)
	}
	t := must.Get(s.along(ctx, face, force, 0, rates))
	errorY := e.errorY
	if b := s.at.Lower.RoundingBound; b > 0 {
		errorY = math.Min(errorY, b)
	}
	if way, most := linalg.Norm(t.Y), errorY/tolerance.HalfDigits; way > most {
		// Each entry on its own: one that is open by less than others is off by its own part.
		for j, v := range t.Y {
			t.Y[j] = math.Max(-most, math.Min(most, v))
		}
		floats.Scale(most/way, t.Lambda)
	}
	at, to := p.Answer(y, lambda), e.rounded(p.Answer(y, lambda))
	linalg.Axpy(to, 1, p.Answer(t.Y, t.Lambda))
	cx, cy, fx, fy := make([]float64, p.Dx), make([]float64, len(at)), make([]float64, p.Dx), make([]float64, len(at))
	p.F.ValueGrad(fx, fy, x, at)
	p.F.ValueGrad(cx, cy, e.rounded(x), to)
	linalg.Axpy(cx, -1, fx)
	linalg.Axpy(cy, -1, fy)
	if p.Facts.QuadraticInY && !(s.at.Lower.RoundingBound > 0) { // else the answers are refined, and the oracle has what rounding leaves of them
		must.Do(e.differenced(ctx, fy))
		if e.step > 0 {
			off := make([]float64, p.Dy)
			p.G.GradY(off, e.rounded(x), e.rounded(e.end))
			for j := range off {
				cy[j] += math.Abs(off[j]-e.exact[j])*share()/e.step + e.left*share()/tolerance.HalfDigits
			}
		}
	}
	must.Get((&Face{Settings: *DefaultFace()}).add(ctx, cx, s.at, splitAdjointRHS(p, cy)))
	return linalg.Norm(cx) * tolerance.HalfDigits, nil
}

// differenced sets the way of y that grad_y f asks for.
func (e *errorDraws) differenced(ctx context.Context, fy []float64) (err error) {
	if e.way != nil {
		return nil
	}
	s, p := e.s, e.s.at.Problem
	asked, rates := splitAdjointRHS(p, fy), make([]float64, p.Rows.Len())
	copy(rates, asked.w)
	if e.way, err = s.along(ctx, s.at.held(), asked.q, 0, rates); err != nil {
		return err
	}
	speed := linalg.Norm(e.way.Y)
	if speed == 0 {
		return nil
	}
	e.step = s.at.size() / speed
	e.end, e.exact = slices.Clone(s.at.Lower.Y), make([]float64, p.Dy)
	linalg.Axpy(e.end, e.step, e.way.Y)
	p.G.GradY(e.exact, s.at.X, e.end)
	e.left = tolerance.SumRounding * linalg.Norm(asked.q) // solves go on to the rounding of the force
	return nil
}

// twoDigits is v, an estimate, rounded up to a 64th of it: what earlier solves have measured, which a run that is resumed has not, does not show in it.
func twoDigits(v float64) float64 {
	frac, exp := math.Frexp(v)
	return math.Ldexp(math.Ceil(64*frac)/64, exp)
}

// unknown is 0, or the error of a ctx that has ended.
func unknown(ctx context.Context, err error) (float64, error) {
	if ctx.Err() != nil {
		return 0, err
	}
	return 0, nil
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
	return left > tolerance.Target*termsAlong(h.p.G.GradY, pt.X, s.Y, base, 0)
}
