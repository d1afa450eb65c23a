package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"bilevelc/runtime/certify"
	"bilevelc/runtime/qp"
	"bilevelc/runtime/system"
	"bilevelc/runtime/tolerance"
	"bilevelc/runtime/tree"
)

// WriteProof writes a proof of the result's global bound (Global.Bound; of an infeasible problem, that nothing is feasible), which VerifyProof
// reads. It solves the leaves of the search's tree again, and verifies what it writes: where that shows less, by rounding, the result's bound becomes what it
// shows. The error says why there is none: results that were read from a document have no tree.
func (r *Result) WriteProof(ctx context.Context, w io.Writer) error {
	switch t := r.tree; {
	case t != nil && !math.IsInf(t.Says.Bound, -1):
		sum := sha256.New()
		err := r.proveWith(ctx, t, io.MultiWriter(w, sum))
		if err == nil && r.Global != nil {
			r.Global.ProofSeal = hex.EncodeToString(sum.Sum(nil))
		}
		return err
	case r.Global == nil:
		return errors.New("nobody has looked for a bound on F over all x")
	case r.Global.Why != "":
		return fmt.Errorf("there is no bound to prove: %s", r.Global.Why)
	}
	return errors.New("the search's tree is not at hand")
}

// proveWith is WriteProof where there is a tree.
func (r *Result) proveWith(ctx context.Context, t *system.Proof, w io.Writer) error {
	claimed := t.Says.Bound
	if err := t.Write(ctx, w); err != nil {
		return err
	}
	if t.Says.Bound < claimed {
		sign, g := r.sign(), r.Global
		f := sign * float64(r.Upper.Objective)
		if r.HasPoint() {
			g.Gap = Number(system.Gap(f, t.Says.Bound, t.Scale))
		}
		if g.Proved && system.MoreThanRounding(g) {
			g.Proved, g.Why, r.Reason = false, "rounding in the proof leaves more open than the gap", t.Local
		} else if g.Proved {
			g.Within = max(g.Within, g.Gap)
			r.Reason = g.Reason()
		}
		g.Bound = Number(sign * t.Says.Bound)
		for k := range g.Trace {
			g.Trace[k].Bound = Number(sign * math.Min(sign*float64(g.Trace[k].Bound), t.Says.Bound))
		}
	}
	return nil
}

// VerifyProof is Verify with the proof of the result's global bound, whose file has the name: the bound of every leaf is computed again, from the
// problem alone, and that the leaves leave nothing out. A result without a point is one that claims that there is none.
func (p *Problem) VerifyProof(r *Result, name string, proof io.Reader) (*certify.Report, error) {
	return p.verifyWith(r, &proofText{name: name, text: proof})
}

// proofText is a proof that is to be read.
type proofText struct {
	name string
	text io.Reader
}

// global checks what the document says of all x; proof may be nil.
func (c *claims) global(proof *proofText) {
	g := c.r.Global
	if g == nil {
		if proof != nil {
			c.check("global", false, "a proof is given, and the document claims no bound")
		}
		return
	}
	_, sign := sense(&c.p.IR.Upper)
	bound, f := sign*float64(g.Bound), math.Inf(1)
	if c.r.HasPoint() {
		f = sign * float64(c.r.Upper.Objective)
	}
	gap, within := float64(g.Gap), float64(g.Within)
	c.check("global: nodes and the gap asked for", g.Nodes >= 0 && within > 0 && !math.IsInf(within, 1), "%d nodes, %v", g.Nodes, within)
	c.check("global: what is proved needs no excuse", g.Proved == (g.Why == ""), "proved is %t, and why is %q", g.Proved, g.Why)
	forward, last := true, BoundPoint{Nodes: -1, Bound: Number(-sign * math.Inf(1)), Best: Number(sign * math.Inf(1))}
	for _, t := range g.Trace {
		forward = forward && t.Nodes > last.Nodes && t.Nodes <= g.Nodes && sign*float64(t.Bound) >= sign*float64(last.Bound) && sign*float64(t.Bound) <= bound &&
			sign*float64(t.Best) <= sign*float64(last.Best) && sign*float64(t.Best) >= bound
		last = t
	}
	c.check("global: the trace", forward, "it does not go forward to the bound")
	if times := c.r.Phases.Bound; len(times) > 0 {
		c.check("global: times of the trace", len(times) == len(g.Trace) && slices.IsSorted(times) && times[0] >= 0, "")
	}
	if c.r.HasPoint() {
		c.check("global: no bound is beyond F", bound <= f, "it is by %.3g", bound-f)
		c.check("global: proved within the gap asked for", !g.Proved || gap <= within, "%.3g is more than %.3g", gap, within)
		// It is relative to F, or where that is 0 to its terms, which the proof's model tells; a part of these that is 1/Target of F at least (tree.GapScale).
		d := system.Gap(f, bound, math.Abs(f))
		toF, toTerms := math.Abs(gap-d) <= tolerance.SolveAccuracy*d, gap <= tolerance.Target*d*(1+tolerance.SolveAccuracy)
		c.check("global: the gap is that of F and the bound", gap == d || !math.IsInf(bound, 0) && gap > 0 && (toF || toTerms), "it is %.3g", d)
	}
	if proof == nil {
		c.report.Unchecked = append(c.report.Unchecked, "global (what branch and bound found; a proof shows it: --proof)")
		return
	}
	says := fmt.Sprintf("global: no feasible point has F below %s", g.Bound.Text())
	if sign < 0 {
		says = fmt.Sprintf("global: no feasible point has F above %s", g.Bound.Text())
	}
	if math.IsInf(bound, 1) {
		says = "global: nothing is feasible"
	}
	sum := sha256.New()
	shown, err := certify.VerifyTree(c.p.Numeric, io.TeeReader(proof.text, sum), c.p.Digest())
	var fault *certify.TreeError
	switch {
	case errors.As(err, &fault):
		c.check(says, false, "%s:%d: %v", proof.name, fault.Line, fault.Err)
		return
	case err != nil:
		c.check(says, false, "%s: %v", proof.name, err)
		return
	}
	if g.ProofSeal != "" { // also of changes after which it still shows the bound
		c.check("global: the proof is the one that was written", g.ProofSeal == hex.EncodeToString(sum.Sum(nil)), "%s was changed since", proof.name)
	}
	c.report.Checks = append(c.report.Checks, certify.Check{Claim: says, OK: shown.Bound >= bound, Claimed: float64(g.Bound), Found: sign * shown.Bound,
		Detail: fmt.Sprintf("%d branches, %d leaves with a bound and %d without a point", shown.Branches, shown.Leaves, shown.Empty)})
	if !c.r.HasPoint() {
		return
	}
	least := system.Gap(f, shown.Bound, tree.GapScale(f, shown.Terms(c.doc.X, c.doc.Y, c.p.Numeric.Rows.Shortest(c.doc.Lambda))))
	c.report.Checks = append(c.report.Checks, certify.Check{Claim: "global: the gap that the proof shows", OK: least <= gap*(1+tolerance.SolveAccuracy),
		Claimed: gap, Found: least})
}

// contradiction is the report on a result that claims that there is no point where linear constraints of both levels contradict each other, which needs
// no proof; nil where they do not.
func (c *claims) contradiction() *certify.Report {
	if c.r.Status != Infeasible || c.p.contradiction() != qp.Infeasible {
		return nil
	}
	c.pointless()
	c.check("linear constraints of both levels contradict each other", true, "")
	c.report.Unchecked = append(c.report.Unchecked, "everything else (a result without a point claims that there is none)")
	return c.report
}

// pointless checks what a result without a point says of itself: it has no numbers of one.
func (c *claims) pointless() {
	c.identity()
	r := c.r
	numbers := []Number{r.Upper.Objective, r.Lower.Objective, r.Lower.MinMultiplier, r.Lower.MinSlack, r.Lower.ErrorBound, r.Residuals.Stationarity, r.Residuals.Primal, r.Residuals.Dual,
		r.Residuals.Complementarity, r.Residuals.Upper, r.Stationarity.Value, r.Stationarity.GradientError}
	if r.Global != nil && !math.IsInf(float64(r.Global.Gap), 1) { // there is nothing that a bound could be apart from
		numbers = append(numbers, r.Global.Gap)
	}
	c.check("no numbers of a point", !slices.ContainsFunc(numbers, func(n Number) bool { return !math.IsNaN(float64(n)) }), "there is no point")
}

// infeasible is the report on a result that claims that there is no point, by its proof.
func (c *claims) infeasible(proof *proofText) {
	c.pointless()
	c.check("status", c.r.Status == Infeasible && c.r.Global != nil && math.IsInf(float64(c.r.Global.Bound), 0), "%s, without a point", c.r.Status)
	c.global(proof)
}
