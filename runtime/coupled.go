package runtime

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/ir"
	"bilevelc/runtime/certify"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/named"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/outer"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/status"
	"bilevelc/runtime/tolerance"
)

// Constraints of the upper level that read the lower level's answer, or are curved,
// are met by an exact penalty (problem.Coupled): for weights above the size of
// their multipliers the minimizers of F plus the penalty are those of the
// constrained problem (Han and Mangasarian 1979), and a Goldstein certificate of
// the penalized F at a point that satisfies them is one of constrained
// stationarity, whose convex weights give the multipliers. The weights are raised
// until the point that a run ends at satisfies the constraints.

// lastRound reports that what weights have grown by is the square root of what doubles resolve (tolerance.MuShrink).
func lastRound(n int) bool { return math.Pow(tolerance.MuShrink, float64(n)) <= tolerance.HalfDigits }

// CouplingState is how far the weights of the coupled constraints have come: part of
// a checkpoint.
type CouplingState struct {
	Round  int       `json:"round"`  // see lastRound
	Weight []float64 `json:"weight"` // of the penalty
	Scale  []float64 `json:"scale"`  // of each constraint: its value and its motion over the size of x at the start
	Spent  Calls     `json:"spent"`  // in earlier rounds
}

// coupling is what a run knows of the coupled constraints.
type coupling struct {
	CouplingState
	unmet *ir.Family // a constraint that no weight has made to hold; nil if there is none
}

// minimize runs the method from each start, with weights for the coupled
// constraints raised until they hold. The journal is that of the last round.
func (p *Problem) minimize(ctx context.Context, c *chosen, opts Options, start []float64, head Checkpoint) (_ *startRuns, _ *journal, _ *coupling, err error) {
	defer must.Catch(&err)
	if p.Numeric.Coupled == nil {
		at, spent := p.ahead(ctx, c, opts, start)
		head.Ahead = spent
		j := newJournal(head, opts)
		runs := must.Get(p.runStarts(ctx, c, opts, at, j))
		runs.Calls = runs.Calls.Add(spent)
		if best := runs.Best; best.Best == nil && ctx.Err() != nil { // the end came on the way there
			finishing, cancel := context.WithoutCancel(ctx), func() {}
			if runs.Calls.F == 0 { // nobody knows how long an answer of the follower takes
				finishing, cancel = withGrace(ctx)
			}
			defer cancel()
			if h, err := c.hyperobjective(p, 1); err == nil {
				best.Best, _ = outer.Gradient(finishing, h, at, opts.Seed)
				best.Measure = outer.Measure{Name: noMeasure, Value: math.NaN()}
			}
		}
		return runs, j, nil, nil
	}
	k := must.Get(p.coupling(ctx, c, opts, start))
	for {
		state := k.CouplingState
		state.Weight = slices.Clone(k.Weight)
		head.Coupling = &state
		j := newJournal(head, opts)
		runs := must.Get(p.weighted(k).runStarts(ctx, c, opts, start, j))
		k.Spent = k.Spent.Add(runs.Calls)
		runs.Calls = k.Spent
		best := runs.Best
		ended := best.Status == status.Solved || best.Status == status.NumericalFailure || best.Status == status.Unbounded
		violated := k.violated(p.Numeric.Coupled, best.Best)
		if !ended || len(violated) == 0 {
			return runs, j, k, nil
		}
		if lastRound(k.Round) {
			k.giveUp(p, best, violated)
			return runs, j, k, nil
		}
		for i := range k.Weight {
			// Where F falls without bound the next fall would be across a constraint whose weight is
			// still as it was.
			if best.Status == status.Unbounded || slices.Contains(violated, i) {
				k.Weight[i] *= 1 / tolerance.MuShrink
			}
		}
		k.Round++
		// The penalized F falls without bound where the weights are too small, and a point
		// that far off is no start, as all there is as large as it: the round begins anew.
		if best.Status != status.Unbounded {
			start, opts.Starts, opts.automatic = best.Best.X, 1, false
		}
		opts.Resume, opts.FirstStart = nil, 0
		head.Start, head.Automatic = start, opts.automatic
	}
}

// giveUp says which constraint does not hold at the end of the last round. A local search shows nothing of other x: it has found no point.
func (k *coupling) giveUp(p *Problem, best *outer.Result, violated []int) {
	worst := slices.MaxFunc(violated, func(i, j int) int {
		return cmp.Compare(math.Abs(best.Best.Coupled[i])/k.Scale[i], math.Abs(best.Best.Coupled[j])/k.Scale[j])
	})
	best.Status = status.NumericalFailure // of an end without bound, too: that of the penalized F says nothing of F where the constraints hold
	best.Reason = fmt.Sprintf("no x was found that satisfies the upper constraints, which does not show that there is none: where the search ended, %s is violated by %.3g",
		p.Numeric.Coupled.Name[worst], math.Abs(best.Best.Coupled[worst]))
	k.unmet = p.IR.Coupled[worst].Family
}

// weighted is the problem with the weights on its coupled constraints.
func (p *Problem) weighted(k *coupling) *Problem {
	q, numeric, coupled := *p, *p.Numeric, *p.Numeric.Coupled
	coupled.Weight, coupled.Scale = slices.Clone(k.Weight), slices.Clone(k.Scale)
	numeric.Coupled, q.Numeric = &coupled, &numeric
	return &q
}

// coupling estimates weights and scales at the start.
func (p *Problem) coupling(ctx context.Context, c *chosen, opts Options, start []float64) (*coupling, error) {
	n := len(p.Numeric.Coupled.Kind)
	if opts.Resume != nil {
		k := &coupling{}
		if opts.Resume.Coupling != nil {
			k.CouplingState = *opts.Resume.Coupling
		}
		if len(k.Weight) != n || len(k.Scale) != n || k.Round < 1 || lastRound(k.Round-1) {
			return nil, &UsageError{Err: fmt.Errorf("the checkpoint does not fit the %d constraints of the upper level that are not part of its set", n)}
		}
		k.Weight = slices.Clone(k.Weight)
		return k, nil
	}
	k := &coupling{CouplingState: CouplingState{Round: 1, Weight: slices.Repeat([]float64{1}, n), Scale: slices.Repeat([]float64{1}, n)}}
	h, err := c.hyperobjective(p, opts.Threads)
	if err != nil {
		return nil, usage(err)
	}
	x := make([]float64, len(start))
	if h.Project(x, start) != nil {
		return k, nil // the run says what is wrong with it
	}
	defer func() { k.Spent = h.Calls() }()
	size := outer.Width(p.Numeric.X, start) + linalg.Norm(x)
	slope, steep, value := 0.0, make([]float64, n), make([]float64, n)
	if pt, err := h.Gradient(ctx, x); err == nil {
		slope = linalg.Norm(pt.Grad)
		grad := make([]float64, len(x))
		for i, v := range pt.Coupled {
			if h.CoupledGradient(ctx, grad, pt, i) == nil {
				steep[i] = linalg.Norm(grad)
			}
			value[i] = math.Abs(v)
		}
	}
	for i := range n {
		if scale := value[i] + steep[i]*size; scale > 0 && !math.IsInf(scale, 0) {
			k.Scale[i] = scale
		}
		// A constraint whose gradient vanishes at the start, as at a kink or a stationary
		// point of its own, and that is to bind somewhere in reach has a mean slope of its
		// value over the size of x on the way there. The weight is not to be much above
		// what that asks for: the steps along a curved constraint shrink with it, while
		// one that is too small is raised in a round.
		steep[i] = math.Max(steep[i], value[i]/size)
		if weight := tolerance.Margin * slope / steep[i]; weight > 0 && !math.IsInf(weight, 0) {
			k.Weight[i] = weight
		}
	}
	return k, nil
}

// violated lists the constraints that do not hold at a point.
func (k *coupling) violated(c *problem.Coupled, pt *oracle.Point) []int {
	if pt == nil {
		return nil
	}
	return each.WhereBelow(len(pt.Coupled), func(i int) bool { return !(c.Kind[i].Over(pt.Coupled[i]) <= tolerance.Target*k.Scale[i]) })
}

// allowed is the penalty of a point whose constraints all hold to the tolerance.
func (k *coupling) allowed() float64 {
	return each.SumBelow(len(k.Weight), func(i int) float64 { return k.Weight[i] * tolerance.Target * k.Scale[i] })
}

// multipliers are those of the coupled constraints that a certificate of the
// penalized F shows: the convex combination of the weights with which they enter
// the pieces of its samples. nil without a certificate.
func (k *coupling) multipliers(p *Problem, c *outer.Certificate) []float64 {
	if c == nil {
		return nil
	}
	m := p.Numeric.Rows.Len()
	coupled := p.weighted(k).Numeric.Coupled
	out := make([]float64, len(k.Weight))
	for s, share := range c.Weights {
		signs := coupled.Signs(func(i int) bool {
			_, positive := slices.BinarySearch(c.Faces[s], m+i)
			return positive
		})
		floats.AddScaled(out, share, signs)
	}
	return out
}

// describeWeights adds what a run has learned of the coupled constraints to a result; k is nil where there are none.
func (p *Problem) describeWeights(r *Result, k *coupling, c *outer.Certificate) {
	if k == nil {
		return
	}
	r.Upper.Penalty = named.Families(p.IR.Coupled, k.Weight)
	if m := k.multipliers(p, c); m != nil {
		r.Upper.Multipliers = named.Families(p.IR.Coupled, m)
	}
}

// coupledClaims is what a result says about the coupled constraints; nil where the
// problem has none.
func (p *Problem) coupledClaims(r *Result) *certify.Coupled {
	known := len(named.Families(p.IR.Coupled, make([]float64, len(p.IR.Coupled))))
	for _, vs := range []Values{r.Upper.Residuals, r.Upper.Penalty, r.Upper.Multipliers} {
		must.Be(len(vs) <= known, "the result has values of %d upper constraints, the model has %d that read the lower level or are curved", len(vs), known)
	}
	if p.Numeric.Coupled == nil {
		return nil
	}
	c := &certify.Coupled{}
	c.Values = must.Get(named.Rows(p.IR.Coupled, r.Upper.Residuals))
	if len(r.Upper.Penalty) > 0 {
		c.Penalty = must.Get(named.Rows(p.IR.Coupled, r.Upper.Penalty))
	}
	if len(r.Upper.Multipliers) > 0 {
		c.Multipliers = must.Get(named.Rows(p.IR.Coupled, r.Upper.Multipliers))
	}
	return c
}
