package examples_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
)

// clearing is the most that the firm of examples/bidding earns of all dispatches that clear its market at these offers and all prices that support them: one linear program over dispatch and prices
// together, whose costs are equal. Written with shares of flows (PTDF) in the place of angles: of the injections at north and east, taken out in the south, the three lines carry
//
//	(n - e)/3,  (2 n + e)/3,  (n + 2 e)/3
//
// when they are alike; the price of a node is that of the south and what its injection does to lines that are full. ok is false where the simplex method fails.
func clearing(north, south float64) (profit float64, ok bool) {
	own, plant := []float64{15, 25}, []float64{60, 50}
	site := []int{0, 2, 0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2} // of two plants, six rivals, six blocks of demand
	value := []float64{north, south, 18, 34, 22, 40, 28, 55, -120, -50, -120, -45, -120, -60}
	size := []float64{plant[0], plant[1], 50, 40, 40, 40, 60, 60, 40, 20, 60, 30, 120, 50}
	share := [3][3]float64{{1. / 3, -1. / 3, 0}, {2. / 3, 1. / 3, 0}, {1. / 3, 2. / 3, 0}} // line, node
	limit := []float64{40, 40, 60}
	n := len(value)
	put := func(j int) float64 { // into the node, or out of it
		if j < 8 {
			return 1
		}
		return -1
	}
	// Unknowns, all >= 0: amounts, what is left of sizes, what is left of limits both ways; the price of the south (+, -), the rent of sizes, of limits both ways, reduced costs.
	amount, left, room := 0, n, 2*n
	price, rent, jam, reduced := 2*n+6, 2*n+8, 3*n+8, 3*n+14
	all := 4*n + 14
	var rows [][]float64
	var rhs []float64
	row := func(v float64) []float64 {
		r := make([]float64, all)
		rows, rhs = append(rows, r), append(rhs, v)
		return r
	}
	balance := row(0)
	for j := range n {
		balance[amount+j] = put(j)
		r := row(size[j])
		r[amount+j], r[left+j] = 1, 1
	}
	for l := range 3 {
		for way, sign := range []float64{1, -1} {
			r := row(limit[l])
			for j := range n {
				r[amount+j] = sign * put(j) * share[l][site[j]]
			}
			r[room+2*l+way] = 1
		}
	}
	gap := row(0)
	for j := range n {
		// cost = put * (price of the node) - rent + reduced cost
		r := row(value[j])
		r[price], r[price+1], r[rent+j], r[reduced+j] = put(j), -put(j), -1, 1
		for l := range 3 {
			r[jam+2*l], r[jam+2*l+1] = -put(j)*share[l][site[j]], put(j)*share[l][site[j]]
		}
		if value[j] < 0 {
			for k := range r {
				r[k] *= -1
			}
			rhs[len(rhs)-1] *= -1
		}
		gap[amount+j], gap[rent+j] = value[j], size[j]
	}
	cost := make([]float64, all)
	for l := range 3 {
		gap[jam+2*l], gap[jam+2*l+1] = limit[l], limit[l]
	}
	for i, offer := range []float64{north, south} { // (price - own) * amount = (offer - own) * amount + rent * size
		cost[amount+i], cost[rent+i] = -(offer - own[i]), -plant[i]
	}
	a := mat.NewDense(len(rows), all, nil)
	for i, r := range rows {
		a.SetRow(i, r)
	}
	v, _, err := lp.Simplex(cost, a, rhs, 1e-9, nil)
	return -v, err == nil
}

// No offers of a grid earn the firm more than the model's, which earn what the market of another formulation pays for them.
func TestBidding(t *testing.T) {
	r := found(t, "bidding/bidding.blv")
	offer, _ := r.Upper.Variables.Get("offer")
	want, ok := clearing(offer.Data[0], offer.Data[1])
	if !ok {
		t.Fatal("the simplex method fails at the model's offers")
	}
	near(t, r, want, 1e-8)
	tried, best := 0, math.Inf(-1)
	for north := 16.0; north <= 64; north += 3 { // 34 and 55 among them
		for south := 25.0; south <= 64; south += 3 {
			if profit, ok := clearing(north, south); ok {
				tried++
				best = math.Max(best, profit)
			}
		}
	}
	if tried < 200 || best > want+1e-6 {
		t.Errorf("of %d offers the best earns %v, the model's %v", tried, best, want)
	}
}
