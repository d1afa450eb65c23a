package examples_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"bilevelc/runtime"
)

// found is the F of an example by default settings, verified, and its variables.
func found(t *testing.T, path string) *runtime.Result {
	t.Helper()
	problem := bound(t, path, "")
	r, err := problem.Solve(context.Background(), runtime.Options{Seed: 1})
	if err != nil || r.Status != runtime.Solved {
		t.Fatalf("%v %v: %s", err, r.Status, r.Reason)
	}
	if report, err := problem.Verify(r); err != nil || !report.OK() {
		t.Fatalf("%v %v", err, report.Failures())
	}
	return r
}

// near asks for an F within tolerance of want, relative to 1 + |want|.
func near(t *testing.T, r *runtime.Result, want, tolerance float64) {
	t.Helper()
	if f := float64(r.Upper.Objective); !(math.Abs(f-want) <= tolerance*(1+math.Abs(want))) {
		t.Errorf("F = %.10g, by the independent computation %.10g", f, want)
	}
}

// The battery's trade by dynamic programming over the energy stored, hour by hour. At a net demand d the price is that of the cheap plant, 10 + d, up to what it can
// make, and of the dear one above; in between, at d = coal, the owner may have any price from 18 to 20.
func TestBattery(t *testing.T) {
	demand := []float64{6, 5, 5, 7, 10, 13, 14, 11}
	const efficiency, store, power, coal, cells = 0.9, 6.0, 2.5, 8.0, 2400
	revenue := func(demand, sold float64) float64 {
		d := demand - sold
		switch {
		case d < coal-1e-9:
			return (10 + d) * sold
		case d > coal+1e-9:
			return (20 + 2*(d-coal)) * sold
		}
		return math.Max((10+coal)*sold, 20*sold)
	}
	best := make([]float64, cells+1)
	for e := range best {
		best[e] = math.Inf(-1)
	}
	best[0] = 0
	const step = store / cells
	for _, d := range demand {
		next := make([]float64, cells+1)
		for to := range next {
			next[to] = math.Inf(-1)
			for from, had := range best {
				change := float64(to-from) * step
				sold := -change // discharge
				if change > 0 {
					sold = -change / efficiency
				}
				if math.Abs(sold) <= power && had > math.Inf(-1) {
					next[to] = math.Max(next[to], had+revenue(d, sold))
				}
			}
		}
		best = next
	}
	want := math.Inf(-1)
	for _, v := range best {
		want = math.Max(want, v)
	}
	r := found(t, "battery/battery.blv")
	// The grid's best trade is one that can be made; finer ones earn little more.
	if f := float64(r.Upper.Objective); f < want-1e-9 || f > want*1.002 {
		t.Errorf("F = %.10g, by dynamic programming on a grid %.10g", f, want)
	}
}

// The best linear contract with a normal premium for risk (Holmstrom and Milgrom 1991): share = (I + aversion C diag(variance))^-1 worth, and the wage leaves the agent its reserve.
func TestContract(t *testing.T) {
	c := mat.NewDense(2, 2, []float64{2, 0.6, 0.6, 1})
	variance, worth := []float64{0.5, 2}, []float64{6, 4}
	const aversion, reserve = 0.8, 1.0
	var m mat.Dense
	m.Mul(c, mat.NewDiagDense(2, []float64{aversion * variance[0], aversion * variance[1]}))
	for i := range 2 {
		m.Set(i, i, m.At(i, i)+1)
	}
	var share, effort mat.VecDense
	if err := share.SolveVec(&m, mat.NewVecDense(2, worth)); err != nil {
		t.Fatal(err)
	}
	if err := effort.SolveVec(c, &share); err != nil {
		t.Fatal(err)
	}
	want := -reserve
	for i := range 2 {
		e, s := effort.AtVec(i), share.AtVec(i)
		want += worth[i]*e - 0.5*e*s - 0.5*aversion*variance[i]*s*s
	}
	near(t, found(t, "contract/contract.blv"), want, 1e-7)
}

// Prices of day and night on grids, each finer than the last, around the best; users' answers by projection of the stationary point (two goods).
func TestCapacity(t *testing.T) {
	want := [][2]float64{{2, 5}, {9, 1}, {7, 6}}
	value := []float64{1, 2, 1.5}
	answer := func(u int, p [2]float64) (best [2]float64) {
		v, c := value[u], 0.2
		cost := math.Inf(1)
		try := func(y [2]float64) {
			if y[0] < 0 || y[1] < 0 {
				return
			}
			g := c * y[0] * y[1]
			for k := range 2 {
				g += v/2*(y[k]-want[u][k])*(y[k]-want[u][k]) + p[k]*y[k]
			}
			if g < cost {
				cost, best = g, y
			}
		}
		a, b := v*want[u][0]-p[0], v*want[u][1]-p[1]
		det := v*v - c*c
		try([2]float64{(v*a - c*b) / det, (v*b - c*a) / det})
		try([2]float64{a / v, 0})
		try([2]float64{0, b / v})
		try([2]float64{})
		return best
	}
	profit := func(p [2]float64) float64 {
		var load [2]float64
		earned := 0.0
		for u := range want {
			y := answer(u, p)
			for k := range 2 {
				load[k] += y[k]
				earned += p[k] * y[k]
			}
		}
		return earned - 3*math.Max(load[0], load[1])
	}
	best, at := math.Inf(-1), [2]float64{10, 10}
	for _, width := range []float64{10, 0.3, 0.01, 3e-4} {
		center := at
		for i := -200; i <= 200; i++ {
			for j := -200; j <= 200; j++ {
				p := [2]float64{center[0] + width*float64(i)/200, center[1] + width*float64(j)/200}
				if f := profit(p); p[0] >= 0 && p[1] >= 0 && p[0] <= 20 && p[1] <= 20 && f > best {
					best, at = f, p
				}
			}
		}
	}
	near(t, found(t, "capacity/capacity.blv"), best, 1e-6)
}

// Values on grids, each finer than the last; a household's basket is its target on the budget line or below it, with an entry at 0 where that is negative.
func TestInverse(t *testing.T) {
	price := [][2]float64{{1, 2}, {2, 1}, {1.5, 1.5}, {1, 3}, {3, 1}, {2, 2}}
	budget := []float64{6, 5, 9, 8, 6, 4}
	bought := [][2]float64{{2.9, 1.4}, {1.1, 2.6}, {2.6, 2.1}, {3.5, 1.2}, {0.9, 3.1}, {1.2, 0.7}}
	basket := func(t int, w [2]float64) (best [2]float64) {
		p, low := price[t], math.Inf(1)
		try := func(y [2]float64) {
			if y[0] < 0 || y[1] < 0 || p[0]*y[0]+p[1]*y[1] > budget[t]+1e-12 {
				return
			}
			if g := 0.5*(y[0]*y[0]+y[1]*y[1]) - w[0]*y[0] - w[1]*y[1]; g < low {
				low, best = g, y
			}
		}
		try(w)
		over := (p[0]*w[0] + p[1]*w[1] - budget[t]) / (p[0]*p[0] + p[1]*p[1])
		try([2]float64{w[0] - over*p[0], w[1] - over*p[1]})
		for k := range 2 {
			var y [2]float64
			y[k] = math.Min(w[k], budget[t]/p[k])
			try(y)
		}
		return best
	}
	misfit := func(w [2]float64) (sum float64) {
		for t := range price {
			y := basket(t, w)
			for k := range 2 {
				sum += (y[k] - bought[t][k]) * (y[k] - bought[t][k])
			}
		}
		return sum
	}
	best, at := math.Inf(1), [2]float64{5, 5}
	for _, width := range []float64{5, 0.1, 3e-3, 1e-4} {
		center := at
		for i := -200; i <= 200; i++ {
			for j := -200; j <= 200; j++ {
				w := [2]float64{center[0] + width*float64(i)/200, center[1] + width*float64(j)/200}
				if f := misfit(w); w[0] >= 0 && w[1] >= 0 && f < best {
					best, at = f, w
				}
			}
		}
	}
	near(t, found(t, "inverse/inverse.blv"), best, 1e-6)
}

// The traffic that takes the least time of all: the marginal times of the roads are equal, by bisection on them. Tolls can bring it about.
func TestCongestion(t *testing.T) {
	free, room := []float64{10, 12, 15, 9}, []float64{2, 2.5, 4, 1.2}
	cars := func(marginal float64) (v []float64, sum float64) {
		for k := range free { // free (1 + 0.75 (v/room)^4) = marginal
			x := 0.0
			if marginal > free[k] {
				x = room[k] * math.Pow((marginal/free[k]-1)/0.75, 0.25)
			}
			v, sum = append(v, x), sum+x
		}
		return v, sum
	}
	lo, hi := 0.0, 1e3
	for range 200 {
		if mid := (lo + hi) / 2; mid > lo && mid < hi {
			if _, sum := cars(mid); sum > 8 {
				hi = mid
			} else {
				lo = mid
			}
		}
	}
	v, _ := cars(lo)
	least := 0.0
	for k := range v {
		least += free[k] * v[k] * (1 + 0.15*math.Pow(v[k]/room[k], 4))
	}
	near(t, found(t, "congestion/congestion.blv"), least, 1e-6)
}

// Every set of two depots or fewer, with the transport problem as a linear program of another library.
func TestFacilities(t *testing.T) {
	room, need := []float64{9, 8, 7, 8, 6}, []float64{5, 6, 4, 7}
	cost := [][]float64{{2, 5, 6, 4}, {6, 2, 4, 7}, {7, 5, 1, 4}, {3, 7, 5, 2}, {3, 3, 3, 3}}
	least := func(closed int) float64 {
		nd, nt := len(room), len(need)
		n := nd*nt + nt + nd // ship, short, spare room
		c := make([]float64, n)
		a := mat.NewDense(nd+nt, n, nil)
		b := make([]float64, nd+nt)
		for d := range nd {
			for k := range nt {
				c[d*nt+k] = cost[d][k]
				a.Set(d, d*nt+k, 1)
				a.Set(nd+k, d*nt+k, 1)
			}
			a.Set(d, nd*nt+nt+d, 1)
			if closed>>d&1 == 0 {
				b[d] = room[d]
			}
		}
		for k := range nt {
			c[nd*nt+k] = 12
			a.Set(nd+k, nd*nt+k, 1)
			b[nd+k] = need[k]
		}
		f, _, err := lp.Simplex(c, a, b, 1e-10, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	want := 0.0
	for closed := range 1 << len(room) {
		n := 0
		for d := range room {
			n += closed >> d & 1
		}
		if n <= 2 {
			want = math.Max(want, least(closed))
		}
	}
	r := found(t, "facilities/facilities.blv")
	near(t, r, want, 1e-9)
	if r.Global == nil || !r.Global.Proved {
		t.Errorf("not proved: %+v", r.Global)
	}
}
