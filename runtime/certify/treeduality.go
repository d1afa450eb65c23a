package certify

import (
	"math"
	"math/big"

	"bilevelc/internal/each"
)

// duality adds to f what vanishes: what cancels its products, and shares of the products of multipliers and slacks of blocks of the lower level, where the proof says so.
func (t *treeModel) duality(a *treeAdded) {
	if a.duality {
		t.cancel(&t.treeObjective)
	}
	if a.shares == nil {
		return
	}
	weights := each.Below(t.ny+t.m, func(int) *big.Rat { return new(big.Rat) })
	a.shares.each("shares", t.ny, func(at int, v float64) {
		for _, n := range t.parts[t.partOf[at]] {
			weights[n] = rat(v)
		}
	})
	t.vanish(&t.treeObjective, weights[:t.ny], weights[t.ny:], t.p.Fixed())
}

// cancel cancels the products of x, y and lambda of f, or of a constraint of the leader, where they can be. Weights are rational numbers, so that what cancels does so exactly.
//
// Entries of x that X fixes are numbers, and their products linear.
func (t *treeModel) cancel(o *treeObjective) {
	fixed := t.p.Fixed()
	for c, v := range fixed {
		if !math.IsNaN(v) {
			o.settle(c, v)
		}
	}
	k, w := t.weights(o, fixed)
	t.vanish(o, k, w, fixed)
}

// vanish adds what vanishes at every point of the system, whatever the weights k and w are,
//
//	sum_j k_j y_j (H y + G x + q - B'lambda)_j + sum_i w_i lambda_i (b + B y - A x)_i.
func (t *treeModel) vanish(o *treeObjective, k, w []*big.Rat, fixed []float64) {
	both := func(i, j int, weight *big.Rat, v float64) {
		if v == 0 || weight.Sign() == 0 {
			return
		}
		of := exactly(weight).times(v)
		if j < t.nx && !math.IsNaN(fixed[j]) {
			o.addC(i, of.times(fixed[j]))
			return
		}
		o.addQ(i, j, of)
		o.addQ(j, i, of)
	}
	lambda := t.nx + t.ny
	for j := range t.ny {
		if k[j].Sign() == 0 {
			continue
		}
		for c := range t.ny {
			both(t.nx+j, t.nx+c, k[j], t.h[c][j])
		}
		for c := range t.nx {
			both(t.nx+j, c, k[j], t.g[c][j])
		}
		o.addC(t.nx+j, exactly(k[j]).times(t.linearG[j]))
	}
	for i := range t.m {
		for j, v := range t.p.Rows.B.Entries(i) {
			both(lambda+i, t.nx+j, new(big.Rat).Sub(w[i], k[j]), v)
		}
		for c, v := range t.p.Rows.A.Entries(i) {
			both(lambda+i, c, w[i], -v)
		}
		o.addC(lambda+i, exactly(w[i]).times(t.p.Rows.Rhs[i]))
	}
}

// settle puts the value of column j in the place of its products with others, as far as their coefficients are single numbers.
func (o *treeObjective) settle(j int, v float64) {
	var left []treeEntry
	for _, e := range o.q[j] {
		switch {
		case e.exact == nil:
			left = append(left, e)
		case e.col == j:
			o.konst = o.konst.add(e.times(v).times(v).val.mul(point(0.5)))
		default:
			o.addC(e.col, e.times(v))
			o.dropQ(e.col, j)
		}
	}
	o.q[j] = left
}

// exactly is a rational number.
func exactly(r *big.Rat) coefficient { return coefficient{enclosure(r), r} }

// enclosure is an interval around a rational number.
func enclosure(r *big.Rat) interval {
	v, exact := r.Float64()
	if exact {
		return point(v)
	}
	return interval{math.Nextafter(v, math.Inf(-1)), math.Nextafter(v, math.Inf(1))}
}

// weights are k (len ny) and w (len m): what products with x say of them, of entries that are not binary before those that are, and from these along the rows; what these determine up to a constant only is the least that is
// not negative for y.
func (t *treeModel) weights(o *treeObjective, fixed []float64) (k, w []*big.Rat) {
	lambda := t.nx + t.ny
	have := make([]*big.Rat, t.ny+t.m)
	var queue []int
	found := func(n int, v *big.Rat) {
		if have[n] == nil {
			have[n] = v
			queue = append(queue, n)
		}
	}
	// over is -(the coefficient of f)/coef.
	over := func(i, j int, coef float64) *big.Rat {
		v := new(big.Rat)
		for _, e := range o.q[i] {
			if e.col != j {
				continue
			}
			if v = e.exact; v == nil {
				v = rat(e.val.mid())
			}
		}
		return new(big.Rat).Quo(new(big.Rat).Neg(v), rat(coef))
	}
	// largest is the entry of x, of those that are binary or of the others, with the largest of these coefficients, and that.
	largest := func(cols []int, vals []float64, binary bool) (most int, coef float64) {
		for e, c := range cols {
			if v := vals[e]; math.Abs(v) > math.Abs(coef) && math.IsNaN(fixed[c]) && t.binary(c) == binary {
				most, coef = c, v
			}
		}
		return most, coef
	}
	b := t.p.Rows.B
	bt := b.T()
	propagate := func() (least *big.Rat, reached []int) {
		least = new(big.Rat)
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			reached = append(reached, n)
			if n < t.ny {
				if have[n].Cmp(least) < 0 {
					least = have[n]
				}
				for i, v := range bt.Entries(n) {
					if v != 0 { // w_i = k_j - f/B_ij
						found(t.ny+i, new(big.Rat).Add(have[n], over(lambda+i, t.nx+n, v)))
					}
				}
				continue
			}
			i := n - t.ny
			for j, v := range b.Entries(i) {
				if v != 0 { // k_j = w_i + f/B_ij
					found(j, new(big.Rat).Sub(have[n], over(lambda+i, t.nx+j, v)))
				}
			}
		}
		return least, reached
	}
	for _, binary := range [2]bool{false, true} {
		for j := range t.ny {
			if c, v := largest(each.Number(t.nx), each.Of(t.g, func(column []float64) float64 { return column[j] }), binary); v != 0 {
				found(j, over(t.nx+j, c, v))
			}
		}
		for i := range t.m {
			cols, vals := t.p.Rows.A.Row(i)
			if c, v := largest(cols, vals, binary); v != 0 {
				found(t.ny+i, over(lambda+i, c, -v))
			}
		}
		propagate()
	}
	for n := range have {
		if have[n] == nil {
			found(n, new(big.Rat))
			least, reached := propagate()
			for _, k := range reached {
				have[k] = new(big.Rat).Sub(have[k], least)
			}
		}
	}
	return have[:t.ny], have[t.ny:]
}

// binary reports whether entry c of x is 0 or 1.
func (t *treeModel) binary(c int) bool {
	return integer(t.p, c) && t.p.X.Lo != nil && math.Ceil(t.p.X.Lo[c]) == 0 && math.Floor(t.p.X.Hi[c]) == 1
}
