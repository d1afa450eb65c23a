package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"bilevelc/internal/must"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/document"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/named"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
)

// Version is the version of bilevelc, repeated in every result.
var Version = "0.1.0-dev"

// Eval gives the result document at a given upper point, without solving the
// upper level: F, y*, multipliers, active rows and the hypergradient there. Where strict
// complementarity fails, so that F may have a kink, it is the gradient of a piece that F has on an
// open set next to the point; where none is found, or the oracle finds none that is exact
// enough, there is none, and a note says so.
// Of the options, the methods' names and settings, the seed and CheckGradient
// count.
func (p *Problem) Eval(ctx context.Context, at Values, opts Options) (_ *Result, err error) {
	defer must.Catch(&err)
	p, done := p.borrow(ctx)
	defer done()
	if q := p.evaluates(opts); q != nil {
		return q.evalSystem(ctx, at, opts)
	}
	watch := stopwatch{last: time.Now()}
	x := must.Get(p.upperPoint(at))
	opts, c, h, err := p.choose(opts)
	must.Do(err)
	r := p.newResult(opts)
	r.Status, r.Method, r.Settings = Solved, "", settingsOf(c.forOracle, c.forSolver)
	r.Stationarity.Value = Number(math.NaN())
	pt, err := outer.Gradient(ctx, h, x, opts.Seed)
	if refuted := new(oracle.InfeasibleError); errors.As(err, &refuted) {
		// A point that misses the edge of where the lower level has one by the rounding of its own numbers.
		near := make([]float64, len(x))
		if h.Project(near, x) == nil && linalg.Distance(near, x) <= refuted.Rounding(p.Numeric) {
			x = near
			pt, err = outer.Gradient(ctx, h, x, opts.Seed)
		}
	}
	var missing *oracle.LowerError
	if errors.As(err, &missing) && missing.Gradient {
		// All else is known.
		if pt, err = h.Value(ctx, x); err == nil {
			pt.GradError, pt.Face = math.NaN(), nil
		}
	}
	switch {
	case err != nil:
		return p.failed(r, x, err)
	case missing != nil:
		r.Notes = append(r.Notes, missing.Error()+"; no hypergradient is given")
	case pt.Grad == nil:
		r.Notes = append(r.Notes, "F may have a kink at this point, and none near by was found at which it surely has a gradient: no hypergradient is given")
	}
	errorY := oracle.ErrorOfY(p.Numeric, pt)
	if pt.Lower.Status == lower.Solved && math.IsInf(errorY, 1) && h.Unsolved(pt) {
		short := *pt.Lower
		short.Status, short.Reason = lower.Inaccurate, "the lower solver took what is left of stationarity for rounding, beside an entry of y that curves far more than the others"
		pt.Lower = &short
	}
	if err := p.describeFor(ctx, r, pt, errorY); err != nil {
		return p.failed(r, x, err)
	}
	r.Certificate = &certify.Certificate{Lower: p.lowerCertificate(pt, errorY)}
	must.Get(p.describeTies(ctx, r, pt.X, pt.Lower.Y))
	if pt.Lower.Status != lower.Solved {
		r.Status, r.Reason = NumericalFailure, pt.Lower.Reason
	}
	if r.rough() {
		r.Upper.Hypergradient, r.Stationarity.Strict = nil, false
		r.Notes = append(r.Notes, "the lower level is not solved to its tolerance here, so that F has no gradient that is known: it is left out")
	}
	if err := p.leaveOutUnknown(ctx, r, pt); err != nil {
		return p.failed(r, x, err)
	}
	if opts.Sensitivity {
		if e := p.branching(pt.X, pt.Lower.Y, pt.Lower.Lambda); e != nil {
			r.Sensitivity, err = e.sensitivities(ctx, e.answer(ctx))
		} else {
			sided := len(rowsThatMeet(pt, p.Numeric)) > 0 || named.Unpressed(p.IR.Rows, pt.Lower.Lambda)
			r.Sensitivity, err = p.sensitivities(ctx, &oracleAnswer{h: h, pt: pt}, sided)
		}
		if err != nil {
			return p.failed(r, x, err)
		}
	}
	if opts.CheckGradient && r.Upper.Hypergradient != nil {
		r.Check = must.Get(p.checkGradient(ctx, h, pt))
	}
	return p.evaluated(r, x, h.Calls(), &watch), nil
}

// evaluated ends the result of an evaluation at x.
func (p *Problem) evaluated(r *Result, x []float64, calls Calls, watch *stopwatch) *Result {
	if v := p.upperViolation(x); v > 1e-9*(1+linalg.NormInf(x)) {
		r.Notes = append(r.Notes, fmt.Sprintf("the point is outside X by %.3g", v))
	}
	r.Calls, r.Phases = calls, p.phases
	r.Phases.Solve = watch.lap()
	r.Time = r.Phases.Total()
	return r
}

func (p *Problem) newResult(opts Options) *Result {
	r := &Result{Result: document.Result{Schema: SchemaVersion, Model: p.IR.Name, Seed: opts.Seed, Method: opts.Method,
		Oracle: opts.Oracle, Version: Version, Digest: p.Digest()}}
	r.Lower.Solver, r.Lower.Curvature = opts.Solver, p.curvatureKept(opts)
	// Hidden variables may fall apart where the follower does not: no word of them.
	if note := followersNote(ownBlocks(p.IR)); p.Numeric.Dy >= tolerance.LeastSparse && note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r
}

// curvatureKept says what a run keeps of the Hessian of g between lower
// solves (LowerResult.Curvature).
func (p *Problem) curvatureKept(opts Options) string {
	facts := p.Numeric.Facts
	if !facts.QuadraticInY || !facts.FixedHessian {
		return ""
	}
	switch opts.Solver {
	case "quadratic", "sparse":
		return "recovered"
	case "alm":
		c, err := opts.split(opts.Settings)
		if err == nil && lower.Recycles(c.forSolver) {
			return "recycled"
		}
	}
	return ""
}

func settingsOf(sets ...map[string]any) map[string]any {
	out := map[string]any{}
	for _, set := range sets {
		maps.Copy(out, set)
	}
	return out
}

// failed turns an error at a point into the status it means; what is no
// outcome of a solve stays an error.
func (p *Problem) failed(r *Result, x []float64, err error) (*Result, error) {
	p.blank(r, x)
	r.Reason = err.Error()
	if r.Status = statusAt(err); r.Status == status.Running {
		if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
		r.Status = Interrupted
	}
	p.explainFailure(r, err)
	return r, nil
}

// blank fills a result that has no point of F: x is where it was looked for.
func (p *Problem) blank(r *Result, x []float64) {
	upperSense, _ := sense(&p.IR.Upper)
	lowerSense, _ := sense(&p.IR.Lower)
	r.Upper = UpperResult{Sense: upperSense, Variables: named.Variables(&p.IR.Upper, x, 1)}
	r.Lower.Sense = lowerSense
	r.NoPoint()
}

// leaveOutUnknown takes the hypergradient out of an evaluation that does not know it: whose error is more of the size of gradients than a verification lets pass.
func (p *Problem) leaveOutUnknown(ctx context.Context, r *Result, pt *oracle.Point) error {
	if r.Status != Solved || r.Upper.Hypergradient == nil || pt.GradError <= certify.Share*linalg.Norm(pt.Grad) {
		return nil
	}
	report, ended, err := p.examine(ctx, r)
	if ended {
		return context.Cause(ctx)
	}
	if err != nil || !refuses(report, certify.GradientErrorClaim) {
		return err
	}
	r.Upper.Hypergradient, r.Stationarity.GradientError = nil, Number(math.NaN())
	r.Notes = append(r.Notes, fmt.Sprintf("the gradient of F is not known here: rounding, and what is open of the follower's answer, leave an error of %s; no hypergradient is given", Number(pt.GradError).Brief()))
	return nil
}

// checkGradient compares the oracle's gradient with central differences of F.
func (p *Problem) checkGradient(ctx context.Context, h *oracle.Hyper, pt *oracle.Point) (_ *GradientCheck, err error) {
	defer must.Catch(&err)
	check := must.Get(h.CheckGradient(ctx, pt))
	return p.gradientCheck(check.Difference, check.Error), nil
}

// gradientCheck is what a document says of a gradient that differs by so much from differences of F.
func (p *Problem) gradientCheck(difference []float64, wrong float64) *GradientCheck {
	_, sign := sense(&p.IR.Upper)
	return &GradientCheck{Difference: named.Variables(&p.IR.Upper, difference, sign),
		Error: Number(wrong), Relative: Number(wrong / (1e-300 + linalg.Norm(difference)))}
}
