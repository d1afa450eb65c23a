package examples_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"bilevelc/runtime"
)

// solved runs a model by default settings and asks for a solution that passes
// verification.
func solved(t *testing.T, name, source string) *runtime.Result {
	t.Helper()
	model, err := runtime.Compile(name+".blv", source)
	if err != nil {
		t.Fatal(err)
	}
	problem, err := model.Bind(nil, runtime.BindOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := problem.Solve(context.Background(), runtime.Options{Seed: 1})
	if err != nil || r.Status != runtime.Solved {
		t.Fatalf("%v %v: %s", err, r.Status, r.Reason)
	}
	if report, err := problem.Verify(r); err != nil || !report.OK() {
		t.Fatalf("%v %v", err, report.Failures())
	}
	return r
}

// A wholesaler prices two goods for three shops that buy from the cheapest source, each
// with room for so much: linear followers with ties. Revenue is linear between the
// prices at which some shop is indifferent, so that the best are among these: all are
// tried, ties going to what earns more.
func TestWholesale(t *testing.T) {
	if testing.Short() {
		t.Skip("many starts, each a solve for every tau")
	}
	r := solved(t, "wholesale", `model wholesale
set shop = {"north", "south", "west"}
set good = {"tea", "rice"}
data other: [shop, good] = [[5, 4], [6, 3.5], [4.5, 5]]
data own: [good] = [2, 1]
data need: [shop, good] = [[10, 4], [8, 6], [5, 9]]
data room: [shop] = [12, 12, 10]
upper {
  var price: [good] in box(0, 10)
  maximize sum(s in shop, g in good: (price[g] - own[g]) * buy[s, g])
}
lower retailer[s in shop] {
  var buy: [good] in nonneg
  var rest: [good] in nonneg
  minimize sum(g in good: price[g] * buy[g] + other[s, g] * rest[g])
  subject to
    serve: forall g in good: buy[g] + rest[g] == need[s, g]
    store: sum(buy) <= room[s]
}
solve { ties = optimistic }
`)
	other, own := [][2]float64{{5, 4}, {6, 3.5}, {4.5, 5}}, [2]float64{2, 1}
	need, room := [][2]float64{{10, 4}, {8, 6}, {5, 9}}, []float64{12, 12, 10}
	revenue := func(p [2]float64) float64 {
		sum := 0.0
		for s, left := range room {
			gain := [2]float64{other[s][0] - p[0], other[s][1] - p[1]}
			first := 0
			if d := gain[1] - gain[0]; d > 1e-9 || math.Abs(d) <= 1e-9 && p[1]-own[1] > p[0]-own[0] {
				first = 1
			}
			for _, g := range []int{first, 1 - first} {
				if gain[g] > 1e-9 || gain[g] > -1e-9 && p[g] > own[g] {
					b := math.Min(left, need[s][g])
					left -= b
					sum += (p[g] - own[g]) * b
				}
			}
		}
		return sum
	}
	best := 0.0
	var tea, rice []float64
	for s := range other {
		tea, rice = append(tea, other[s][0]), append(rice, other[s][1])
		for v := range other { // where a shop that is full is indifferent between the goods
			tea = append(tea, other[v][1]-other[s][1]+other[s][0])
			rice = append(rice, other[v][0]-other[s][0]+other[s][1])
		}
	}
	for _, a := range tea {
		for _, b := range rice {
			best = math.Max(best, revenue([2]float64{a, b}))
		}
	}
	// tau is 1e-5 of what is at stake.
	if f := float64(r.Upper.Objective); math.Abs(f-best) > 1e-4*best {
		t.Errorf("revenue %v, not %v", f, best)
	}
}

// The price of permits is the multiplier of their number; firms' cuts may differ by so
// much, and no firm may move by more than so much: kinks in rows. None of these rows
// binds at the best quota q, where all firms cut until a_i (b_i - e_i) is the price
// p = (24 - q)/(1/2 + 1 + 1/3), and F is a parabola in q.
func TestPermits(t *testing.T) {
	r := solved(t, "permits", `model permits
set firm = {"steel", "cement", "paper"}
data base: [firm] = [10, 8, 6]
data abate: [firm] = [2, 1, 3]
upper {
  var quota: real in box(5, 24)
  minimize 0.6 * quota + 0.04 * quota^2 + sum(i in firm: abate[i] * (base[i] - emit[i])^2 / 20) + (dual(market) - 1)^2 / 5
}
lower {
  var emit: [firm] in nonneg
  minimize sum(i in firm: 0.5 * abate[i] * (base[i] - emit[i])^2)
  subject to
    market: sum(emit) <= quota
    swing: forall i in firm: abs(emit[i] - base[i]) <= 6
    spread: max(i in firm: base[i] - emit[i]) - min(i in firm: base[i] - emit[i]) <= 4
}
`)
	const s = 11.0 / 6
	value := func(q float64) float64 {
		p := (24 - q) / s
		return 0.6*q + 0.04*q*q + p*p*s/20 + (p-1)*(p-1)/5
	}
	lo, hi := 12.0, 15.0 // cuts of p, p/2 and p/3 are within 6, and within 4 of each other
	for range 100 {
		if a, b := lo+(hi-lo)/3, hi-(hi-lo)/3; value(a) < value(b) {
			hi = b
		} else {
			lo = a
		}
	}
	if f := float64(r.Upper.Objective); math.Abs(f-value(lo)) > 1e-7*value(lo) {
		t.Errorf("F = %v, not %v", f, value(lo))
	}
}

// An aggregator prices the hours of a day for three fleets and pays for the peak, a
// kink of F. A fleet with the price m of its energy charges a max(0, m - price) in each
// hour: F is evaluated apart, and no prices tried are better.
func TestFleets(t *testing.T) {
	r := solved(t, "fleets", `model fleets
set hour = 0..3
set fleet = {"bus", "taxi", "van"}
data need: [fleet] = [6, 4, 5]
data flex: [fleet] = [1, 2, 0.5]
data base: [hour] = [3, 1, 2, 4]
data wholesale: [hour] = [2, 1, 1.5, 3]
upper {
  var price: [hour] in box(0, 6)
  let load = [h in hour: base[h] + sum(f in fleet: charge[f, h])]
  maximize sum(h in hour, f in fleet: (price[h] - wholesale[h]) * charge[f, h]) - 0.5 * max(load)
  subject to
    fair: sum(price) / 4 <= 3
}
lower owner[f in fleet] {
  var charge: [hour] in nonneg
  minimize sum(h in hour: price[h] * charge[h] + charge[h]^2 / (2 * flex[f]))
  subject to full: sum(charge) == need[f]
}
`)
	need, flex := []float64{6, 4, 5}, []float64{1, 2, 0.5}
	base, wholesale := []float64{3, 1, 2, 4}, []float64{2, 1, 1.5, 3}
	value := func(price []float64) float64 {
		load := append([]float64(nil), base...)
		f := 0.0
		for k, a := range flex {
			lo, hi := -50.0, 50.0
			for range 100 {
				m, sum := (lo+hi)/2, 0.0
				for _, p := range price {
					sum += math.Max(0, a*(m-p))
				}
				if sum < need[k] {
					lo = m
				} else {
					hi = m
				}
			}
			for h, p := range price {
				c := math.Max(0, a*(lo-p))
				load[h] += c
				f += (p - wholesale[h]) * c
			}
		}
		peak := 0.0
		for _, l := range load {
			peak = math.Max(peak, l)
		}
		return f - 0.5*peak
	}
	price, _ := r.Upper.Variables.Get("price")
	f := float64(r.Upper.Objective)
	if at := value(price.Data); math.Abs(at-f) > 1e-7*(1+f) {
		t.Errorf("F = %v, evaluated apart %v", f, at)
	}
	rng := rand.New(rand.NewPCG(6, 2))
	for trial := range 6000 {
		reach := []float64{6, 0.3, 1e-3}[trial%3]
		z, mean := make([]float64, 4), 0.0
		for h := range z {
			z[h] = math.Max(0, math.Min(6, price.Data[h]+reach*rng.NormFloat64()))
			mean += z[h] / 4
		}
		if over := mean - 3; over > 0 {
			for h := range z {
				z[h] = math.Max(0, z[h]-over)
			}
			if z[0]+z[1]+z[2]+z[3] > 12 {
				continue
			}
		}
		if better := value(z); better > f+1e-6*(1+f) {
			t.Fatalf("F = %v at %v, and %v at %v", f, price.Data, better, z)
		}
	}
}

// Charges by the hour spread trips, and the largest is to be small: 100 trips are at
// best a third in each hour, which a charge of 4 in the rush hour brings about, as
// trips = wish + 10 (m - charge). It earns more than is asked for.
func TestShift(t *testing.T) {
	r := solved(t, "shift", `model shift
set hour = {"early", "rush", "late"}
data wish: [hour] = [20, 60, 20]
upper {
  var charge: [hour] in box(0, 8)
  minimize max(trips) + 0.05 * sum(h in hour: charge[h] * trips[h])
  subject to
    income: sum(h in hour: charge[h] * trips[h]) >= 30
    steady: abs(charge["early"] - charge["late"]) <= 1
}
lower {
  var trips: [hour] in nonneg
  minimize sum(h in hour: charge[h] * trips[h] + 0.05 * (trips[h] - wish[h])^2)
  subject to total: sum(trips) == 100
}
`)
	if f := float64(r.Upper.Objective); math.Abs(f-40) > 1e-6 { // 100/3 + 0.05 * 4 * 100/3
		t.Errorf("F = %v, not 40", f)
	}
}
