package runtime

import (
	"fmt"
	"slices"

	"bilevelc/ir"
)

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
