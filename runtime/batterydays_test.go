package runtime_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"bilevelc/internal/members"
	"bilevelc/runtime"
)

// Few days of batteries that trade on predicted prices, with as many features as days: a leader who predicts the true prices has followers that minimize what F charges them, so that no F is lower than
// there without the penalty on W. A run ends with a certificate, within three parts in a hundred of that, and nothing near by is lower.
func TestDaysOfBatteries(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../bench/field/data/battery.blv")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range members.Seeds(t, 2) {
		rng := rand.New(rand.NewPCG(seed, 87))
		days := 2 + int(seed%2)
		phi, price, logs := make([][]float64, days), make([][]float64, days), mat.NewDense(days, 24, nil)
		features := mat.NewDense(days, days, nil)
		for d := range phi {
			phi[d], price[d] = make([]float64, days), make([]float64, 24)
			for k := range phi[d] {
				phi[d][k] = 0.3 * rng.NormFloat64()
				if k == d {
					phi[d][k]++
				}
				features.Set(d, k, phi[d][k])
			}
			for h := range price[d] {
				logs.Set(d, h, 3.5+0.3*rng.NormFloat64())
				price[d][h] = math.Exp(logs.At(d, h))
			}
		}
		p := bindData(t, string(text), runtime.Data{"phi": phi, "price": price})
		var exact mat.Dense
		if err := exact.Solve(features, logs); err != nil || mat.Max(&exact) > 10 || mat.Min(&exact) < -10 {
			continue
		}
		told, err := p.Evaluate(t.Context(), exact.RawMatrix().Data)
		if err != nil {
			t.Fatal(err)
		}
		least := told.F - 1e-4*math.Pow(mat.Norm(&exact, 2), 2)
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := float64(r.Upper.Objective)
		if r.Status != runtime.Solved || !verified(p, r) {
			t.Errorf("seed %d: %v (%s), or not verified", seed, r.Status, r.Reason)
		}
		if f < least-1e-9*math.Abs(least) || f > told.F+0.03*math.Abs(told.F) {
			t.Errorf("seed %d: F = %v; true prices have %v, and nothing is below %v", seed, f, told.F, least)
		}
		w, _ := r.Upper.Variables.Get("W")
		for range 50 {
			x := slices.Clone(w.Data)
			for j := range x {
				x[j] = math.Max(-10, math.Min(10, x[j]+1e-4*rng.NormFloat64()))
			}
			if near, err := p.Evaluate(t.Context(), x); err != nil || near.F < f-1e-9*math.Abs(f) {
				t.Errorf("seed %d: F = %v, and %v near by (%v)", seed, f, near.F, err)
			}
		}
	}
}

// Where all hours have one price, predictions of 1 have the answers of the price itself: W = 0 is best, and the relaxation's multipliers show it. Sales fall off by a factor from hour to hour, to where slacks are said to be 0.
func TestFlatPricesOfBatteries(t *testing.T) {
	text, err := os.ReadFile("../bench/field/data/battery.blv")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range members.Seeds(t, 4) {
		rng := rand.New(rand.NewPCG(seed, 89))
		days, flat := 1+rng.IntN(3), 20+40*rng.Float64()
		phi, price := make([][]float64, days), make([][]float64, days)
		for d := range phi {
			phi[d] = []float64{1, rng.NormFloat64(), rng.NormFloat64()}
			price[d] = slices.Repeat([]float64{flat}, 24)
		}
		p := bindData(t, string(text), runtime.Data{"phi": phi, "price": price})
		told, err := p.Evaluate(t.Context(), make([]float64, p.Numeric.Dx))
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Solve(t.Context(), runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := float64(r.Upper.Objective); r.Status != runtime.Solved || r.Method != runtime.SystemMethod || !verified(p, r) || math.Abs(f-told.F) > 1e-8*math.Abs(f) {
			t.Errorf("seed %d: %v by %s, F = %v, of no prediction %v: %s", seed, r.Status, r.Method, f, told.F, r.Reason)
		}
	}
}

// A run that is ended at any moment, on the path ahead of the first local solve as well, has a point of X, and F there is that of the follower's answer.
func TestRunsEndAnywhere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../bench/field/data/battery.blv")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range members.Seeds(t, 3) {
		rng := rand.New(rand.NewPCG(seed, 91))
		days := 8
		phi, price := make([][]float64, days), make([][]float64, days)
		for d := range phi {
			phi[d], price[d] = []float64{1, rng.NormFloat64(), rng.NormFloat64()}, make([]float64, 24)
			for h := range price[d] {
				price[d][h] = math.Exp(3.5 + 0.3*rng.NormFloat64())
			}
		}
		p := bindData(t, string(text), runtime.Data{"phi": phi, "price": price})
		r, err := p.Solve(t.Context(), runtime.Options{TimeLimit: time.Duration(rng.ExpFloat64() * float64(200*time.Millisecond))})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := r.Upper.Variables.Get("W")
		told, err := p.Evaluate(t.Context(), w.Data)
		if err != nil {
			t.Fatal(err)
		}
		if f := float64(r.Upper.Objective); !(math.Abs(f-told.F) <= 1e-7*math.Abs(told.F)) {
			t.Errorf("seed %d: %v (%s), F = %v where the follower's answer gives %v", seed, r.Status, r.Reason, f, told.F)
		}
	}
}
