package problem

import (
	"slices"

	"bilevelc/internal/each"
	"bilevelc/internal/sparse"
)

// Followers are the entries of y that belong together, as far as is known: neither rows nor second derivatives of g join those of two.
func (p *Problem) Followers() [][]int {
	if h := p.Facts.HessianPattern; h != nil {
		return sparse.Apart(h, p.Rows.B)
	}
	if len(p.Blocks) > 0 {
		return p.Blocks
	}
	all := each.Number(p.Dy)
	return [][]int{all}
}

// Owners are, of each entry of y, the number of its follower.
func (p *Problem) Owners() []int {
	owner := make([]int, p.Dy)
	for k, ys := range p.Followers() {
		for _, j := range ys {
			owner[j] = k
		}
	}
	return owner
}

// LargestFollower is the number of entries of y and rows of the follower with the most of them.
func (p *Problem) LargestFollower() (most int) {
	owner, size := p.Owners(), []int{0}
	for k, ys := range p.Followers() {
		size = append(size[:k], len(ys))
	}
	for i := range p.Rows.Len() {
		cols, vals := p.Rows.B.Row(i)
		if k := slices.IndexFunc(vals, func(v float64) bool { return v != 0 }); k >= 0 {
			size[owner[cols[k]]]++
		}
	}
	return slices.Max(size)
}
