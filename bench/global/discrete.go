package main

import (
	"math/rand/v2"
	"slices"
)

// discrete makes programs with binary (ki, ni, fl, ce) or integer (mi) variables of the leader and linear followers, but for quadratic costs of ce:
// continuous knapsacks of n items and k rows, of which items are interdicted (ki); shortest paths on graphs of n nodes, k arcs cut (ni); facilities for
// k towns, opened at a cost, that a follower uses at least cost of its own (fl); capacities of n plants, expanded, over k markets (ce); random rows
// with integer x as in collections of mixed-integer bilevel programs (mi).
func (in *instance) discrete(rng *rand.Rand, kind string, n, k int) {
	whole := func(a, b int) float64 { return float64(a + rng.IntN(b-a+1)) }
	in.whole, in.nonneg = true, true
	in.Lo, in.Hi = make([]float64, n), vector(n, func(int) float64 { return 1 })
	zero := func(m, n int) [][]float64 { return matrix(m, n, func(int, int) float64 { return 0 }) }
	switch kind {
	case "ki": // the follower's value, which the leader wants small; y_j <= 1 - x_j
		value := vector(n, func(int) float64 { return whole(10, 60) })
		in.D, in.LQ = value, vector(n, func(j int) float64 { return -value[j] })
		in.A, in.B = zero(n+2, n), zero(n+2, n)
		in.RB = vector(n+2, func(int) float64 { return 1 })
		for j := range n {
			in.A[j][j], in.B[j][j] = 1, 1
			for i := range 2 {
				in.B[n+i][j] = whole(5, 40)
				in.RB[n+i] += in.B[n+i][j] * 0.5
			}
		}
		in.U, in.RU = [][]float64{slices.Repeat([]float64{1}, n)}, []float64{float64(k)}
	case "ni": // arcs i -> i+1, i+2, i+3; a cut arc costs more
		type arc struct{ from, to int }
		var arcs []arc
		for i := range n {
			for s := 1; s <= 3 && i+s < n; s++ {
				arcs = append(arcs, arc{i, i + s})
			}
		}
		m := len(arcs)
		in.Lo, in.Hi = make([]float64, m), vector(m, func(int) float64 { return 1 })
		in.LQ = vector(m, func(int) float64 { return whole(1, 10) })
		delay := vector(m, func(int) float64 { return whole(5, 10) })
		in.P = matrix(m, m, func(i, j int) float64 {
			if i == j {
				return delay[i]
			}
			return 0
		})
		in.T = matrix(m, m, func(i, j int) float64 { return -in.P[i][j] })
		in.D = vector(m, func(j int) float64 { return -in.LQ[j] })
		in.E, in.RE = zero(n-1, m), make([]float64, n-1)
		for j, a := range arcs {
			in.E[a.from][j] = 1
			if a.to < n-1 {
				in.E[a.to][j] = -1
			}
		}
		in.RE[0] = 1
		in.U, in.RU = [][]float64{slices.Repeat([]float64{1}, m)}, []float64{float64(k)}
	case "fl", "ce": // y = shipments of each place to each town, then what each town goes without
		ny := n*k + k
		at := func(i, t int) int { return i*k + t }
		in.LQ = vector(ny, func(j int) float64 { return whole(1, 9) })
		in.C = vector(n, func(int) float64 { return whole(5, 20) })
		in.D = vector(ny, func(j int) float64 { return whole(-2, 4) })
		in.A, in.B, in.RB = zero(n+k, n), zero(n+k, ny), make([]float64, n+k)
		room := 0.0
		for i := range n {
			size := whole(8, 20)
			if kind == "ce" {
				in.RB[i] = whole(2, 6)
			}
			room += size
			in.A[i][i] = -size
			for t := range k {
				in.B[i][at(i, t)] = 1
			}
		}
		for t := range k {
			in.RB[n+t] = -to(room/float64(2*k)*(0.5+rng.Float64()), 1)
			for i := range n {
				in.B[n+t][at(i, t)] = -1
			}
			in.B[n+t][n*k+t] = -1
			in.LQ[n*k+t], in.D[n*k+t] = 20, 15
		}
		if kind == "ce" {
			in.Q = matrix(ny, ny, func(i, j int) float64 {
				if i == j {
					return 0.5
				}
				return 0
			})
		}
	default:
		in.Hi = vector(n, func(int) float64 { return 3 })
		in.C = vector(n, func(int) float64 { return whole(-10, 10) })
		in.D = vector(k, func(int) float64 { return whole(-10, 10) })
		in.LQ = vector(k, func(int) float64 { return whole(-10, 5) })
		m := k
		in.A = matrix(m, n, func(i, j int) float64 {
			if rng.IntN(2) == 0 {
				return 0
			}
			return whole(-5, 5)
		})
		in.B = matrix(m, k, func(i, j int) float64 {
			if i == 0 {
				return whole(1, 5)
			}
			return whole(-3, 6)
		})
		in.RB = vector(m, func(int) float64 { return whole(10, 30) })
	}
}
