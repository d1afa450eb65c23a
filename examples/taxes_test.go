package examples_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// An investor's best holdings, by trying every state of every asset: none of it, less than is held, as much, or more. In each the objective is a quadratic, whose
// stationary point with holdings of 1 together is a candidate where it is in the state.
func holdings(mean, held, tax []float64, covariance *mat.SymDense, aversion float64) []float64 {
	n := len(mean)
	var best []float64
	most := math.Inf(-1)
	states := 1
	for range n {
		states *= 4
	}
	for s := range states {
		state := make([]int, n)
		for i, left := 0, s; i < n; i, left = i+1, left/4 {
			state[i] = left % 4
		}
		// Rows: stationarity of an asset that is free, or its holding; then the sum.
		a, b := mat.NewDense(n+1, n+1, nil), mat.NewVecDense(n+1, nil)
		for i := range n {
			switch state[i] {
			case 0, 2:
				a.Set(i, i, 1)
				b.SetVec(i, held[i]*float64(state[i]/2))
			default:
				for j := range n {
					a.Set(i, j, 2*aversion*covariance.At(i, j))
				}
				a.Set(i, n, 1)
				b.SetVec(i, mean[i]-tax[i]*float64(state[i]-2))
			}
			a.Set(n, i, 1)
		}
		b.SetVec(n, 1)
		var solution mat.VecDense
		if err := solution.SolveVec(a, b); err != nil {
			continue
		}
		x := solution.RawVector().Data[:n]
		inside, value := true, 0.0
		for i, v := range x {
			const rounding = 1e-12
			inside = inside && v >= -rounding && (state[i] != 1 || v <= held[i]+rounding) && (state[i] != 3 || v >= held[i]-rounding)
			value += mean[i]*v - tax[i]*math.Abs(v-held[i])
			for j, w := range x {
				value -= aversion * v * covariance.At(i, j) * w
			}
		}
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		if inside && math.Abs(sum-1) <= 1e-9 && value > most {
			best, most = x, value
		}
	}
	return best
}

// Taxed trades: what the taxes of the result bring, by the investors' holdings from all states; and no taxes that a search from random ones finds bring more.
func TestTrades(t *testing.T) {
	mean, held, even := []float64{0.10, 0.07, 0.05, 0.12}, []float64{0.1, 0.2, 0.6, 0.1}, []float64{0.25, 0.25, 0.25, 0.25}
	covariance := mat.NewSymDense(4, []float64{0.10, 0.02, 0.01, 0.03, 0.02, 0.06, 0.01, 0.01, 0.01, 0.01, 0.03, 0, 0.03, 0.01, 0, 0.16})
	revenue := func(tax []float64) float64 {
		sum := 0.0
		for k, aversion := range []float64{1, 4} {
			from := [][]float64{held, even}[k]
			for i, v := range holdings(mean, from, tax, covariance, aversion) {
				sum += tax[i] * math.Abs(v-from[i])
			}
		}
		return sum
	}
	r := found(t, "trades/trades.blv")
	tax, ok := r.Upper.Variables.Get("tax")
	if !ok {
		t.Fatal("no tax")
	}
	near(t, r, revenue(tax.Data), 1e-9)
	rng := rand.New(rand.NewPCG(34, 8))
	best := 0.0
	for range 5 {
		at := make([]float64, 4)
		for i := range at {
			at[i] = 0.1 * rng.Float64()
		}
		now := revenue(at)
		for step := 0.02; step > 1e-4; {
			moved := false
			for i := range at {
				for _, d := range []float64{step, -step} {
					before := at[i]
					at[i] = math.Min(0.2, math.Max(0, before+d))
					if f := revenue(at); f > now {
						now, moved = f, true
					} else {
						at[i] = before
					}
				}
			}
			if !moved {
				step /= 2
			}
		}
		best = math.Max(best, now)
	}
	if f := float64(r.Upper.Objective); best > f+1e-9 || best < 0.99*f {
		t.Errorf("F = %.10g, and a search finds %.10g", f, best)
	}
}
