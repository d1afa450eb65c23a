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
	mates := make([]int, len(p.Rows))
	waiting := map[uint64][]int{}      // rows without a mate, by their pattern and sign
	bounds := make([][2]int, p.B.Cols) // of each entry of y: one and the first bound of each sign without a mate
	for i, r := range p.Rows {
		mates[i] = -1
		if r.Equal {
			continue
		}
		if j := single(p.B, i); j >= 0 {
			own := 0
			if lead(p.B, i) < 0 {
				own = 1
			}
			if other := bounds[j][1-own] - 1; other >= 0 && apart(p, i, other) {
				mates[i], mates[other] = other, i
				bounds[j][1-own] = 0
			} else if bounds[j][own] == 0 {
				bounds[j][own] = i + 1
			}
			continue
		}
		key, sign, ok := pattern(p.B, i)
		if !ok {
			continue
		}
		list := waiting[key^signBit(-sign)]
		for k := 0; k < min(len(list), mateTries); k++ {
			if j := list[k]; parallel(p.B, i, j) && apart(p, i, j) {
				mates[i], mates[j] = j, i
				waiting[key^signBit(-sign)] = slices.Delete(list, k, k+1)
				break
			}
		}
		if mates[i] < 0 {
			waiting[key^signBit(sign)] = append(waiting[key^signBit(sign)], i)
		}
	}
	return mates
}

func signBit(sign float64) uint64 {
	if sign < 0 {
		return 1 << 63
	}
	return 0
}

// pattern is a number that rows of B have in common that are equal up to their
// sign and scale, and the sign; not ok for a row of zeros.
func pattern(b *sparse.CSR, i int) (key uint64, sign float64, ok bool) {
	cols, vals := b.Row(i)
	lead := 0.0
	mix := func(v uint64) { key = (key ^ v) * 0x9e3779b97f4a7c15; key ^= key >> 29 }
	for k, j := range cols {
		if vals[k] == 0 {
			continue
		}
		if lead == 0 {
			lead = vals[k]
		}
		mix(uint64(j) + 1)
		// The ratio to seven digits: what parallel says decides.
		mix(uint64(math.Float32bits(float32(vals[k] / lead))))
	}
	return key &^ (1 << 63), math.Copysign(1, lead), lead != 0
}

// parallel reports that rows i and j are multiples of each other up to the
// rounding of their entries.
func parallel(b *sparse.CSR, i, j int) bool {
	u, v := nonzeros(b, i), nonzeros(b, j)
	if len(u) != len(v) {
		return false
	}
	for k := range u {
		if u[k].col != v[k].col || math.Abs(u[k].val*v[0].val-v[k].val*u[0].val) > 4*0x1p-52*math.Abs(u[k].val*v[0].val) {
			return false
		}
	}
	return true
}

// lead is the first nonzero entry of a row, or 1 in a row of zeros.
func lead(b *sparse.CSR, i int) float64 {
	_, vals := b.Row(i)
	for _, v := range vals {
		if v != 0 {
			return v
		}
	}
	return 1
}

// coefficient is a nonzero entry of a row.
type coefficient struct {
	col int
	val float64
}

func nonzeros(b *sparse.CSR, i int) []coefficient {
	if b == nil {
		return nil
	}
	cols, vals := b.Row(i)
	if len(cols) == 0 {
		return nil
	}
	out := make([]coefficient, 0, len(cols))
	for k, j := range cols {
		if vals[k] != 0 {
			out = append(out, coefficient{j, vals[k]})
		}
	}
	return out
}

// single is the column of a row of one entry, or -1.
func single(b *sparse.CSR, i int) int {
	cols, vals := b.Row(i)
	only := -1
	for k, j := range cols {
		if vals[k] == 0 {
			continue
		}
		if only >= 0 {
			return -1
		}
		only = j
	}
	return only
}

// apart reports that opposite rows i and j leave a gap for every x: scaled so
// that their parts in y cancel, h_i + h_j is a negative number without x.
func apart(p *ir.Problem, i, j int) bool {
	si, sj := 1/math.Abs(lead(p.B, i)), 1/math.Abs(lead(p.B, j))
	if u, v := nonzeros(p.A, i), nonzeros(p.A, j); len(u) > 0 || len(v) > 0 {
		if len(u) != len(v) {
			return false
		}
		for k := range u {
			if u[k].col != v[k].col || si*u[k].val+sj*v[k].val != 0 {
				return false
			}
		}
	}
	gap := si*p.Rhs[i] + sj*p.Rhs[j]
	return gap > rankTolerance*(si*math.Abs(p.Rhs[i])+sj*math.Abs(p.Rhs[j]))
}
