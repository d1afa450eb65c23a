package runtime

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bilevelc/internal/members"
)

// A safe point is in X: one outside of it is refused, whatever else of it is true.
func TestSafePointIsInX(t *testing.T) {
	model, err := Compile("safe.blv", `model safe
upper {
  var toll: real in box(0, 100)
  maximize toll * road
}
lower {
  var road: real in nonneg
  var path: real in nonneg
  minimize toll * road + 25 * path
  subject to
    all: road + path == 1
}
solve { ties = optimistic }
`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.Bind(nil, BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Solve(context.Background(), Options{})
	if err != nil || r.Lower.Ties == nil || r.Lower.Ties.Safe == nil {
		t.Fatalf("%v, %+v", err, r)
	}
	for toll, in := range map[float64]bool{0: true, -1: false} {
		safe := *r.Lower.Ties.Safe
		safe.Variables = Values{{Name: "toll", Data: []float64{toll}}}
		safe.Objective, safe.Distance = Number(toll), Number(25-toll)
		ties, forged := *r.Lower.Ties, *r
		ties.Safe = &safe
		forged.Lower.Ties = &ties
		report, err := p.Verify(&forged)
		if err != nil {
			t.Fatal(err)
		}
		refused := false
		for _, c := range report.Failures() {
			if strings.Contains(c.Claim, "safe point") {
				refused = true
			}
		}
		if refused == in {
			t.Errorf("toll %v, in X %v: %v", toll, in, report.Failures())
		}
	}
}

// F at the safe point is known to the rounding of its own terms there, however far away that is: the follower's only answer there is an end of an interval, and a document in which F is off by more than rounding is
// refused.
func TestFAtTheSafePoint(t *testing.T) {
	found := 0
	for seed := range members.Seeds(t, 60) {
		rng := rand.New(rand.NewPCG(seed, 23))
		draw := func(n int) float64 { return float64(1+rng.IntN(8*n)) / 8 }
		wide := math.Pow10(2 + rng.IntN(8))
		lo, hi, k := -draw(6), draw(6), draw(3)*float64(1-2*rng.IntN(2))
		a, b, c, d := draw(4), draw(4), draw(4)*float64(1-2*rng.IntN(2)), draw(4)
		model, err := Compile("safe.blv", fmt.Sprintf(`model safe
upper {
  var x: vector[2] in box([-10, %g], [10, %g])
  minimize %g * (x[1] - 1)^2 + %g * x[2]^2 + %g * y - %g * x[1]
}
lower {
  var y: real in box(%g, %g)
  minimize %g * x[2] * y
}
solve { ties = optimistic }
`, -wide, wide, a, b, c, d, lo, hi, k))
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(context.Background(), Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if r.Lower.Ties == nil || r.Lower.Ties.Safe == nil {
			continue
		}
		found++
		x, y := r.Lower.Ties.Safe.Variables[0].Data, lo
		if k*x[1] < 0 {
			y = hi
		}
		f, terms := 0.0, 0.0
		for _, v := range []float64{a * (x[0] - 1) * (x[0] - 1), b * x[1] * x[1], c * y, -d * x[0]} {
			f, terms = f+v, terms+math.Abs(v)
		}
		if off := math.Abs(float64(r.Lower.Ties.Safe.Objective) - f); off > 1e-13*terms {
			t.Errorf("seed %d: F at the safe point %v is %v, truly %v", seed, x, r.Lower.Ties.Safe.Objective, f)
		}
		for by, passes := range map[float64]bool{0: true, 1e-9: false, -1e-9: false} {
			ties, safe, forged := *r.Lower.Ties, *r.Lower.Ties.Safe, *r
			safe.Objective += Number(by * terms)
			ties.Safe, forged.Lower.Ties = &safe, &ties
			if report, err := p.Verify(&forged); err != nil || report.OK() != passes {
				t.Errorf("seed %d: F at the safe point %v, off by %g of its terms, passes: %v; %v", seed, x, by, !passes, report.Failures())
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d models have a safe point", found)
	}
}

// The follower's only answer at a safe point is so by signs that no program of it leaves open: of costs that make a vertex the answer, with a tie to others 1e-9 of them away, a program from another basis took another vertex, and what was solved
// and proved failed its own verification. The optimum is that of the inverse linear program.
func TestSafePointOfACostIsNoTie(t *testing.T) {
	model, err := Compile("inverse.blv", `model inverse
data A: matrix[6, 8] = [[2, 5, 1, 1, 0, 4, 3, 5], [3, 3, 2, 2, 2, 1, 1, 3], [0, 0, 0, 0, 4, 3, 5, 5], [2, 4, 1, 2, 4, 1, 3, 5], [3, 1, 5, 0, 2, 0, 1, 3], [4, 0, 0, 1, 4, 4, 2, 5]]
data b: vector[6] = [13.6, 11.2, 11.2, 14.2, 10, 13]
data c0: vector[8] = [-6, -7, -8, -3, -8, -9, -9, -9]
data seen: vector[8] = [0, 0.5733333333333334, 1, 1, 0.7933333333333336, 1, 0, 0.9466666666666663]
upper {
  var c: vector[8] in box(-40, 40)
  minimize norminf(c - c0)
  subject to
    fit: y == seen
}
lower {
  var y: vector[8] in box(0, 1)
  minimize c' * y
  subject to
    rows: A * y <= b
}
solve { ties = optimistic }
`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := model.Bind(nil, BindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Solve(context.Background(), Options{Seed: 1})
	if err != nil || r.Status != Solved || r.Lower.Ties.Safe == nil || math.Abs(float64(r.Upper.Objective)-2.25) > 1e-6 {
		t.Fatalf("%v, %v: %s, F %v", err, r.Status, r.Reason, r.Upper.Objective)
	}
}
