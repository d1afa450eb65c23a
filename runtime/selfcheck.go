package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"bilevelc/internal/await"
	"bilevelc/internal/must"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/named"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/status"
	"bilevelc/runtime/system"
)

// noMeasure is what is said to be measured at a point without a certificate of stationarity.
const noMeasure = "none"

// confirm verifies a result that is to say solved, as the command verify would.
// One that does not pass says so, with the first claim that failed; what was refused
// is left out (redact), its point stays.
//
// When ctx ends before the verification does, the result is not solved: it is that
// of a run whose end was still to come.
func (p *Problem) confirm(ctx context.Context, r *Result) error {
	if (r.Status == Solved || r.Status == NumericalFailure) && r.rough() {
		short := fmt.Sprintf("the lower solver %s stopped short of its tolerance here, at a stationarity residual of %s; "+
			"other settings or another solver may reach it", r.Lower.Solver, r.Residuals.Stationarity.Brief())
		if r.Status == NumericalFailure { // for whatever else that has led to
			short += "; " + r.Reason
		}
		r.Status, r.Reason = NumericalFailure, short
	}
	if r.Status == Unbounded {
		return p.confirmUnbounded(ctx, r)
	}
	if r.Status != Solved {
		return p.redact(ctx, r)
	}
	report, err := p.verified(ctx, r)
	if report == nil {
		return err
	}
	failed := report.Failures()
	if len(failed) > 0 && failed[0].Claim == certify.StrictClaim {
		// The solver took a row for decided that is not: F may have a kink here.
		r.Stationarity.Strict = false
		if p.exactTies != "" {
			r.Upper.Hypergradient = nil
		}
		failed = failed[1:]
	}
	if len(failed) > 0 {
		r.Status = NumericalFailure
		r.Reason = fmt.Sprintf("%s; but the result does not pass its own verification: %s", r.Reason, failed[0].Problem())
		return p.redact(ctx, r)
	}
	return nil
}

// cutShort turns a result that was to say solved into that of a run which ctx has ended during
// what was still to come.
func (r *Result) cutShort(ctx context.Context, during string) (err error) {
	reason := r.Reason
	r.Status, r.Reason = Interrupted, "interrupted while "+during+": "+reason
	if limit := status.LimitOf(ctx); limit != "" {
		r.Status, r.Reason = LimitReached, string(limit)+" reached while "+during+": "+reason
	}
	r.Checkpoint, err = r.Rewind()
	return err
}

// confirmUnbounded verifies the ray along which F improves without end; where there is none that holds, the run has failed to find out.
func (p *Problem) confirmUnbounded(ctx context.Context, r *Result) error {
	if !r.HasPoint() {
		return nil
	}
	if err := p.findRay(ctx, r); err != nil {
		return err
	}
	if err := p.redact(ctx, r); err != nil || r.Status != Unbounded {
		return err
	}
	report, err := p.verified(ctx, r)
	if report == nil {
		return err
	}
	if failed := report.Failures(); len(failed) > 0 {
		r.Status = NumericalFailure
		r.Reason = "F improves as far as it was followed, and nothing shows that it does so without end"
		if r.Certificate != nil && r.Certificate.Ray != nil {
			r.Reason += ": " + failed[0].Problem()
			r.Certificate.Ray = nil
		}
		return nil
	}
	r.Reason = status.NoBound(p.IR.Upper.Maximize)
	return nil
}

// findRay gives a result whose F was seen to fall far out the ray that shows it, found on the KKT system; it moves the result to where the ray begins.
func (p *Problem) findRay(ctx context.Context, r *Result) (err error) {
	defer must.Catch(&err)
	if r.Certificate != nil && r.Certificate.Ray != nil || kkt.Applies(p.Numeric) != "" || p.ties != nil || p.units != nil ||
		p.Numeric.Dx+p.Numeric.Dy+p.Numeric.Rows.Len() > system.Largest {
		return nil
	}
	x := must.Get(named.Vector(&p.IR.Upper, r.Upper.Variables))
	s, err := kkt.New(p.Numeric)
	if err != nil {
		return nil // g is not convex in y: there is no system
	}
	solver := must.Get(pieces.New(s, pieces.Options{}))
	var unbounded *pieces.Unbounded
	if _, err := solver.From(ctx, x); !errors.As(err, &unbounded) {
		return nil
	}
	pt := system.PointAt(p.Numeric, s, unbounded.Z, nil)
	must.Do(p.describe(r, pt, pt.Lower.ErrorBound))
	r.Stationarity.Measure, r.Stationarity.Value, r.Stationarity.Delta = noMeasure, Number(math.NaN()), 0
	r.Parameters = nil
	r.Certificate = &certify.Certificate{Lower: p.lowerCertificate(pt, pt.Lower.ErrorBound), Ray: system.Ray(p.Numeric, s, unbounded.Ray)}
	return nil
}

// verified is the report on a result; nil where there is none, as when ctx has ended first, of which the result then tells.
func (p *Problem) verified(ctx context.Context, r *Result) (*certify.Report, error) {
	report, ended, err := p.examine(ctx, r)
	if ended {
		return nil, r.cutShort(ctx, "the result was verified")
	}
	return report, err
}

// withGrace is ctx, and a short while beyond it where it has ended already.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), outer.FinishGrace)
}

// examine verifies a result, within a grace where ctx has ended already; ended says
// that the time for it was up first, and there is no report.
func (p *Problem) examine(ctx context.Context, r *Result) (report *certify.Report, ended bool, err error) {
	checking, cancel := withGrace(ctx)
	defer cancel()
	// What is given up goes on, with copies of all that is used further.
	own, claimed := p.apart(), *r
	report, err = await.Do(checking, func() (*certify.Report, error) { return own.Verify(&claimed) })
	if report == nil && checking.Err() != nil {
		return nil, true, nil
	}
	if report != nil {
		calls := report.Calls
		if r.Verification != nil {
			calls = calls.Add(*r.Verification)
		}
		r.Verification = &calls
	}
	return report, false, err
}

// redact leaves out of a result that is not solved what its verification refuses, where a run that
// was stopped has had no time to find out: a strictness that is not beyond the errors, a bound
// on y's distance by a modulus that differences of gradients do not find again, the hypergradient
// at a kink of F and a certificate made of such gradients; and where y itself is not confirmed it
// says so.
//
// What could not be verified before ctx ended is left out as if it had been refused.
func (p *Problem) redact(ctx context.Context, r *Result) error {
	if r.rough() {
		r.Stationarity.Strict = false
	}
	report, ended, err := p.examine(ctx, r)
	if err == nil && !ended && refuses(report, certify.StrictClaim) {
		r.Stationarity.Strict = false
		report, ended, err = p.examine(ctx, r)
	}
	if err == nil && !ended && refuses(report, certify.ModulusClaim) {
		r.unbound()
		report, ended, err = p.examine(ctx, r)
	}
	if err != nil || !ended && report.OK() {
		return err
	}
	if ended {
		r.Stationarity.Strict = false
	}
	r.Upper.Hypergradient = nil
	if c := r.Certificate; c != nil && (c.Strong != nil || c.Goldstein != nil || c.GradientMapping != nil) {
		kept := *c
		kept.Strong, kept.Goldstein, kept.GradientMapping = nil, nil, nil
		r.Certificate = &kept
		r.Stationarity.Measure, r.Stationarity.Value, r.Stationarity.Delta = noMeasure, Number(math.NaN()), 0
	}
	if !r.rough() && !ended {
		if report, ended, err = p.examine(ctx, r); err != nil {
			return err
		}
		if !ended && report.Unsolved() {
			r.Lower.Status, r.Stationarity.Strict = lower.Inaccurate.String(), false
		}
	}
	if r.rough() {
		r.Notes = append(r.Notes, "the lower level is not solved to its tolerance here, so that F and its gradients are not known: they are left out")
		return nil
	}
	r.Notes = append(r.Notes, "F may have a kink here, and which of its gradients belong to pieces of it was not confirmed: they are left out")
	if ended && r.Method != "" && r.Status != Interrupted && r.Status != LimitReached {
		return r.cutShort(ctx, "the result was verified") // by what it left out it is another one
	}
	return nil
}

// unbound takes the bound on |y - y*| back.
func (r *Result) unbound() {
	kept, of := *r.Certificate, *r.Certificate.Lower
	of.Bound = nil
	kept.Lower = &of
	r.Certificate, r.Lower.ErrorBound = &kept, Number(math.Inf(1))
}

// refuses says that a verification refuses a claim, of a number or an entry.
func refuses(report *certify.Report, claim string) bool {
	return slices.ContainsFunc(report.Failures(), func(c certify.Check) bool { return strings.HasPrefix(c.Claim, claim) })
}

// rough reports that a result says of itself that its lower level is not solved.
func (r *Result) rough() bool { return r.Lower.Status == lower.Inaccurate.String() }

// asked is the accuracy of stationarity that a result's method was asked for: its
// setting epsilon, or the default; 0 where it has none.
func (r *Result) asked() float64 {
	if r.Method == "" {
		return 0
	}
	return r.setting(r.Method, "epsilon")
}

// radius is the relative radius that a document's run was asked for; 0 where that is not known: of other methods than these radii are absolute.
func (p *Problem) radius(r *Result) float64 {
	if !relativeRadius(r.Method) || len(p.Numeric.X.Lo) == 0 {
		return 0
	}
	for j := range p.Numeric.X.Lo {
		if math.IsInf(p.Numeric.X.Hi[j]-p.Numeric.X.Lo[j], 1) {
			return 0 // the size of x is what a run has met
		}
	}
	return r.setting(r.Method, "delta")
}

// relativeRadius reports that a method's radius is relative to X.
func relativeRadius(method string) bool { return method == "goldstein" }

// setting is a document's setting of a method, or the method's default; 0 for none.
func (r *Result) setting(method, name string) float64 {
	if v, ok := r.Settings[name]; ok {
		return number64(v)
	}
	spec, err := outer.Lookup(method)
	if err != nil {
		return 0
	}
	for _, s := range spec.Settings {
		if s.Name == name {
			return number64(s.Default)
		}
	}
	return 0
}

// number64 is a setting's value as a number.
func number64(v any) float64 {
	switch f := v.(type) {
	case float64:
		return f
	case int:
		return float64(f)
	}
	return 0
}
