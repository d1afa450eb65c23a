package curvature

import (
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/ir"
)

// mateTries bounds how many rows that still have no mate one row is compared
// with: in a pattern with several rows of one sign some are dependent anyway.
const mateTries = 4

// opposites pairs inequality rows with parallel, opposite rows of B that cannot
// both be active: the gap between them is positive and does not depend on x.
// It gives the mate of each row, or -1. The time is linear.
func opposites(p *ir.Problem) []int {
	mates := slices.Repeat([]int{-1}, len(p.Rows))
	var waiting [2][]int // rows of a group without a mate, by the sign of their first entry
	for group := range sparse.Parallel(func(i int) bool { return !p.Rows[i].Equal }, p.B) {
		waiting[0], waiting[1] = waiting[0][:0], waiting[1][:0]
		for _, i := range group {
			own, other := &waiting[0], &waiting[1]
			if lead(p.B, i) < 0 {
				own, other = other, own
			}
			at := slices.IndexFunc((*other)[:min(len(*other), mateTries)], func(j int) bool { return parallel(p.B, i, j) && apart(p, i, j) })
			if at < 0 {
				*own = append(*own, i)
				continue
			}
			j := (*other)[at]
			mates[i], mates[j] = j, i
			*other = slices.Delete(*other, at, at+1)
		}
	}
	return mates
}

// lead is the first entry of a row.
func lead(b *sparse.CSR, i int) float64 { return b.Val[b.Ptr[i]] }

// parallel reports that rows i and j, with entries in the same columns, are multiples of each
// other up to the rounding of their entries.
func parallel(b *sparse.CSR, i, j int) bool {
	_, u := b.Row(i)
	_, v := b.Row(j)
	for k := range u {
		if math.Abs(u[k]*v[0]-v[k]*u[0]) > 4*0x1p-52*math.Abs(u[k]*v[0]) {
			return false
		}
	}
	return true
}

// apart reports that opposite rows i and j leave a gap for every x: scaled so
// that their parts in y cancel, h_i + h_j is a negative number without x.
func apart(p *ir.Problem, i, j int) bool {
	si, sj := 1/math.Abs(lead(p.B, i)), 1/math.Abs(lead(p.B, j))
	columns, u := p.A.Row(i)
	others, v := p.A.Row(j)
	if !slices.Equal(columns, others) {
		return false
	}
	for k := range u {
		if si*u[k]+sj*v[k] != 0 {
			return false
		}
	}
	gap := si*p.Rhs[i] + sj*p.Rhs[j]
	return gap > rankTolerance*(si*math.Abs(p.Rhs[i])+sj*math.Abs(p.Rhs[j]))
}
