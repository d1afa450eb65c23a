package expr

import (
	"math"
	"slices"

	"bilevelc/internal/sparse"
	"bilevelc/ir/data"
)

// Correspond matches the graph of an expression with that of another, which may have
// other numbers: each node of the first that depends on variables, and each argument
// of such a node that depends on data only, with its counterpart. It reports whether
// both have the same operations in the same places.
func Correspond(a, b *Node) (counterpart map[*Node]*Node, ok bool) {
	counterpart = map[*Node]*Node{a: b}
	todo := []*Node{a}
	for len(todo) > 0 {
		m := todo[len(todo)-1]
		n := counterpart[m]
		todo = todo[:len(todo)-1]
		if m.Shape != n.Shape || m.Deps != n.Deps || m.Opaque || n.Opaque {
			return nil, false
		}
		if m.Deps == 0 {
			continue // one place for data, whatever computes it
		}
		if !m.sameOperation(n) {
			return nil, false
		}
		for i, arg := range m.Args {
			if known, seen := counterpart[arg]; seen {
				if known != n.Args[i] {
					return nil, false
				}
				continue
			}
			counterpart[arg] = n.Args[i]
			todo = append(todo, arg)
		}
	}
	return counterpart, true
}

// sameOperation reports that two nodes do the same to their arguments.
func (n *Node) sameOperation(m *Node) bool {
	return n.Op == m.Op && n.Shape == m.Shape && n.Deps == m.Deps && n.Lower == m.Lower && n.Offset == m.Offset &&
		n.TransA == m.TransA && n.TransB == m.TransB && len(n.Args) == len(m.Args) && slices.Equal(n.Index, m.Index)
}

// Comparison tells which expressions of two graphs are the same to the last bit of
// their numbers. It remembers what it has compared.
type Comparison struct{ known map[[2]*Node]bool }

// Same reports that a and b are the same expression of the same numbers.
func (c *Comparison) Same(a, b *Node) bool {
	if c.known == nil {
		c.known = map[[2]*Node]bool{}
	}
	key := [2]*Node{a, b}
	if known, ok := c.known[key]; ok {
		return known
	}
	same := a.sameOperation(b) && a.Opaque == b.Opaque && sameNumbers(a.Value, b.Value)
	for i := 0; same && i < len(a.Args); i++ {
		same = c.Same(a.Args[i], b.Args[i])
	}
	c.known[key] = same
	return same
}

// sameNumbers compares two arrays bit by bit, whatever their length.
func sameNumbers(a, b *data.Array) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || !slices.Equal(a.Shape, b.Shape) || (a.Sparse == nil) != (b.Sparse == nil) {
		return false
	}
	if a.Sparse != nil {
		return SameMatrix(a.Sparse, b.Sparse)
	}
	return SameBits(a.Dense, b.Dense)
}

// SameMatrix reports that two sparse matrices hold the same numbers at the same places.
func SameMatrix(a, b *sparse.CSR) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Rows == b.Rows && a.Cols == b.Cols && slices.Equal(a.Ptr, b.Ptr) && slices.Equal(a.Col, b.Col) && SameBits(a.Val, b.Val)
}

// SameBits reports that two vectors are the same to the last bit.
func SameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(u, v float64) bool { return math.Float64bits(u) == math.Float64bits(v) })
}
