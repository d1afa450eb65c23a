package runtime

import (
	"context"
	"testing"

	"bilevelc/runtime/lower"
)

// TestRedact has results of runs that a limit ended, at x = 0 and beside, claim what does not hold for the follower
// y = max(0, x): each claim is taken back, and what is true stays.
func TestRedact(t *testing.T) {
	p := mustBind(t, "model m\nupper {\n  var x: real in box(-1, 1)\n  minimize y - 0.5 * x\n}\nlower {\n  var y: real in nonneg\n  minimize 0.5 * (y - x)^2 + 0.1 * exp(y)\n}\n")
	for _, c := range []struct {
		name           string
		x              float64
		lie            func(r *Result)
		strict, solved bool
	}{
		{"nothing false", 0.5, func(*Result) {}, true, true},
		{"strict at the kink", 0.1, func(r *Result) { r.Stationarity.Strict = true }, false, true},
		{"a modulus too large", 0.5, func(r *Result) { r.Certificate.Lower.Bound.Modulus *= 1000 }, true, true},
		{"another y", 0.5, func(r *Result) { r.Lower.Variables[0].Data[0] += 1e-2 }, false, false},
	} {
		r, err := p.Eval(context.Background(), Values{{Name: "x", Data: []float64{c.x}}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.Status = LimitReached
		c.lie(r)
		if err := p.redact(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		if r.Stationarity.Strict != c.strict || (r.Lower.Status == lower.Solved.String()) != c.solved || c.name == "nothing false" && len(r.Upper.Hypergradient) == 0 {
			t.Errorf("%s: strict %v, lower level %s, gradient %v", c.name, r.Stationarity.Strict, r.Lower.Status, r.Upper.Hypergradient)
		}
		if report, err := p.Verify(r); err != nil || !report.OK() && c.solved {
			t.Errorf("%s: what is left is refused: %v", c.name, err)
		}
	}
}

// TestRedactWithoutTime has a claim of strictness, at the kink, that there is no time to verify: it is taken back too.
func TestRedactWithoutTime(t *testing.T) {
	p := mustBind(t, "model m\nupper {\n  var x: real in box(-1, 1)\n  minimize y - 0.5 * x\n}\nlower {\n  var y: real in nonneg\n  minimize 0.5 * (y - x)^2 + 0.1 * exp(y)\n}\n")
	r, err := p.Eval(context.Background(), Values{{Name: "x", Data: []float64{0.1}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Status, r.Stationarity.Strict = LimitReached, true
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.redact(&endsAtOnce{Context: ended}, r); err != nil {
		t.Fatal(err)
	}
	// A verification that has ended all the same says what may stay.
	if report, err := p.Verify(r); r.Stationarity.Strict || r.Lower.Status != lower.Solved.String() || err != nil || !report.OK() {
		t.Errorf("strict %v, gradient %v, lower level %s, verified %v (%v)", r.Stationarity.Strict, r.Upper.Hypergradient, r.Lower.Status, report, err)
	}
}

// endsAtOnce is a context that ends as soon as it has been asked whether it has.
type endsAtOnce struct {
	context.Context
	asked bool
}

func (c *endsAtOnce) Err() error {
	if !c.asked {
		c.asked = true
		return nil
	}
	return c.Context.Err()
}

func mustBind(t *testing.T, source string) *Problem {
	t.Helper()
	model, err := Compile("m.blv", source)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.Bind(nil, BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
