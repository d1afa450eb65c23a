package oracle

import (
	"context"
	"math"
	"slices"

	"bilevelc/internal/must"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// ValueSettings are the settings of the oracle `value`.
type ValueSettings struct {
	Step float64 `setting:"step" doc:"difference step in each entry of x, relative to 1 + |x_j|" min:"1e-12" max:"0.1"`
}

// DefaultValue is the cube root of the accuracy of F, about 1e-13 with `alm`,
// which balances the truncation of a central difference with it.
func DefaultValue() *ValueSettings { return &ValueSettings{Step: 5e-5} }

func init() {
	register(Spec{
		Name:        "value",
		Summary:     "uses values of F alone; a gradient, where one is asked for, is made of central differences of F, or of its piece where x is near a kink",
		Reference:   "lem:ZeroOrderApprox",
		Assumes:     []problem.Assumption{problem.StronglyConvexG, problem.LipschitzF},
		Multipliers: true,
	}, DefaultValue(), func(s ValueSettings) Oracle { return &Value{Settings: s} })
}

// Value is the oracle `value`: F~(x) = f(x, y~), and differences of it. Where rows are
// inequalities, and the rows that hold y change within a step, the value is that of the
// piece of F to which x belongs: those rows are kept as equalities and the others dropped.
type Value struct{ Settings ValueSettings }

// Gradient implements Oracle by finite differences.
func (o *Value) Gradient(ctx context.Context, dst []float64, at *At) (float64, error) {
	return finiteDifference(ctx, dst, at, o.Settings.Step, true)
}

// finiteDifference sets dst to the central differences of F, entry by entry, with
// steps relative to 1 + |x_j|, and estimates their error. It uses nothing of the
// other oracles. Where the piece of F changes within a step, as the rows that hold y
// show, the values are those of the piece, if pieces are asked for; elsewhere, and
// where it has none, the step is shortened as far as the accuracy of the values lets
// it. Where the lower level is infeasible on one side of an entry, the difference is
// one-sided.
func finiteDifference(ctx context.Context, dst []float64, at *At, step float64, pieces bool) (float64, error) {
	d := &slopes{at: at, x: append([]float64(nil), at.X...)}
	if pieces && at.Problem.HasInequalities() {
		d.face = lower.NewFaceSolver()
		defer d.face.Release()
	}
	answer := at.Problem.Answer(at.Lower.Y, at.Lower.Lambda)
	d.center = at.Problem.F.Value(at.X, answer)
	z := make([]float64, at.Problem.AnswerLen())
	at.Problem.F.ValueGrad(make([]float64, len(at.X)), z, at.X, answer)
	d.gradY = linalg.Norm(z[:at.Problem.Dy])
	sum := 0.0
	for j := range at.X {
		best := math.Inf(1)
		// The steps tried: from the one asked for down to 1e-4 of it, by tenths.
		for h := step; h >= step*1e-4 && best > d.rounding(j, h); h /= 10 {
			slope, err, failure := d.difference(ctx, j, h)
			if failure != nil {
				return 0, failure
			}
			if err < best {
				dst[j], best = slope, err
			}
		}
		if math.IsInf(best, 1) {
			return 0, &LowerError{Status: lower.Infeasible, Reason: "no feasible point on either side of it"}
		}
		sum = math.Hypot(sum, best)
	}
	return sum, nil
}

// slopes are differences of F along the entries of x.
type slopes struct {
	at     *At
	x      []float64
	center float64
	gradY  float64           // |grad_y f| at the center: what F is off by for an error in y
	face   *lower.FaceSolver // for values of the piece of the center; nil: of F alone
}

// rounding is the error that the accuracy of values leaves in a difference, at its best:
// no shorter step would improve one that is as small.
func (d *slopes) rounding(j int, h float64) float64 {
	return 2 * tolerance.Feasibility * (1e-300 + math.Abs(d.center)) / (h * (1 + math.Abs(d.at.X[j])))
}

// unsolved is what a value of F may be off by as y is: the solver's own bound on that, where it
// has one. Solvers that leave more than rounding do so by amounts of either sign.
func (d *slopes) unsolved(s *lower.Solution) float64 {
	if math.IsInf(s.ErrorBound, 1) || math.IsNaN(s.ErrorBound) {
		return 0
	}
	return d.gradY * s.ErrorBound
}

// side is F at one end of a difference.
type side struct {
	value, moved float64 // F, and how far the entry of x was moved
	off          float64 // what the value is off by, as y is
	same, ok     bool    // on the piece of the center; feasible
}

// side is F with entry j moved by h.
func (d *slopes) side(ctx context.Context, j int, h float64) (side, error) {
	p := d.at.Problem
	xj := d.at.X[j]
	d.x[j] = xj + h
	defer func() { d.x[j] = xj }()
	at := side{moved: d.x[j] - xj}
	s := d.at.Solver.Solve(ctx, p, lower.G(p, d.x), d.x, d.at.Lower)
	if s.Status == lower.Stopped {
		return side{}, context.Cause(ctx)
	}
	failure := lowerError(p, d.x, s)
	same := failure == nil && slices.Equal(face(s), d.at.held())
	if !same && d.face != nil {
		piece := d.face.OnFace(ctx, p, lower.G(p, d.x), d.x, d.at.held(), d.at.Lower)
		if piece.Status == lower.Stopped {
			return side{}, context.Cause(ctx)
		}
		if lowerError(p, d.x, piece) == nil && len(piece.Dependent) <= len(d.at.Lower.Dependent) {
			if v := p.F.Value(d.x, p.Answer(piece.Y, piece.Lambda)); !math.IsNaN(v) && !math.IsInf(v, 0) {
				at.value, at.off, at.same, at.ok = v, d.unsolved(piece), true, true
				return at, nil
			}
		}
	}
	switch err := failure.(type) {
	case nil:
		at.value, at.off = p.F.Value(d.x, p.Answer(s.Y, s.Lambda)), d.unsolved(s)
		at.same, at.ok = same, true
		return at, nil
	case *InfeasibleError:
		return at, nil
	default:
		return side{}, err
	}
}

// difference is the slope along entry j from a step of relative length h, and an
// estimate of its error; infinite where no side is feasible.
func (d *slopes) difference(ctx context.Context, j int, h float64) (slope, estimate float64, err error) {
	defer must.Catch(&err)
	length := h * (1 + math.Abs(d.at.X[j]))
	above := must.Get(d.side(ctx, j, length))
	below := must.Get(d.side(ctx, j, -length))
	noise := d.rounding(j, h)
	switch {
	case above.ok && below.ok:
		slope = (above.value - below.value) / (above.moved - below.moved)
		// One-sided differences that disagree show curvature, whose effect on the
		// central one is of the next order in h on one piece; or else a kink.
		curved := math.Abs((above.value-d.center)/above.moved - (below.value-d.center)/below.moved)
		if above.same && below.same {
			curved *= h
		}
		return slope, curved + noise + (above.off+below.off)/(above.moved-below.moved), nil
	case above.ok:
		return d.oneSided(above, h, noise)
	case below.ok:
		return d.oneSided(below, h, noise)
	}
	return 0, math.Inf(1), nil
}

// oneSided is the slope towards one end, and an estimate of its error.
func (d *slopes) oneSided(end side, h, noise float64) (slope, estimate float64, err error) {
	slope = (end.value - d.center) / end.moved
	return slope, math.Abs(slope)*h + noise + (end.off+d.unsolved(d.at.Lower))/math.Abs(end.moved), nil
}

// GradientCheck compares an oracle's gradient with finite differences of F.
type GradientCheck struct {
	Difference []float64 // len Dx
	// Error is |Grad - Difference|, Relative the same over 1e-300 + |Difference|,
	// Expected the sum of both sides' own error estimates.
	Error, Relative, Expected float64
}

// CheckGradient compares the oracle's gradient at a point, which must be set, with
// central finite differences of F on the same piece, which share nothing with the
// oracle but the lower solver.
func (h *Hyper) CheckGradient(ctx context.Context, pt *Point) (_ *GradientCheck, err error) {
	defer must.Catch(&err)
	c := &GradientCheck{Difference: make([]float64, len(pt.X))}
	at := h.at(pt.X, pt.Lower, pt.Face)
	own := must.Get(finiteDifference(ctx, c.Difference, at, DefaultValue().Step, false))
	c.Error = linalg.Distance(pt.Grad, c.Difference)
	c.Relative = c.Error / (1e-300 + linalg.Norm(c.Difference))
	c.Expected = own + pt.GradError
	return c, nil
}
