package runtime

import (
	"context"
	"math"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/document"
	"bilevelc/runtime/linalg"
	"bilevelc/runtime/lower"
	"bilevelc/runtime/named"
	"bilevelc/runtime/oracle"
	"bilevelc/runtime/problem"
	"bilevelc/runtime/tolerance"
)

// answers finds the follower's best answers at the document's x again, from nothing but that
// and y: what y loses against them, whether there are several, and F at those that are best
// and worst for the leader. That an answer is a best one is shown by multipliers, for which
// the solver's word is not taken.
func (c *claims) answers(claimed *Ties) {
	t := c.p.ties
	fresh := &Result{}
	fresh.Lower.Variables = c.r.Lower.Variables
	if _, err := c.p.describeTies(context.Background(), fresh, c.doc.X, c.doc.Y); err != nil {
		c.check("ties: answers of the follower", false, "%v", err)
		return
	}
	again := fresh.Lower.Ties
	ofG, ofF := tolerance.Certified*t.cost*t.reach, tolerance.Certified*t.profit*t.reach
	if !c.doc.Solved { // a limit may have left answers out: they are not claimed then
		if !claimed.Exact && claimed.Loss <= again.Loss {
			again.Exact, again.Loss = false, claimed.Loss
		}
		again.Unique = again.Unique && claimed.Unique
		for _, f := range []struct{ claimed, again *Number }{{&claimed.Optimistic, &again.Optimistic}, {&claimed.Pessimistic, &again.Pessimistic}} {
			if math.IsNaN(float64(*f.claimed)) {
				*f.again = *f.claimed
			}
		}
	}
	c.near("ties: loss of the follower", float64(claimed.Loss), float64(again.Loss), ofG)
	c.check("ties: the follower's optimum was found", claimed.Exact == again.Exact, "")
	c.check("ties: the follower has one answer", claimed.Unique == again.Unique, "")
	c.near("ties: F at the answer best for the leader", float64(claimed.Optimistic), float64(again.Optimistic), ofF+tolerance.Certified*math.Abs(float64(again.Optimistic)))
	c.near("ties: F at the answer worst for the leader", float64(claimed.Pessimistic), float64(again.Pessimistic), ofF+tolerance.Certified*math.Abs(float64(again.Pessimistic)))
	if !claimed.Exact {
		return
	}
	gap, size, err := c.gap()
	c.check("ties: multipliers show the loss", err == nil && gap <= tolerance.Margin*defaultTau*size, "they leave %.3g open", gap)
}

// gap bounds by how much any point of the rows can be better for the follower than the document's
// y less its claimed loss; multipliers show that with the curvature of the proximal point method, defaultTau. With the gradient q of the convex g at an answer z, and any lambda >= 0,
//
//	g(y) >= g(z) + q'(y - z) >= g(z) - lambda'(B z - A x + b) + (q - B'lambda)'(y - z)
//
// where y keeps the rows, and the last part is at most its size over the reach of the rows. size is
// that of g: of its gradient over the reach, there or where the units were measured. A point that
// shows F to fall without bound is far away from there, where gradients, rows and answers are larger.
func (c *claims) gap() (gap, size float64, err error) {
	defer must.Catch(&err)
	gap = math.Inf(1) // until it is known
	t := c.p.ties
	near := must.Get(t.problem(0, defaultTau*t.cost/t.reach))
	x := c.doc.X
	z, _, err := near.best(context.Background(), x, c.doc.Y)
	must.Do(err)
	slope := each.Below(len(z), func(j int) float64 { return -near.prox * z[j] })
	lambda := must.Get(near.solved(context.Background(), x, slope, nil)).Lambda
	rows := c.p.Numeric.Rows
	rest := make([]float64, len(z))
	gz := t.g.ValueGradY(rest, x, z)
	length := t.reach + linalg.Norm(z)
	size = math.Max(t.cost, linalg.Norm(rest)) * length
	residual := make([]float64, rows.Len())
	rows.Residual(residual, x, z)
	slack := 0.0
	for i, l := range lambda {
		if rows.Kind[i] != problem.Equal && l < 0 {
			return math.Inf(1), 0, nil
		}
		slack += math.Abs(l * residual[i])
	}
	rows.B.AddMulVecT(rest, -1, lambda)
	loss := t.g.Value(x, c.doc.Y) - gz
	return math.Abs(math.Max(0, loss)-float64(c.r.Lower.Ties.Loss)) + slack + linalg.Norm(rest)*length, size, nil
}

// exactTies finds the follower's other answers at the document's x again, by the linear and quadratic programs that describe them, and its answer to the safe point.
// A document of a single x may leave out what it has not looked at.
func (c *claims) exactTies(claimed *Ties) {
	if claimed == nil {
		if c.r.Status == Unbounded { // there is no solution whose ties count
			return
		}
		c.check("ties", false, "the model breaks them, and the document does not say how")
		return
	}
	c.check("rule of the ties", claimed.Rule == c.p.tieRule(), "it is %s", c.p.tieRule())
	c.check("ties: nothing is added to the follower's objective", claimed.Tau == 0 && claimed.WeightF == 0 && claimed.WeightNorm == 0 && claimed.Exact, "")
	ctx := context.Background()
	_, sign := sense(&c.p.IR.Upper)
	e, err := c.p.tiedAt(c.doc.X, c.doc.Y, c.doc.Lambda)
	if !c.derived("ties: answers of the follower", err) {
		return
	}
	rounding := c.roundingOfAnswers(c.doc.X, c.doc.Y, c.doc.Lambda)
	close := func(claim string, claimed, found float64) {
		c.near(claim, claimed, found, tolerance.Certified*math.Max(math.Abs(found), math.Abs(float64(c.r.Upper.Objective)))+rounding)
	}
	again := c.p.tiesOn(e.choice(ctx))
	unique := again.Unique
	c.check("ties: the follower has one answer", claimed.Unique == unique, "")
	for _, part := range []struct {
		what           string
		claimed, again *bool
	}{{"answer", claimed.UniqueAnswer, again.UniqueAnswer}, {"value of the multipliers", claimed.UniqueMultipliers, again.UniqueMultipliers}} {
		if part.claimed != nil || part.again != nil {
			c.check("ties: the follower has one "+part.what, part.claimed != nil && part.again != nil && *part.claimed == *part.again, "")
		}
	}
	if !unique && e.smooth == nil {
		e.lose(ctx, e.here.Z)
	}
	for _, end := range []struct {
		word, rule string
		sign       float64
		claimed    Number
	}{{"best", document.Optimistic, 1, claimed.Optimistic}, {"worst", document.Pessimistic, -1, claimed.Pessimistic}} {
		what := "ties: F at the answer " + end.word + " for the leader"
		of := float64(c.r.Upper.Objective)
		if !unique {
			f, err := e.extreme(ctx, end.sign)
			if err != nil { // then nothing is to be said
				c.check(what, math.IsNaN(float64(end.claimed)), "%v", err)
				continue
			}
			if of = sign * f; end.rule == c.p.tieRule() {
				close("ties: F is with the answer that the rule asks for", float64(c.r.Upper.Objective), of)
			}
		}
		close(what, float64(end.claimed), of)
	}
	c.near("ties: loss of the follower", float64(claimed.Loss), e.lost, 2*e.open+tolerance.SolveAccuracy*e.lost)
	if c.p.exactTies == document.LeastNorm && !unique {
		if answer, err := e.follower.LeastNorm(ctx, e.here.Z); err != nil {
			c.check("ties: the answer has the least norm", false, "%v", err)
		} else {
			own := len(c.doc.Y) - c.p.Numeric.Hidden
			least, size := linalg.Distance(e.s.Y(answer)[:own], c.doc.Y[:own]), math.Max(linalg.Norm(c.doc.Y), c.termsOfRows())
			c.check("ties: the answer has the least norm", least <= tolerance.Certified*size, "one is %.3g away", least)
		}
	}
	c.exactSlopes(ctx, e)
	if safe := claimed.Safe; safe != nil {
		x, err := named.Vector(&c.p.IR.Upper, safe.Variables)
		if !c.derived("ties: safe point", err) {
			return
		}
		if len(safe.Variables) != len(c.r.Upper.Variables) || !linalg.Finite(x) {
			c.check("ties: safe point", false, "it has variables that the model has not, or entries that are no numbers")
			return
		}
		outside := c.p.upperViolation(x)
		c.check("ties: the safe point is in X", outside <= tolerance.Certified*linalg.NormInf(x), "it is outside by %.3g", outside)
		moved := 0.0
		for j, v := range x {
			if whole := c.p.Numeric.Integer; whole != nil && whole[j] {
				c.check("ties: whole numbers of the safe point", v == c.doc.X[j], "entry %d is %v", j, v)
			}
			moved = math.Max(moved, math.Abs(v-c.doc.X[j]))
		}
		c.near("ties: distance of the safe point", float64(safe.Distance), moved, tolerance.Certified*moved)
		there, err := e.to(ctx, x)
		if !c.derived("ties: safe point", err) {
			return
		}
		c.check("ties: the follower has one answer at the safe point", there.choice(ctx).None(), "")
		y, lambda := there.s.Y(there.here.Z), there.s.Lambda(there.here.Z) // the only ones at this x: F is known to the rounding of its own terms
		terms := c.p.termsOfF(&oracle.Point{X: x, F: there.here.F, Lower: &lower.Solution{Y: y, Lambda: lambda}})
		c.near("ties: F at the safe point", float64(safe.Objective), sign*there.here.F, tolerance.SolveAccuracy*terms+c.roundingOfAnswers(x, y, lambda))
	}
}

// exactSlopes derives the hypergradient of an evaluation, and its slopes in the entries of x, again from nothing but x, y and the multipliers.
func (c *claims) exactSlopes(ctx context.Context, e *tiedPoint) {
	if c.r.Method != "" {
		return
	}
	if claimed := c.doc.Hypergradient; claimed != nil {
		m, err := e.derivative(ctx, e.answer(ctx))
		if err != nil || m == nil {
			c.check("hypergradient along the one branch", false, "F has none that is shown: %v", orNothing(err))
		} else {
			found := e.s.Hypergradient(m)
			wrong, size := linalg.Distance(found, claimed), linalg.Norm(found)
			c.check("hypergradient along the one branch", wrong <= tolerance.Margin*tolerance.Target*size, "it differs by %.3g of %.3g", wrong, size)
		}
	}
	if len(c.r.Sensitivity) > 0 {
		c.slopes(ctx, e)
	}
}

// slopes derives the slopes of F in the entries of x again, from nothing but x, y and the multipliers.
func (c *claims) slopes(ctx context.Context, e *tiedPoint) {
	again, err := e.sensitivities(ctx, e.answer(ctx))
	if err != nil || len(again) != len(c.r.Sensitivity) {
		c.check("slopes of F", false, "%v", orNothing(err))
		return
	}
	size := 0.0
	for _, entry := range again {
		for _, side := range []*Rates{entry.Right, entry.Left} {
			if side != nil && !math.IsNaN(float64(side.Objective)) {
				size = math.Max(size, math.Abs(float64(side.Objective)))
			}
		}
	}
	for j, entry := range again {
		claimed := c.r.Sensitivity[j]
		for _, side := range []struct {
			word         string
			claim, found *Rates
		}{{"right", claimed.Right, entry.Right}, {"left", claimed.Left, entry.Left}} {
			if side.claim == nil || side.found == nil {
				c.check("slope of F in "+entry.Entry+" to the "+side.word, side.claim == side.found, "there is one, or none")
				continue
			}
			c.near("slope of F in "+entry.Entry+" to the "+side.word, float64(side.claim.Objective), float64(side.found.Objective), tolerance.Margin*tolerance.Target*size)
		}
	}
}

// roundingOfAnswers is what f makes of the rounding of an answer, some units in the last place of the terms that cancel in the rows that hold at it.
func (c *claims) roundingOfAnswers(x, y, lambda []float64) float64 {
	n := c.p.Numeric
	reach, h := make([]float64, n.Dy), make([]float64, n.Rows.Len())
	n.Rows.Residual(h, x, y)
	for i, t := range h {
		size := termsOfRow(n.Rows, i, x, y)
		if math.Abs(t) > tolerance.Sign*size {
			continue
		}
		for j, v := range n.Rows.B.Entries(i) {
			reach[j] = math.Max(reach[j], size/math.Abs(v))
		}
	}
	slope, sum := make([]float64, n.AnswerLen()), 0.0
	n.F.ValueGradY(slope, x, n.Answer(y, lambda))
	for j, r := range reach {
		sum += math.Abs(slope[j]) * r
	}
	return 0x1p-50 * sum
}

// termsOfRows is the largest term of the rows, over the row's coefficients of y: what rounding of an answer is relative to.
func (c *claims) termsOfRows() float64 {
	top := 0.0
	for i, size := range c.rowSizes() {
		if l := c.lengthInY(i); l > 0 {
			top = math.Max(top, size/l)
		}
	}
	return top
}
