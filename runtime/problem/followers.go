package problem

import (
	"slices"

	"bilevelc/internal/sparse"
)

// Followers are the entries of y that belong together, as far as is known: neither rows nor second derivatives of g join those of two. Blocks are groups of them.
func (p *Problem) Followers() [][]int {
	if h := p.Facts.HessianPattern; h != nil {
		return Apart(h, p.Rows.B)
	}
	if len(p.Blocks) > 0 {
		return p.Blocks
	}
	all := make([]int, p.Dy)
	for j := range all {
		all[j] = j
	}
	return [][]int{all}
}

// Apart are the sets of numbers below the order of h that neither entries of h nor rows of b join to others, each ascending, in the order of their first members.
func Apart(h, b *sparse.CSR) [][]int {
	classes := sparse.NewClasses(h.Rows)
	for i := range h.Rows {
		cols, vals := h.Row(i)
		for t, j := range cols {
			if vals[t] != 0 {
				classes.Join(i, j)
			}
		}
	}
	for i := range b.Rows {
		cols, vals := b.Row(i)
		first := -1
		for t, j := range cols {
			switch {
			case vals[t] == 0:
			case first < 0:
				first = j
			default:
				classes.Join(first, j)
			}
		}
	}
	return classes.Members(h.Rows)
}

// LargestFollower is the number of entries of y and rows of the follower with the most of them.
func (p *Problem) LargestFollower() (most int) {
	owner, size := make([]int, p.Dy), []int{0}
	for k, ys := range p.Followers() {
		size = append(size[:k], len(ys))
		for _, j := range ys {
			owner[j] = k
		}
	}
	for i := range p.Rows.Len() {
		cols, vals := p.Rows.B.Row(i)
		if k := slices.IndexFunc(vals, func(v float64) bool { return v != 0 }); k >= 0 {
			size[owner[cols[k]]]++
		}
	}
	return slices.Max(size)
}
