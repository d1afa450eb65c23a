package compile

import (
	"fmt"
	"slices"

	"bilevelc/ir"
	"bilevelc/ir/facts"
	"bilevelc/runtime/problem"
)

// minPart is how many entries a part has at the least in which followers are solved apart. Each part has a
// compiled program and a solve of its own, which cost more than a small part
// saves: on the machine of bench/README.md a lower level in parts is the
// faster one from about as many.
const minPart = 16

// Divide compiles the parts of g in which the lower level is solved, groups of
// the model's independent followers; none where they are too few or too small. Those of before,
// which may be nil, serve again where it is divided into the same groups.
func Divide(p *ir.Problem, to, before *problem.Problem) error {
	groups := deal(p.Blocks, p.Lower.Dim/minPart)
	if len(groups) < 2 {
		return nil
	}
	roots, err := facts.Split(p, groups)
	if err != nil {
		return nil // too large to be written out: g is solved as a whole
	}
	parts := make([]problem.Function, len(roots))
	same := before != nil && slices.EqualFunc(before.Blocks, groups, slices.Equal[[]int])
	for k, root := range roots {
		var old *Function
		if same {
			old, _ = before.Parts[k].(*Function)
		}
		if parts[k], err = Scalar(p, root, len(groups[k]), old); err != nil {
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
