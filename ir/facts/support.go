package facts

import (
	"slices"

	"bilevelc/ir/expr"
)

// Supports finds, for single entries of nodes, the entries of y that they are made of.
type Supports struct {
	graph *expr.Builder
	of    map[*expr.Node]*support
	work  float64
}

type support struct {
	terms expr.Terms
	lists [][]int // ascending; nil where not known yet
	known []bool
}

// NewSupports begins with nothing known.
func NewSupports(graph *expr.Builder) *Supports {
	return &Supports{graph: graph, of: map[*expr.Node]*support{}}
}

// Of lists, ascending, the entries of y that entry e of n may depend on; ok is false where there are too many to list.
func (s *Supports) Of(n *expr.Node, e int) (list []int, ok bool) {
	if n.Deps&expr.DependsY == 0 {
		return nil, true
	}
	if n.Op == expr.Var {
		return []int{n.Offset + e}, true
	}
	t := s.of[n]
	if t == nil {
		t = &support{terms: s.graph.Terms(n), lists: make([][]int, n.Shape.Len()), known: make([]bool, n.Shape.Len())}
		s.of[n] = t
		s.work += float64(n.Shape.Len())
	}
	if t.known[e] {
		return t.lists[e], true
	}
	ok = true
	add := func(i, k int) {
		if k < 0 || i >= len(n.Args) || !ok {
			return
		}
		var more []int
		if more, ok = s.Of(n.Args[i], k); ok && len(more) > 0 {
			list = append(list, more...)
			s.work += float64(len(more))
			ok = s.work <= maxWork
		}
	}
	t.terms.Each(e, func(m expr.Summand) bool {
		add(0, m.P)
		add(1, m.Q)
		return ok
	})
	if !ok {
		return nil, false
	}
	slices.Sort(list)
	list = slices.Compact(list)
	t.lists[e], t.known[e] = list, true
	return list, true
}
