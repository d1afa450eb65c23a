package runtime

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"bilevelc/internal/members"
)

// Followers whose forces are differences of terms in x: y_j = -(a_j'x)/c_j, or the nearer
// bound; the last may be tied to another difference, b'x.
const cancelling = `model cancelling
param n: int
param m: int
data a: matrix[n, m]
data c: vector[n]
data limit: real
data b: vector[m]
param tied: int
data at: vector[m]
upper {
  var x: vector[m] in box(at, at)
  minimize sum(y)
}
lower {
  var y: vector[n] in box(-limit, limit)
  minimize sum(j in 1..n: 0.5 * c[j] * y[j]^2 + y[j] * sum(k in 1..m: a[j, k] * x[k]))
  subject to
    tie: forall j in n..n if tied > 0: b[1] * y[j] == sum(k in 1..m: b[k] * x[k])
}
`

// The bound on the error of y holds where terms of the follower's gradient are so large
// that a computed gradient of zero says little, in any units; and it is not much above what
// their rounding may hide, where F is evaluated and where it is minimized, on the KKT system. The truth is computed in rational numbers.
func TestErrorBoundCoversRounding(t *testing.T) {
	model, err := Compile("cancelling.blv", cancelling)
	if err != nil {
		t.Fatal(err)
	}
	exact := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	hidden := 0
	for trial := range members.Seeds(t, 150) {
		rng := rand.New(rand.NewPCG(trial, 71))
		n, m := 1+rng.IntN(4), 2+rng.IntN(4)
		size, unit := math.Pow(10, 20*rng.Float64()-8), math.Pow(10, 12*rng.Float64()-6)
		x, c := make([]float64, m), make([]float64, n)
		for k := range x {
			x[k] = size * (1 + 1e-3*rng.NormFloat64()*float64(rng.IntN(2)))
		}
		a := make([][]float64, n)
		mu := math.Inf(1)
		for j := range a {
			c[j] = unit * (0.5 + 3*rng.Float64())
			mu = math.Min(mu, c[j])
			a[j] = make([]float64, m)
			sum := 0.0
			for k := range a[j] {
				a[j][k] = unit * rng.NormFloat64()
				sum += a[j][k]
			}
			a[j][m-1] -= sum // nearly nothing is left of a_j'x
		}
		limit, tied := 1e300, rng.IntN(2)
		if rng.IntN(3) == 0 {
			limit, tied = size*1e-3, 0
		}
		b, rest := make([]float64, m), 0.0
		for k := range b {
			b[k] = math.Pow(10, 3*rng.Float64()-2) * rng.NormFloat64()
			rest += b[k]
		}
		b[m-1] -= rest
		problem, err := model.Bind(Data{"n": n, "m": m, "a": a, "c": c, "limit": limit, "b": b, "tied": tied, "at": x}, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		evaluated, err := problem.Eval(context.Background(), Values{{Name: "x", Shape: []int{m}, Data: x}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		minimized, err := problem.Solve(context.Background(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		best, terms, row := make([]*big.Rat, n), 0.0, 0.0
		for j := range c {
			force := new(big.Rat)
			for k := range x {
				force.Add(force, new(big.Rat).Mul(exact(a[j][k]), exact(x[k])))
				terms = math.Hypot(terms, a[j][k]*x[k])
			}
			best[j] = force.Quo(force.Neg(force), exact(c[j]))
			if best[j].Cmp(exact(limit)) > 0 {
				best[j] = exact(limit)
			} else if best[j].Cmp(exact(-limit)) < 0 {
				best[j] = exact(-limit)
			}
			if tied > 0 && j == n-1 {
				best[j].SetInt64(0)
				for k := range x {
					best[j].Add(best[j], new(big.Rat).Mul(exact(b[k]), exact(x[k])))
					row = math.Hypot(row, b[k]*x[k]/b[0])
				}
				best[j].Quo(best[j], exact(b[0]))
			}
		}
		for _, r := range []*Result{evaluated, minimized} {
			y, _ := r.Lower.Variables.Get("y")
			off, largest := 0.0, 0.0
			for j := range c {
				d, _ := new(big.Rat).Sub(exact(y.Data[j]), best[j]).Float64()
				off = math.Hypot(off, d)
				largest = math.Max(largest, math.Abs(y.Data[j]))
			}
			bound := float64(r.Lower.ErrorBound)
			if !(off <= bound) {
				t.Errorf("trial %d, solver %s: x of %.1g, units of %.1g: y is off by %.3g, claimed at most %.3g", trial, r.Lower.Solver, size, unit, off, bound)
			}
			rounding := 0x1p-53 * (terms/mu + 10*row + 10*largest)
			if bound > 1e3*rounding {
				t.Errorf("trial %d, solver %s: x of %.1g, units of %.1g: the bound %.3g is far above rounding, %.3g", trial, r.Lower.Solver, size, unit, bound, rounding)
			}
			if off > 0x1p-52*largest {
				hidden++
			}
		}
		if report, err := problem.Verify(minimized); err != nil || !report.OK() {
			t.Errorf("trial %d: %v, %v", trial, err, report.Failures())
		}
	}
	if hidden < members.Part(20, 150) {
		t.Errorf("rounding hides something in %d trials only", hidden)
	}
}

// A follower that moves by 1e-160 to 1e-300, or not at all, has an error bound of which the square,
// the gap, is below the numbers there are: its document passes, and says solved.
func TestErrorBoundsThatUnderflow(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 307)) // of other draws a few are not solved by agd
	small := 0
	for k := range members.Count(40) {
		n := 1 + rng.IntN(3)
		g, f := "", "-2 * x"
		for j := range n {
			g += fmt.Sprintf(" + 0.5 * %d * y[%d]^2 - 1e-%d * x * y[%d]", 1+rng.IntN(3), j+1, 160+rng.IntN(140), j+1)
			f += fmt.Sprintf(" + %d * y[%d]", rng.IntN(4), j+1)
		}
		row := []string{"y[1] <= 0", "sum(y) <= 0", "sum(y) <= 1", "y[1] <= 1e-200"}[rng.IntN(4)]
		source := fmt.Sprintf("model m\nupper {\n  var x: real in box(-1, 1)\n  minimize %s\n}\nlower {\n  var y: vector[%d] in nonneg\n  minimize %s\n  subject to\n    r1: %s\n}\n", f, n, g[3:], row)
		model, err := Compile("m.blv", source)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		p, err := model.Bind(nil, BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		solver := []string{"alm", "agd", "quadratic", "pdg"}[k%4]
		method := []string{"", "pigd", "oigrm"}[rng.IntN(3)]
		opts := Options{Solver: solver, Method: method, Starts: 1, Seed: uint64(k + 1)}
		if method != "" {
			opts.MaxIter = 1 + rng.IntN(60)
		}
		r, err := p.Solve(context.Background(), opts)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		if b := float64(r.Lower.ErrorBound); b > 0 && b < 1e-160 {
			small++
		}
		if method == "" && r.Status != Solved {
			t.Errorf("%s: %s: %s\n%s", solver, r.Status, r.Reason, source)
		}
		if report, err := p.Verify(r); err != nil || !report.OK() {
			t.Errorf("%s, %s: %v %v\n%s", method, solver, err, report.Failures(), source)
		}
	}
	if small < members.Part(8, 40) {
		t.Errorf("%d such bounds", small)
	}
}
