package oracle

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/tolerance"
)

// perturbed is g(x, .) + delta f(x, .) (eq:lower_perturb).
type perturbed struct {
	g     *lower.AtX
	f     inY
	delta float64
	grad  []float64 // len Dy: scratch
}

func (o *perturbed) Value(y []float64) float64 {
	return o.g.Value(y) + o.delta*o.f.Value(o.g.X, y)
}

func (o *perturbed) ValueGrad(dst, y []float64) float64 {
	v := o.g.ValueGrad(dst, y) + o.delta*o.f.ValueGradY(o.grad, o.g.X, y)
	linalg.Axpy(dst, o.delta, o.grad)
	return v
}

// BaseG is g, whose Hessian is near: delta is small.
func (o *perturbed) BaseG() *lower.AtX { return o.g }

// gradLagrangian sets dst (len Dx) to grad_x [g + lambda'h] = grad_x g(x, y) +
// A'lambda, and returns the size of the two, of which rounding makes its share, or where measured of the terms of
// the first, which may cancel: stiff ones of a g that is a sum of squares are all but 0 each at y*.
func gradLagrangian(dst []float64, at *At, y, lambda []float64, measured bool) (size float64) {
	at.Problem.G.GradX(dst, at.X, y)
	if size = linalg.Norm(dst); measured {
		size = termsAlong(at.Problem.G.GradX, at.X, y, dst, tolerance.HalfDigits)
	}
	if at.Problem.Rows.A.NNZ() == 0 {
		return size
	}
	rows := make([]float64, len(dst))
	at.Problem.Rows.A.AddMulVecT(rows, 1, lambda)
	linalg.Axpy(dst, 1, rows)
	return size + linalg.Norm(rows)
}

// differences divides differences of grad_x of the Lagrangian by delta, along
// the lower solutions of a family of perturbed problems on the face of the
// active rows, which is frozen: perturb(delta) is the objective. Where read is set,
// it gives what is differenced in the place of the gradient, and its size.
type differences struct {
	at      *At
	rhs     *adjointRHS
	face    *lower.FaceSolver
	perturb func(delta float64) lower.Objective
	read    func(dst []float64, at *At, y, lambda []float64) (size float64)
	slope   float64 // the force of a unit perturbation: |grad_y f| at y*, where f reads no multipliers

	force         float64    // largest residual force of a solve divided by its delta
	roundingBound float64    // what rounding leaves open of the way of y in the last difference, relative to it
	rounding      float64    // of the Lagrangians' gradients, divided by delta
	last          []float64  // y of the last solve
	moved         derivative // of the lower solution, by the last difference
	vertex        bool       // the face of the last solve is a point
	base          []float64  // grad_y g at y*; set by stepFor where the way of y is not straight
	held          float64    // the size of the force that the rows hold; set by stepFor
	pair          *ends      // of the last central difference
}

// tilt is the objective perturbed by a linear function, t q'y.
func (d *differences) tilt(t float64) lower.Objective {
	slope := make([]float64, len(d.rhs.q))
	linalg.Axpy(slope, t, d.rhs.q)
	return &lower.Tilted{AtX: lower.G(d.at.Problem, d.at.X), Slope: slope}
}

// of is what is differenced, at a lower solution, with its size; measured at one of the two.
func (d *differences) of(dst []float64, at *At, y, lambda []float64, measured bool) (size float64) {
	if d.read != nil {
		return d.read(dst, at, y, lambda)
	}
	return gradLagrangian(dst, at, y, lambda, measured)
}

// solve is the perturbed lower solution on the frozen face.
func (d *differences) solve(ctx context.Context, delta float64, warm *lower.Solution) (*lower.Solution, error) {
	s := d.face.OnFace(ctx, d.rhs.moved(d.at.Problem, delta), d.perturb(delta), d.at.X, d.at.held(), warm)
	if s.Status == lower.Stopped {
		return nil, context.Cause(ctx)
	}
	if err := lowerError(d.at.Problem, d.at.X, s); err != nil {
		return nil, &LowerError{Status: s.Status, Reason: "on the face of the active rows: " + err.Error()}
	}
	d.force = math.Max(d.force, s.Residuals.Stationarity/math.Abs(delta))
	d.last, d.vertex = s.Y, len(s.Active) == len(s.Y)
	return s, nil
}

// forceChange is how far the force grad_y f has changed, relative to itself, from y* to the
// last solution.
func (d *differences) forceChange(f inY) float64 {
	n := len(d.last)
	from, to := make([]float64, n), make([]float64, n)
	f.GradY(from, d.at.X, d.at.Lower.Y)
	f.GradY(to, d.at.X, d.last)
	if size := linalg.Norm(from); size > 0 {
		return linalg.Distance(to, from) / size
	}
	return 0
}

// forward sets v to (grad L(y_delta) - grad L(y*)) / delta
// (eq:part-hypergrad-approx-lin-eq) and returns how far y moved for a unit of
// delta.
func (d *differences) forward(ctx context.Context, v []float64, delta float64) (speed float64, err error) {
	defer must.Catch(&err)
	s := must.Get(d.solve(ctx, delta, d.at.Lower))
	d.force = math.Max(d.force, d.at.Lower.Residuals.Stationarity/delta)
	return d.over(v, s, d.at.Lower, delta), nil
}

// over sets v to the difference between two lower solutions that are width apart, and returns how far y moved for a unit
// of that. It notes what rounding leaves open of it.
func (d *differences) over(v []float64, to, from *lower.Solution, width float64) (speed float64) {
	base := make([]float64, len(v))
	size := d.of(v, d.at, to.Y, to.Lambda, true)
	size += d.of(base, d.at, from.Y, from.Lambda, false)
	d.rounding = tolerance.SumRounding * size / width
	d.moved = derivative{quotient(to.Y, from.Y, width), quotient(to.Lambda, from.Lambda, width)}
	way := linalg.Distance(to.Y, from.Y)
	if d.roundingBound = to.RoundingBound + from.RoundingBound; d.roundingBound > 0 && !d.vertex {
		d.roundingBound /= way
	}
	for j := range v {
		v[j] = (v[j] - base[j]) / width
	}
	return way / width
}

// ends are the lower solutions of a central difference.
type ends struct {
	delta       float64
	plus, minus []float64
}

// between is y_delta to the third order in the last central difference, the parabola
// through its ends and y*; nil where there was none, or a step that was given up as too
// long.
func (d *differences) between(delta float64) []float64 {
	if d.pair == nil || math.Abs(delta) < d.pair.delta/2 {
		return nil
	}
	r := delta / d.pair.delta
	y := make([]float64, len(d.pair.plus))
	for j, middle := range d.at.Lower.Y {
		up, down := d.pair.plus[j]-middle, d.pair.minus[j]-middle
		y[j] = middle + r*(up-down)/2 + r*r*(up+down)/2
	}
	return y
}

// from is solve from a guess of y, unless that is nil or outside the domain of g, where
// y* is not.
func (d *differences) from(ctx context.Context, delta float64, guess []float64) (*lower.Solution, error) {
	if guess == nil {
		return d.solve(ctx, delta, d.at.Lower)
	}
	warm := *d.at.Lower
	warm.Y = guess
	s, err := d.solve(ctx, delta, &warm)
	if failed, ok := errors.AsType[*LowerError](err); ok && failed.Status == lower.Failed {
		return d.solve(ctx, delta, d.at.Lower)
	}
	return s, err
}

// central sets v to (grad L(y_delta) - grad L(y_-delta)) / (2 delta) and returns
// how far y moved for a unit of delta.
func (d *differences) central(ctx context.Context, v []float64, delta float64) (speed float64, err error) {
	defer must.Catch(&err)
	plus := must.Get(d.from(ctx, delta, d.between(delta)))
	guess := d.between(-delta)
	if guess == nil {
		// To first order y_-delta mirrors y_delta at y*.
		guess = make([]float64, len(plus.Y))
		for j, y := range d.at.Lower.Y {
			guess[j] = 2*y - plus.Y[j]
		}
	}
	minus := must.Get(d.from(ctx, -delta, guess))
	d.pair = &ends{delta, plus.Y, minus.Y}
	return d.over(v, plus, minus, 2*delta), nil
}

// against reports that an end of the last central difference lies against the force t q that
// moved y there from y*: where g is convex, and no row moves,
//
//	0 <= (grad g(y_t) - grad g(y*))'(y_t - y*) = -t q'(y_t - y*).
//
// A move in the rounding of y says nothing.
func (d *differences) against() bool {
	if d.rhs.w != nil {
		return false
	}
	step := make([]float64, len(d.rhs.q))
	for t, y := range map[float64][]float64{d.pair.delta: d.pair.plus, -d.pair.delta: d.pair.minus} {
		copy(step, y)
		linalg.Axpy(step, -1, d.at.Lower.Y)
		way := linalg.Norm(step)
		if t*linalg.Dot(d.rhs.q, step) > tolerance.Target*math.Abs(t)*linalg.Norm(d.rhs.q)*way && way > tolerance.HalfDigits*linalg.Norm(d.at.Lower.Y) {
			return true
		}
	}
	return false
}

// anew forgets the solves so far, which ended where y has no business: neither the curvature
// there nor the way is of use.
func (d *differences) anew() {
	d.face.Release()
	d.pair = nil
}

// terms is the size of the terms of a gradient of two parts: of the parts, or, where
// these are rounding alone, of what has been differenced.
func (d *differences) terms(direct, part float64) float64 {
	if differenced := d.rounding / tolerance.SumRounding; direct+part <= 10*d.rounding {
		return differenced
	}
	return direct + part
}

// noise estimates the error in v, of the size of its terms, that the residuals of the solves cause, and that
// rounding does: a force of size slope makes v, so a residual force makes its share of
// it, or what rounding leaves open of the way of y its own; so does that of the gradient of g at the end of the way, which is of the steepest curvature
// times a way that may be as long as the flattest lets it be; and the gradients that are differenced have a rounding of their own. A
// residual force that is a gross part of the one that moves y says nothing, nor does a
// y that has not moved where one is left, unless the rows let it move nowhere: +Inf.
func (d *differences) noise(size float64) float64 {
	if d.slope == 0 {
		return 0
	}
	left, further := d.force/d.slope, 1.0
	if facts := &d.at.Problem.Facts; d.roundingBound > 0 { // which tells more than residuals and gradients, that leave of y in double precision what they cannot but leave
		left = d.roundingBound
	} else if facts.StrongConvexity > 0 && facts.Smoothness <= math.MaxFloat64 {
		further = math.Max(1, facts.Smoothness*linalg.Norm(d.moved.y)/d.slope)
	}
	if !(left < gross) || left > tolerance.Target && !d.vertex && linalg.Norm(d.moved.y) == 0 {
		return math.Inf(1)
	}
	return size*(left/(1-left)+further*tolerance.SumRounding) + d.rounding
}

// uncancelled is the size of v, or of what a way of y of the same length makes of it that leads elsewhere, at random signs of entries of one size, where that is larger: an error of the way is a part of its length, wherever it leads.
func (d *differences) uncancelled(v []float64) float64 {
	rng, way, product := rand.New(rand.NewPCG(1, 0)), make([]float64, len(d.moved.y)), make([]float64, len(v))
	for j := range way {
		way[j] = linalg.Norm(d.moved.y) / math.Sqrt(float64(len(way))) * float64(1-2*rng.IntN(2))
	}
	if math.IsInf(d.mixed(product, way), 1) {
		return linalg.Norm(v)
	}
	return math.Max(linalg.Norm(product), linalg.Norm(v))
}

// stepFor returns the delta at which y is expected to move by reach, from the
// curvature of g along its force, found with one gradient of g, or two where g is not
// quadratic: the flatter one counts, as a g with an exponential in it has any curvature
// a long way off, and a step that is too short is only less exact. Where y moves along a straight line a
// longer one is as exact, and the largest curvature, where it is proved, asks for no gradient.
func (d *differences) stepFor(reach float64, force []float64) float64 {
	at, n := d.at, len(force)
	if f := &at.Problem.Facts; f.QuadraticInY && f.FixedHessian && f.Smoothness > 0 && f.Smoothness <= math.MaxFloat64 {
		rows := make([]float64, n)
		at.Problem.Rows.B.AddMulVecT(rows, 1, at.Lower.Lambda)
		d.held = linalg.Norm(rows)
		return reach * f.Smoothness / d.slope
	}
	d.base = make([]float64, n)
	at.Problem.G.GradY(d.base, at.X, at.Lower.Y)
	d.held = linalg.Norm(d.base)
	// A step on the scale of y, large against rounding and small against it.
	h, curvature := 1e-4*at.size(), math.NaN()
	for range 8 { // shorter ones near the edge of the domain
		if curvature = d.curvature(force, h); usable(curvature) {
			break
		}
		h /= 16
	}
	if !at.Problem.Facts.QuadraticInY {
		// The exponent of an exponential that is finite at h is below 1 there.
		if near := d.curvature(force, h*0x1p-10); usable(near) && (near < curvature || !usable(curvature)) {
			curvature = near
		}
	}
	if !usable(curvature) {
		curvature = 1
	}
	return reach * curvature / d.slope
}

// curvature is that of g between y* and a point at a distance of h along a force.
func (d *differences) curvature(force []float64, h float64) float64 {
	y := append([]float64(nil), d.at.Lower.Y...)
	linalg.Axpy(y, h/d.slope, force)
	grad := make([]float64, len(y))
	d.at.Problem.G.GradY(grad, d.at.X, y)
	return linalg.Distance(grad, d.base) / h
}

func usable(curvature float64) bool { return curvature > 0 && !math.IsInf(curvature, 0) }

// linear sets v to d/dt grad_x [g(x, y_t) + lambda_t'h(x, .)] at t = 0 by the equations of (y', lambda') themselves (lower.Rates), and differences of grad_x g
// along y', and returns an estimate of its error, +Inf where these do not tell, and the size of what forces as large as the perturbation's make of v, which is 0 at a minimizer for this one alone.
func (d *differences) linear(ctx context.Context, v []float64) (off, size float64) {
	at := d.at
	r := d.face.Rates(ctx, at.Problem, at.X, at.held(), at.Lower, d.rhs.q, d.rhs.w, at.terms())
	if r == nil {
		return math.Inf(1), 0
	}
	off = d.mixed(v, r.Y)
	// What a residual makes of v: what the first, the force, has made of it, or that of the last correction.
	change := make([]float64, len(v))
	moves := linalg.Norm(v) / d.slope
	if r.Before > 0 {
		d.mixed(change, r.Change)
		moves = math.Max(moves, linalg.Norm(change)/r.Before)
	}
	rows := make([]float64, len(v))
	at.Problem.Rows.A.AddMulVecT(rows, 1, r.Lambda)
	linalg.Axpy(v, 1, rows)
	return off + moves*r.Left, moves * d.slope
}

// mixed sets dst to the product of d2g/dxdy at y* with a direction of y, by differences of grad_x g, and returns an estimate of its error; +Inf outside the domain of g.
func (d *differences) mixed(dst, direction []float64) float64 {
	speed := linalg.Norm(direction)
	clear(dst)
	if speed == 0 {
		return 0
	}
	y := make([]float64, len(direction))
	return linalg.Derivative(dst, func(dst []float64, t float64) {
		copy(y, d.at.Lower.Y)
		linalg.Axpy(y, t, direction)
		d.at.Problem.G.GradX(dst, d.at.X, y)
	}, d.at.size()/16/speed, 0, true)
}
