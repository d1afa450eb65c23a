package tree

import (
	"math"
	"slices"

	"bilevelc/internal/each"
	"bilevelc/runtime/activeset"
	"bilevelc/runtime/kkt"
)

// record is a node of the tree as it is kept.
type record struct {
	Kind recordKind
	// Branch is what an inner node branches on: pair k, or -1-k for candidate k behind the pairs. The first child of a pair has its slack
	// at zero, the second its multiplier, and of an option the slacks of all others; of an integer entry x <= At, x >= At+1, of another x <= At, x >= At; of a direction w <= At, w >= At.
	Branch int32
	At     float64
	First  int32    // the children are First and First+1
	Bound  infinite // lower bound of f below this node, as far as it was known when the record was made
}

type recordKind uint8

const (
	openNode   recordKind = iota
	inner                 // branched
	closed                // its bound exceeds the cutoff
	empty                 // its relaxation is infeasible
	unresolved            // everything is fixed and the relaxation could not be solved
)

// node is an open node.
type node struct {
	id     int32 // of its record
	fix    []kkt.Fix
	box    []change     // of entries of x and directions
	slopes []slopeRange // nil: none known yet; not changed in place
	bound  float64
	basis  *activeset.Basis // of its parent, or its own
	depth  int
	now    bool // the child that its parent says is searched first
	// What pseudo-costs learn from it: branch, side (0 or 1), distance that the branch moved, bound of the parent; branch < 0 for none.
	from observation
}

// change of the bounds of entry x[Index], model's units, or for a negative Index of the range of direction -1-Index.
type change struct {
	Index  int32
	Lo, Hi float64
}

type observation struct {
	branch   int
	side     int
	distance float64
	parent   float64
}

// child is the node with one more decision.
func (n *node) child(s *search, branch, side int, at float64, basis *activeset.Basis) *node {
	c := &node{fix: n.fix, box: n.box, bound: n.bound, basis: basis, depth: n.depth + 1, slopes: n.slopes}
	if branch < len(s.sys.Pairs) {
		c.fix = append([]kkt.Fix(nil), n.fix...)
		c.fix[branch] = kkt.SlackZero + kkt.Fix(side)
		if side == 1 {
			for _, k := range s.others(branch) {
				c.fix[k] = kkt.SlackZero
			}
		}
		return c
	}
	j, step := s.entry(branch)
	lo, hi := n.limits(s, j)
	if side == 0 {
		hi = at
	} else {
		lo = at + step
	}
	c.box = make([]change, 0, len(n.box)+1)
	c.box = append(c.box, each.Where(n.box, func(b change) bool { return int(b.Index) != j })...)
	c.box = append(c.box, change{int32(j), lo, hi})
	return c
}

// entry is what the changes of a node call a candidate behind the pairs, and how far apart the sides of a branch on it are.
func (s *search) entry(branch int) (index int, step float64) {
	k := branch - len(s.sys.Pairs)
	if k < len(s.whole) {
		return s.whole[k], 1
	}
	if k = branch - s.firstSplit(); k >= 0 {
		return s.split[k], 0
	}
	return s.index(branch - s.directions()), 0
}

// limits are the bounds of entry j of x at the node, or the range of direction -1-j.
func (n *node) limits(s *search, j int) (lo, hi float64) {
	for _, b := range n.box {
		if int(b.Index) == j {
			return b.Lo, b.Hi
		}
	}
	if j < 0 {
		return s.concave.Lo[-1-j], s.concave.Hi[-1-j]
	}
	if !slices.Contains(s.whole, j) {
		return s.sys.P.X.Lo[j], s.sys.P.X.Hi[j]
	}
	return math.Ceil(s.sys.P.X.Lo[j]), math.Floor(s.sys.P.X.Hi[j])
}

// before orders open nodes: lower bounds first, older ones at ties.
func (n *node) before(o *node) bool {
	if n.bound != o.bound {
		return n.bound < o.bound
	}
	return n.id < o.id
}

// queue is a heap of open nodes.
type queue []*node

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].before(q[j]) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*node)) }
func (q *queue) Pop() any {
	old := *q
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return n
}
