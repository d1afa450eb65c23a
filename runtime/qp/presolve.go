package qp

import (
	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
)

// presolve decides, where signs alone do, whether some direction d has
//
//	(M d)_i <= -1 on inequality rows and (M d)_i = 0 on equality rows.
//
// It removes what one entry of d settles: an entry that no equality row reads
// and that helps every inequality row it is in (all its coefficients have one
// sign) can be taken as large as needed, so those rows are gone; and again. What
// remains is impossible where single-entry rows force the signs of entries and
// a row's terms are then all of the wrong sign. The rows kept are still to be
// decided; none kept means yes.
func presolve(m *sparse.CSR, equal []bool) (kept []int, impossible bool) {
	columns := m.T()
	gone := make([]bool, m.Rows)
	// How many of the rows that are left hold entry j, help it to be large, or to be small: each
	// row that goes is counted off once, so that the work is that of reading the matrix.
	type reads struct{ equal, rising, falling int }
	left := make([]reads, m.Cols)
	count := func(i, by int) {
		for j, v := range m.Entries(i) {
			switch {
			case v == 0:
			case equal[i]:
				left[j].equal += by
			case v > 0:
				left[j].rising += by
			default:
				left[j].falling += by
			}
		}
	}
	for i := range gone {
		count(i, 1)
	}
	settles := func(j int) bool {
		r := left[j]
		return r.equal == 0 && (r.rising == 0) != (r.falling == 0)
	}
	queue := each.Number(m.Cols)
	for len(queue) > 0 {
		j := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if !settles(j) {
			continue
		}
		for i, v := range columns.Entries(j) {
			if gone[i] || v == 0 {
				continue
			}
			gone[i] = true
			count(i, -1)
			for other := range m.Entries(i) {
				if settles(other) { // it has lost the row that held it
					queue = append(queue, other)
				}
			}
		}
	}
	kept = append(kept, each.WhereBelow(len(gone), func(i int) bool { return !gone[i] })...)
	return kept, contradicts(m, equal, kept)
}

// contradicts reports that the signs which single-entry inequality rows force
// on entries of d leave some row no way to hold.
func contradicts(m *sparse.CSR, equal []bool, rows []int) bool {
	forced := make([]float64, m.Cols) // the sign of d_j, 0 where open
	for _, i := range rows {
		j, c, entries := single(m, i)
		if entries != 1 || equal[i] {
			continue
		}
		if c > 0 {
			c = -1 // c d_j <= -1
		} else {
			c = 1
		}
		if forced[j]*c < 0 {
			return true
		}
		forced[j] = c
	}
	for _, i := range rows {
		cols, vals := m.Row(i)
		positive, negative, open := false, false, false
		for k, j := range cols {
			switch s := vals[k] * forced[j]; {
			case s > 0:
				positive = true
			case s < 0:
				negative = true
			case vals[k] != 0:
				open = true
			}
		}
		// All terms >= 0 with one forced above 0, or, on an equality, all of one
		// forced sign; an inequality row without a term that may be negative
		// cannot reach -1.
		if !open && (!negative && (positive || !equal[i]) || equal[i] && negative && !positive) {
			return true
		}
	}
	return false
}

// single returns the entry of a row, its coefficient, and how many entries of
// the row are not zero.
func single(m *sparse.CSR, i int) (j int, c float64, entries int) {
	cols, vals := m.Row(i)
	for k, v := range vals {
		if v != 0 {
			j, c = cols[k], v
			entries++
		}
	}
	return j, c, entries
}
