package certify

import (
	"fmt"
	"math"
	"math/big"

	"bilevelc/runtime/tolerance"
)

// exactly settles, in rational numbers, the columns of `of` that are no equations of the system: their reduced costs at the solution are
// zero, or of the right sign, or the leaf is not shown. before are the chosen unknowns before their change.
func (l *treeLeaf) exactly(of, equations []int, chosen []unknown, before []interval) error {
	n := len(chosen)
	index := make(map[unknown]int, n)
	for c, u := range chosen {
		index[u] = c
	}
	known := true
	rational := func(v interval) *big.Rat {
		r := new(big.Rat)
		known = known && v.exact() && v.finite()
		if known {
			r.SetFloat64(v.lo)
		}
		return r
	}
	value := func(u unknown) *big.Rat {
		if c, ok := index[u]; ok {
			return rational(before[c])
		}
		return rational(*l.value(u))
	}
	// cost is d_j before the change, with its derivatives in the unknowns.
	cost := func(j int) (*big.Rat, []*big.Rat) {
		sum, coef := new(big.Rat), make([]*big.Rat, n)
		product := new(big.Rat)
		sum.Set(l.of.exactC[j])
		if !l.empty {
			for k, s := range l.t.squares {
				for e, at := range s.Of.At {
					if at == j && known {
						slope := rational(point(l.along[k].lo))
						if slope.Add(slope, rational(point(l.along[k].hi))); known {
							sum.Sub(sum, slope.Mul(slope, product.Mul(rational(point(s.Weight)), rational(point(s.Of.Val[e])))))
						}
					}
				}
			}
		}
		for _, e := range l.of.q[j] {
			u := unknown{treeKinds, e.col}
			if known = known && e.exact != nil; !known {
				continue
			}
			sum.Add(sum, product.Mul(e.exact, value(u)))
			if c, ok := index[u]; ok {
				coef[c] = e.exact
			}
		}
		for k, s := range l.t.squares {
			for e, at := range s.Of.At {
				if at == j && !l.v[k].zero() {
					r := rational(l.v[k])
					sum.Sub(sum, product.Mul(r, rational(point(s.Of.Val[e]))))
				}
			}
		}
		for k := range l.w {
			for i := range l.w[k] {
				u := unknown{k, i}
				c, moves := index[u]
				if l.w[k][i].zero() && !moves {
					continue
				}
				at := l.at(k, i, j)
				if at.zero() {
					continue
				}
				r := rational(at.neg())
				sum.Add(sum, product.Mul(r, value(u)))
				if moves {
					coef[c] = r
				}
			}
		}
		return sum, coef
	}
	rows := make([][]*big.Rat, n)
	for r, j := range equations {
		sum, coef := cost(j)
		rows[r] = make([]*big.Rat, n+1)
		for c, v := range coef {
			if rows[r][c] = new(big.Rat); v != nil {
				rows[r][c].Set(v)
			}
		}
		rows[r][n] = sum.Neg(sum)
	}
	if !known {
		return fmt.Errorf("dependent equations with coefficients that are no doubles")
	}
	change, err := eliminate(rows)
	if err != nil {
		return err
	}
	done := make(map[int]bool, n)
	for _, j := range equations {
		done[j] = true
	}
	product := new(big.Rat)
	for _, j := range of {
		if done[j] {
			continue
		}
		sum, coef := cost(j)
		for c, v := range coef {
			if v != nil {
				sum.Add(sum, product.Mul(v, change[c]))
			}
		}
		if !known {
			return fmt.Errorf("dependent equations with coefficients that are no doubles")
		}
		switch sign := sum.Sign(); {
		case sign == 0:
			l.shown[j], l.d[j] = true, interval{}
		case sign > 0 && math.IsInf(l.lo[j], -1), sign < 0 && math.IsInf(l.hi[j], 1):
			v, _ := sum.Float64()
			return fmt.Errorf("column %s has no end, and exactly the reduced cost %.3g", l.column(j), v)
		case sign > 0:
			l.d[j].lo = math.Max(0, l.d[j].lo)
		default:
			l.d[j].hi = math.Min(0, l.d[j].hi)
		}
	}
	return nil
}

// eliminate solves the n equations of n coefficients and a right side. Pivots are where they fill in least (Markowitz 1957): numbers that are made grow.
func eliminate(rows [][]*big.Rat) ([]*big.Rat, error) {
	n, spent := len(rows), 0
	product, factor := new(big.Rat), new(big.Rat)
	words := func(r *big.Rat) int { return 1 + (r.Num().BitLen()+r.Denom().BitLen())/64 }
	less := func(of, v *big.Rat) { // of -= factor v
		spent += words(factor) * words(v)
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
		if p < 0 {
			return nil, fmt.Errorf("the system for the reduced costs is singular")
		}
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
			if spent > tolerance.Second/10 {
				return nil, fmt.Errorf("%d dependent equations are too many for rational numbers", n)
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
		if spent > tolerance.Second/10 {
			return nil, fmt.Errorf("%d dependent equations are too many for rational numbers", n)
		}
		out[column[k]] = sum.Quo(sum, rows[k][column[k]])
	}
	return out, nil
}
