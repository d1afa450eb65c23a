package examples_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"bilevelc/runtime"
)

// The best price of the auction example, by what each firm offers in closed form:
// (p - c)/s between 0 and its limit. What is bought is linear in p between the
// prices at which a firm starts to offer or meets its limit, so that the buyer's
// profit is a quadratic there, and its maximum is at an end or where its slope is
// zero.
func TestAuction(t *testing.T) {
	cost, slope, limit := []float64{2, 3, 3.5, 5, 8}, []float64{1, 0.5, 2, 1, 0.2}, []float64{4, 3, 5, 6, 10}
	offer := func(i int, p float64) float64 { return min(max((p-cost[i])/slope[i], 0), limit[i]) }
	profit := func(p float64) float64 {
		q := 0.0
		for i := range cost {
			q += offer(i, p)
		}
		return 14*q - 0.25*q*q - p*q
	}
	ends := []float64{0, 20}
	for i := range cost {
		ends = append(ends, cost[i], cost[i]+slope[i]*limit[i])
	}
	slices.Sort(ends)
	best, price := math.Inf(-1), 0.0
	try := func(p float64) {
		if f := profit(p); f > best {
			best, price = f, p
		}
	}
	for k := range ends[1:] {
		lo, hi := ends[k], ends[k+1]
		try(lo)
		try(hi)
		if hi-lo < 1e-9 {
			continue
		}
		// The parabola through the ends and the middle has its top here.
		mid := (lo + hi) / 2
		second := (profit(lo) - 2*profit(mid) + profit(hi)) / (mid * mid * (hi/mid - 1) * (hi/mid - 1))
		if second < 0 {
			top := mid - (profit(hi)-profit(lo))/(hi-lo)/second
			try(min(max(top, lo), hi))
		}
	}
	problem := bound(t, "auction/auction.blv", "")
	result, err := problem.Solve(context.Background(), runtime.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if f := float64(result.Upper.Objective); result.Status != runtime.Solved || math.Abs(f-best) > 1e-6*best {
		t.Errorf("F = %.10g (%s), the optimum is %.10g at the price %.10g", f, result.Status, best, price)
	}
	if len(result.Lower.Followers) != 1 || result.Lower.Followers[0].Name != "firm" {
		t.Fatalf("followers %+v", result.Lower.Followers)
	}
	firm := result.Lower.Followers[0]
	p, _ := result.Upper.Variables[0].Scalar()
	for i, name := range []string{"Arda", "Borg", "Cita", "Dorn", "Elva"} {
		q, ok := firm.Variables[0].At(name)
		if want := offer(i, p); !ok || math.Abs(q-want) > 1e-7*(1+want) {
			t.Errorf("%s offers %v at %v, want %v", name, q, p, want)
		}
		gain, ok := firm.Objective[0].At(name)
		if want := (p-cost[i])*offer(i, p) - slope[i]/2*offer(i, p)*offer(i, p); !ok || math.Abs(gain-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("%s earns %v, want %v", name, gain, want)
		}
	}
	report, err := problem.Verify(result)
	if err != nil {
		t.Fatal(err)
	}
	for _, failure := range report.Failures() {
		t.Errorf("verification: %s", failure)
	}
}
