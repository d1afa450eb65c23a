package oracle_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime"
)

// The follower is y = max(0, a'x), with a kink of F where a'x = 0. At points where the
// terms of a'x cancel up to rounding strict complementarity is never claimed, however they
// cancel; where a'x is clearly off it always is, and verification agrees. a'x is computed exactly.
func TestStrictWhereTermsCancel(t *testing.T) {
	undecided, decided, claimed := 0, 0, 0
	for seed := uint64(0); seed < 150; seed++ {
		rng := rand.New(rand.NewPCG(seed, 67))
		n := 2 + rng.IntN(3)
		a, x := make([]float64, n), make([]float64, n)
		sum := 0.0
		for j := range a {
			a[j] = float64(rng.IntN(41)-20) / 10
			if a[j] == 0 {
				a[j] = 1
			}
			x[j] = float64(rng.IntN(21)-10) / 10
			if j < n-1 {
				sum += a[j] * x[j]
			}
		}
		x[n-1] = -sum / a[n-1]
		if seed%2 == 1 {
			x[n-1] += math.Copysign(math.Pow(10, -float64(rng.IntN(13))), rng.Float64()-0.5)
		}
		coefficients, box := "", math.Abs(x[n-1])+20
		exact, size := new(big.Float).SetPrec(2000), 1e-300
		for j := range a {
			coefficients += fmt.Sprintf(" + (%g) * x[%d] * y", -a[j], j+1)
			exact.Add(exact, new(big.Float).Mul(new(big.Float).SetFloat64(a[j]), new(big.Float).SetFloat64(x[j])))
			size = math.Max(size, math.Abs(a[j]*x[j]))
		}
		off, _ := exact.Float64()
		model, err := runtime.Compile("m.blv", fmt.Sprintf(`model m
upper {
  var x: vector[%d] in box(%g, %g)
  minimize y
}
lower {
  var y: real in nonneg
  minimize 0.5 * y^2%s
}
`, n, -box, box, coefficients))
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Shape: []int{n}, Data: x}}, runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Stationarity.Strict {
			claimed++
			report, err := p.Verify(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range report.Checks {
				if !c.OK {
					t.Errorf("seed %d: verify refuses %s: %s (a'x = %g of terms of %g)", seed, c.Claim, c.Detail, off, size)
				}
			}
		}
		switch share := math.Abs(off) / size; {
		case share < 0x1p-52:
			undecided++
			if r.Stationarity.Strict {
				t.Errorf("seed %d: strict at a kink, a'x = %g of terms of %g", seed, off, size)
			}
		case share > 1e-11:
			decided++
			if !r.Stationarity.Strict {
				t.Errorf("seed %d: not strict where a'x = %g, of terms of %g", seed, off, size)
			}
		}
	}
	if undecided < 30 || decided < 30 || claimed < 30 {
		t.Errorf("%d points at the kink and %d off it, %d claimed to be strict", undecided, decided, claimed)
	}
}

// At distances of 1e-7 to 1e-14 from a kink, where a row begins to hold a follower with several
// entries, a claim of strict complementarity is one that verification makes as well.
func TestStrictNextToKinks(t *testing.T) {
	claimed := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 71))
		const n = 4
		var m, q [n][n]float64
		for i := range n {
			for j := range n {
				m[i][j] = float64(rng.IntN(7) - 3)
			}
		}
		y, c := [n]float64{1 + rng.Float64(), 0, 1 + rng.Float64(), 1 + rng.Float64()}, [n]float64{}
		terms := ""
		for i := range n {
			for j := range n {
				for k := range n {
					q[i][j] += m[k][i] * m[k][j] / 3
				}
				if i == j {
					q[i][j] += 0.5
				}
				c[i] += q[i][j] * y[j]
				terms += fmt.Sprintf(" + 0.5 * (%.17g) * y[%d] * y[%d]", q[i][j], i+1, j+1)
			}
			terms += fmt.Sprintf(" + (%.17g) * y[%d] + (%d) * x * y[%d]", -c[i], i+1, rng.IntN(5)-2, i+1)
		}
		model, err := runtime.Compile("m.blv", fmt.Sprintf(`model m
upper {
  var x: real in box(-1, 1)
  minimize sum(y)
}
lower {
  var y: vector[%d] in nonneg
  minimize 0%s
  subject to y[1] - y[3] == %.17g
}
`, n, terms, y[0]-y[2]))
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Bind(nil, runtime.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			x := math.Copysign(math.Pow(10, -7-7*rng.Float64()), rng.Float64()-0.5)
			r, err := p.Eval(context.Background(), runtime.Values{{Name: "x", Data: []float64{x}}}, runtime.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Stationarity.Strict {
				continue
			}
			claimed++
			report, err := p.Verify(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range report.Checks {
				if !c.OK {
					t.Errorf("seed %d, %.3g from the kink: verify refuses %s: %s", seed, x, c.Claim, c.Detail)
				}
			}
		}
	}
	if claimed < 200 {
		t.Errorf("only %d claims", claimed)
	}
}
