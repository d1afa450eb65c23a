package runtime

import (
	"fmt"
	"slices"

	"bilevelc/ir"
	"bilevelc/ir/facts"
	"bilevelc/runtime/problem"
)

// How followers are dealt out to parts that are solved apart. Each part has a
// compiled program and a solve of its own, which cost more than a small part
// saves: on the machine of bench/README.md a lower level in parts is the
// faster one from about minPart entries a part.
const (
	minPart  = 16 // entries
	maxParts = 16
)

// divide compiles the parts of g in which the lower level is solved, groups of
// the model's independent followers; none where they are too few or too small.
func divide(p *ir.Problem, to *problem.Problem, before *Problem) error {
	groups := deal(p.Blocks, min(maxParts, p.Lower.Dim/minPart))
	if len(groups) < 2 {
		return nil
	}
	roots, err := facts.Split(p, groups)
	if err != nil {
		return nil // too large to be written out: g is solved as a whole
	}
	parts := make([]problem.Function, len(roots))
	for k, root := range roots {
		if parts[k], err = compileObjective(p, root, len(groups[k]), before.compiledPart(groups, k)); err != nil {
			return fmt.Errorf("follower %d: %w", k+1, err)
		}
	}
	to.Blocks, to.Parts = groups, parts
	return nil
}

// deal puts blocks into at most n groups of about one size: each block, the
// largest first, into the group with the fewest entries. Groups are ascending.
func deal(blocks [][]int, n int) [][]int {
	n = min(n, len(blocks))
	if n < 2 {
		return nil
	}
	order := slices.Clone(blocks)
	slices.SortStableFunc(order, func(a, b []int) int { return len(b) - len(a) })
	groups := make([][]int, n)
	for _, block := range order {
		least := 0
		for k := range groups {
			if len(groups[k]) < len(groups[least]) {
				least = k
			}
		}
		groups[least] = append(groups[least], block...)
	}
	for _, g := range groups {
		slices.Sort(g)
	}
	slices.SortFunc(groups, func(a, b []int) int { return a[0] - b[0] })
	return groups
}

// ownBlocks are the independent followers without the hidden variables that restate
// kinks (ir.Restated).
func ownBlocks(p *ir.Problem) [][]int {
	if p.Restated == nil {
		return p.Blocks
	}
	var own [][]int
	for _, b := range p.Blocks {
		b = slices.DeleteFunc(slices.Clone(b), func(j int) bool { return j >= p.Restated.Declared })
		if len(b) > 0 {
			own = append(own, b)
		}
	}
	return own
}

// followersNote says how many independent followers there are and how large;
// "" where there are no two.
func followersNote(blocks [][]int) string {
	if len(blocks) < 2 {
		return ""
	}
	least, most := len(blocks[0]), len(blocks[0])
	for _, b := range blocks {
		least, most = min(least, len(b)), max(most, len(b))
	}
	size := fmt.Sprintf("%d to %d entries", least, most)
	switch {
	case most == 1:
		size = "one entry"
	case least == most:
		size = fmt.Sprintf("%d entries", most)
	}
	return fmt.Sprintf("%d independent followers, each with %s of y", len(blocks), size)
}
