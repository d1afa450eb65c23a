package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"bilevelc/runtime/certify"
	"bilevelc/runtime/kkt"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tree"
)

// Proof is what the proof of a bound is written from.
type Proof struct {
	problem *problem.Problem
	system  *kkt.System // of problem
	state   *tree.State
	Says    tree.Statement
	Scale   float64 // what the gap is relative to
	terms   float64 // of f, at the best point on the system; 0 without one
	Local   string  // in what sense the result is stationary, whatever the search shows
}

// Beside makes the bound no more than f at a point, and the scale the one there, and returns the bound and the gap.
func (p *Proof) Beside(f float64) (bound, gap float64) {
	p.Says.Bound, p.Scale = min(p.Says.Bound, f), tree.GapScale(f, p.terms)
	return p.Says.Bound, Gap(f, p.Says.Bound, p.Scale)
}

// Write writes the proof, and verifies what it writes: where that shows less, by rounding, Says becomes what it shows. It solves the leaves of the search's tree again.
func (p *Proof) Write(ctx context.Context, w io.Writer) error {
	verifier := certify.NewTreeVerifier(p.problem, p.Says.Digest)
	says := p.Says
	says.Accepts = verifier.Take
	if err := tree.WriteProof(ctx, w, p.system, p.state, says); err != nil {
		return err
	}
	shown, err := verifier.Report()
	if err != nil {
		return fmt.Errorf("what was written does not verify: %w", err)
	}
	if math.IsInf(shown.Bound, -1) { // what is convex but for the rounding of its numbers has a bound within bounds of its variables alone
		return errors.New("what was written shows no bound: the upper objective is convex to rounding only, and variables that it reads have no bounds")
	}
	p.Says.Bound = min(p.Says.Bound, shown.Bound)
	return nil
}
