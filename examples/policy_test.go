package examples_test

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A carbon tax whose revenue goes back as subsidies, to the last cent: an equation that
// reads what the sectors make. Each makes max(0, value - tax emission + subsidy)/slope. For
// given subsidies the taxes that pay for them are the roots of a function of one number; the
// best subsidies are at their bounds, so that all of those are tried, and random ones too.
func TestCarbonTax(t *testing.T) {
	r := solved(t, "carbon", `model carbon
set sector = {"power", "steel", "cement", "transport"}
data emission: [sector] = [1.0, 1.8, 0.9, 0.6]
data value: [sector] = [30, 40, 22, 26]
data slope: [sector] = [1.0, 1.5, 1.2, 0.8]
data damage: real = 6
upper {
  var tax: real in box(0, 15)
  var subsidy: [sector] in box(0, 15)
  let carbon = sum(s in sector: emission[s] * make[s])
  minimize 0.5 * damage * (carbon / 10)^2 - sum(s in sector: value[s] * make[s] - 0.5 * slope[s] * make[s]^2) / 10
  subject to
    neutral: tax * carbon == sum(s in sector: subsidy[s] * make[s])
}
lower {
  var make: [sector] in nonneg
  minimize sum(s in sector: 0.5 * slope[s] * make[s]^2 - (value[s] - tax * emission[s] + subsidy[s]) * make[s])
}
`)
	emission, value, slope := [4]float64{1, 1.8, 0.9, 0.6}, [4]float64{30, 40, 22, 26}, [4]float64{1, 1.5, 1.2, 0.8}
	at := func(tax float64, subsidy []float64) (F, surplus float64) {
		carbon := 0.0
		for s := range 4 {
			make := math.Max(0, value[s]-tax*emission[s]+subsidy[s]) / slope[s]
			carbon += emission[s] * make
			F -= (value[s]*make - slope[s]*make*make/2) / 10
			surplus -= subsidy[s] * make
		}
		return F + 3*carbon*carbon/100, surplus + tax*carbon
	}
	best := math.Inf(1)
	try := func(subsidy []float64) {
		const steps = 60
		for k := range steps {
			lo, hi := 15*float64(k)/steps, 15*float64(k+1)/steps
			_, left := at(lo, subsidy)
			_, right := at(hi, subsidy)
			if left*right > 0 {
				continue
			}
			for range 60 {
				mid := (lo + hi) / 2
				if _, m := at(mid, subsidy); (m > 0) == (left > 0) {
					lo = mid
				} else {
					hi = mid
				}
			}
			F, _ := at(lo, subsidy)
			best = math.Min(best, F)
		}
	}
	for corner := range 16 {
		var subsidy []float64
		for s := range 4 {
			subsidy = append(subsidy, 15*float64(corner>>s&1))
		}
		try(subsidy)
	}
	corners := best
	rng := rand.New(rand.NewPCG(1, 9))
	for range 20_000 {
		var subsidy []float64
		for range 4 {
			subsidy = append(subsidy, math.Min(math.Max(30*rng.Float64()-7.5, 0), 15))
		}
		try(subsidy)
	}
	if best < corners-1e-9 {
		t.Fatalf("the best of the corners is %v, and %v is better", corners, best)
	}
	if f := float64(r.Upper.Objective); math.Abs(f-corners) > 1e-6*corners {
		t.Errorf("F = %v, not %v", f, corners)
	}
	tax, _ := r.Upper.Variables.Get("tax")
	subsidy, _ := r.Upper.Variables.Get("subsidy")
	if F, surplus := at(tax.Data[0], subsidy.Data); math.Abs(F-float64(r.Upper.Objective)) > 1e-7*F || math.Abs(surplus) > 1e-4 {
		t.Errorf("at the answer F is %v and %v is left over", F, surplus)
	}
}

// Pumps in the pipes of a water network, with a budget on their sizes in absolute value, a
// constraint on x alone with kinks: flows are the answer to heads, cubic losses the
// follower's objective, heads its multipliers. The flow in a pipe is the root of a quadratic
// in the difference of heads, and heads follow from the balances by Newton's method.
func TestPumps(t *testing.T) {
	r := solved(t, "pumps", `model pumps
set node = {"source", "hill", "town", "farm"}
set pipe(from, to) within node * node = {("source", "hill"), ("source", "town"), ("hill", "town"), ("town", "farm"), ("hill", "farm")}
data loss: [pipe] = [0.02, 0.05, 0.03, 0.04, 0.06]
data need: [node] = [-12, 3, 5, 4]
upper {
  var boost: [pipe] in box(-2, 2)
  let head = dual(flow)
  minimize sum(e in pipe: loss[e] * abs(q[e])^3) + 0.5 * sumsq(head) + 0.1 * sumsq(boost)
  subject to
    power: sum(e in pipe: abs(boost[e])) <= 2.5
}
lower {
  var q: [pipe]
  minimize sum(e in pipe: loss[e] / 3 * abs(q[e])^3 + 0.01 * q[e]^2 - boost[e] * q[e])
  subject to
    flow: forall v in node if v != "source": sum((i, j) in pipe if j == v: q[i, j]) - sum((i, j) in pipe if i == v: q[i, j]) == need[v]
}
`)
	ends := [5][2]int{{0, 1}, {0, 2}, {1, 2}, {2, 3}, {1, 3}}
	loss, need := [5]float64{0.02, 0.05, 0.03, 0.04, 0.06}, [4]float64{-12, 3, 5, 4}
	value := func(boost []float64) float64 {
		var h [4]float64 // of the source 0; forces on q are boost + h_from - h_to here
		var q, slope [5]float64
		for range 100 {
			var rest [4]float64
			var a [3][4]float64 // the matrix of Newton's method, and its right side
			copy(rest[:], need[:])
			for k, e := range ends {
				d := boost[k] + h[e[0]] - h[e[1]]
				root := math.Sqrt(1e-4 + loss[k]*math.Abs(d)) // loss q|q| + 0.02 q = d
				q[k], slope[k] = math.Copysign((root-0.01)/loss[k], d), 1/(2*root)
				rest[e[1]] -= q[k]
				rest[e[0]] += q[k]
				for i := range 3 {
					for j := range 3 {
						s := 0.0
						for side, at := range e {
							for other, by := range e {
								if at == i+1 && by == j+1 {
									if s = slope[k]; side == other {
										s = -slope[k]
									}
								}
							}
						}
						a[i][j] -= s
					}
				}
			}
			size := 0.0
			for i := range 3 {
				a[i][3] = -rest[i+1]
				size = math.Hypot(size, rest[i+1])
			}
			if size < 1e-12 {
				break
			}
			for i := range 3 { // it is diagonally dominant: no pivots
				for j := i + 1; j < 3; j++ {
					f := a[j][i] / a[i][i]
					for c := i; c < 4; c++ {
						a[j][c] -= f * a[i][c]
					}
				}
			}
			var step [3]float64
			for i := 2; i >= 0; i-- {
				step[i] = a[i][3]
				for j := i + 1; j < 3; j++ {
					step[i] -= a[i][j] * step[j]
				}
				step[i] /= a[i][i]
				h[i+1] += step[i]
			}
		}
		F := 0.0
		for k := range q {
			F += loss[k]*math.Pow(math.Abs(q[k]), 3) + 0.1*boost[k]*boost[k]
		}
		return F + (h[1]*h[1]+h[2]*h[2]+h[3]*h[3])/2
	}
	boost, _ := r.Upper.Variables.Get("boost")
	f := float64(r.Upper.Objective)
	if F := value(boost.Data); math.Abs(F-f) > 1e-8*F {
		t.Fatalf("F = %v, and %v at the answer", f, F)
	}
	if len(r.Upper.Variables) != 1 || len(r.Lower.Variables) != 1 || r.Residuals.Upper > 1e-9 {
		t.Errorf("%v, %v: further variables, or outside of the budget by %v", r.Upper.Variables, r.Lower.Variables, r.Residuals.Upper)
	}
	rng := rand.New(rand.NewPCG(2, 5))
	budget := 0.0
	for _, v := range boost.Data {
		budget += math.Abs(v)
	}
	if budget < 2.5-1e-6 {
		t.Errorf("a budget of 2.5 is not used up: %v", budget)
	}
	for trial := range 30_000 {
		x := append([]float64(nil), boost.Data...)
		for k := range x {
			x[k] += math.Pow(10, -4*rng.Float64()) * rng.NormFloat64()
			if trial%3 == 0 {
				x[k] = 4*rng.Float64() - 2
			}
			x[k] = math.Max(-2, math.Min(2, x[k]))
		}
		size := 0.0
		for _, v := range x {
			size += math.Abs(v)
		}
		for k := range x {
			x[k] *= math.Min(1, 2.5/size)
		}
		if F := value(x); F < f-1e-8*f {
			t.Fatalf("F = %v at %v, less than %v", F, x, f)
		}
	}
}
