package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/lang/diag"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/document"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/named"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/pieces"
	"bilevelc/runtime/system"
	"bilevelc/runtime/tolerance"
)

// Where the KKT system of a follower with ties, or with multipliers that the upper level reads, can be kept, F at a given x is f at the follower's own answer that is best for the leader, or worst (ties = pessimistic):
// one program for an answer, and one over the set of all answers.

// systemPoint evaluates a problem with ties on its KKT system. It is not safe for concurrent use.
type systemPoint struct {
	p        *Problem
	s        *kkt.System
	solver   *pieces.Solver
	follower *kkt.Follower

	lost, open float64 // by answers that are ties, and what rounding leaves open of that (lose)
}

// evaluates is the problem on whose KKT system evaluations with these options are made; nil where they take another way.
func (p *Problem) evaluates(opts Options) *Problem {
	q := p.exact
	switch {
	case p.exactTies != "" || p.tieRule() != "" && p.whyNot(opts) == "":
		return p
	case p.ties == nil || q == nil || kkt.Applies(q.Numeric) != "":
	case q.exactTies == document.LeastNorm:
		if p.otherMethod(opts) == "" && len(q.IR.Duals) == 0 { // multipliers are not unique where answers are not
			return q
		}
	case p.whyNot(opts) == "":
		return q
	}
	return nil
}

// systemPoint evaluates p on its KKT system; a problem without one ends what asks for it (package must).
func (p *Problem) systemPoint() *systemPoint { return newSystemPoint(p, must.Get(kkt.New(p.Numeric))) }

func newSystemPoint(p *Problem, s *kkt.System) *systemPoint {
	solver := must.Get(pieces.New(s, pieces.Options{}))
	return &systemPoint{p: p, s: s, solver: solver, follower: solver.Follower()}
}

// systemAnswer is F at one x.
type systemAnswer struct {
	*kkt.Point
	choice system.Choice
	short  error // why Z is one of the answers, the best one that was found if it is a system.Undecided, and not known to be the best or worst
}

// at is the follower's answer to x by the rule of the ties. The error is an *oracle.InfeasibleError or its kin, or the cause of ctx.
func (e *systemPoint) at(ctx context.Context, x []float64) (*systemAnswer, error) {
	z, status := e.follower.Solve(ctx, x)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case status == activeset.Infeasible:
		out := &oracle.InfeasibleError{X: slices.Clone(x), Farkas: e.follower.Refuted()}
		for i, u := range out.Farkas {
			if u != 0 {
				out.Rows = append(out.Rows, e.p.Numeric.Rows.RowName(i))
			}
		}
		return nil, out
	case status == activeset.Unbounded:
		return nil, &oracle.UnboundedError{}
	case status != activeset.Optimal:
		return nil, &oracle.LowerError{Reason: fmt.Sprintf("the program of its answer: %v", status)}
	}
	out := &systemAnswer{choice: system.ChoiceAt(ctx, e.follower, z)}
	if !out.choice.None() {
		var end []float64
		var err error
		switch e.p.tieRule() {
		case document.Pessimistic:
			end, _, err = system.ExtremeAnswer(ctx, e.s, e.follower, z, -1)
		case document.LeastNorm:
			end, err = e.follower.LeastNorm(ctx, z)
		default:
			end, _, err = system.ExtremeAnswer(ctx, e.s, e.follower, z, 1)
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil && end == nil:
			reason := "f has no end over the follower's answers and multipliers there"
			if e.p.tieRule() == document.Pessimistic {
				reason += ", the worst of which counts: F is infinite"
			}
			return nil, &oracle.LowerError{Upper: true, Reason: reason}
		case end != nil:
			z = end
		}
		out.short = err
	}
	out.Point = &kkt.Point{Z: z, F: e.s.Value(z)}
	if math.IsNaN(out.F) || math.IsInf(out.F, 0) {
		return nil, &oracle.LowerError{Upper: true, Reason: "f is not finite there"}
	}
	out.Branch, out.Biactive = e.s.BranchAt(z)
	return out, nil
}

// evalSystem is Eval on the KKT system of p.
func (p *Problem) evalSystem(ctx context.Context, at Values, opts Options) (_ *Result, err error) {
	defer must.Catch(&err)
	watch := stopwatch{last: time.Now()}
	x := must.Get(p.upperPoint(at))
	must.Do(p.takes(opts))
	p = p.counted()
	opts.Method, opts.Oracle, opts.Solver = "", system.Oracle, system.Solver
	r := p.newResult(opts)
	r.Lower.Curvature = ""
	r.Status, r.Settings = Solved, map[string]any{}
	r.Stationarity.Value = Number(math.NaN())
	e := p.systemPoint()
	answer, err := e.at(ctx, x)
	if err != nil {
		return p.failed(r, x, err)
	}
	var m *kkt.Multipliers
	function := answer.choice.None() || p.exactTies != document.LeastNorm // of the follower's answers that of least norm is one of no branch
	if answer.short == nil && function {
		if m, err = e.derivative(ctx, answer); err != nil {
			return p.failed(r, x, err)
		}
	}
	pt := system.PointAt(p.Numeric, e.s, answer.Z, m)
	if err := p.describeFor(ctx, r, pt, pt.Lower.ErrorBound); err != nil {
		return p.failed(r, x, err)
	}
	r.Certificate = &certify.Certificate{Lower: p.lowerCertificate(pt, pt.Lower.ErrorBound)}
	if pt.Grad != nil {
		c := system.Multipliers(m, 0) // the system is linear: X has no balls
		r.Certificate.Gradient = &c
	}
	r.Lower.Ties = p.answersAt(ctx, r, e, answer)
	if err := ctx.Err(); err != nil {
		return p.failed(r, x, context.Cause(ctx))
	}
	switch {
	case answer.short != nil:
	case !function:
		r.Notes = append(r.Notes, "the follower has other answers: no hypergradient is given of F with the one of least norm")
	case len(answer.Biactive) > 0 && p.exactTies == document.Pessimistic:
		r.Notes = append(r.Notes, "F may have a kink or a jump at this point: "+branchesWord(p, e.s, answer.Point))
	case pt.Grad == nil && len(answer.Biactive) > 0:
		r.Notes = append(r.Notes, "F may have a kink at this point: "+branchesWord(p, e.s, answer.Point))
	case pt.Grad == nil:
		r.Notes = append(r.Notes, "the follower's answer is not a function of x next to this point: no hypergradient is given")
	}
	if answer.short == nil && function && (opts.Sensitivity || pt.Grad == nil && p.exactTies != document.Pessimistic) {
		if r.Sensitivity, err = e.sensitivities(ctx, answer); err != nil {
			return p.failed(r, x, err)
		}
	}
	if opts.CheckGradient && pt.Grad != nil {
		r.Check = must.Get(e.checkGradient(ctx, answer.Point, pt.Grad))
	}
	return p.evaluated(r, x, p.Numeric.Calls(), &watch), nil
}

// takes refuses options that name methods of other evaluations, where there is none but this one.
func (p *Problem) takes(opts Options) error {
	if err := opts.validate(); err != nil {
		return err
	}
	if opts.Method != "" && opts.Method != SystemMethod || opts.Oracle != "" || opts.Solver != "" || len(opts.Settings) > 0 {
		return &UsageError{Err: fmt.Errorf("ties = %s is evaluated on the follower's KKT system: it takes no method, oracle, solver or settings", p.tieRule())}
	}
	return nil
}

// answersAt says what the follower's other answers at a point are worth.
func (p *Problem) answersAt(ctx context.Context, r *Result, e *systemPoint, answer *systemAnswer) *Ties {
	_, sign := sense(&p.IR.Upper)
	ties := p.tiesOn(answer.choice)
	ties.Optimistic, ties.Pessimistic = r.Upper.Objective, r.Upper.Objective
	if ties.Unique {
		return ties
	}
	e.lose(ctx, answer.Z)
	for _, end := range []struct {
		sign float64
		rule string
		word string
		to   *Number
	}{{1, document.Optimistic, "best", &ties.Optimistic}, {-1, document.Pessimistic, "worst", &ties.Pessimistic}} {
		z, f, err := answer.Z, answer.F, answer.short
		if e.p.tieRule() != end.rule {
			z, f, err = system.ExtremeAnswer(ctx, e.s, e.follower, answer.Z, end.sign)
		}
		*end.to = Number(sign*f + 0)
		if err != nil {
			*end.to = Number(math.NaN())
			r.Notes = append(r.Notes, unknownEnd(end.word, sign, f, err))
		} else if z != nil {
			e.lose(ctx, z)
		}
	}
	if short := (*system.Undecided)(nil); errors.As(answer.short, &short) {
		r.Notes = append(r.Notes, "F is with the best of them that was found")
	} else if answer.short != nil {
		r.Notes = append(r.Notes, "F is with one of the follower's answers")
	}
	ties.Loss = Number(e.lost)
	return ties
}

// unknownEnd says why F with the best or the worst of the follower's answers is not known, and between what it is where a search for it found f.
func unknownEnd(word string, sign, f float64, err error) string {
	text := fmt.Sprintf("F with the %s of the follower's answers is not known: %v", word, err)
	if short := (*system.Undecided)(nil); errors.As(err, &short) && !math.IsInf(short.Bound, 0) {
		text += fmt.Sprintf("; it is between %.10g and %.10g", math.Min(sign*f, sign*short.Bound), math.Max(sign*f, sign*short.Bound))
	}
	return text
}

// lose takes the answer of z into lost: what the follower loses at most by the answers that are spoken of, against its best one.
func (e *systemPoint) lose(ctx context.Context, z []float64) {
	loss, open := e.follower.Loss(ctx, e.s.X(z), e.s.Y(z))
	e.lost, e.open = math.Max(e.lost, loss), math.Max(e.open, open)
}

// branchesWord names the rows whose branches meet at a point.
func branchesWord(p *Problem, s *kkt.System, at *kkt.Point) string {
	rows := each.Of(at.Biactive, func(k int) int { return s.Pairs[k].Row })
	names := named.RowNames(p.IR.Rows, rows)
	if n := len(names); n > tolerance.MostNamed {
		names = append(names[:tolerance.MostNamed:tolerance.MostNamed], fmt.Sprintf("%d more", n-tolerance.MostNamed))
	}
	word := "the branches meet on which this row binds, or has the multiplier 0: "
	if len(rows) > 1 {
		word = "the branches meet on which each of these rows binds, or has the multiplier 0: "
	}
	return word + strings.Join(names, ", ")
}

// checkGradient compares a gradient with central differences of F, at steps of the cube root of rounding.
func (e *systemPoint) checkGradient(ctx context.Context, at *kkt.Point, grad []float64) (_ *GradientCheck, err error) {
	defer must.Catch(&err)
	x := slices.Clone(e.s.X(at.Z))
	difference := make([]float64, len(x))
	for j, t := range x {
		h := 0x1p-17 * math.Max(math.Abs(t), e.s.ColScale[j])
		var f [2]float64
		for k, moved := range []float64{t + h, t - h} {
			x[j] = moved
			there := must.Get(e.at(ctx, x))
			f[k] = there.F
		}
		x[j] = t
		difference[j] = (f[0] - f[1]) / (2 * h)
	}
	return e.p.gradientCheck(difference, linalg.Distance(difference, grad)), nil
}

// unsolved is the error of a solve with ties = pessimistic.
func (p *Problem) unsolved() error {
	err := refused(p.IR, "ties = pessimistic is evaluated at a given x (`bilevelc eval`), and not solved")
	if diags, ok := errors.AsType[diag.List](err); ok {
		diags[0].Detail = "F with the answer that is worst for the leader jumps where the follower is indifferent, and has, as a rule, no least value there."
		diags[0].Fix = "`ties = optimistic`: the result says what F is with the worst answer, and names an x next to it at which the follower has no choice"
	}
	return err
}
