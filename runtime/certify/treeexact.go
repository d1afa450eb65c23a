package certify

import (
	"math"
	"math/big"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/must"
	"bilevelc/runtime/tolerance"
)

// exactly settles, in rational numbers, the columns of `of` that are no equations of the system, whose solution l.moved has: their reduced costs there are
// zero, or of the right sign, or the leaf is not shown.
func (l *treeLeaf) exactly(of []int) {
	n := len(l.moved)
	index := make(map[unknown]int, n)
	for c, m := range l.moved {
		index[m.u] = c
	}
	known := true
	rational := func(v interval) *big.Rat {
		if known = known && v.exact() && v.finite(); !known {
			return new(big.Rat)
		}
		return rat(v.lo)
	}
	// cost is d_j before the change, behind its derivatives in the unknowns.
	cost := func(j int) []*big.Rat {
		out, product := each.Below(n+1, func(int) *big.Rat { return new(big.Rat) }), new(big.Rat)
		out[n].Set(l.of.c[j].exact)
		add := func(u unknown, by *big.Rat) {
			v := *l.value(u)
			if c, moves := index[u]; moves {
				v = l.moved[c].was
				out[c].Set(by)
			}
			out[n].Add(out[n], product.Mul(by, rational(v)))
		}
		for _, e := range l.of.q[j] {
			if known = known && e.exact != nil; known {
				add(unknown{treeKinds, e.col}, e.exact)
			}
		}
		for k := range l.w {
			for i, w := range l.w[k] {
				u := unknown{k, i}
				if _, moves := index[u]; !moves && w.zero() {
					continue
				}
				if at := l.at(k, i, j); !at.zero() {
					add(u, rational(at.neg()))
				}
			}
		}
		for k, s := range l.t.squares {
			known = known && (l.times[k] == 0 && l.v[k].zero() || !slices.Contains(s.Of.At, j))
		}
		return out
	}
	var rows [][]*big.Rat
	costs := make(map[int][]*big.Rat, len(of))
	for _, j := range of {
		if costs[j] = cost(j); l.shown[j] { // an equation of the system
			costs[j][n].Neg(costs[j][n])
			rows = append(rows, costs[j])
			delete(costs, j)
		}
	}
	must.Be(known, "dependent equations with coefficients that are no doubles, or along directions")
	change, product := eliminate(rows), new(big.Rat)
	for j, cost := range costs {
		sum := cost[n]
		for c, v := range cost[:n] {
			sum.Add(sum, product.Mul(v, change[c]))
		}
		switch sign := sum.Sign(); {
		case sign == 0:
			l.shown[j], l.d[j] = true, interval{}
		case sign > 0 && math.IsInf(l.lo[j], -1), sign < 0 && math.IsInf(l.hi[j], 1):
			v, _ := sum.Float64()
			must.Be(false, "column %s has no end, and exactly the reduced cost %.3g", l.column(j), v)
		case sign > 0:
			l.d[j].lo = math.Max(0, l.d[j].lo)
		default:
			l.d[j].hi = math.Min(0, l.d[j].hi)
		}
	}
}

// eliminate solves the n equations of n coefficients and a right side. Pivots are where they fill in least (Markowitz 1957): numbers that are made grow.
func eliminate(rows [][]*big.Rat) []*big.Rat {
	n, spent := len(rows), 0
	product, factor := new(big.Rat), new(big.Rat)
	words := func(r *big.Rat) int { return 1 + (r.Num().BitLen()+r.Denom().BitLen())/64 }
	less := func(of, v *big.Rat) { // of -= factor v
		spent += words(factor) * words(v)
		must.Be(spent <= tolerance.Second/10, "%d dependent equations are too many for rational numbers", n)
		of.Sub(of, product.Mul(factor, v))
	}
	inColumn, column := make([]int, n), make([]int, n) // nonzeros of the rows that are left; the pivot's
	taken := make([]bool, n)
	for k := range n {
		clear(inColumn)
		for _, row := range rows[k:] {
			for j, v := range row[:n] {
				if v.Sign() != 0 {
					inColumn[j]++
				}
			}
		}
		p, c, least := -1, -1, 0
		for i := k; i < n; i++ {
			inRow := 0
			for _, v := range rows[i][:n] {
				if v.Sign() != 0 {
					inRow++
				}
			}
			for j, v := range rows[i][:n] {
				if fill := (inRow - 1) * (inColumn[j] - 1); v.Sign() != 0 && !taken[j] && (p < 0 || fill < least) {
					p, c, least = i, j, fill
				}
			}
		}
		must.Be(p >= 0, "the system for the reduced costs is singular")
		rows[k], rows[p] = rows[p], rows[k]
		column[k], taken[c] = c, true
		for i := k + 1; i < n; i++ {
			if rows[i][c].Sign() == 0 {
				continue
			}
			factor.Quo(rows[i][c], rows[k][c])
			for j, v := range rows[k] {
				if v.Sign() != 0 {
					less(rows[i][j], v)
				}
			}
		}
	}
	out := make([]*big.Rat, n)
	for k := n - 1; k >= 0; k-- {
		sum := new(big.Rat).Set(rows[k][n])
		for _, j := range column[k+1:] {
			if rows[k][j].Sign() != 0 {
				factor.Set(rows[k][j])
				less(sum, out[j])
			}
		}
		out[column[k]] = sum.Quo(sum, rows[k][column[k]])
	}
	return out
}
