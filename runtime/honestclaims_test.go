package runtime

import (
	"context"
	"math"
	"slices"
	"testing"
)

// TestHonestClaimsOfStoppedRuns: what a run that a limit has ended may leave open is no flaw of its document; what it
// claims all the same is looked at.

// A lower level that was left at a point with a multiplier and slack says how much of complementarity is left.
func TestResidualsOfComplementarity(t *testing.T) {
	p := mustBind(t, "model m\nupper {\n  var x: real in box(-1, 1)\n  minimize y + x\n}\nlower {\n  var y: real in nonneg\n  minimize (y - x)^2\n}\n")
	r, err := p.Eval(context.Background(), Values{{Name: "x", Data: []float64{-0.5}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if found := failures(t, p, r); len(found) > 0 {
		t.Fatalf("an honest result fails: %v", found)
	}
	// y = 0.25 with the multiplier 1: 2 (y - x) - 1 and 1 times y are left.
	r.Status, r.Lower.Status, r.Certificate, r.Upper.Hypergradient = LimitReached, "inaccurate", nil, nil
	r.Upper.Objective, r.Lower.Objective = -0.25, 0.5625
	r.Lower.Variables[0].Data = []float64{0.25}
	r.Lower.Active, r.Lower.Weak, r.Lower.ErrorBound = nil, nil, Number(math.NaN())
	r.Lower.MinMultiplier, r.Lower.MinSlack = Number(math.Inf(1)), 0.25
	r.Residuals.Stationarity, r.Residuals.Complementarity = 0.5, 0.25
	r.Residuals.Constraints[0].Data = []float64{-0.25}
	r.Stationarity.Strict = false
	if found := failures(t, p, r); len(found) > 0 {
		t.Errorf("a result that says what is left fails: %v", found)
	}
	for _, claimed := range []Number{0, 0.1, 1} {
		r.Residuals.Complementarity = claimed
		if found := failures(t, p, r); found["residual: complementarity"] == "" {
			t.Errorf("%v of 0.25 passes: %v", claimed, found)
		}
	}
}

// A run that was stopped may know less of what the follower loses than there is to know; it may not claim more.
func TestTiesOfStoppedRuns(t *testing.T) {
	p := mustBind(t, "model m\nupper {\n  var price: real in box(1, 1)\n  minimize share[1] + 2 * share[2]\n}\n"+
		"lower {\n  var share: vector[3] in nonneg\n  minimize 2 * share[1] + price * share[2] + share[3]\n  subject to all: sum(share) == 2\n}\nsolve { ties = optimistic }\n")
	r, err := p.Solve(context.Background(), Options{Starts: 1, offSystem: true})
	if err != nil {
		t.Fatal(err)
	}
	ties := r.Lower.Ties
	if found := failures(t, p, r); len(found) > 0 || ties == nil || !ties.Exact {
		t.Fatalf("an honest result fails: %v, %+v", found, ties)
	}
	flaws := func() bool {
		for name := range failures(t, p, r) {
			if slices.Contains([]string{"ties: loss of the follower", "ties: the follower's optimum was found"}, name) {
				return true
			}
		}
		return false
	}
	loss := ties.Loss
	r.Status, ties.Exact = LimitReached, false
	ties.Loss = loss - Number(math.Abs(float64(loss))) - 1
	if ties.Loss < 0 {
		ties.Loss = 0
	}
	if flaws() {
		t.Errorf("a bound of %v on a loss of %v fails: %v", ties.Loss, loss, failures(t, p, r))
	}
	if ties.Loss = loss + 1; !flaws() {
		t.Errorf("a bound of %v on a loss of %v passes", ties.Loss, loss)
	}
	if r.Status, ties.Loss = Solved, 0; !flaws() {
		t.Error("a solved result may leave the follower's optimum open")
	}
}

// Where X is not bounded on one side alone F may fall without bound there.
func TestUnboundedOnOneSide(t *testing.T) {
	for _, side := range []string{"x <= 1", "x >= -1"} {
		sign := map[string]string{"x <= 1": "", "x >= -1": "-"}[side]
		p := mustBind(t, "model m\nupper {\n  var x: real\n  minimize "+sign+"x + 0 * y\n  subject to "+side+"\n}\nlower {\n  var y: real in nonneg\n  minimize (y - 1)^2 + 0 * x\n}\n")
		r, err := p.Solve(context.Background(), Options{offSystem: true})
		if err != nil {
			t.Fatal(err)
		}
		if found := failures(t, p, r); r.Status != Unbounded || len(found) > 0 {
			t.Errorf("%s: %s, %v", side, r.Status, found)
		}
	}
}

// Of several starts the one is returned that is worth most: by F and the penalty of constraints that do not hold to the
// last digit, to what rounding leaves of f's terms. A document in which another start is worth more fails.
func TestBestOfTheStartsIsWorthMost(t *testing.T) {
	p := mustBind(t, "model m\nupper {\n  var x: real in box(0, 4)\n  minimize (y - 3)^2\n  subject to most: y^3 <= 27\n}\nlower {\n  var y: real in box(0, 9)\n  minimize (y - x)^2\n}\n")
	r, err := p.Solve(context.Background(), Options{Starts: 3, offSystem: true})
	if err != nil {
		t.Fatal(err)
	}
	if found := failures(t, p, r); len(found) > 0 || r.Status != Solved || len(r.Starts) != 3 || math.Abs(float64(r.Upper.Objective)) > 1e-9 {
		t.Fatalf("an honest result fails: %v, %s, F = %v", found, r.Status, r.Upper.Objective)
	}
	for k := range r.Starts {
		r.Starts[k].Objective, r.Starts[k].Penalty = r.Upper.Objective, 0.5
	}
	for _, other := range []struct {
		objective, penalty Number
		holds              bool
	}{
		{r.Upper.Objective - 0.25, 0.75, true},
		{r.Upper.Objective - 0.25, 0.7, false},
		{r.Upper.Objective + 0.25, 0.2, false},
		{r.Upper.Objective - 1e-14, 0.5, true},
		{r.Upper.Objective - 1e-5, 0.5, false},
		{Number(math.NaN()), 0, true},
	} {
		r.Starts[2].Objective, r.Starts[2].Penalty = other.objective, other.penalty
		if found := failures(t, p, r)["the best of the starts"]; (found == "") != other.holds {
			t.Errorf("beside a start of %v with the penalty %v: %q", other.objective, other.penalty, found)
		}
	}
	// F is 0 but for the rounding of its terms, of the size of 9.
	for _, below := range []Number{1e-15, 1e-6} {
		for k := range r.Starts {
			r.Starts[k] = StartResult{Objective: r.Upper.Objective, Status: Solved}
		}
		r.Starts[2].Objective -= below
		if found := failures(t, p, r)["the best of the starts"]; (found == "") != (below < 1e-12) {
			t.Errorf("beside a start that is lower by %v: %q", below, found)
		}
	}
	for k := range r.Starts {
		r.Starts[k].Objective = r.Upper.Objective + 1
	}
	if failures(t, p, r)["the best of the starts"] == "" {
		t.Error("a point that is none of the starts passes")
	}
}

// A multiplier that is x has no digits where x is rounding beside the width of its box: that its row may be inactive is an
// honest word there, and none where x is of some size.
func TestMultipliersThatAreRounding(t *testing.T) {
	p := mustBind(t, "model m\nupper {\n  var x: real in box(0, 1)\n  minimize y + x\n}\nlower {\n  var y: real in nonneg\n  minimize 0.5 * (y + x)^2\n}\n")
	for _, x := range []float64{1e-33, 1e-20, 0.25, 1} {
		r, err := p.Eval(context.Background(), Values{{Name: "x", Data: []float64{x}}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if found := failures(t, p, r); len(found) > 0 {
			t.Errorf("at x = %v an honest result fails: %v", x, found)
		}
		tiny := x < 1e-16
		r.Lower.Weak, r.Stationarity.Strict = []string{"y.nonneg"}, false
		if found := failures(t, p, r); tiny != (found["weak rows"] == "") {
			t.Errorf("at x = %v, with the row called weak: %v", x, found)
		}
	}
}

// TestHonestDocumentsPass solves models that a verification derives in another way than a solver, and would refuse if it took but the first: a gradient at a kink that is one of a sample of its
// certificate, where pieces are thin, and multipliers whose residual in y, of an entropy in small units, is another adjoint's.
func TestHonestDocumentsPass(t *testing.T) {
	for _, c := range []struct {
		text string
		opts Options
	}{{`model m
upper {
  var x: vector[3] in box([1, 0, (-1)], [1.4, 1, 0])
  minimize (-3) * x[1] + 2 * x[2] + 2 * x[3] + 2.8 * y[1] + 0.3 * y[2] + 3 * y[5]
  subject to
    u1: (-1) * x[1] + (-1) * x[2] + (-3) * x[3] == (-1.5)
}
lower {
  var y: vector[5] in nonneg
  maximize -(1.5 * x[1] * y[1] + 0.5 * x[1] * y[2] + (-3) * x[1] * y[4] + 3 * x[2] * y[1] + (-2) * x[2] * y[5] + (-3) * x[3] * y[1] + (-3) * x[3] * y[2] + (-3) * x[3] * y[3] + 1 * x[3] * y[4] + (-1) * x[3] * y[5] + 0.5 * 1 * y[1]^2 + 0.5 * 1 * y[2]^2 + 0.5 * 1 * y[3]^2 + 0.5 * 0.01 * y[4]^2 + 0.5 * 2 * y[5]^2 + 1 * (1 * y[3]) * log(1 * y[3]) + 2 * (1 * y[5]) * log(1 * y[5]))
  subject to
    r1: (-3) * x[1] + (-2) * x[2] + 0.1 * x[3] + (-0.1) * y[2] + (-2) * y[4] + 3 * y[5] >= (-4.1)
    r2: (-2) * x[1] + 2 * x[2] + (-0.5) * y[3] >= (-2)
    r3: (-2) * y[5] >= (-3)
}
`, Options{Oracle: "difference", Starts: 1, Seed: 787}}, {`model m
upper {
  var x: vector[3] in box([(-2), 0, (-1)], [(-2), 2, 1])
  minimize (-1.6e4) * x[1] + 3e8 * y[1] + (-1e8) * y[2] + (-0.8e8) * y[3] + 0.5 * 1e4 * x[1]^2 + 0.5 * 0.4e12 * y[1]^2 + 0.5 * 2e12 * y[2]^2 + 0.5 * 2e12 * y[3]^2
}
lower {
  var y: vector[4] in nonneg
  minimize (-2e-3) * y[1] + (-3e-3) * y[4] + (-2e-3) * x[1] * y[1] + (-1e-3) * x[1] * y[2] + (-0.8e-3) * x[2] * y[1] + 2e-3 * x[2] * y[2] + (-1e-3) * x[3] * y[1] + 3e-3 * x[3] * y[3] + 0.5 * 2.16e1 * y[1]^2 + (-1.2e1) * y[1] * y[2] + 0.5 * 15.26e1 * y[2]^2 + 6.25e1 * y[2] * y[3] + 5e1 * y[2] * y[4] + 0.5 * 6.75e1 * y[3]^2 + 5e1 * y[3] * y[4] + 0.5 * 7e1 * y[4]^2 + 1e-7 * (1e4 * y[3]) * log(1e4 * y[3]) + 1.7e-7 * (1e4 * y[2]) * log(1e4 * y[2])
  subject to
    r1: (-1.2e-7) * x[2] + (-1e-3) * y[1] + (-2e-3) * y[3] + (-0.5e-3) * y[4] <= (-5e-7)
}
`, Options{Starts: 1, Seed: 1}}} {
		p := mustBind(t, c.text)
		r, err := p.Solve(context.Background(), c.opts)
		if err != nil || r.Status != Solved {
			t.Errorf("%v: %v, %s\n%s", err, r.Status, r.Reason, c.text)
			continue
		}
		if found := failures(t, p, r); len(found) > 0 {
			t.Errorf("%v\n%s", found, c.text)
		}
	}
}
